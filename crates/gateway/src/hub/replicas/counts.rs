//! What is counted of a store of histories, over all starts of the gateway. Owns the counters of this node; the store has
//! its own.

use millrace_backplane::State;
use millrace_backplane::store::{StoreError, StoreStats};

use crate::stats::HistoryStats;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// See the module.
#[derive(Default)]
pub(super) struct Counts {
    failed: AtomicU64,
    unknown: AtomicU64,
    gaps: AtomicU64,
    /// What the stores of earlier starts have counted.
    ended: Mutex<StoreStats>,
}

impl Counts {
    /// Counts a message that was not published, or of which that is not known.
    pub(super) fn failure(&self, error: StoreError) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if error == StoreError::Unknown {
            self.unknown.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a channel whose subscribers are told of a gap.
    pub(super) fn gap(&self) {
        self.gaps.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps what a store has counted that has ended.
    pub(super) fn ended(&self, store: &StoreStats) {
        self.ended.lock().add(store);
    }

    /// Everything; `store`: what the running one tells, if there is one.
    pub(super) fn stats(&self, followed: usize, store: Option<StoreStats>) -> HistoryStats {
        let now = store.unwrap_or_default();
        let mut counted = *self.ended.lock();
        counted.add(&now);
        HistoryStats {
            state: State::of(now.is_connected, now.losses),
            followed,
            waiting_bytes: now.waiting_bytes,
            stored: counted.appended,
            repeated: counted.repeated,
            failed: self.failed.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
            received: counted.received,
            foreign: counted.foreign,
            reread: counted.reread,
            gaps: self.gaps.load(Ordering::Relaxed),
            renewed: counted.renewed,
            losses: counted.losses,
        }
    }
}
