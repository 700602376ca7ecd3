//! The connections of a shard by slot. A slot costs eight bytes, and is used again when its connection is gone.

use crate::socket::connection::Shared;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    all: Vec<Option<Shared>>,
    free: Vec<u32>,
}

impl Slots {
    /// The slot for the next connection.
    pub(crate) fn vacant(&self) -> u32 {
        self.free.last().copied().unwrap_or_else(|| {
            u32::try_from(self.all.len()).expect("a shard has fewer than 2^32 connections")
        })
    }

    /// Puts a connection into the [vacant](Self::vacant) slot.
    pub(crate) fn insert(&mut self, connection: Shared) {
        match self.free.pop() {
            Some(slot) => *self.place_mut(slot).expect("it was in use once") = Some(connection),
            None => self.all.push(Some(connection)),
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<Shared> {
        let gone = self.place_mut(slot)?.take()?;
        self.free.push(slot);
        if self.free.len() == self.all.len() {
            (self.all, self.free) = (Vec::new(), Vec::new());
        }
        Some(gone)
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&Shared> {
        self.all.get(usize::try_from(slot).ok()?)?.as_ref()
    }

    /// All connections, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Shared> {
        self.all.iter().flatten()
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.all.len()
    }

    fn place_mut(&mut self, slot: u32) -> Option<&mut Option<Shared>> {
        self.all.get_mut(usize::try_from(slot).ok()?)
    }
}
