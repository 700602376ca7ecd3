//! The counters of channels whose members several nodes share.

use std::fmt;

use millrace_backplane::State;

use super::{Metrics, whole};
use crate::stats::PresenceStats;

/// Writes the metrics of the store and of what this node does with it.
pub(super) fn encode(stats: &PresenceStats, out: &mut Metrics<'_>) -> fmt::Result {
    let is_up = i64::from(stats.state == State::Ready);
    let help = "Whether the store of members can be reached";
    out.gauge("presence_up", help, None, is_up)?;
    let help = "Channels whose members on other nodes are followed";
    out.gauge("presence_followed", help, None, whole(stats.followed))?;
    for (name, help, value) in [
        (
            "presence_sessions",
            "Times this node began to write its members, the first time included",
            stats.sessions,
        ),
        (
            "presence_rewrites",
            "Times all members of this node in a channel were written once more",
            stats.rewritten,
        ),
        (
            "presence_rereads",
            "Times the members of another node were read once more because a change was missing",
            stats.reread,
        ),
        (
            "presence_losses",
            "Times the link to the store of members was lost",
            stats.losses,
        ),
    ] {
        out.count(name, help, value)?;
    }
    Ok(())
}
