//! Channels, and their pasts, by their names. Owns the lookup by a hash that the caller computed once and that also chose the
//! lock shard; never computes a hash.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::iter;

use crate::name::Space;

/// A name with its hash.
#[derive(Clone, Copy)]
pub(crate) struct Hashed<'a> {
    pub(crate) hash: u64,
    pub(crate) space: Space,
    pub(crate) name: &'a [u8],
}

/// The map. Rows whose names have the same 64-bit hash, which is very unlikely, form a linked list.
pub(crate) struct NameMap<T> {
    rows: HashMap<u64, Box<T>, BuildHasherDefault<Taken>>,
    len: usize,
}

/// What is found by a name.
pub(crate) trait Row: Sized {
    fn name(&self) -> &[u8];

    /// The next row with the same hash.
    fn next(&self) -> Option<&Self>;

    fn next_mut(&mut self) -> &mut Option<Box<Self>>;
}

impl<T> Default for NameMap<T> {
    fn default() -> Self {
        Self {
            rows: HashMap::default(),
            len: 0,
        }
    }
}

/// A hasher that returns a hash computed earlier.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taken(u64);

impl<T: Row> NameMap<T> {
    /// Adds a row whose name is not in the map.
    pub(crate) fn insert(&mut self, hash: u64, mut row: Box<T>) {
        *row.next_mut() = self.rows.remove(&hash);
        self.rows.insert(hash, row);
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, key: Hashed<'_>) {
        let mut rest = self.rows.remove(&key.hash);
        while let Some(mut row) = rest {
            rest = row.next_mut().take();
            self.len -= 1;
            if row.name() != key.name {
                self.insert(key.hash, row);
            }
        }
    }

    pub(crate) fn get_mut(&mut self, key: Hashed<'_>) -> Option<&mut T> {
        let mut row = &mut **self.rows.get_mut(&key.hash)?;
        while row.name() != key.name {
            row = row.next_mut().as_deref_mut()?;
        }
        Some(row)
    }

    pub(crate) fn get(&self, key: Hashed<'_>) -> Option<&T> {
        let mut row = &**self.rows.get(&key.hash)?;
        while row.name() != key.name {
            row = row.next()?;
        }
        Some(row)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let firsts = self.rows.values().map(|first| &**first);
        firsts.flat_map(|first| iter::successors(Some(first), |row| row.next()))
    }

    /// The hashes of all rows; each once.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.rows.keys().copied()
    }

    /// The rows with this hash.
    pub(crate) fn with_hash(&self, hash: u64) -> impl Iterator<Item = &T> {
        let first = self.rows.get(&hash).map(|first| &**first);
        iter::successors(first, |row| row.next())
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Hasher for Taken {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;
    use crate::id::ChannelId;
    use crate::name::Name;

    fn key(hash: u64, name: &str) -> Hashed<'_> {
        Hashed {
            hash,
            space: Space::Channel,
            name: name.as_bytes(),
        }
    }

    #[test]
    fn names_with_one_hash_are_told_apart() {
        let names = ["a", "b", "c", "d"];
        for gone in 0..names.len() {
            let mut map = NameMap::default();
            for (id, name) in (0..).zip(names) {
                let name = Name::new(Space::Channel, name.as_bytes());
                map.insert(7, Box::new(Channel::new(ChannelId::new(id), name)));
            }
            map.remove(key(7, "e"));
            map.remove(key(8, "a"));
            assert_eq!((map.len(), map.iter().count()), (4, 4));
            map.remove(key(7, names[gone]));
            assert_eq!((map.len(), map.iter().count()), (3, 3));
            for (id, name) in (0..).zip(names) {
                let there = name != names[gone];
                let found = map.get(key(7, name)).map(|channel| channel.id.get());
                assert_eq!(found, there.then_some(id));
                assert_eq!(map.get_mut(key(7, name)).is_some(), there);
                assert!(map.get(key(8, name)).is_none());
            }
            assert_eq!(map.hashes().collect::<Vec<_>>(), [7]);
            assert_eq!((map.with_hash(7).count(), map.with_hash(8).count()), (3, 0));
            for name in names {
                map.remove(key(7, name));
            }
            assert_eq!((map.len(), map.rows.len()), (0, 0));
        }
    }
}
