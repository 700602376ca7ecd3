//! The counters of channels whose history several nodes share.

use std::fmt;

use millrace_backplane::State;
use prometheus_client::registry::Unit;

use super::{Metrics, whole};
use crate::stats::HistoryStats;

/// Writes the metrics of the store and of what this node does with it.
pub(super) fn encode(stats: &HistoryStats, out: &mut Metrics<'_>) -> fmt::Result {
    let is_up = i64::from(stats.state == State::Ready);
    let help = "Whether the store of histories can be reached";
    out.gauge("history_up", help, None, is_up)?;
    let help = "Channels with history that this node follows";
    out.gauge("history_followed", help, None, whole(stats.followed))?;
    let help = "Bytes of publications and reads that the store of histories has not answered";
    let (unit, waiting) = (Some(&Unit::Bytes), whole(stats.waiting_bytes));
    out.gauge("history_waiting", help, unit, waiting)?;
    let help = "Messages for the store of histories, by result";
    let fates = [
        ("stored", stats.stored),
        ("repeated", stats.repeated),
        ("failed", stats.failed.saturating_sub(stats.unknown)),
        ("unknown", stats.unknown),
    ];
    out.counts("history_published", help, "result", &fates)?;
    let help = "Messages from the store of histories, by result";
    let fates = [("delivered", stats.received), ("foreign", stats.foreign)];
    out.counts("history_messages", help, "result", &fates)?;
    for (name, help, value) in [
        (
            "history_gaps",
            "Times the subscribers of a channel were told that messages are lost",
            stats.gaps,
        ),
        (
            "history_rereads",
            "Times a channel was read again because a message was not the next one",
            stats.reread,
        ),
        (
            "history_renewals",
            "Times numbers began anew because the store had other messages under known ones",
            stats.renewed,
        ),
        (
            "history_losses",
            "Times the link to the store of histories was lost",
            stats.losses,
        ),
    ] {
        out.count(name, help, value)?;
    }
    Ok(())
}
