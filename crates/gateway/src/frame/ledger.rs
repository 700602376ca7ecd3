//! How much memory the outboxes of a gateway hold. Each I/O shard counts in a ledger of its own, so that shards do not
//! wait for each other's cache lines; the sum is computed where a limit is checked.
//!
//! The sum is exact except for changes that happen while it is computed. A frame is counted in the ledger of the shard
//! that queued it first. Publications that no outbox has queued are not counted here: while they are in inboxes, these
//! [charge](crate::inbox) for them.

use std::sync::Arc;

use millrace_core::ShardIndex;

use crate::limits::MAX_SHARDS;
use crate::sync::{AtomicUsize, Mutex, Ordering, Padded};

/// Bytes held by the frames and entries that one shard's outboxes queued.
#[derive(Debug)]
pub(crate) struct Ledger {
    held: Padded<AtomicUsize>,
}

/// The ledgers of all shards.
#[derive(Debug)]
pub(crate) struct Ledgers {
    all: Box<[Arc<Ledger>]>,
    /// The number of ledgers that were given out: the others are empty.
    used: AtomicUsize,
    /// Locked while bytes are counted on condition that they fit.
    conditional: Mutex<()>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            held: Padded(AtomicUsize::new(0)),
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The bytes held now.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl Ledgers {
    pub(crate) fn new() -> Self {
        Self {
            all: (0..MAX_SHARDS).map(|_| Arc::new(Ledger::new())).collect(),
            used: AtomicUsize::new(0),
            conditional: Mutex::new(()),
        }
    }

    /// The ledger of a shard.
    pub(crate) fn of(&self, shard: ShardIndex) -> &Arc<Ledger> {
        self.used.fetch_max(shard.get() + 1, Ordering::SeqCst);
        &self.all[shard.get()]
    }

    /// The bytes that all shards hold now.
    pub(crate) fn held(&self) -> usize {
        let used = self.used.load(Ordering::Relaxed);
        // a sum of values that are read one after the other can be larger than a number
        let all = self.all.iter().take(used);
        all.fold(0, |sum, one| sum.saturating_add(one.held()))
    }

    /// Counts bytes in this shard's ledger if the sum of all stays within `limit`. False: they are not counted.
    pub(super) fn try_add(&self, ledger: &Ledger, bytes: usize, limit: usize) -> bool {
        let _alone = self.conditional.lock();
        let fits = self
            .held()
            .checked_add(bytes)
            .is_some_and(|sum| sum <= limit);
        if fits {
            ledger.add(bytes);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_all_shards() {
        let ledgers = Ledgers::new();
        let of = |shard| ledgers.of(ShardIndex::new(shard).unwrap());
        of(0).add(3);
        of(63).add(4);
        assert_eq!(ledgers.held(), 7);
        of(63).subtract(2);
        assert_eq!((ledgers.held(), of(63).held()), (5, 2));
    }

    #[test]
    fn bytes_are_counted_only_if_they_fit_beside_those_of_other_shards() {
        let ledgers = Ledgers::new();
        let [first, second] = [0, 1].map(|shard| ledgers.of(ShardIndex::new(shard).unwrap()));
        first.add(60);
        assert!(!ledgers.try_add(second, 41, 100));
        assert!(!ledgers.try_add(second, usize::MAX, 100));
        assert_eq!(ledgers.held(), 60);
        assert!(ledgers.try_add(second, 40, 100));
        assert_eq!((ledgers.held(), second.held()), (100, 40));
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`.
#[cfg(all(test, millrace_loom))]
mod loom_tests {
    use super::*;

    #[test]
    fn two_shards_never_exceed_the_limit_together() {
        loom::model(|| {
            let ledgers = Arc::new(Ledgers::new());
            let [first, second] = [0, 1].map(|shard| {
                let shard = ShardIndex::new(shard).unwrap();
                Arc::clone(ledgers.of(shard))
            });
            let other = Arc::clone(&ledgers);
            let adding = loom::thread::spawn(move || other.try_add(&second, 60, 100));
            let fits = [ledgers.try_add(&first, 60, 100), adding.join().unwrap()];
            assert_eq!(fits.iter().filter(|fits| **fits).count(), 1);
            assert_eq!(ledgers.held(), 60);
        });
    }
}
