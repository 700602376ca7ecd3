//! Decodes bytes to items.
//!
//! Owns the position in the current packet. Lends contents from the input, piece by piece. Never copies a head that
//! lies wholly in the input, never allocates for an announced size.

use std::mem;

use super::config::DecoderConfig;
use super::contents::Content;
use super::error::DecodeError;
use super::header;
use super::in_progress::{Channel, InProgress};
use super::item::Item;
use super::kept::Kept;
use super::packet::{self, Packet, Start};
use super::partial::{Partial, Scan};

/// The receiving half of one connection.
#[derive(Debug, Default)]
pub struct Decoder {
    channels: InProgress,
    /// The head of the item just returned, if it came in several pieces.
    given: Option<Box<Partial>>,
    /// The bytes of the packet's contents that are still to come.
    left: u32,
    /// The file that these bytes belong to.
    file: u32,
    stage: Stage,
    kept: Kept,
}

#[cfg(not(test))]
const _: () = assert!(
    size_of::<Decoder>() <= 112,
    "every idle connection pays for this"
);

/// What the decoder expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Header,
    Packet,
    Head,
    Data,
    File,
    Stream,
    /// The state after an error. Nothing more is yielded.
    Failed,
}

impl Decoder {
    /// Makes a decoder for a new connection. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the next item and removes it from `input`. `None` means that all input was consumed and more is needed.
    ///
    /// After an error nothing more is yielded, and all further input is discarded.
    #[inline]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        if self.given.is_some() {
            self.given = None;
        }
        // fast path for heartbeats, of which there may be millions per second
        if self.stage == Stage::Packet
            && self.kept.length() == 0
            && let Some((&packet::HEARTBEAT, rest)) = input.split_first()
        {
            *input = rest;
            return Ok(Some(Item::Heartbeat));
        }
        match self.advance(input, config) {
            Ok(None) => Ok(self.given_item()),
            Err(error) => {
                *input = &[];
                self.fail();
                Err(error)
            }
            found => found,
        }
    }

    /// Decodes until there is an item, or a head in `given`, or no more input.
    fn advance<'i>(
        &mut self,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Option<Item<'i>>, DecodeError> {
        while !input.is_empty() {
            match self.stage {
                Stage::Packet => {
                    let Some(packet) = self.kept.next(input, packet::parse)? else {
                        continue;
                    };
                    match self.begin(packet, input, config) {
                        Ok(None) => {}
                        found => return found,
                    }
                }
                Stage::Data | Stage::File | Stage::Stream => {
                    return Ok(Some(self.contents(input)));
                }
                Stage::Head => {
                    if self.more_of_head(input, config)? {
                        break;
                    }
                }
                Stage::Header => {
                    if let Some(channels) = self.kept.next(input, header::parse)? {
                        self.stage = Stage::Packet;
                        return Ok(Some(Item::Header { channels }));
                    }
                }
                Stage::Failed => *input = &[],
            }
        }
        Ok(None)
    }

    /// The message whose head came in several pieces and is now complete.
    #[inline]
    fn given_item(&self) -> Option<Item<'_>> {
        let head = self.given.as_deref()?.head()?;
        Some(Item::Message {
            channel: self.channels.number(),
            head,
            finished: self.channels.current.is_free(),
        })
    }

    /// Begins a packet whose own fields are complete.
    #[inline]
    fn begin<'i>(
        &mut self,
        packet: Packet,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Option<Item<'i>>, DecodeError> {
        let channel = self.channels.number();
        let current = &mut self.channels.current;
        match packet {
            Packet::Heartbeat => return Ok(Some(Item::Heartbeat)),
            Packet::FastReply { code, id } => return Ok(Some(Item::FastReply { code, id })),
            Packet::Begin(start, size) => return self.begin_message(start, size, input, config),
            Packet::Continue(size) => self.continue_head(size, config)?,
            Packet::Switch(channel) if !config.has_channel(channel) => {
                return Err(DecodeError::Channel(channel));
            }
            Packet::Switch(channel) => self.channels.switch(channel),
            Packet::Data(size) => {
                current.contents(Content::Data)?.take_data(size)?;
                self.carry(Stage::Data, size);
            }
            Packet::Stream(size) => {
                current.contents(Content::Stream)?.take_stream()?;
                self.carry(Stage::Stream, size);
            }
            Packet::StreamEnd => {
                current.contents(Content::StreamEnd)?.end_stream()?;
                let finished = self.channels.settle();
                return Ok(Some(Item::StreamEnd { channel, finished }));
            }
            Packet::File { index, size } => {
                self.begin_file(index, size, config)?;
                self.carry(Stage::File, size);
            }
            Packet::FileEnd(index) => {
                let files = current.files(Content::FileEnd)?;
                files.end(index, config.enforce_file_sizes)?;
                let finished = self.channels.settle();
                return Ok(Some(Item::FileEnd {
                    channel,
                    index,
                    finished,
                }));
            }
            Packet::Abort => {
                if !mem::take(current).is_free() {
                    return Ok(Some(Item::Abort { channel }));
                }
            }
            Packet::GoAway => return Ok(Some(Item::GoAway)),
        }
        Ok(None)
    }

    /// Begins the contents of a packet.
    #[inline]
    fn carry(&mut self, stage: Stage, size: u32) {
        if size > 0 {
            self.stage = stage;
            self.left = size;
        }
    }

    #[inline]
    fn begin_message<'i>(
        &mut self,
        start: Start,
        size: u32,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Option<Item<'i>>, DecodeError> {
        let channel = self.channels.number();
        if !self.channels.current.is_free() {
            return Err(DecodeError::ChannelBusy(channel));
        }
        let room = self.channels.room(config);
        let mut scan = Scan::new(start);
        scan.announce(size, config, room)?;
        let here = usize::try_from(size)
            .ok()
            .and_then(|size| input.split_at_checked(size));
        let Some((bytes, rest)) = here else {
            self.channels.current = Channel::Head(Box::new(Partial::new(scan, &[])));
            self.carry(Stage::Head, size);
            return Ok(None);
        };
        *input = rest;
        if scan.advance(bytes, config, room)?
            && let Some(head) = scan.head(bytes)
        {
            let contents = scan.take_contents();
            let finished = contents.is_finished();
            if !finished {
                self.channels.current = Channel::Contents(contents);
            }
            return Ok(Some(Item::Message {
                channel,
                head,
                finished,
            }));
        }
        self.channels.current = Channel::Head(Box::new(Partial::new(scan, bytes)));
        Ok(None)
    }

    fn continue_head(&mut self, size: u32, config: &DecoderConfig) -> Result<(), DecodeError> {
        let room = self.channels.room(config);
        let Channel::Head(partial) = &mut self.channels.current else {
            return Err(DecodeError::StrayContinue(self.channels.number()));
        };
        partial.announce(size, config, room)?;
        self.carry(Stage::Head, size);
        Ok(())
    }

    /// Takes further bytes of a head. Returns whether the head is complete and in `given`.
    fn more_of_head(
        &mut self,
        input: &mut &[u8],
        config: &DecoderConfig,
    ) -> Result<bool, DecodeError> {
        let room = self.channels.room(config);
        let bytes = self.take(input);
        let Channel::Head(partial) = &mut self.channels.current else {
            return Ok(false); // this stage implies a head in progress
        };
        if !partial.push(bytes, config, room)? {
            return Ok(false);
        }
        let contents = Channel::Contents(partial.take_contents());
        if let Channel::Head(partial) = mem::replace(&mut self.channels.current, contents) {
            self.given = Some(partial);
        }
        self.channels.settle();
        Ok(true)
    }

    /// Begins a packet of a file. The file's part of the head must have come.
    fn begin_file(
        &mut self,
        index: u32,
        size: u32,
        config: &DecoderConfig,
    ) -> Result<(), DecodeError> {
        let room = self.channels.room(config);
        let current = &mut self.channels.current;
        let files = current.files(Content::File)?;
        files.take(index, size, config.enforce_file_sizes)?;
        self.file = index;
        match current {
            Channel::Head(partial) => partial.take_early(size, room),
            _ => Ok(()),
        }
    }

    /// Yields a piece of contents. The input must not be empty.
    #[inline]
    fn contents<'i>(&mut self, input: &mut &'i [u8]) -> Item<'i> {
        let (channel, stage) = (self.channels.number(), self.stage);
        let bytes = self.take(input);
        match stage {
            Stage::Data => {
                let rest = self.channels.current.data_left();
                Item::Data {
                    channel,
                    bytes,
                    left: rest.saturating_add(self.left.into()),
                    finished: self.left == 0 && self.channels.settle(),
                }
            }
            Stage::File => Item::File {
                channel,
                index: self.file,
                bytes,
            },
            _ => Item::Stream { channel, bytes },
        }
    }

    /// Takes the received part of the packet's contents. The next packet begins after the last byte.
    #[inline]
    fn take<'i>(&mut self, input: &mut &'i [u8]) -> &'i [u8] {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let (bytes, rest) = input.split_at(most.min(input.len()));
        *input = rest;
        self.left -= u32::try_from(bytes.len()).unwrap_or(self.left);
        if self.left == 0 {
            self.stage = Stage::Packet;
        }
        bytes
    }

    /// Ends decoding.
    #[cold]
    fn fail(&mut self) {
        *self = Self::new();
        self.stage = Stage::Failed;
    }

    /// The bytes that currently count against [`DecoderConfig::pending_bytes`].
    pub fn pending(&self) -> usize {
        self.channels.pending()
    }

    /// The bytes received of incomplete heads and incomplete packet fields; `None` if there are none. Contents do not
    /// count, because they may take any time. The time that this takes does not depend on the number of busy channels.
    pub fn unfinished(&self) -> Option<usize> {
        let kept = self.kept.length();
        match self.channels.unfinished() {
            Some(heads) => Some(heads + kept),
            None => (kept > 0).then_some(kept),
        }
    }

    /// Whether a message is in progress on any channel.
    pub fn is_busy(&self) -> bool {
        self.channels.is_busy()
    }

    /// The memory held: at most [`DecoderConfig::pending_bytes`], the head just returned, and a table with 33 bytes per
    /// slot and at most four slots for each channel that was busy at the same time. Visits all busy channels.
    pub fn held_bytes(&self) -> usize {
        let given = self.given.as_deref().map_or(0, Partial::held_bytes);
        self.channels.held_bytes() + given
    }
}
