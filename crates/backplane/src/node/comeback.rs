//! What a node does when the link is lost and when it is back: it subscribes again, tells the others that it hears, and
//! holds back what it has for them until they hear, too. Owns how long.

use std::time::Duration;

use super::Node;
use crate::gauges::count;
use crate::members::HEARTBEAT;

/// How far it has come.
#[derive(Debug, Default)]
pub(super) struct Comeback {
    /// Nothing is published before: others have lost the server too, and need time to come back.
    settles_at: Duration,
    /// … nor, up to then, before all are back that were there when the link was lost.
    awaits_until: Duration,
    /// The others have not been told yet that this node is back.
    pub(super) is_unannounced: bool,
}

impl Node {
    /// The link is up. `was_out`: the server was away, not only the link to it.
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

    /// The link is lost, with messages on it that the server may have or not.
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

    /// Tells the others that this node is back. Not before the server has all its subscriptions: who hears it takes it for
    /// one that hears everything.
    pub(super) fn announce(&mut self) {
        if self.comeback.is_unannounced && self.interest.is_restored() {
            self.comeback.is_unannounced = false;
            self.say_here(true);
        }
    }

    /// Whether what is sent now would not reach nodes that are about to come back.
    pub(super) fn is_held(&mut self, now: Duration) -> bool {
        if now >= self.comeback.awaits_until + AWAIT_COMING {
            self.members.wait_no_longer();
        } else if now >= self.comeback.awaits_until {
            self.members.wait_for_coming();
        }
        now < self.comeback.settles_at || !self.members.are_back()
    }

    /// Whether somebody is about to be given up, who may have been heard meanwhile.
    pub(crate) fn gives_up(&self, now: Duration) -> bool {
        now >= self.comeback.awaits_until && !self.members.are_back()
    }

    /// When that ends if nothing happens; [`Duration::MAX`] where nothing is held.
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

/// How long a node that comes back after an outage waits at least before it publishes: for nodes that it does not know.
const SETTLE: Duration = Duration::from_millis(500);

/// … where it knew nobody: longer than anybody takes to try again.
const SETTLE_ALONE: Duration = Duration::from_secs(1);

/// How long it waits at most for those that it knew before.
const AWAIT: Duration = Duration::from_secs(2);

/// … and so much longer for those that have said by then that they have a link, and have to subscribe yet.
const AWAIT_COMING: Duration = Duration::from_secs(1);
