//! What the handle of a store and its task share: the counters, the bound on what waits, and what changed about the
//! channels that are followed.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ahash::AHashMap;
use millrace_core::HistoryTerms;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::stats::Counters;
use crate::config::Bounds;

/// See the module.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) counters: Counters,
    /// The bytes of what waits or is under way.
    waiting: AtomicUsize,
    most_waiting: usize,
    /// The most bytes of a message.
    pub(super) longest: usize,
    changes: Mutex<AHashMap<Box<[u8]>, Change>>,
    pub(super) changed: Notify,
}

/// What changed about a channel since the task looked.
#[derive(Clone, Copy, Default)]
pub(super) struct Change {
    /// It is not followed any more.
    pub(super) ends: bool,
    /// It is followed, after that.
    pub(super) begins: Option<HistoryTerms>,
}

impl Shared {
    pub(super) fn new(bounds: &Bounds) -> Self {
        Self {
            most_waiting: bounds.queue_bytes,
            longest: bounds.message_bytes,
            ..Self::default()
        }
    }

    /// What is notified when something changed, and how often the link was lost.
    pub(super) fn signals(&self) -> (&Notify, &AtomicU64) {
        (&self.changed, &self.counters.losses)
    }

    /// The bytes of what waits or is under way.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Takes so many bytes of the bound, if they are left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.most_waiting;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What changed since the last call.
    pub(super) fn changes(&self) -> AHashMap<Box<[u8]>, Change> {
        std::mem::take(&mut *self.changes.lock())
    }

    /// Notes a change of a channel.
    pub(super) fn change(&self, channel: &[u8], apply: impl FnOnce(&mut Change)) {
        {
            let mut changes = self.changes.lock();
            match changes.get_mut(channel) {
                Some(change) => apply(change),
                None => apply(changes.entry(channel.into()).or_default()),
            }
        }
        self.changed.notify_one();
    }
}
