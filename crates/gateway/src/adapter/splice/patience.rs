//! How long a client waits for a slow target. Without any wait, a client that writes faster than a target reads would
//! soon overflow that target; with a long wait, its other targets would have to wait, too. So the client is not read
//! until the target has room, for a short time at most, and waits again only after the target's queue has grown by
//! another step. Owns the waiting state; never closes a connection.

use std::cell::{Cell, RefCell};

use super::limits::FixedSpliceLimits;
use crate::contract::{Context, Link};

/// See the module.
#[derive(Debug)]
pub(super) struct Patience {
    /// The longest time that a client waits for a target, in milliseconds.
    longest: u64,
    /// The bytes by which the queue of a slow target may grow before the client waits again.
    step: usize,
    /// A target whose queue has grown long since the last look.
    full: Cell<Option<Link>>,
    /// The target that the client waits for, and until when.
    waits: Cell<Option<(Link, u64)>>,
    /// Targets that made no room in time and have made none since, and the bytes above which the client waits for them
    /// again.
    slow: RefCell<Vec<(Link, usize)>>,
}

impl Patience {
    /// The state for targets that may each have this many bytes waiting.
    pub(super) fn new(most: usize) -> Self {
        let longest = FixedSpliceLimits::default().slow_target_wait.as_millis();
        Self {
            longest: u64::try_from(longest).unwrap_or(u64::MAX),
            step: (most / STEPS).max(MUCH),
            full: Cell::default(),
            waits: Cell::default(),
            slow: RefCell::default(),
        }
    }

    /// Records that something was written to a target, for which this many bytes wait now.
    pub(super) fn wrote(&self, target: Link, queued: usize) {
        if queued <= LITTLE {
            if !self.slow.borrow().is_empty() {
                self.slow.borrow_mut().retain(|(slow, _)| *slow != target);
            }
        } else if queued > MUCH && queued > self.mark_of(target) {
            self.full.set(Some(target));
        }
    }

    fn mark_of(&self, target: Link) -> usize {
        let slow = self.slow.borrow();
        let found = slow.iter().find(|(slow, _)| *slow == target);
        found.map_or(MUCH, |(_, mark)| *mark)
    }

    /// Starts to wait if a target has no room, after everything that was read is relayed.
    pub(super) fn begin(&self, cx: &mut Context<'_>) {
        let Some(target) = self.full.take() else {
            return;
        };
        if !cx.is_closing() && cx.room_of(target) == Some(false) {
            self.waits
                .set(Some((target, cx.now().saturating_add(self.longest))));
            cx.hold_input(true);
        }
    }

    /// Ends the waiting if the target has room, is gone, or has had its time.
    pub(super) fn look(&self, cx: &mut Context<'_>) {
        let Some((target, until)) = self.waits.get() else {
            return;
        };
        if cx.room_of(target) == Some(false) {
            if cx.now() < until {
                return;
            }
            let mark = cx.queued_of(target).unwrap_or_default() + self.step;
            let mut slow = self.slow.borrow_mut();
            slow.retain(|(slow, _)| *slow != target && cx.queued_of(*slow).is_some());
            slow.push((target, mark));
        }
        self.waits.set(None);
        cx.hold_input(false);
    }

    /// The time at which the waiting ends.
    pub(super) fn until(&self) -> Option<u64> {
        self.waits.get().map(|(_, until)| until)
    }
}

/// The number of steps that the queue of a target is divided into.
const STEPS: usize = 32;

/// The bytes that may wait for a target before its client waits, and the bytes at which it no longer counts as slow.
const MUCH: usize = 256 * 1024;
const LITTLE: usize = 64 * 1024;
