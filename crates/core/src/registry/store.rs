//! The key/value store. Owns its operations, each of them atomic for its key. Times are milliseconds of
//! Unix time, and `now` is called only where something can expire.

use bytes::Bytes;

use super::Core;
use crate::keys::{Held, KeyTable, PLACES, Place, Update, lock_shard};
use crate::sync::{MutexGuard, Ordering};

impl<K> Core<K> {
    /// The value of a key.
    pub fn key(&self, key: &[u8], now: impl FnOnce() -> u64) -> Option<Bytes> {
        let place = self.place(key);
        self.key_table(place).get(place, now).cloned()
    }

    /// Shows the value of a key to `change` and does what it returns, all under the key's lock. `change`
    /// must be quick and must not call the core.
    pub fn update_key<R>(
        &self,
        key: &[u8],
        now: impl FnOnce() -> u64,
        change: impl FnOnce(Option<Held<'_>>) -> (Update, R),
    ) -> R {
        let place = self.place(key);
        let mut table = self.key_table(place);
        let before = table.bytes();
        let answer = table.update(place, now, change);
        let grown = table.bytes().wrapping_sub(before);
        if grown != 0 {
            // adding a wrapped difference subtracts it
            self.key_bytes.fetch_add(grown, Ordering::Relaxed);
        }
        answer
    }

    /// Removes some expired keys of each lock shard. Without writes nothing else removes them.
    pub fn expire_keys(&self, now: u64) {
        for mut table in self.keys.each() {
            let before = table.bytes();
            table.expire(now);
            let grown = table.bytes().wrapping_sub(before);
            self.key_bytes.fetch_add(grown, Ordering::Relaxed);
        }
    }

    /// About how many bytes all keys and values take.
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes.load(Ordering::Relaxed)
    }

    /// Stores a value that never expires, or deletes the key if `value` is `None`. Returns the value
    /// before.
    pub fn set_key(
        &self,
        key: &[u8],
        value: Option<Bytes>,
        now: impl FnOnce() -> u64,
    ) -> Option<Bytes> {
        self.update_key(key, now, |held| {
            (Update::to(value), held.map(|held| held.value.clone()))
        })
    }

    /// Does what [`set_key`](Self::set_key) does if the present value equals `check`, where `None` means
    /// absent. Returns whether it did.
    pub fn set_key_if(
        &self,
        key: &[u8],
        new: Option<Bytes>,
        check: Option<&[u8]>,
        now: impl FnOnce() -> u64,
    ) -> bool {
        self.update_key(key, now, |held| {
            if held.map(|held| &held.value[..]) == check {
                (Update::to(new), true)
            } else {
                (Update::Keep, false)
            }
        })
    }

    /// Shows about `count` keys, at least one, from a cursor on, and returns the next cursor. A scan begins
    /// with 0, and 0 is returned when all keys were shown. A key that exists from the first call to the
    /// last is shown exactly once. Each lock shard is visited under its lock, so `visit` must not call the
    /// core. Cursors are below 2^52.
    pub fn scan_keys(
        &self,
        cursor: u64,
        count: usize,
        now: u64,
        visit: &mut dyn FnMut(&[u8], &Bytes),
    ) -> u64 {
        if cursor >= PLACES {
            return 0;
        }
        let mut left = count.max(1);
        for (shard, table) in (0..).zip(self.keys.each()) {
            if shard >= lock_shard(cursor)
                && let Some(next) = table.scan(cursor, &mut left, now, visit)
            {
                return next;
            }
        }
        0
    }

    /// The number of keys, including some that have expired.
    pub fn key_count(&self) -> usize {
        self.keys.each().map(|table| table.len()).sum()
    }

    /// About how many keys have an expiry time.
    pub fn expiring_count(&self) -> usize {
        self.keys.each().map(|table| table.expiring()).sum()
    }

    fn place<'a>(&self, key: &'a [u8]) -> Place<'a> {
        Place::new(self.hasher.hash_one(key), key)
    }

    fn key_table(&self, place: Place<'_>) -> MutexGuard<'_, KeyTable> {
        self.keys.lock(lock_shard(place.at))
    }
}

impl Update {
    /// Sets a value that never expires, or deletes the key if `value` is `None`.
    fn to(value: Option<Bytes>) -> Self {
        match value {
            Some(value) => Self::Set { value, until: None },
            None => Self::Delete,
        }
    }
}
