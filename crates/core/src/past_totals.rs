//! What the pasts of all lock shards together keep, and the bounds of that. Owns the counts; knows no past.

use crate::history::HistoryBounds;
use crate::sync::{AtomicU64, Ordering};

/// What the pasts of all lock shards together keep.
#[derive(Default)]
pub(crate) struct Totals {
    most_bytes: AtomicU64,
    most_idle: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Pasts without subscribers.
    pub(crate) idle: AtomicU64,
    /// Numbers publications and cursors.
    stamps: AtomicU64,
}

/// Which bound is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Bytes,
    Idle,
}

impl Totals {
    pub(crate) fn set_bounds(&self, bounds: HistoryBounds) {
        self.most_bytes.store(bounds.bytes, Ordering::Relaxed);
        self.most_idle.store(bounds.channels, Ordering::Relaxed);
    }

    pub(crate) fn bounds(&self) -> HistoryBounds {
        HistoryBounds {
            bytes: self.most_bytes(),
            channels: self.most_idle.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes.load(Ordering::Relaxed)
    }

    /// A number that was never returned before, above 0.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn excess(&self) -> Option<Excess> {
        if self.bytes() > self.most_bytes() {
            return Some(Excess::Bytes);
        }
        (self.idle() > self.most_idle.load(Ordering::Relaxed)).then_some(Excess::Idle)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn idle(&self) -> u64 {
        self.idle.load(Ordering::Relaxed)
    }
}
