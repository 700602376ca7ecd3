//! How much all messages of a gateway hold that are being received, and which I/O shard has the largest of them. Any
//! thread may ask; what is done about it is each shard's affair.

use std::fmt;

use millrace_core::ShardIndex;

use super::Hub;
use crate::inbox::Command;
use crate::limits::MAX_SHARDS;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// See the module.
pub(crate) struct Inbound {
    bytes: AtomicUsize,
    /// The largest of each shard, roughly.
    largest: Box<[AtomicUsize]>,
    /// One bit per shard that holds a connection back until there is room.
    holding: AtomicU64,
    /// One bit per shard that is told to look, and has not yet.
    told: AtomicU64,
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound").finish_non_exhaustive()
    }
}

impl Inbound {
    pub(crate) fn new() -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            largest: (0..MAX_SHARDS).map(|_| AtomicUsize::new(0)).collect(),
            holding: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    /// A shard begins, which may have ended before.
    pub(crate) fn begin(&self, shard: ShardIndex) {
        self.set_largest(shard, 0);
        self.let_go(shard);
        self.looks(shard);
    }

    /// Bytes held now.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A message grew; returns what all of them hold.
    pub(crate) fn grow(&self, by: usize) -> usize {
        self.bytes.fetch_add(by, Ordering::AcqRel) + by
    }

    /// One is complete, or gone. Returns the bits of shards that hold something back and may have room now: they are to
    /// look.
    pub(crate) fn shrink(&self, by: usize, limit: usize) -> u64 {
        let left = self.bytes.fetch_sub(by, Ordering::AcqRel) - by;
        if left > limit {
            return 0;
        }
        self.holding.load(Ordering::Relaxed)
    }

    /// This shard holds a connection back from now on. Returns the bytes: there may be room already, and whoever makes
    /// some later knows of it.
    pub(crate) fn hold_back(&self, shard: ShardIndex) -> usize {
        self.holding.fetch_or(1 << shard.get(), Ordering::Relaxed);
        // a change, so that it is ordered with those of others
        self.bytes.fetch_add(0, Ordering::AcqRel)
    }

    /// … and no longer.
    pub(crate) fn let_go(&self, shard: ShardIndex) {
        let others = !(1 << shard.get());
        self.holding.fetch_and(others, Ordering::Relaxed);
    }

    /// This shard looks now.
    pub(crate) fn looks(&self, shard: ShardIndex) {
        self.told.fetch_and(!(1 << shard.get()), Ordering::AcqRel);
    }

    /// The largest message of this shard is about this large now.
    pub(crate) fn set_largest(&self, shard: ShardIndex, size: usize) {
        self.largest[shard.get()].store(size, Ordering::Relaxed);
    }

    /// The index of the shard with the largest message: this one's own if no other has a larger one.
    pub(crate) fn owner_of_largest(&self, own: ShardIndex) -> usize {
        let size = |index: usize| self.largest[index].load(Ordering::Relaxed);
        let largest = (0..self.largest.len()).max_by_key(|index| size(*index));
        largest
            .filter(|index| size(*index) > size(own.get()))
            .unwrap_or(own.get())
    }

    /// Whether a shard holds a connection back.
    pub(crate) fn is_holding(&self, shard: usize) -> bool {
        self.holding.load(Ordering::Relaxed) & 1 << shard != 0
    }
}

impl Hub {
    /// Has the shards of these bits look at what they receive, each once until it has.
    pub(crate) fn look_at_inbound(&self, bits: u64) {
        if bits == 0 {
            return;
        }
        let bits = bits & !self.inbound.told.fetch_or(bits, Ordering::AcqRel);
        let shards = (0..64).filter(|index| bits & 1 << index != 0);
        for shard in shards.filter_map(ShardIndex::new) {
            self.inboxes.post(shard, Command::LookAtInbound);
        }
        self.inboxes.wake_bits(bits);
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: whoever holds back while another makes room sees it, or is woken.
#[cfg(all(test, millrace_loom))]
mod loom_tests {
    use loom::sync::Arc;

    use super::*;

    #[test]
    fn room_made_while_a_connection_is_held_back_is_not_missed() {
        loom::model(|| {
            let inbound = Arc::new(Inbound::new());
            let shard = ShardIndex::new(0).unwrap();
            inbound.grow(3);
            let other = Arc::clone(&inbound);
            let completed = loom::thread::spawn(move || other.shrink(2, 1));
            let is_over = inbound.hold_back(shard) > 1;
            let woken = completed.join().unwrap();
            assert!(!is_over || woken == 1, "it waits for ever");
        });
    }
}
