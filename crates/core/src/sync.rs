//! Locks and atomics. Owns the choice between the real ones and loom's models of them, and the number
//! of lock shards; no other file names either library. Never nests two locks.

use std::fmt;

#[cfg(not(loom))]
pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::MutexGuard;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// loom's mutex with the interface of the real one, which has no poisoning.
#[cfg(loom)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(loom)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .expect("a model that panicked has already failed")
    }
}

/// loom's reader-writer lock with the interface of the real one.
#[cfg(loom)]
pub(crate) struct RwLock<T>(loom::sync::RwLock<T>);

#[cfg(loom)]
impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
        self.0
            .read()
            .expect("a model that panicked has already failed")
    }

    pub(crate) fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
        self.0
            .write()
            .expect("a model that panicked has already failed")
    }
}

/// One value per lock shard, each behind its own lock and on its own cache lines. An array, so that no index is checked.
pub(crate) struct Sharded<T>(Box<[Padded<Mutex<T>>; SHARDS]>);

#[repr(align(128))]
struct Padded<T>(T);

impl<T> Sharded<T> {
    /// Makes one value for each lock shard by calling `make` with its index.
    pub(crate) fn new(make: impl FnMut(u64) -> T) -> Self {
        let shards: Box<[_]> = (0..LOCK_SHARDS)
            .map(make)
            .map(|value| Padded(Mutex::new(value)))
            .collect();
        let shards: Option<Box<[_; SHARDS]>> = shards.try_into().ok();
        Self(shards.expect("as many as there are lock shards"))
    }

    /// Locks the shard that `key` falls into: `key` modulo the number of shards.
    pub(crate) fn lock(&self, key: u64) -> MutexGuard<'_, T> {
        #[expect(
            clippy::as_conversions,
            reason = "below LOCK_SHARDS; on every send and publish"
        )]
        let index = (key % LOCK_SHARDS) as usize;
        self.0[index].0.lock()
    }

    /// Locks one shard after the other, never two at once.
    pub(crate) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(|shard| shard.0.lock())
    }
}

impl<T> fmt::Debug for Sharded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharded")
            .field("shards", &self.0.len())
            .finish_non_exhaustive()
    }
}

/// The number of lock shards of each table. loom's models have two, because loom explores every
/// interleaving.
pub(crate) const LOCK_SHARDS: u64 = if cfg!(loom) { 2 } else { 64 };
const SHARDS: usize = if cfg!(loom) { 2 } else { 64 };
