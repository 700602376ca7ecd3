//! The entries of one lock shard by socket id. Owns where each lies: in a dense list, so that an idle socket pays for
//! little else than its entry, and an index of four bytes per place. Memory is given back when sockets are gone.

use super::entry::Entry;
use crate::hash::GOLDEN;
use crate::id::SocketId;
use crate::sync::LOCK_SHARDS;

/// See the module.
#[derive(Default)]
pub(super) struct Entries {
    /// In no order.
    list: Vec<(SocketId, Entry)>,
    /// Places of entries in `list`, or [`NONE`]: a hash table with linear probing. Its length is a power of two, and at
    /// least half of it is empty.
    index: Vec<u32>,
}

impl Entries {
    /// Adds the entry of a new id.
    pub(super) fn insert(&mut self, id: SocketId, entry: Entry) {
        let place = self.list.len();
        if 2 * (place + 1) > self.index.len() {
            self.rebuild((2 * self.index.len()).max(SMALLEST_INDEX));
        }
        if place == self.list.capacity() {
            // not twice as much, because the unused half would cost as much as the entries
            self.list.reserve_exact(place / 4 + ROOM);
        }
        self.list.push((id, entry));
        self.enter(id, place);
    }

    pub(super) fn remove(&mut self, id: SocketId) -> Option<Entry> {
        let (bucket, place) = self.find(id)?;
        self.vacate(bucket);
        let (_, entry) = self.list.swap_remove(place);
        let length = self.list.len();
        if let Some((moved, _)) = self.list.get(place) {
            // its bucket still has its old place, which is the length now
            let mut bucket = self.home(*moved);
            while self.place(bucket) != length {
                bucket = self.after(bucket);
            }
            self.index[bucket] = number(place);
        }
        if self.list.capacity() > 4 * (length + ROOM) {
            self.list.shrink_to(2 * length);
            self.rebuild((4 * length).next_power_of_two().max(SMALLEST_INDEX));
        }
        Some(entry)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: SocketId) -> Option<&mut Entry> {
        let (_, place) = self.find(id)?;
        self.list.get_mut(place).map(|(_, entry)| entry)
    }

    #[inline]
    pub(super) fn get(&self, id: SocketId) -> Option<&Entry> {
        let (_, place) = self.find(id)?;
        self.list.get(place).map(|(_, entry)| entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SocketId, &Entry)> {
        self.list.iter().map(|(id, entry)| (*id, entry))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The bucket of an id and its place.
    #[inline]
    fn find(&self, id: SocketId) -> Option<(usize, usize)> {
        if self.index.is_empty() {
            return None;
        }
        let mut bucket = self.home(id);
        loop {
            let place = self.place(bucket);
            // an empty bucket has no place in the list
            if self.list.get(place)?.0 == id {
                return Some((bucket, place));
            }
            bucket = self.after(bucket);
        }
    }

    /// Puts a place into the first empty bucket of an id.
    fn enter(&mut self, id: SocketId, place: usize) {
        let mut bucket = self.home(id);
        while self.index[bucket] != NONE {
            bucket = self.after(bucket);
        }
        self.index[bucket] = number(place);
    }

    /// Empties a bucket, and moves those behind it that would not be found any more.
    fn vacate(&mut self, mut hole: usize) {
        let mut bucket = self.after(hole);
        while let Some((id, _)) = self.list.get(self.place(bucket)) {
            let distance = |from: usize| bucket.wrapping_sub(from) & (self.index.len() - 1);
            if distance(self.home(*id)) >= distance(hole) {
                self.index[hole] = self.index[bucket];
                hole = bucket;
            }
            bucket = self.after(bucket);
        }
        self.index[hole] = NONE;
    }

    fn rebuild(&mut self, length: usize) {
        self.index = vec![NONE; length];
        for place in 0..self.list.len() {
            self.enter(self.list[place].0, place);
        }
    }

    /// The bucket at which the search for an id begins. Ids are handed out one after the other, so that the golden
    /// ratio spreads them evenly.
    #[inline]
    fn home(&self, id: SocketId) -> usize {
        let spread = (id.get() / LOCK_SHARDS).wrapping_mul(GOLDEN) >> u32::BITS;
        usize::try_from(spread).unwrap_or_default() & (self.index.len() - 1)
    }

    #[inline]
    fn after(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.index.len() - 1)
    }

    /// The place in a bucket.
    #[inline]
    fn place(&self, bucket: usize) -> usize {
        usize::try_from(self.index[bucket]).unwrap_or(usize::MAX)
    }
}

fn number(place: usize) -> u32 {
    let number = u32::try_from(place).ok().filter(|number| *number != NONE);
    number.expect("so many entries do not fit into memory")
}

/// An empty bucket.
const NONE: u32 = u32::MAX;

/// The entries that a list has room for at least, or grows by.
const ROOM: usize = 4;

const SMALLEST_INDEX: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;
    use crate::route::ShardIndex;
    use crate::sockets::SocketInfo;
    use crate::sockets::entry::{Nature, Real};

    fn id(n: u64) -> SocketId {
        SocketId::new(5 + n * LOCK_SHARDS).unwrap()
    }

    fn entry(worker: u32) -> Entry {
        let info = SocketInfo {
            address: None::<IpAddr>,
            worker,
        };
        Entry::new(Nature::Real(Real::new(
            ShardIndex::new(0).unwrap(),
            0,
            info,
        )))
    }

    fn worker(entry: &Entry) -> u32 {
        match &entry.nature {
            Nature::Real(real) => real.info().worker,
            Nature::Virtual(_) => unreachable!("only real ones are made here"),
        }
    }

    fn check(entries: &Entries, model: &HashMap<SocketId, u32>, made: u64) {
        assert_eq!(entries.len(), model.len());
        for n in 0..made {
            assert_eq!(
                entries.get(id(n)).map(worker),
                model.get(&id(n)).copied(),
                "{n}"
            );
        }
        let all: HashMap<_, _> = entries.iter().map(|(id, at)| (id, worker(at))).collect();
        assert_eq!(&all, model);
        assert!(entries.index.len() >= 2 * entries.len());
        assert!(entries.list.capacity() <= 4 * (entries.len() + ROOM));
    }

    proptest! {
        /// Sockets come one after the other and go in any order.
        #[test]
        fn it_does_what_a_hash_map_does(steps in prop::collection::vec(prop::option::weighted(0.45, any::<prop::sample::Index>()), 0..600)) {
            let (mut entries, mut model) = (Entries::default(), HashMap::new());
            let (mut made, mut value) = (0, 0);
            for step in steps {
                match step {
                    Some(index) if made > 0 => {
                        let gone = id(u64::try_from(index.index(usize::try_from(made)?))?);
                        let removed = entries.remove(gone);
                        prop_assert_eq!(removed.as_ref().map(worker), model.remove(&gone));
                    }
                    _ => {
                        value += 1;
                        entries.insert(id(made), entry(value));
                        model.insert(id(made), value);
                        made += 1;
                    }
                }
            }
            check(&entries, &model, made + 1);
        }
    }

    #[test]
    fn ids_that_follow_each_other_are_found_at_once() {
        let mut entries = Entries::default();
        for n in 0..4096 {
            entries.insert(id(n), entry(0));
        }
        let homes = (0..4096).filter(|n| {
            entries.find(id(*n)).map(|(bucket, _)| bucket) == Some(entries.home(id(*n)))
        });
        assert!(homes.count() > 3500);
    }

    #[test]
    fn the_memory_of_many_sockets_is_given_back() {
        let mut entries = Entries::default();
        for n in 0..10_000 {
            entries.insert(id(n), entry(0));
        }
        for n in 0..9_990 {
            assert!(entries.remove(id(n)).is_some());
        }
        let memory = 4 * entries.index.capacity() + 48 * entries.list.capacity();
        assert!(memory < 5000, "{memory}");
        assert!((9_990..10_000).all(|n| entries.get(id(n)).is_some()));
    }
}
