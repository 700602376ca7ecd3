//! One lock shard of the key/value store. Owns keys, values and when they expire; never interprets a value,
//! never reads a clock.
//!
//! Keys stand in the order of their places, which are their hashes: so a scan that is given up and taken up
//! again later goes on where it was, whatever came and went meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use smallvec::SmallVec;

use crate::sync::LOCK_SHARDS;

/// Keys and values; both may be empty.
#[derive(Default)]
pub(crate) struct KeyTable {
    rows: BTreeMap<u64, Row>,
    len: usize,
    bytes: u64,
    /// When something expires, and at which place.
    expiring: BTreeSet<(u64, u64)>,
}

/// The keys of one place; more than one is next to impossible.
type Row = SmallVec<[Entry; 1]>;

struct Entry {
    key: Box<[u8]>,
    value: Bytes,
    /// From when on it is not there, in milliseconds.
    until: Option<u64>,
}

/// A key with its place: below [`PLACES`], and which lock shard it is in.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) at: u64,
    pub(crate) key: &'a [u8],
}

/// What a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    /// The value.
    pub value: &'a Bytes,
    /// From when on it is gone, in milliseconds of Unix time; `None` is never.
    pub until: Option<u64>,
}

/// What becomes of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// It stays as it is.
    Keep,
    /// It is deleted.
    Delete,
    /// It gets a value.
    Set {
        /// The value.
        value: Bytes,
        /// From when on it is gone, in milliseconds of Unix time; `None` is never.
        until: Option<u64>,
    },
    /// It keeps its value, if it has one, until another time.
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

/// The lock shard of a place; those of one are in a row.
pub(crate) fn lock_shard(at: u64) -> u64 {
    at / (PLACES / LOCK_SHARDS)
}

impl KeyTable {
    /// Shows what is there and does what is answered, after a few of those that are due were removed. `now`
    /// is asked where something here can expire.
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

    /// Removes what is due, up to a bound.
    pub(crate) fn expire(&mut self, now: u64) {
        self.expire_some(EXPIRED, now);
    }

    /// The value; `now` is asked if it can expire.
    pub(crate) fn get(&self, place: Place<'_>, now: impl FnOnce() -> u64) -> Option<&Bytes> {
        let entry = self.entry(place)?;
        entry
            .until
            .is_none_or(|until| now() < until)
            .then_some(&entry.value)
    }

    /// Shows the keys of at most `left` places from `from` on; the place to go on with if there are more.
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

    /// How many keys there are; those that expired and were not looked at since are among them.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many of them are to expire; those of one place at one time count as one.
    pub(crate) fn expiring(&self) -> usize {
        self.expiring.len()
    }

    /// What keys and values take, each charged [`ENTRY_BYTES`] on top.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes the key's row's expired entries, and some that are due elsewhere.
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

    /// Takes note that an entry of a place, already changed, expires at another time.
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

/// Places that there are: few enough for a place to be exact in a JavaScript number.
pub(crate) const PLACES: u64 = 1 << 52;

/// What an entry takes beside its key and value, about.
const ENTRY_BYTES: u64 = 128;

const HASH_BITS_LEFT_OUT: u32 = 12;

/// Keys that are due and removed beside one that is looked at.
const SWEPT: usize = 8;

/// … and at most where that is what is asked for.
const EXPIRED: usize = 128;

#[cfg(test)]
mod tests;
