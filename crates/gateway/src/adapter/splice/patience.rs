//! How long a client waits for a target that takes less than it is sent. Without any waiting, whoever writes faster than a target
//! reads would lose it; with much, its other targets would wait, too. So the client is not read until there is room, for a
//! moment at most, and again only when some more waits for that target. Owns whom is waited for; never closes anybody.

use std::cell::{Cell, RefCell};

use super::limits::FixedSpliceLimits;
use crate::contract::{Context, Link};

/// See the module.
#[derive(Debug)]
pub(super) struct Patience {
    /// The longest that a client waits for a target, in milliseconds.
    longest: u64,
    /// What may wait for a target beyond what waited when that was over.
    step: usize,
    /// A target that holds much since the last look.
    full: Cell<Option<Link>>,
    /// Whom the client waits for, and until when.
    waits: Cell<Option<(Link, u64)>>,
    /// Those that made no room in time, and have not since: above which bytes they are waited for again.
    slow: RefCell<Vec<(Link, usize)>>,
}

impl Patience {
    /// So much may wait for each target.
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

    /// So much waits for a target, to which something was written.
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

    /// All that was read is relayed: the client waits where a target has no room.
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

    /// Ends the waiting if the target has room, is gone, or had its time.
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

    /// When the waiting ends.
    pub(super) fn until(&self) -> Option<u64> {
        self.waits.get().map(|(_, until)| until)
    }
}

/// Into so many steps the queue of a target is parted.
const STEPS: usize = 32;

/// What a target may have waiting before its client waits, and what it has when it is no longer slow.
const MUCH: usize = 256 * 1024;
const LITTLE: usize = 64 * 1024;
