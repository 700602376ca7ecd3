//! Where sockets live. Owns the numbers of I/O shards and of their slots; never knows what an I/O shard
//! is.

use crate::id::SocketId;

/// The number of an I/O shard, 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardIndex(u8);

impl ShardIndex {
    /// How many I/O shards there can be.
    pub const END: u8 = 64;

    /// The first shard, which there always is.
    pub const FIRST: Self = Self(0);

    /// The shard with this number; `None` from 64 on.
    pub const fn new(index: u8) -> Option<Self> {
        if index < Self::END {
            Some(Self(index))
        } else {
            None
        }
    }

    /// The number, for indexing.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }

    const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// A set of I/O shards, for example those to wake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardSet(u64);

impl ShardSet {
    /// Adds a shard; true if it was not in the set.
    pub const fn insert(&mut self, shard: ShardIndex) -> bool {
        let before = self.0;
        self.0 |= shard.bit();
        self.0 != before
    }

    /// Empties the set and returns what was in it.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// True if the shard is in the set.
    pub const fn contains(self, shard: ShardIndex) -> bool {
        self.0 & shard.bit() != 0
    }

    /// True if no shard is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The shards in the set, lowest first.
    pub fn iter(self) -> impl Iterator<Item = ShardIndex> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let lowest = u8::try_from(bits.trailing_zeros())
                .ok()
                .and_then(ShardIndex::new)?;
            bits &= bits - 1;
            Some(lowest)
        })
    }
}

/// Where a real socket lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The I/O shard that owns the connection.
    pub shard: ShardIndex,
    /// The slot in that shard's table. It is reused when the connection is gone.
    pub slot: u32,
    /// The real socket's id, by which the shard detects that the slot has another socket now.
    pub socket: SocketId,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(index: u8) -> ShardIndex {
        ShardIndex::new(index).unwrap()
    }

    #[test]
    fn there_are_64_shards() {
        assert_eq!(shard(63).get(), 63);
        assert_eq!(ShardIndex::new(64), None);
        assert_eq!(ShardIndex::new(255), None);
    }

    #[test]
    fn a_set_holds_the_first_and_the_last_shard() {
        let mut set = ShardSet::default();
        assert!(set.is_empty());
        assert!(set.insert(shard(63)));
        assert!(set.insert(shard(0)));
        assert!(!set.insert(shard(0)));
        assert!(set.contains(shard(0)) && set.contains(shard(63)) && !set.contains(shard(1)));
        assert_eq!(set.iter().collect::<Vec<_>>(), [shard(0), shard(63)]);
    }

    #[test]
    fn taking_a_set_empties_it() {
        let mut set = ShardSet::default();
        set.insert(shard(7));
        let taken = set.take();
        assert!(set.is_empty());
        assert_eq!(taken.iter().collect::<Vec<_>>(), [shard(7)]);
    }

    #[test]
    fn a_route_is_two_words() {
        assert_eq!(size_of::<Route>(), 16);
    }
}
