//! Bytes in, items out.
//!
//! Owns where in a packet the input has come to. Lends contents from the input, piece by piece. Never copies a head that is
//! wholly in the input, never claims memory for an announced size.

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

/// The reading half of one connection.
#[derive(Debug, Default)]
pub struct Decoder {
    channels: InProgress,
    /// The head of the item just yielded, if it did not come in one piece.
    given: Option<Box<Partial>>,
    /// Bytes still to come of what the packet carries.
    left: u32,
    /// The file that they belong to.
    file: u32,
    stage: Stage,
    kept: Kept,
}

const _: () = assert!(
    size_of::<Decoder>() <= 112,
    "every idle connection pays for this"
);

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Header,
    Packet,
    Head,
    Data,
    File,
    Stream,
    /// After an error: nothing more is yielded.
    Failed,
}

/// What a step of decoding came to.
enum Step<'i> {
    Item(Item<'i>),
    /// A message whose head is in `given`.
    Given,
    /// Nothing to be told: on with the next.
    Again,
    /// All input is consumed.
    Starved,
}

impl Decoder {
    /// A decoder before the connection header. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next item in `input`, which is moved on behind what was taken; `None`: all of it was, and more is needed.
    ///
    /// After an error nothing more is yielded, and all further input is thrown away.
    #[inline]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        if self.given.is_some() {
            self.given = None;
        }
        loop {
            match self.step(input, config) {
                Ok(Step::Again) => {}
                Ok(Step::Item(item)) => return Ok(Some(item)),
                Ok(Step::Given) => break,
                Ok(Step::Starved) => return Ok(None),
                Err(error) => {
                    *input = &[];
                    self.fail();
                    return Err(error);
                }
            }
        }
        let (channel, finished) = (self.channels.number(), self.channels.current.is_free());
        let head = self.given.as_deref().and_then(Partial::head);
        Ok(head.map(|head| Item::Message {
            channel,
            head,
            finished,
        }))
    }

    #[inline]
    fn step<'i>(
        &mut self,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Step<'i>, DecodeError> {
        match self.stage {
            Stage::Packet => match self.kept.next(input, packet::parse)? {
                Some(packet) => self.begin(packet, input, config),
                None => Ok(Step::Starved),
            },
            Stage::Data | Stage::File | Stage::Stream => Ok(self.contents(input)),
            Stage::Head => self.more_of_head(input, config),
            Stage::Header => Ok(match self.kept.next(input, header::parse)? {
                Some(channels) => {
                    self.stage = Stage::Packet;
                    Step::Item(Item::Header { channels })
                }
                None => Step::Starved,
            }),
            Stage::Failed => {
                *input = &[];
                Ok(Step::Starved)
            }
        }
    }

    /// A packet whose own numbers are complete.
    #[inline]
    fn begin<'i>(
        &mut self,
        packet: Packet,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Step<'i>, DecodeError> {
        let channel = self.channels.number();
        let current = &mut self.channels.current;
        Ok(match packet {
            Packet::Heartbeat => Step::Item(Item::Heartbeat),
            Packet::FastReply { code, id } => Step::Item(Item::FastReply { code, id }),
            Packet::Begin(start, size) => return self.begin_message(start, size, input, config),
            Packet::Continue(size) => return self.continue_head(size, config),
            Packet::Switch(channel) if channel >= config.channels => {
                return Err(DecodeError::Channel(channel));
            }
            Packet::Switch(channel) => {
                self.channels.switch(channel);
                Step::Again
            }
            Packet::Data(size) => {
                current.contents(Content::Data)?.take_data(size)?;
                self.carry(Stage::Data, size)
            }
            Packet::Stream(size) => {
                current.contents(Content::Stream)?.take_stream()?;
                self.carry(Stage::Stream, size)
            }
            Packet::StreamEnd => {
                current.contents(Content::StreamEnd)?.end_stream()?;
                let finished = self.channels.settle();
                Step::Item(Item::StreamEnd { channel, finished })
            }
            Packet::File { index, size } => {
                self.begin_file(index, size, config)?;
                self.carry(Stage::File, size)
            }
            Packet::FileEnd(index) => {
                let files = current.files(Content::FileEnd)?;
                files.end(index, config.enforce_file_sizes)?;
                let finished = self.channels.settle();
                Step::Item(Item::FileEnd {
                    channel,
                    index,
                    finished,
                })
            }
            Packet::Abort => match mem::take(current) {
                Channel::Free => Step::Again,
                _ => Step::Item(Item::Abort { channel }),
            },
            Packet::GoAway => Step::Item(Item::GoAway),
        })
    }

    /// What a packet carries begins.
    #[inline]
    fn carry<'i>(&mut self, stage: Stage, size: u32) -> Step<'i> {
        if size > 0 {
            self.stage = stage;
            self.left = size;
        }
        Step::Again
    }

    #[inline]
    fn begin_message<'i>(
        &mut self,
        start: Start,
        size: u32,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Step<'i>, DecodeError> {
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
            return Ok(self.carry(Stage::Head, size));
        };
        *input = rest;
        if !scan.advance(bytes, config, room)? {
            self.channels.current = Channel::Head(Box::new(Partial::new(scan, bytes)));
            return Ok(Step::Again);
        }
        let Some(head) = scan.head(bytes) else {
            return Ok(Step::Again); // it is complete
        };
        let contents = scan.take_contents();
        let finished = contents.is_finished();
        if !finished {
            self.channels.current = Channel::Contents(contents);
        }
        Ok(Step::Item(Item::Message {
            channel,
            head,
            finished,
        }))
    }

    fn continue_head<'i>(
        &mut self,
        size: u32,
        config: &DecoderConfig,
    ) -> Result<Step<'i>, DecodeError> {
        let room = self.channels.room(config);
        let Channel::Head(partial) = &mut self.channels.current else {
            return Err(DecodeError::StrayContinue(self.channels.number()));
        };
        partial.announce(size, config, room)?;
        Ok(self.carry(Stage::Head, size))
    }

    fn more_of_head<'i>(
        &mut self,
        input: &mut &'i [u8],
        config: &DecoderConfig,
    ) -> Result<Step<'i>, DecodeError> {
        let room = self.channels.room(config);
        let bytes = self.take(input);
        if bytes.is_empty() {
            return Ok(Step::Starved);
        }
        let Channel::Head(partial) = &mut self.channels.current else {
            return Ok(Step::Again); // nothing else is in progress where a head is
        };
        if !partial.push(bytes, config, room)? {
            return Ok(Step::Again);
        }
        let contents = Channel::Contents(partial.take_contents());
        if let Channel::Head(partial) = mem::replace(&mut self.channels.current, contents) {
            self.given = Some(partial);
        }
        self.channels.settle();
        Ok(Step::Given)
    }

    /// A packet of a file, which may come when its header has.
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

    /// A piece of contents.
    #[inline]
    fn contents<'i>(&mut self, input: &mut &'i [u8]) -> Step<'i> {
        let stage = self.stage;
        let bytes = self.take(input);
        if bytes.is_empty() {
            return Step::Starved;
        }
        let channel = self.channels.number();
        Step::Item(match stage {
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
        })
    }

    /// What came of what the packet carries. Behind all of it comes the next packet.
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

    /// Ends decoding for good.
    #[cold]
    fn fail(&mut self) {
        *self = Self::new();
        self.stage = Stage::Failed;
    }

    /// Bytes received of heads and of packets' own numbers that are not complete; `None` if there are none. Contents do not
    /// count: they may take as long as they like.
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

    /// Bytes of memory held: at most [`DecoderConfig::pending_bytes`], the head just yielded, and a table with 33 bytes for
    /// each of its places, of which there are at most four for each channel that was busy at the same time.
    pub fn held_bytes(&self) -> usize {
        let given = self.given.as_deref().map_or(0, Partial::held_bytes);
        self.channels.held_bytes() + given
    }
}
