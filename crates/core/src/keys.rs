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

    /// Removes the key's row's expired entries, and some that are due elsewhere.
    fn sweep(&mut self, place: Place<'_>, now: u64) {
        if self.entry(place).is_some_and(|entry| entry.is_due(now)) {
            self.remove_due(place.at, now);
        }
        for _ in 0..SWEPT {
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
        let expiring = &mut self.expiring;
        row.retain(|entry| {
            let due = entry.is_due(now);
            if let Some(until) = entry.until.filter(|_| due) {
                expiring.remove(&(until, at));
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
            entry.value = value;
            entry.until = until;
            return;
        }
        let key = place.key.into();
        let entry = Entry { key, value, until };
        self.rows.entry(place.at).or_default().push(entry);
        self.len += 1;
    }

    fn remove(&mut self, place: Place<'_>) {
        let Some(row) = self.rows.get_mut(&place.at) else {
            return;
        };
        let before = row.len();
        row.retain(|entry| *entry.key != *place.key);
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

    fn is_due(&self, now: u64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// Places that there are: few enough for a place to be exact in a JavaScript number.
pub(crate) const PLACES: u64 = 1 << 52;

const HASH_BITS_LEFT_OUT: u32 = 12;

/// Keys that are due and removed beside one that is looked at.
const SWEPT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const A: Bytes = Bytes::from_static(b"a");

    /// All in one row.
    fn place(key: &str) -> Place<'_> {
        Place {
            at: 7,
            key: key.as_bytes(),
        }
    }

    fn set(table: &mut KeyTable, place: Place<'_>, until: Option<u64>, now: u64) -> bool {
        table.update(
            place,
            || now,
            |held| (Update::Set { value: A, until }, held.is_some()),
        )
    }

    fn update(table: &mut KeyTable, key: &str, update: Update, now: u64) -> bool {
        table.update(place(key), || now, |held| (update, held.is_some()))
    }

    fn keys(table: &KeyTable, now: u64) -> Vec<String> {
        let mut keys = Vec::new();
        let visit = &mut |key: &[u8], _: &Bytes| keys.push(key.escape_ascii().to_string());
        assert_eq!(table.scan(0, &mut usize::MAX.clone(), now, visit), None);
        keys
    }

    #[test]
    fn keys_of_one_place_are_apart() {
        let mut table = KeyTable::default();
        for key in ["", "a", "b"] {
            assert!(!set(&mut table, place(key), None, 0));
            assert!(set(&mut table, place(key), Some(10), 0));
        }
        assert_eq!((table.len(), keys(&table, 0).len()), (3, 3));
        assert!(update(&mut table, "a", Update::Delete, 0));
        assert!(!update(&mut table, "a", Update::Delete, 0));
        assert!(update(&mut table, "b", Update::Until(None), 0));
        assert_eq!(keys(&table, 0), ["", "b"]);
        assert_eq!(keys(&table, 10), ["b"], "expired, and still there");
        assert_eq!(table.expiring.len(), 1);
        assert!(update(&mut table, "b", Update::Keep, 10));
        assert_eq!((table.len(), table.expiring.len()), (1, 0));
    }

    #[test]
    fn what_expired_is_not_there() {
        let mut table = KeyTable::default();
        set(&mut table, place("k"), Some(10), 0);
        assert_eq!(table.get(place("k"), || 9), Some(&A));
        assert_eq!(table.get(place("k"), || 10), None);
        assert!(!update(&mut table, "k", Update::Until(Some(20)), 10));
        assert_eq!((table.len(), table.expiring.len()), (0, 0));
        assert!(!set(&mut table, place("k"), Some(30), 10));
        assert!(set(&mut table, place("k"), Some(20), 10), "sooner");
        assert_eq!(table.expiring.len(), 1);
        assert_eq!(table.get(place("k"), || 25), None);
        assert!(!set(&mut table, place("k"), None, 25));
        let never = || panic!("nothing can expire");
        assert_eq!(table.get(place("k"), never), Some(&A));
        table.update(place("k"), never, |held| {
            let held = held.expect("there");
            assert_eq!((held.value, held.until), (&A, None));
            (Update::Delete, ())
        });
        assert_eq!((table.len(), table.rows.len()), (0, 0));
    }

    #[test]
    fn what_is_due_goes_while_others_are_looked_at() {
        let mut table = KeyTable::default();
        for at in 0..100 {
            let key = place("k");
            set(&mut table, Place { at, ..key }, Some(10 + at % 2), 0);
        }
        for (round, left) in [(0, 92), (1, 84), (2, 76)] {
            assert!(!update(&mut table, "other", Update::Keep, 10), "{round}");
            assert_eq!((table.len(), table.expiring.len()), (left, left));
        }
        for _ in 0..20 {
            update(&mut table, "other", Update::Keep, 10);
        }
        assert_eq!(table.len(), 50, "the others are not due");
        assert!(table.expiring.iter().all(|(until, _)| *until == 11));
    }

    #[test]
    fn a_scan_goes_on_where_it_was() {
        let mut table = KeyTable::default();
        for at in [3, 5, 9, 1000] {
            let key = at.to_string();
            let key = key.as_bytes();
            set(&mut table, Place { at, key }, None, 0);
        }
        let mut seen = Vec::new();
        let mut from = Some(0);
        while let Some(at) = from {
            let mut left = 1;
            let visit = &mut |key: &[u8], _: &Bytes| seen.push(key.to_vec());
            from = table.scan(at, &mut left, 0, visit);
            assert_eq!(left, 0);
            // one that was seen goes, one that was passed comes: neither matters
            table.remove(Place { at: 3, key: b"3" });
        }
        assert_eq!(seen, [&b"3"[..], b"5", b"9", b"1000"]);
    }
}
