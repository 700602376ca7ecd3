//! What is in progress on the channels that we send on, and which of them are free. Holds no contents and knows no wire.

use super::channel_set::ChannelSet;
use super::channels::ChannelMap;
use super::contents::{Content, Contents, ContentsError};
use super::header::MOST_CHANNELS;

/// The channels that a sender may use.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Those with a message in progress, and those that are never used again.
    busy: ChannelMap<Sending>,
    /// The same, while they are many.
    busy_set: Option<Box<ChannelSet>>,
    /// Of them, those that are never used again.
    spent: u16,
    /// The first that may be used, and the one behind the last.
    first: u16,
    end: u16,
}

/// What a channel is busy with.
#[derive(Debug)]
enum Sending {
    Contents(Contents),
    /// Nothing, but sockety-js believes otherwise.
    Spent,
}

impl Outgoing {
    /// Channels `first` to `end` - 1; there is one at least, the last.
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

    /// The first that may be used.
    pub(super) fn first(&self) -> u16 {
        self.first
    }

    /// Whether a channel may be used at all.
    #[inline]
    pub(super) fn is_usable(&self, channel: u16) -> bool {
        (self.first..self.end).contains(&channel)
    }

    /// Whether none will ever be free.
    #[inline]
    pub(super) fn are_all_spent(&self) -> bool {
        self.spent >= self.end - self.first
    }

    /// A free channel: the first from `here` on, which may be used itself, and behind the last one the first again.
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

    /// What a message owes that is in progress, of which a packet is to be sent.
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

    /// What a message owes, if one is in progress.
    #[inline]
    pub(super) fn in_progress(&self, channel: u16) -> Option<&Contents> {
        match self.busy.get(channel) {
            Some(Sending::Contents(contents)) => Some(contents),
            _ => None,
        }
    }

    /// How many messages are in progress.
    pub(super) fn count(&self) -> usize {
        self.busy.len() - usize::from(self.spent)
    }

    /// A message has begun on a channel that is free.
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

    /// Frees a channel whose message owes nothing more.
    #[inline]
    pub(super) fn settle(&mut self, channel: u16) {
        if self.in_progress(channel).is_some_and(Contents::is_finished) {
            self.free(channel);
        }
    }

    /// Never uses a channel again on which a message is in progress.
    pub(super) fn spend(&mut self, channel: u16) {
        self.busy.insert(channel, Sending::Spent);
        self.spent += 1;
    }

    /// Frees a channel on which a message is in progress.
    pub(super) fn free(&mut self, channel: u16) {
        self.busy.remove(channel);
        if let Some(busy) = &mut self.busy_set {
            busy.remove(channel);
        }
        if self.busy.len() <= FEW {
            self.busy_set = None;
        }
    }

    /// Frees all that were never to be used again.
    pub(super) fn free_spent(&mut self) {
        let is_spent = |channel: &u16| matches!(self.busy.get(*channel), Some(Sending::Spent));
        let spent: Vec<u16> = self.busy.channels().filter(is_spent).collect();
        for channel in spent {
            self.free(channel);
        }
        self.spent = 0;
    }

    /// Bytes of memory held.
    pub(super) fn held_bytes(&self) -> usize {
        let contents = self.busy.values().map(|sending| match sending {
            Sending::Contents(contents) => contents.held_bytes(),
            Sending::Spent => 0,
        });
        let set = self.busy_set.as_deref().map_or(0, size_of_val);
        self.busy.held_bytes() + contents.sum::<usize>() + set
    }
}

/// So many busy channels and more have a set of their own, in which a free one is found at once.
const MANY: usize = 16;

/// With so many the set is given back. Not with one less than had it made: the next message would have it made again.
const FEW: usize = 4;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::sockety::contents::Files;

    /// Begins a stream on a free channel, looking at few only.
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
    fn of_thousands_a_free_channel_is_found_at_once() {
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
    fn the_set_is_held_while_many_are_busy() {
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
                // more begin than end, and then more end
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
