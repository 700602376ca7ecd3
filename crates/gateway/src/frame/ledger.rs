//! How much memory all frames and outboxes of a gateway hold.

use crate::sync::{AtomicUsize, Ordering};

/// Bytes held by all frames and outbox entries of a gateway.
#[derive(Debug)]
pub(crate) struct Ledger {
    held: AtomicUsize,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            held: AtomicUsize::new(0),
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes if the sum stays within `limit`. False: they are not counted.
    pub(super) fn try_add(&self, bytes: usize, limit: usize) -> bool {
        let sum = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= limit);
        let update = (Ordering::Relaxed, Ordering::Relaxed);
        self.held.fetch_update(update.0, update.1, sum).is_ok()
    }

    pub(crate) fn subtract(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The bytes held now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}
