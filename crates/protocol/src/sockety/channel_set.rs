//! A set of channels that finds the next channel outside the set. The time this takes does not depend on
//! the contents.

use super::header::MOST_CHANNELS;

/// One bit for each channel, and one bit for each word of these: 520 bytes.
#[derive(Debug)]
pub(super) struct ChannelSet {
    words: [u64; WORDS],
    /// One bit for each word in which all bits are set.
    full: u64,
}

/// The number of words. It equals the bits of a word, so that `full` has a bit for each word.
const WORDS: usize = 64;

const _: () = assert!(MOST_CHANNELS == 64 * 64, "every channel has a bit");

impl Default for ChannelSet {
    fn default() -> Self {
        Self {
            words: [0; WORDS],
            full: 0,
        }
    }
}

impl ChannelSet {
    /// Adds a channel, if the channel number is valid.
    #[inline]
    pub(super) fn insert(&mut self, channel: u16) {
        let (word, bit) = place(channel);
        if let Some(bits) = self.words.get_mut(word) {
            *bits |= bit;
            self.full |= u64::from(*bits == u64::MAX) << word;
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, channel: u16) {
        let (word, bit) = place(channel);
        if let Some(bits) = self.words.get_mut(word) {
            *bits &= !bit;
            self.full &= !(1 << word);
        }
    }

    /// Returns the first channel from `from` on that is not in the set.
    #[inline]
    pub(super) fn next_absent(&self, from: u16) -> Option<u16> {
        let (word, bit) = place(from);
        let here = !*self.words.get(word)? & !(bit - 1);
        if here != 0 {
            return channel(word, here);
        }
        let behind = !self.full & (u64::MAX << word << 1);
        let word = usize::try_from(behind.trailing_zeros()).ok()?;
        channel(word, !*self.words.get(word)?)
    }
}

/// Returns the word of a channel, and the bit in that word.
fn place(channel: u16) -> (usize, u64) {
    (usize::from(channel / 64), 1 << (channel % 64))
}

/// Returns the channel of the lowest of these bits of a word.
fn channel(word: usize, bits: u64) -> Option<u16> {
    let bit = usize::try_from(bits.trailing_zeros()).ok()?;
    u16::try_from(word * 64 + bit).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_full_set_has_no_absent_channel() {
        let mut set = ChannelSet::default();
        for channel in 0..MOST_CHANNELS {
            assert_eq!(set.next_absent(0), Some(channel));
            set.insert(channel);
        }
        assert_eq!(set.next_absent(0), None);
        set.insert(MOST_CHANNELS);
        set.remove(MOST_CHANNELS);
        assert_eq!(set.next_absent(MOST_CHANNELS), None);
        for channel in [4095, 4032, 64, 63, 0] {
            set.remove(channel);
            assert_eq!(set.next_absent(0), Some(channel));
            assert_eq!(set.next_absent(channel), Some(channel));
        }
    }

    proptest! {
        #[test]
        fn the_next_absent_channel_is_that_of_a_naive_set(
            runs in prop::collection::vec((0..4096u16, 0..300u16, any::<bool>()), 1..40),
            from in prop::collection::vec(0..4096u16, 1..40),
        ) {
            let (mut set, mut naive) = (ChannelSet::default(), BTreeSet::new());
            for (first, length, insert) in runs {
                for channel in first..MOST_CHANNELS.min(first + length) {
                    if insert {
                        set.insert(channel);
                        naive.insert(channel);
                    } else {
                        set.remove(channel);
                        naive.remove(&channel);
                    }
                }
            }
            for from in from {
                let expected = (from..MOST_CHANNELS).find(|one| !naive.contains(one));
                prop_assert_eq!(set.next_absent(from), expected);
            }
        }
    }
}
