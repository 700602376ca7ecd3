//! Which packets go out, on which channel, in which order.
//!
//! Owns what every message that we have begun still owes, and which channel the wire is on. Holds no contents: what it is given
//! is appended at once. Everything it appends is whole packets, but for one of data that its caller chose to begin early.

use std::num::NonZeroU32;

use super::contents::{Content, Contents, ContentsError, Files};
use super::encode::{
    ABORT, STREAM_END, append_data_head, append_file_end, append_file_head, append_head,
    append_stream_head, append_switch, data_packet_bytes, packet_size,
};
use super::error::EncodeError;
use super::head::Head;
use super::outgoing::Outgoing;

/// The writing half of one connection, made when the peer's header has come.
///
/// What is whole by itself (fast replies, heartbeats, going away) is appended without it, between any two packets:
/// where [`Sender::open_packet`] says `None`.
#[derive(Debug)]
pub struct Sender {
    channels: Outgoing,
    /// Whether the peer frees the channel of a message that was given up.
    reuses_aborted: bool,
    /// The channel of the last message.
    last: u16,
    /// The channel that the wire is on; `None`: nobody knows.
    wire: Option<u16>,
    /// The channel of a packet of data that was begun, and the bytes that it lacks.
    open: Option<(u16, NonZeroU32)>,
}

#[cfg(not(test))]
const _: () = assert!(
    size_of::<Sender>() <= 64,
    "every idle connection pays for this"
);

impl Sender {
    /// Sends on channels 0 to `channels` - 1: what the peer's header announced, or fewer. Allocates nothing.
    pub fn new(channels: u16) -> Self {
        Self::from_channel(0, channels)
    }

    /// Sends on channels `first` to `channels` - 1 alone, for callers that use others themselves. There is one at
    /// least: the last.
    pub fn from_channel(first: u16, channels: u16) -> Self {
        let channels = Outgoing::new(first, channels);
        Self {
            last: channels.first(),
            channels,
            reuses_aborted: false,
            wire: Some(0),
            open: None,
        }
    }

    /// Uses channels again on which a message was given up, also those of before: for a peer that is known to free them, as
    /// [`Decoder`](super::Decoder) does. One that gives messages up itself is such a peer: no other implementation does.
    pub fn reuse_aborted_channels(&mut self) {
        if !self.reuses_aborted {
            self.reuses_aborted = true;
            self.channels.free_spent();
        }
    }

    /// Begins a message or response: appends its head, on a channel that is free, which it says. `None`, if none is: the
    /// message waits until one that is in progress has come to its end. If there are no contents, it has ended at once.
    ///
    /// Fails with [`SendError::NoChannel`] from when on every channel was used up by [`Sender::abort`], which a single
    /// channel is by the first message given up: then no message or response can be sent on this connection any more,
    /// only what is whole by itself, and whoever has one to send needs another connection. It does not come to that with
    /// [`Sender::reuse_aborted_channels`].
    pub fn begin(&mut self, head: &Head<'_>, out: &mut Vec<u8>) -> Result<Option<u16>, SendError> {
        self.between_packets()?;
        if self.channels.are_all_spent() {
            return Err(SendError::NoChannel);
        }
        let Some(channel) = self.free_channel() else {
            return Ok(None);
        };
        self.appending(channel, out, |out| append_head(head, out))?;
        self.last = channel;
        let mut files = Files::default();
        head.files.iter().for_each(|file| files.push(file.size));
        let contents = Contents::new(head.data_size, head.has_stream, files);
        if !contents.is_finished() {
            self.channels.begin(channel, contents);
        }
        Ok(Some(channel))
    }

    /// How many bytes [`Sender::data`] should be given, so that the packet is whole: at most 1 MiB and 64 KiB. 0: there is
    /// no more data.
    pub fn data_wanted(&self, channel: u16) -> u32 {
        match (self.open, self.channels.in_progress(channel)) {
            (Some((open, left)), _) if open == channel => left.get(),
            (_, Some(contents)) => data_packet_bytes(contents.data_left()),
            _ => 0,
        }
    }

    /// Appends data, one packet of it at most, and says how many bytes were taken: then others may come between.
    ///
    /// With fewer bytes than [`Sender::data_wanted`] the packet stays open: nothing else can be appended until the rest of
    /// it has come. Whoever cannot wait for the rest collects as many bytes first.
    pub fn data(
        &mut self,
        channel: u16,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, SendError> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let size = match self.open.take() {
            Some((open, left)) if open == channel => left.get(),
            Some(open) => {
                self.open = Some(open);
                return Err(SendError::PacketOpen);
            }
            None => {
                let contents = self.channels.contents(channel, Content::Data)?;
                let size = match data_packet_bytes(contents.data_left()) {
                    0 => packet_size(bytes.len())?, // more than there is
                    size => size,
                };
                contents.take_data(size)?;
                self.appending(channel, out, |out| {
                    append_data_head(size, out);
                    Ok(())
                })?;
                size
            }
        };
        let most = usize::try_from(size).unwrap_or(usize::MAX);
        let piece = bytes.get(..most).unwrap_or(bytes);
        out.extend_from_slice(piece);
        let left = size - u32::try_from(piece.len()).unwrap_or(size);
        self.open = NonZeroU32::new(left).map(|left| (channel, left));
        if self.open.is_none() {
            self.channels.settle(channel);
        }
        Ok(piece.len())
    }

    /// Appends the head of the next packet of data, whose bytes the caller sends right behind it, before anything else is
    /// appended: as many as this returns. For bytes that are not to be copied.
    pub fn data_head(&mut self, channel: u16, out: &mut Vec<u8>) -> Result<u32, SendError> {
        self.between_packets()?;
        let contents = self.channels.contents(channel, Content::Data)?;
        let size = data_packet_bytes(contents.data_left());
        if size == 0 {
            return Err(SendError::NotInProgress(channel));
        }
        contents.take_data(size)?;
        self.appending(channel, out, |out| {
            append_data_head(size, out);
            Ok(())
        })?;
        self.channels.settle(channel);
        Ok(size)
    }

    /// Appends all that there is of a stream since the last time, in one packet, and its end behind it where it has ended:
    /// sockety-js loses pieces that come in one read with others.
    pub fn stream(
        &mut self,
        channel: u16,
        pieces: &[&[u8]],
        ends: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        self.between_packets()?;
        let bytes = pieces
            .iter()
            .fold(0, |sum: usize, piece| sum.saturating_add(piece.len()));
        let size = packet_size(bytes)?;
        let contents = self.channels.contents(channel, Content::Stream)?;
        contents.take_stream()?;
        if ends {
            contents.end_stream()?;
        } else if size == 0 {
            return Ok(());
        }
        self.appending(channel, out, |out| {
            if size > 0 {
                append_stream_head(size, out);
                for piece in pieces {
                    out.extend_from_slice(piece);
                }
            }
            if ends {
                out.push(STREAM_END);
            }
            Ok(())
        })?;
        self.channels.settle(channel);
        Ok(())
    }

    /// Appends bytes of a file, one packet of at most 1 MiB, and says how many were taken: then others may come between.
    pub fn file(
        &mut self,
        channel: u16,
        index: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, SendError> {
        self.between_packets()?;
        let piece = bytes.get(..FILE_PACKET).unwrap_or(bytes);
        let size = packet_size(piece.len())?;
        let files = self
            .channels
            .contents(channel, Content::File)?
            .files(Content::File)?;
        files.take(index, size, true)?;
        if size > 0 {
            self.appending(channel, out, |out| {
                append_file_head(index, size, out)?;
                out.extend_from_slice(piece);
                Ok(())
            })?;
        }
        Ok(piece.len())
    }

    /// Appends the end of a file, of which all bytes were given. Every file has one, an empty one too.
    pub fn end_file(
        &mut self,
        channel: u16,
        index: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        self.between_packets()?;
        let contents = self.channels.contents(channel, Content::FileEnd)?;
        contents.files(Content::FileEnd)?.end(index, true)?;
        self.appending(channel, out, |out| append_file_end(index, out))?;
        self.channels.settle(channel);
        Ok(())
    }

    /// Gives up a message in progress. Its channel is never used again, but by
    /// [`Sender::reuse_aborted_channels`]: sockety-js does not know this packet, and ends when a message comes where one
    /// is in progress. Within an open packet nothing can be given up but the connection.
    pub fn abort(&mut self, channel: u16, out: &mut Vec<u8>) -> Result<(), SendError> {
        self.between_packets()?;
        self.channels
            .contents(channel, Content::Data)
            .map_err(|_| SendError::NotInProgress(channel))?;
        self.appending(channel, out, |out| {
            out.push(ABORT);
            Ok(())
        })?;
        if self.reuses_aborted {
            self.channels.free(channel);
        } else {
            self.channels.spend(channel);
        }
        Ok(())
    }

    /// Somebody else has appended packets that choose a channel: the next one here begins with a choice of its own.
    pub fn forget_channel(&mut self) {
        self.wire = None;
    }

    /// The channel of a packet that was begun and is not whole, and the bytes that it lacks. Nothing else may be
    /// appended then, not even what is not appended here.
    pub fn open_packet(&self) -> Option<(u16, u32)> {
        self.open.map(|(channel, left)| (channel, left.get()))
    }

    /// Whether a message is in progress on a channel.
    pub fn is_busy(&self, channel: u16) -> bool {
        self.channels.in_progress(channel).is_some()
    }

    /// How many messages are in progress.
    pub fn in_progress(&self) -> usize {
        self.channels.count()
    }

    /// Bytes of memory held.
    pub fn held_bytes(&self) -> usize {
        self.channels.held_bytes()
    }

    /// The channel that the wire is on, which saves a packet, or else one that is free.
    fn free_channel(&self) -> Option<u16> {
        let wire = self.wire.filter(|wire| self.channels.is_usable(*wire));
        self.channels.free_from(wire.unwrap_or(self.last))
    }

    fn between_packets(&self) -> Result<(), SendError> {
        match self.open {
            Some(_) => Err(SendError::PacketOpen),
            None => Ok(()),
        }
    }

    /// Appends packets of a channel, and in front of them its choice if it is not chosen. All of it or nothing.
    fn appending(
        &mut self,
        channel: u16,
        out: &mut Vec<u8>,
        append: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let before = out.len();
        let wire = self.wire.replace(channel);
        let appended = match wire {
            Some(wire) if wire == channel => append(out),
            _ => append_switch(channel, out).and_then(|()| append(out)),
        };
        if appended.is_err() {
            out.truncate(before);
            self.wire = wire;
        }
        appended
    }
}

/// The most bytes of a file in one packet. sockety-js reads sizes of three bytes at most; the rest is for others' sake.
const FILE_PACKET: usize = 1 << 20;

/// Why nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// A packet of data is not whole.
    #[error("a packet has been begun")]
    PacketOpen,
    /// There is no message on this channel that could be given up.
    #[error("no message in progress on channel {0}")]
    NotInProgress(u16),
    /// Every channel had a message that was given up, and none is used again.
    #[error("no channel is left")]
    NoChannel,
    /// It is not what the message's head announced.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// It cannot be said.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}
