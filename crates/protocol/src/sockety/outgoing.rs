//! The messages in progress on the channels that we send on, and which channels are free. Holds no contents and does
//! not know the wire format.

use super::channel_set::ChannelSet;
use super::channels::ChannelMap;
use super::contents::{Content, Contents, ContentsError};
use super::header::MOST_CHANNELS;

/// The channels that a sender may use.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The channels with a message in progress, and those that are never used again.
    busy: ChannelMap<Sending>,
    /// The same channels as a set, while there are many.
    busy_set: Option<Box<ChannelSet>>,
    /// How many of them are never used again.
    spent: u16,
    /// The first channel that may be used, and the end of the range.
    first: u16,
    end: u16,
}

/// Why a channel is busy.
#[derive(Debug)]
enum Sending {
    Contents(Contents),
    /// No message is in progress, but sockety-js expects the rest of an aborted one.
    Spent,
}

impl Outgoing {
    /// Uses the channels from `first` up to, but not including, `end`. At least the last of them may be used.
    pub(super) fn new(first: u16, end: u16) -> Self {
        let end = end.clamp(1, MOST_CHANNELS);
        Self {
            busy: ChannelMap::default(),
            busy_set: None,
            spent: 0,
            first: first.min(end - 1),
            end,
        }
    }

    /// The first channel that may be used.
    pub(super) fn first(&self) -> u16 {
        self.first
    }

    /// Whether a channel may be used.
    #[inline]
    pub(super) fn is_usable(&self, channel: u16) -> bool {
        (self.first..self.end).contains(&channel)
    }

    /// Whether no channel will ever be free.
    #[inline]
    pub(super) fn are_all_spent(&self) -> bool {
        self.spent >= self.end - self.first
    }

    /// Returns a free channel: the first one from `here` on, continuing with the first channel after the last.
    #[inline]
    pub(super) fn free_from(&self, here: u16) -> Option<u16> {
        if self.busy.len() >= usize::from(self.end - self.first) {
            return None;
        }
        if let Some(busy) = &self.busy_set {
            let onwards = busy.next_absent(here).filter(|one| *one < self.end);
            return onwards.or_else(|| busy.next_absent(self.first));
        }
        (here..self.end)
            .chain(self.first..here)
            .find(|channel| !self.busy.contains(*channel))
    }

    /// Returns the missing contents of the message in progress, of which a packet is to be sent.
    #[inline]
    pub(super) fn contents(
        &mut self,
        channel: u16,
        packet: Content,
    ) -> Result<&mut Contents, ContentsError> {
        match self.busy.get_mut(channel) {
            Some(Sending::Contents(contents)) => Ok(contents),
            _ => Err(ContentsError::Unexpected(packet)),
        }
    }

    /// Returns the missing contents of a message, if one is in progress.
    #[inline]
    pub(super) fn in_progress(&self, channel: u16) -> Option<&Contents> {
        match self.busy.get(channel) {
            Some(Sending::Contents(contents)) => Some(contents),
            _ => None,
        }
    }

    /// The number of messages in progress.
    pub(super) fn count(&self) -> usize {
        self.busy.len() - usize::from(self.spent)
    }

    /// Records that a message has begun on a free channel.
    #[inline]
    pub(super) fn begin(&mut self, channel: u16, contents: Contents) {
        self.busy.insert(channel, Sending::Contents(contents));
        if let Some(busy) = &mut self.busy_set {
            busy.insert(channel);
        } else if self.busy.len() >= MANY {
            let mut busy = Box::<ChannelSet>::default();
            self.busy.channels().for_each(|one| busy.insert(one));
            self.busy_set = Some(busy);
        }
    }

    /// Frees a channel whose message is complete.
    #[inline]
    pub(super) fn settle(&mut self, channel: u16) {
        if self.in_progress(channel).is_some_and(Contents::is_finished) {
            self.free(channel);
        }
    }

    /// Marks a channel with a message in progress as never to be used again.
    pub(super) fn spend(&mut self, channel: u16) {
        self.busy.insert(channel, Sending::Spent);
        self.spent += 1;
    }

    /// Frees a channel with a message in progress.
    pub(super) fn free(&mut self, channel: u16) {
        self.busy.remove(channel);
        if let Some(busy) = &mut self.busy_set {
            busy.remove(channel);
        }
        if self.busy.len() <= FEW {
            self.busy_set = None;
        }
    }

    /// Frees all channels that were not to be used again.
    pub(super) fn free_spent(&mut self) {
        let is_spent = |channel: &u16| matches!(self.busy.get(*channel), Some(Sending::Spent));
        let spent: Vec<u16> = self.busy.channels().filter(is_spent).collect();
        for channel in spent {
            self.free(channel);
        }
        self.spent = 0;
    }

    /// The memory held, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        let contents = self.busy.values().map(|sending| match sending {
            Sending::Contents(contents) => contents.held_bytes(),
            Sending::Spent => 0,
        });
        let set = self.busy_set.as_deref().map_or(0, size_of_val);
        self.busy.held_bytes() + contents.sum::<usize>() + set
    }
}

/// From this many busy channels on, a set finds a free channel in constant time.
const MANY: usize = 16;

/// At this many busy channels the set is dropped. The number is well below `MANY`, so that a single message does not
/// cause the set to be built again.
const FEW: usize = 4;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::sockety::contents::Files;

    /// Begins a stream on a free channel and checks that few channels were visited.
    fn begin(channels: &mut Outgoing, here: u16) -> Option<u16> {
        channels.busy.take_looks();
        let channel = channels.free_from(here)?;
        channels.begin(channel, Contents::new(0, true, Files::default()));
        let looks = channels.busy.take_looks();
        assert!(looks <= MANY, "{looks} for {channel}");
        Some(channel)
    }

    fn end(channels: &mut Outgoing, channel: u16) {
        let contents = channels.contents(channel, Content::StreamEnd);
        contents.and_then(Contents::end_stream).unwrap();
        channels.settle(channel);
    }

    #[test]
    fn a_free_channel_among_thousands_is_found_at_once() {
        let mut channels = Outgoing::new(0, 4096);
        for channel in 0..4096 {
            assert_eq!(begin(&mut channels, channel / 2), Some(channel));
        }
        for [one, other] in [[3000, 4000], [17, 4095], [0, 2048], [63, 64]] {
            end(&mut channels, other);
            end(&mut channels, one);
            assert_eq!(begin(&mut channels, one), Some(one));
            assert_eq!(begin(&mut channels, one), Some(other));
            assert_eq!(begin(&mut channels, one), None);
        }
        for channel in 0..4096 {
            end(&mut channels, channel);
        }
        assert_eq!((channels.count(), channels.held_bytes()), (0, 0));
    }

    #[test]
    fn the_set_exists_while_many_channels_are_busy() {
        let mut channels = Outgoing::new(3, 20);
        for count in 1..=17 {
            assert_eq!(begin(&mut channels, 3), Some(2 + count));
            assert_eq!(channels.busy_set.is_some(), channels.count() >= MANY);
        }
        assert_eq!(begin(&mut channels, 3), None);
        for channel in 3..20 {
            end(&mut channels, channel);
            assert_eq!(channels.busy_set.is_some(), channels.count() > FEW);
        }
    }
    proptest! {
        #[test]
        fn with_a_set_and_without_the_next_free_channel_is_the_same(
            first in 0..70u16,
            count in 1..70u16,
            choices in prop::collection::vec((0..5u8, any::<prop::sample::Index>()), 1..300),
        ) {
            let usable = first..first + count;
            let (mut channels, mut busy) = (Outgoing::new(first, usable.end), BTreeSet::new());
            for (step, (choice, index)) in choices.into_iter().enumerate() {
                // in each hundred steps, messages first begin more often than they end, and then the reverse
                let begins = if step % 100 < 60 { choice > 0 } else { choice == 0 };
                if begins {
                    let here = first + u16::try_from(index.index(count.into())).unwrap();
                    let mut onwards = (here..usable.end).chain(usable.clone());
                    let expected = onwards.find(|channel| !busy.contains(channel));
                    prop_assert_eq!(begin(&mut channels, here), expected);
                    busy.extend(expected);
                } else if !busy.is_empty() {
                    let channel = *busy.iter().nth(index.index(busy.len())).unwrap();
                    end(&mut channels, channel);
                    busy.remove(&channel);
                }
                prop_assert_eq!(channels.count(), busy.len());
            }
        }
    }
}
