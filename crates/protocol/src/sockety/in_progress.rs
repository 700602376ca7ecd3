//! What is in progress on the channels of one direction, and what it is charged with. Keeps nothing of free channels.

use std::mem;

use super::channels::ChannelMap;
use super::config::DecoderConfig;
use super::contents::{Content, Contents, ContentsError, Files};
use super::partial::{Partial, files_charge};

/// The current channel and all that are busy.
#[derive(Debug, Default)]
pub(super) struct InProgress {
    /// Beside the current one.
    others: ChannelMap<Channel>,
    /// What these are charged with.
    others_charge: usize,
    /// The channel that packets belong to, and what is in progress there.
    pub(super) current: Channel,
    number: u16,
    /// Of the others, those whose heads are not complete.
    others_partial: u16,
}

/// What is in progress on a channel.
#[derive(Debug, Default)]
pub(super) enum Channel {
    #[default]
    Free,
    /// A message whose head is not complete.
    Head(Box<Partial>),
    Contents(Contents),
}

impl InProgress {
    /// Makes another channel the current one.
    pub(super) fn switch(&mut self, channel: u16) {
        if channel == self.number {
            return;
        }
        let next = self.others.remove(channel).unwrap_or_default();
        self.others_charge = self.others_charge.saturating_sub(next.charge());
        self.others_partial = self
            .others_partial
            .saturating_sub(u16::from(next.is_head()));
        let previous = mem::replace(&mut self.current, next);
        if !previous.is_free() {
            self.others_charge = self.others_charge.saturating_add(previous.charge());
            self.others_partial = self
                .others_partial
                .saturating_add(u16::from(previous.is_head()));
            self.others.insert(self.number, previous);
        }
        self.number = channel;
    }

    /// Frees the current channel if its message owes nothing more. True: it was so.
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

    /// What the current channel may be charged with.
    #[inline]
    pub(super) fn room(&self, config: &DecoderConfig) -> usize {
        config.pending_bytes.saturating_sub(self.others_charge)
    }

    /// What all channels are charged with.
    pub(super) fn pending(&self) -> usize {
        self.others_charge.saturating_add(self.current.charge())
    }

    /// Bytes received of heads that are not complete; `None` if there are none.
    pub(super) fn unfinished(&self) -> Option<usize> {
        if self.others_partial == 0 && !self.current.is_head() {
            return None;
        }
        Some(self.all().map(Channel::received).sum())
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

    fn is_head(&self) -> bool {
        matches!(self, Self::Head(_))
    }

    /// What its message owes, of which a packet came.
    #[inline]
    pub(super) fn contents(&mut self, packet: Content) -> Result<&mut Contents, ContentsError> {
        match self {
            Self::Contents(contents) => Ok(contents),
            _ => Err(ContentsError::Unexpected(packet)),
        }
    }

    /// The files of its message, as far as they are known.
    pub(super) fn files(&mut self, packet: Content) -> Result<&mut Files, ContentsError> {
        let unexpected = ContentsError::Unexpected(packet);
        match self {
            Self::Contents(contents) => contents.files(packet),
            Self::Head(partial) => partial.files().ok_or(unexpected),
            Self::Free => Err(unexpected),
        }
    }

    /// Bytes of its message's data that no packet has begun to carry.
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

    fn received(&self) -> usize {
        match self {
            Self::Head(partial) => partial.received(),
            _ => 0,
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
