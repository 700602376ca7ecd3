//! How keys are hashed. Owns the hasher of ids, which is cheap and has no state because ids are ours,
//! and the hasher state for names, which is keyed because peers choose names; never decides where a key
//! is stored.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use ahash::RandomState;

use crate::id::SocketId;

/// A map by socket id, without per-map hasher state.
pub(crate) type SocketMap<V> = HashMap<SocketId, V, BuildHasherDefault<IdHasher>>;

/// Spreads ids that are handed out consecutively. A peer cannot choose ids, so it cannot make them
/// collide.
#[derive(Clone, Copy, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write_u64(&mut self, id: u64) {
        let spread = (self.0 ^ id).wrapping_mul(GOLDEN);
        // the low bits choose the bucket, but the ids of one lock shard differ only in their high bits
        self.0 = spread ^ (spread >> 32);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// 2^64 divided by the golden ratio, odd.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Random keys for hashing names. loom's models need repeatable runs and get fixed keys.
pub(crate) fn name_hasher() -> RandomState {
    if cfg!(loom) {
        RandomState::with_seeds(1, 2, 3, 4)
    } else {
        RandomState::new()
    }
}

/// Random bits of this process, from which nobody learns how names are hashed.
pub(crate) fn random_bits() -> u64 {
    if cfg!(loom) {
        return 5;
    }
    std::collections::hash_map::RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasherDefault;

    #[test]
    fn ids_of_one_lock_shard_spread_over_the_buckets() {
        let hasher = BuildHasherDefault::<IdHasher>::default();
        let ids = (0..1024_u64).map(|n| SocketId::new(5 + n * 64).unwrap());
        let buckets: HashSet<u64> = ids.map(|id| hasher.hash_one(id) % 1024).collect();
        assert!(
            buckets.len() > 512,
            "only {} of 1024 buckets used",
            buckets.len()
        );
    }

    #[test]
    fn ids_differ_in_the_tag_bits() {
        let hasher = BuildHasherDefault::<IdHasher>::default();
        let ids = (0..1024_u64).map(|n| SocketId::new(5 + n * 64).unwrap());
        let tags: HashSet<u64> = ids.map(|id| hasher.hash_one(id) >> 57).collect();
        assert!(tags.len() > 100, "only {} of 128 tags used", tags.len());
    }
}
