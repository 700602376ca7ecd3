//! What a node does when the link is lost and when it is restored: it subscribes again, announces that it is back, and
//! holds its messages until the other nodes are subscribed, too. Owns the times.

use std::time::Duration;

use super::Node;
use crate::gauges::count;
use crate::members::HEARTBEAT;

/// How far the node's return has progressed.
#[derive(Debug, Default)]
pub(super) struct Comeback {
    /// Nothing is published before this time: other nodes have lost the server, too, and need time to return.
    settles_at: Duration,
    /// Until this time nothing is published before all nodes are back that were known when the link was lost.
    awaits_until: Duration,
    /// Whether the node must still announce that it is back.
    pub(super) is_unannounced: bool,
}

impl Node {
    /// The link is up. `was_out`: the server was down, not only the link to it.
    pub(crate) fn up(&mut self, was_out: bool, now: Duration) {
        self.interest.up();
        self.slots = None;
        self.is_moved = false;
        self.is_stale = false;
        let settle = match (was_out, self.members.are_back()) {
            (false, _) => Duration::ZERO,
            (true, false) => SETTLE,
            (true, true) => SETTLE_ALONE,
        };
        self.comeback = Comeback {
            settles_at: now + settle,
            awaits_until: now + AWAIT,
            is_unannounced: true,
        };
        if was_out {
            self.say_coming();
        }
        self.beats_at = now + HEARTBEAT;
    }

    /// The link is lost. The server may have accepted `unconfirmed` messages or not.
    pub(crate) fn down(&mut self, unconfirmed: u64) {
        count(&self.gauges.counters.unconfirmed, unconfirmed);
        for topic in self.interest.down() {
            self.tracker.forget(&topic);
        }
        self.said.clear();
        let own = self.own();
        self.members.down(own);
        self.show(0);
    }

    /// Announces that this node is back, when the server has all its subscriptions: a node that has announced itself is
    /// assumed to receive everything.
    pub(super) fn announce(&mut self) {
        if self.comeback.is_unannounced && self.interest.is_restored() {
            self.comeback.is_unannounced = false;
            self.say_here(true);
        }
    }

    /// Whether messages sent now would not reach nodes that are about to return.
    pub(super) fn is_held(&mut self, now: Duration) -> bool {
        if now >= self.comeback.awaits_until + AWAIT_COMING {
            self.members.wait_no_longer();
        } else if now >= self.comeback.awaits_until {
            self.members.wait_for_coming();
        }
        now < self.comeback.settles_at || !self.members.are_back()
    }

    /// Whether the node is about to stop waiting for others that may have announced themselves meanwhile.
    pub(crate) fn gives_up(&self, now: Duration) -> bool {
        now >= self.comeback.awaits_until && !self.members.are_back()
    }

    /// When messages are released if nothing happens before; [`Duration::MAX`] if none are held.
    pub(super) fn held_until(&self, now: Duration) -> Duration {
        let Comeback {
            settles_at,
            awaits_until,
            ..
        } = self.comeback;
        if !self.members.are_back() {
            if now < awaits_until {
                awaits_until
            } else {
                awaits_until + AWAIT_COMING
            }
        } else if settles_at > now {
            settles_at
        } else {
            Duration::MAX
        }
    }
}

/// The shortest time that a node waits before it publishes after an outage, for the sake of nodes that it does not
/// know.
const SETTLE: Duration = Duration::from_millis(500);

/// The same for a node that knew no other: longer than any node waits before it tries to connect again.
const SETTLE_ALONE: Duration = Duration::from_secs(1);

/// The longest time that it waits for the nodes that it knew before.
const AWAIT: Duration = Duration::from_secs(2);

/// The additional time for nodes that have a link by then but are not subscribed yet.
const AWAIT_COMING: Duration = Duration::from_secs(1);
