//! Values by channel. Uses memory only for channels that have a value, whatever their numbers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are channels. An empty map holds almost no memory.
#[derive(Debug)]
pub(super) struct ChannelMap<T> {
    values: HashMap<u16, T, BuildHasherDefault<ChannelHasher>>,
    /// The number of lookups, which tests of the running time count.
    #[cfg(test)]
    looks: std::cell::Cell<usize>,
}

impl<T> Default for ChannelMap<T> {
    fn default() -> Self {
        Self {
            values: HashMap::default(),
            #[cfg(test)]
            looks: std::cell::Cell::default(),
        }
    }
}

impl<T> ChannelMap<T> {
    #[inline]
    pub(super) fn insert(&mut self, channel: u16, value: T) {
        self.values.insert(channel, value);
    }

    /// Removes and returns a channel's value. When the map becomes empty, it releases the capacity that many
    /// values needed.
    #[inline]
    pub(super) fn remove(&mut self, channel: u16) -> Option<T> {
        if self.values.is_empty() {
            return None;
        }
        let value = self.values.remove(&channel);
        if self.values.is_empty() && self.values.capacity() > KEPT {
            self.values = HashMap::default();
        }
        value
    }

    #[inline]
    pub(super) fn get(&self, channel: u16) -> Option<&T> {
        self.values.get(&channel)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, channel: u16) -> Option<&mut T> {
        self.values.get_mut(&channel)
    }

    #[inline]
    pub(super) fn contains(&self, channel: u16) -> bool {
        #[cfg(test)]
        self.count_looks(1);
        !self.values.is_empty() && self.values.contains_key(&channel)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        #[cfg(test)]
        self.count_looks(self.values.len());
        self.values.values()
    }

    /// The channels that have a value, in any order.
    pub(super) fn channels(&self) -> impl Iterator<Item = u16> {
        self.values.keys().copied()
    }

    #[cfg(test)]
    fn count_looks(&self, count: usize) {
        self.looks.set(self.looks.get() + count);
    }

    /// The number of lookups by [`ChannelMap::contains`] and [`ChannelMap::values`] since the last call.
    #[cfg(test)]
    pub(super) fn take_looks(&self) -> usize {
        self.looks.take()
    }

    /// About how many bytes the table takes.
    pub(super) fn held_bytes(&self) -> usize {
        // the table is filled to at most seven eighths, and every slot has one byte of metadata
        let places = self.values.capacity().saturating_mul(8) / 7;
        places.saturating_mul(size_of::<(u16, T)>() + 1)
    }
}

/// The capacity that an empty map keeps.
const KEPT: usize = 14;

/// Spreads twelve bits over a word. Multiplying by an odd number keeps the lowest twelve bits distinct, and the
/// table uses these first. So no choice of channels makes the table slow.
#[derive(Debug, Default)]
pub(super) struct ChannelHasher(u64);

impl Hasher for ChannelHasher {
    #[inline]
    fn write_u16(&mut self, channel: u16) {
        self.0 = u64::from(channel).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_map_releases_the_capacity_of_many_values() {
        let mut map = ChannelMap::default();
        assert_eq!(map.held_bytes(), 0);
        for channel in 0..4096 {
            map.insert(channel, channel);
        }
        assert_eq!((map.len(), map.get(4095)), (4096, Some(&4095)));
        for channel in 0..4096 {
            assert_eq!(map.remove(channel), Some(channel));
            assert!(!map.contains(channel));
        }
        assert_eq!((map.len(), map.held_bytes()), (0, 0));
    }
}
