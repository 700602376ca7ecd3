//! The memory of context takeover: windows are reserved when a connection opens and given back when it ends. Changes one
//! number, which is one of the gateway's counts; the windows belong to the connections.

use std::sync::Arc;

use crate::contract::Encodings;
use crate::sync::{AtomicUsize, Ordering};

/// The bytes that the contexts of a gateway's connections may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contexts(Arc<AtomicUsize>);

/// Reserved bytes. Dropping it gives them back.
#[derive(Debug)]
pub(super) struct Reservation {
    contexts: Contexts,
    bytes: usize,
}

impl Contexts {
    /// The contexts of the gateway with these encodings.
    pub(crate) fn new(encodings: &Encodings) -> Self {
        Self(Arc::clone(encodings.compression_counts().context_bytes()))
    }

    /// Reserves bytes unless that would be more than `most` together.
    pub(super) fn reserve(&self, bytes: usize, most: usize) -> Option<Reservation> {
        let next = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= most);
        let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
        self.0.fetch_update(set, read, next).ok()?;
        Some(Reservation {
            contexts: self.clone(),
            bytes,
        })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.contexts.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_stay_within_the_bound_of_each_listener() {
        let contexts = Contexts::default();
        let held: Vec<_> = (0..4).map(|_| contexts.reserve(30, 100)).collect();
        assert_eq!(held.iter().flatten().count(), 3);
        assert!(contexts.reserve(10, 95).is_none() && contexts.reserve(10, 100).is_some());
        assert!(contexts.reserve(usize::MAX, usize::MAX).is_none());
        drop(held);
        assert!(contexts.reserve(100, 100).is_some());
    }
}
