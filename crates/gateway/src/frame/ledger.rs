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

    pub(crate) fn subtract(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes held now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}
