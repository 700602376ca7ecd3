//! The messages in progress on the channels of one direction, and how much they count. Keeps nothing for free
//! channels.

use std::mem;

use super::channels::ChannelMap;
use super::config::DecoderConfig;
use super::contents::{Content, Contents, ContentsError, Files};
use super::partial::{Partial, files_charge};

/// The current channel and all other busy channels.
#[derive(Debug, Default)]
pub(super) struct InProgress {
    /// The busy channels except the current one.
    others: ChannelMap<Channel>,
    /// How much these count against the limit.
    others_charge: usize,
    /// The message in progress on the current channel, to which packets belong.
    pub(super) current: Channel,
    number: u16,
    /// How many of the other channels have an incomplete head.
    others_partial: u16,
    /// The bytes received of these heads: at most [`MOST_PENDING`].
    others_received: u32,
}

/// The message in progress on a channel.
#[derive(Debug, Default)]
pub(super) enum Channel {
    #[default]
    Free,
    /// A message whose head is incomplete.
    Head(Box<Partial>),
    Contents(Contents),
}

/// The highest limit on what messages in progress may hold.
const MOST_PENDING: usize = 0xffff_ffff;

impl InProgress {
    /// Makes another channel the current one.
    pub(super) fn switch(&mut self, channel: u16) {
        if channel == self.number {
            return;
        }
        let next = self.others.remove(channel).unwrap_or_default();
        self.others_charge = self.others_charge.saturating_sub(next.charge());
        if let Some(received) = next.received() {
            self.others_partial = self.others_partial.saturating_sub(1);
            self.others_received = self.others_received.saturating_sub(received);
        }
        let previous = mem::replace(&mut self.current, next);
        if !previous.is_free() {
            self.others_charge = self.others_charge.saturating_add(previous.charge());
            if let Some(received) = previous.received() {
                self.others_partial = self.others_partial.saturating_add(1);
                self.others_received = self.others_received.saturating_add(received);
            }
            self.others.insert(self.number, previous);
        }
        self.number = channel;
    }

    /// Frees the current channel if its message is complete. Returns whether it was.
    #[inline]
    pub(super) fn settle(&mut self) -> bool {
        let finished =
            matches!(&self.current, Channel::Contents(contents) if contents.is_finished());
        if finished {
            self.current = Channel::Free;
        }
        finished
    }

    /// The current channel.
    #[inline]
    pub(super) fn number(&self) -> u16 {
        self.number
    }

    /// How much the message on the current channel may hold.
    #[inline]
    pub(super) fn room(&self, config: &DecoderConfig) -> usize {
        let pending_bytes = config.pending_bytes.min(MOST_PENDING);
        pending_bytes.saturating_sub(self.others_charge)
    }

    /// How much the messages on all channels hold, as it counts against the limit.
    pub(super) fn pending(&self) -> usize {
        self.others_charge.saturating_add(self.current.charge())
    }

    /// The bytes received of incomplete heads; `None` if there are none.
    pub(super) fn unfinished(&self) -> Option<usize> {
        let current = self.current.received();
        if self.others_partial == 0 && current.is_none() {
            return None;
        }
        let received = self.others_received.saturating_add(current.unwrap_or(0));
        Some(usize::try_from(received).unwrap_or(usize::MAX))
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.current.is_free() || self.others.len() > 0
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.others.held_bytes() + self.all().map(Channel::held_bytes).sum::<usize>()
    }

    fn all(&self) -> impl Iterator<Item = &Channel> {
        self.others.values().chain([&self.current])
    }
}

impl Channel {
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }

    /// Returns the missing contents of the message, for a packet of this kind.
    #[inline]
    pub(super) fn contents(&mut self, packet: Content) -> Result<&mut Contents, ContentsError> {
        match self {
            Self::Contents(contents) => Ok(contents),
            _ => Err(ContentsError::Unexpected(packet)),
        }
    }

    /// Returns the files of the message that are known so far.
    pub(super) fn files(&mut self, packet: Content) -> Result<&mut Files, ContentsError> {
        let unexpected = ContentsError::Unexpected(packet);
        match self {
            Self::Contents(contents) => contents.files(packet),
            Self::Head(partial) => partial.files().ok_or(unexpected),
            Self::Free => Err(unexpected),
        }
    }

    /// The bytes of the message's data that no packet has begun to carry.
    #[inline]
    pub(super) fn data_left(&self) -> u64 {
        match self {
            Self::Contents(contents) => contents.data_left(),
            _ => 0,
        }
    }

    fn charge(&self) -> usize {
        match self {
            Self::Free => 0,
            Self::Head(partial) => partial.charge(),
            Self::Contents(contents) => files_charge(contents.file_count()),
        }
    }

    /// The bytes received of an incomplete head; `None` if there is none.
    fn received(&self) -> Option<u32> {
        match self {
            Self::Head(partial) => Some(u32::try_from(partial.received()).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    fn held_bytes(&self) -> usize {
        match self {
            Self::Free => 0,
            Self::Head(partial) => partial.held_bytes(),
            Self::Contents(contents) => contents.held_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockety::packet::Start;
    use crate::sockety::partial::Scan;

    fn head(received: usize) -> Channel {
        let start = Start {
            response: false,
            has_stream: false,
            expects_response: false,
        };
        Channel::Head(Box::new(Partial::new(Scan::new(start), &vec![0; received])))
    }

    #[test]
    fn unfinished_bytes_are_counted_without_visiting_all_channels() {
        let mut channels = InProgress::default();
        for channel in 0..1000 {
            channels.switch(channel);
            channels.current = head(usize::from(channel));
        }
        channels.others.take_looks();
        assert_eq!(channels.unfinished(), Some((0..1000).sum()));
        for channel in (1..1000).rev() {
            channels.switch(channel);
            channels.current = Channel::Free;
            assert_eq!(channels.unfinished(), Some((0..channel.into()).sum()));
        }
        channels.switch(0);
        assert_eq!(
            channels.unfinished(),
            Some(0),
            "an incomplete head of no bytes counts, too"
        );
        channels.current = head(7);
        channels.switch(5);
        channels.current = head(3);
        assert_eq!(channels.unfinished(), Some(10));
        channels.current = Channel::Free;
        channels.switch(0);
        channels.current = Channel::Free;
        assert_eq!(channels.unfinished(), None);
        assert_eq!(channels.others.take_looks(), 0);
    }
}
