//! One lock shard of the key/value store. Owns keys, values and expiry times; never interprets a value,
//! never reads a clock.
//!
//! Keys are ordered by their place, which is derived from their hash. So an interrupted scan continues
//! where it stopped, whatever was added or removed meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use smallvec::SmallVec;

use crate::sync::LOCK_SHARDS;

/// Keys and values. Both may be empty strings of bytes.
#[derive(Default)]
pub(crate) struct KeyTable {
    rows: BTreeMap<u64, Row>,
    len: usize,
    bytes: u64,
    /// The expiry times, each with its place.
    expiring: BTreeSet<(u64, u64)>,
}

/// The keys of one place. More than one key in a place is very unlikely.
type Row = SmallVec<[Entry; 1]>;

struct Entry {
    key: Box<[u8]>,
    value: Bytes,
    /// When the key expires, in milliseconds.
    until: Option<u64>,
}

/// A key with its place. Places are below [`PLACES`], and the place decides the lock shard.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) at: u64,
    pub(crate) key: &'a [u8],
}

/// The value of a key and when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    /// The value.
    pub value: &'a Bytes,
    /// When the key expires, in milliseconds of Unix time; `None` is never.
    pub until: Option<u64>,
}

/// What an update does with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// The key stays as it is.
    Keep,
    /// The key is deleted.
    Delete,
    /// The key gets a value.
    Set {
        /// The value.
        value: Bytes,
        /// When the key expires, in milliseconds of Unix time; `None` is never.
        until: Option<u64>,
    },
    /// The key keeps its value, if it has one, and gets another expiry time.
    Until(Option<u64>),
}

impl<'a> Place<'a> {
    /// The place of a key with this hash.
    pub(crate) fn new(hash: u64, key: &'a [u8]) -> Self {
        Self {
            at: hash >> HASH_BITS_LEFT_OUT,
            key,
        }
    }
}

/// The lock shard of a place. The places of one lock shard are consecutive.
pub(crate) fn lock_shard(at: u64) -> u64 {
    at / (PLACES / LOCK_SHARDS)
}

impl KeyTable {
    /// Removes a few expired keys, shows the key's entry to `change` and does what `change` returns. Calls
    /// `now` only if an entry in this table can expire.
    pub(crate) fn update<R>(
        &mut self,
        place: Place<'_>,
        now: impl FnOnce() -> u64,
        change: impl FnOnce(Option<Held<'_>>) -> (Update, R),
    ) -> R {
        if !self.expiring.is_empty() {
            self.sweep(place, now());
        }
        let entry = self.entry(place);
        let before = entry.and_then(|entry| entry.until);
        let (update, answer) = change(entry.map(Entry::held));
        match update {
            Update::Keep => {}
            Update::Delete => {
                self.remove(place);
                self.expire_at(place.at, before, None);
            }
            Update::Set { value, until } => {
                self.put(place, value, until);
                self.expire_at(place.at, before, until);
            }
            Update::Until(until) => {
                if let Some(entry) = self.entry_mut(place) {
                    entry.until = until;
                    self.expire_at(place.at, before, until);
                }
            }
        }
        answer
    }

    /// Removes expired keys, up to a bound.
    pub(crate) fn expire(&mut self, now: u64) {
        self.expire_some(EXPIRED, now);
    }

    /// The value of a key. Calls `now` only if the key can expire.
    pub(crate) fn get(&self, place: Place<'_>, now: impl FnOnce() -> u64) -> Option<&Bytes> {
        let entry = self.entry(place)?;
        entry
            .until
            .is_none_or(|until| now() < until)
            .then_some(&entry.value)
    }

    /// Shows the keys of at most `left` places from `from` on. Returns the place to continue with if there
    /// are more.
    pub(crate) fn scan(
        &self,
        from: u64,
        left: &mut usize,
        now: u64,
        visit: &mut dyn FnMut(&[u8], &Bytes),
    ) -> Option<u64> {
        for (&at, row) in self.rows.range(from..) {
            if *left == 0 {
                return Some(at);
            }
            *left -= 1;
            for entry in row {
                if entry.until.is_none_or(|until| now < until) {
                    visit(&entry.key, &entry.value);
                }
            }
        }
        None
    }

    /// The number of keys. Expired keys that were not looked at since are included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of keys with an expiry time. Keys of one place that expire at the same time count as one.
    pub(crate) fn expiring(&self) -> usize {
        self.expiring.len()
    }

    /// The size of all keys and values, with [`ENTRY_BYTES`] added for each entry.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes the expired entries of the key's row, and some of other rows.
    fn sweep(&mut self, place: Place<'_>, now: u64) {
        if self.entry(place).is_some_and(|entry| entry.is_due(now)) {
            self.remove_due(place.at, now);
        }
        self.expire_some(SWEPT, now);
    }

    fn expire_some(&mut self, most: usize, now: u64) {
        for _ in 0..most {
            match self.expiring.first() {
                Some(&(until, at)) if until <= now => self.remove_due(at, now),
                _ => return,
            }
        }
    }

    fn remove_due(&mut self, at: u64, now: u64) {
        let Some(row) = self.rows.get_mut(&at) else {
            return;
        };
        let before = row.len();
        let (expiring, bytes) = (&mut self.expiring, &mut self.bytes);
        row.retain(|entry| {
            let due = entry.is_due(now);
            if let Some(until) = entry.until.filter(|_| due) {
                expiring.remove(&(until, at));
                *bytes -= entry.charge();
            }
            !due
        });
        self.len -= before - row.len();
        if row.is_empty() {
            self.rows.remove(&at);
        }
    }

    fn put(&mut self, place: Place<'_>, value: Bytes, until: Option<u64>) {
        if let Some(entry) = self.entry_mut(place) {
            let before = entry.charge();
            entry.value = value;
            entry.until = until;
            let after = entry.charge();
            self.bytes = self.bytes + after - before;
            return;
        }
        let key = place.key.into();
        let entry = Entry { key, value, until };
        self.bytes += entry.charge();
        self.rows.entry(place.at).or_default().push(entry);
        self.len += 1;
    }

    fn remove(&mut self, place: Place<'_>) {
        let Some(row) = self.rows.get_mut(&place.at) else {
            return;
        };
        let before = row.len();
        let bytes = &mut self.bytes;
        row.retain(|entry| {
            let goes = *entry.key == *place.key;
            if goes {
                *bytes -= entry.charge();
            }
            !goes
        });
        self.len -= before - row.len();
        if row.is_empty() {
            self.rows.remove(&place.at);
        }
    }

    /// Updates the expiry index after an entry of this place got another expiry time.
    fn expire_at(&mut self, at: u64, before: Option<u64>, after: Option<u64>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            let row = self.rows.get(&at).map(SmallVec::as_slice);
            let others = row.unwrap_or_default().iter();
            if others.into_iter().all(|entry| entry.until != Some(before)) {
                self.expiring.remove(&(before, at));
            }
        }
        if let Some(after) = after {
            self.expiring.insert((after, at));
        }
    }

    fn entry(&self, place: Place<'_>) -> Option<&Entry> {
        let row = self.rows.get(&place.at)?;
        row.iter().find(|entry| *entry.key == *place.key)
    }

    fn entry_mut(&mut self, place: Place<'_>) -> Option<&mut Entry> {
        let row = self.rows.get_mut(&place.at)?;
        row.iter_mut().find(|entry| *entry.key == *place.key)
    }
}

impl Entry {
    fn held(&self) -> Held<'_> {
        Held {
            value: &self.value,
            until: self.until,
        }
    }

    fn charge(&self) -> u64 {
        u64::try_from(self.key.len() + self.value.len()).unwrap_or(u64::MAX) + ENTRY_BYTES
    }

    fn is_due(&self, now: u64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// The number of places. It is small enough for a JavaScript number to hold a place exactly.
pub(crate) const PLACES: u64 = 1 << 52;

/// About how much memory an entry takes beside its key and value.
const ENTRY_BYTES: u64 = 128;

const HASH_BITS_LEFT_OUT: u32 = 12;

/// The most expired keys that one operation on a key removes.
const SWEPT: usize = 8;

/// The most expired keys that one call of `expire` removes.
const EXPIRED: usize = 128;

#[cfg(test)]
mod tests;
