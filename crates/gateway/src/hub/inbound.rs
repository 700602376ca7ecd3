//! The bytes of all messages of a gateway that are being received, and which I/O shard has the largest message. Any
//! thread may ask; each shard decides itself what to do.

use std::fmt;
use std::sync::Arc;

use millrace_core::ShardIndex;

use super::Hub;
use crate::inbox::Command;
use crate::limits::MAX_SHARDS;
use crate::sync::{AtomicU64, AtomicUsize, Ordering, Padded};

/// See the module.
pub(crate) struct Inbound {
    bytes: Padded<AtomicUsize>,
    /// Those of them that are [received](Received) beside the buffers of connections.
    beside: Padded<AtomicUsize>,
    /// The approximate size of the largest message of each shard.
    largest: Box<[Padded<AtomicUsize>]>,
    /// One bit per shard that holds a connection back until there is room.
    holding: AtomicU64,
    /// One bit per shard that was told to check and has not done so yet.
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
            bytes: Padded(AtomicUsize::new(0)),
            beside: Padded(AtomicUsize::new(0)),
            largest: (0..MAX_SHARDS)
                .map(|_| Padded(AtomicUsize::new(0)))
                .collect(),
            holding: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    /// Resets the state of a shard that starts, which may have run before.
    pub(crate) fn begin(&self, shard: ShardIndex) {
        self.set_largest(shard, 0);
        self.let_go(shard);
        self.looks(shard);
    }

    /// The bytes held now.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Records that a message grew; returns the bytes of all messages.
    pub(crate) fn grow(&self, by: usize) -> usize {
        self.bytes.fetch_add(by, Ordering::AcqRel) + by
    }

    /// Records that a message is complete or gone. Returns the bits of shards that hold something back, if there may be
    /// room now: the caller has to tell them to check.
    pub(crate) fn shrink(&self, by: usize, limit: usize) -> u64 {
        let left = self.bytes.fetch_sub(by, Ordering::AcqRel) - by;
        if left > limit {
            return 0;
        }
        self.holding.load(Ordering::Relaxed)
    }

    /// Records that this shard holds a connection back. Returns the bytes, because there may be room already; threads
    /// that make room later see the shard's bit.
    pub(crate) fn hold_back(&self, shard: ShardIndex) -> usize {
        self.holding.fetch_or(1 << shard.get(), Ordering::Relaxed);
        // a read-modify-write, so that it is ordered with those of other threads
        self.bytes.fetch_add(0, Ordering::AcqRel)
    }

    /// Records that this shard no longer holds a connection back.
    pub(crate) fn let_go(&self, shard: ShardIndex) {
        let others = !(1 << shard.get());
        self.holding.fetch_and(others, Ordering::Relaxed);
    }

    /// Records that this shard checks now.
    pub(crate) fn looks(&self, shard: ShardIndex) {
        self.told.fetch_and(!(1 << shard.get()), Ordering::AcqRel);
    }

    /// Records the approximate size of this shard's largest message.
    pub(crate) fn set_largest(&self, shard: ShardIndex, size: usize) {
        self.largest[shard.get()].store(size, Ordering::Relaxed);
    }

    /// The index of the shard with the largest message: the caller's own, unless another shard has a larger one.
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

/// The bytes of a message that is received beside the buffers of connections. They count until this is dropped. All of these
/// together have at most half of what messages may have, because no connection is held back for them.
pub(crate) struct Received {
    hub: Arc<Hub>,
    /// What has come, and how much of it counts.
    bytes: usize,
    counted: usize,
    limit: usize,
}

impl Received {
    /// Nothing so far. `limit`: how much all messages together may have.
    pub(crate) fn new(hub: &Arc<Hub>, limit: usize) -> Self {
        Self {
            hub: Arc::clone(hub),
            bytes: 0,
            counted: 0,
            limit,
        }
    }

    /// Counts more bytes, unless they are few in all. False: there is no room for them.
    pub(crate) fn grow(&mut self, by: usize) -> bool {
        self.bytes += by;
        if self.bytes < UNCOUNTED_BYTES {
            return true;
        }
        let by = self.bytes - self.counted;
        self.counted = self.bytes;
        let inbound = &self.hub.inbound;
        inbound.grow(by);
        inbound.beside.fetch_add(by, Ordering::Relaxed) + by <= self.limit / 2
    }

    /// Some bytes have gone to where they count otherwise, or do not count any more.
    pub(crate) fn shrink(&mut self, by: usize) {
        let by = by.min(self.counted);
        if by == 0 {
            return;
        }
        self.counted -= by;
        let inbound = &self.hub.inbound;
        inbound.beside.fetch_sub(by, Ordering::Relaxed);
        let bits = inbound.shrink(by, self.limit);
        self.hub.look_at_inbound(bits);
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.shrink(self.counted);
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Received").field(&self.bytes).finish()
    }
}

/// Messages of which less has arrived do not count: a connection takes that much memory anyway.
pub(crate) const UNCOUNTED_BYTES: usize = 1024;

impl Hub {
    /// Tells the shards of these bits to check what they receive. A shard that was told is not told again before it has
    /// checked.
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

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: a shard that holds back while another makes room sees the room or is
/// woken.
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
            assert!(!is_over || woken == 1, "the connection waits forever");
        });
    }
}
