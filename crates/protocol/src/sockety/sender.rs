//! Which packets are sent, on which channel and in which order.
//!
//! Owns the missing contents of every message that we have begun, and the channel that the peer expects packets for.
//! Holds no contents: what it gets is appended at once. It appends only whole packets, except for a packet of data that
//! its caller chose to begin early.

use std::num::NonZeroU32;

use super::contents::{Content, Contents, ContentsError, Files};
use super::encode::{
    ABORT, STREAM_END, append_data_head, append_file_end, append_file_head, append_head,
    append_stream_head, append_switch, data_packet_bytes, packet_size,
};
use super::error::EncodeError;
use super::head::Head;
use super::outgoing::Outgoing;

/// The sending half of one connection. It is made when the peer's header has come.
///
/// Single packets (fast replies, heartbeats, going away) do not pass through it. They may be appended between any two
/// packets, that is, when [`Sender::open_packet`] returns `None`.
#[derive(Debug)]
pub struct Sender {
    channels: Outgoing,
    /// Whether the peer frees the channel of an aborted message.
    reuses_aborted: bool,
    /// The channel of the last message that was begun.
    last: u16,
    /// The channel that packets currently belong to; `None` if it is unknown.
    wire: Option<u16>,
    /// The channel of an unfinished packet of data, and the bytes that are missing.
    open: Option<(u16, NonZeroU32)>,
}

#[cfg(not(test))]
const _: () = assert!(
    size_of::<Sender>() <= 64,
    "every idle connection pays for this"
);

impl Sender {
    /// Sends on channels 0 to `channels` - 1, as many as the peer's header announced, or fewer. Allocates nothing.
    pub fn new(channels: u16) -> Self {
        Self::from_channel(0, channels)
    }

    /// Sends only on channels `first` to `channels` - 1, for callers that use the others themselves. At least the last
    /// channel is used.
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

    /// Allows the channels of aborted messages to be used again, including those aborted before. For a peer that is
    /// known to free them, as [`Decoder`](super::Decoder) does. A peer that aborts messages itself is of this kind:
    /// other implementations never do.
    pub fn reuse_aborted_channels(&mut self) {
        if !self.reuses_aborted {
            self.reuses_aborted = true;
            self.channels.free_spent();
        }
    }

    /// Begins a message or response: appends its head on a free channel and returns the channel. Returns `None` if no
    /// channel is free; the message must then wait until one in progress is complete. A message without contents is
    /// complete at once.
    ///
    /// Fails with [`SendError::NoChannel`] when [`Sender::abort`] has used up every channel. Then no message or
    /// response can be sent on this connection any more, only single packets, and the caller needs another connection.
    /// If the peer has only one channel, the first aborted message uses it up. This cannot happen after
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

    /// How many bytes [`Sender::data`] should get, so that it can append a whole packet: at most 1 MiB and 64 KiB. 0 if
    /// no data is missing.
    pub fn data_wanted(&self, channel: u16) -> u32 {
        match (self.open, self.channels.in_progress(channel)) {
            (Some((open, left)), _) if open == channel => left.get(),
            (_, Some(contents)) => data_packet_bytes(contents.data_left()),
            _ => 0,
        }
    }

    /// Appends at most one packet of data and returns the number of bytes taken. Other packets may follow.
    ///
    /// With fewer bytes than [`Sender::data_wanted`] the packet stays open, and nothing else can be appended until the
    /// rest of it has come. A caller that cannot wait for the rest should collect enough bytes first.
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
                    0 => packet_size(bytes.len())?, // more than the message has
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

    /// Appends the head of the next packet of data and returns the size of its contents. The caller must send exactly
    /// so many bytes directly after it. This avoids copying the data.
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

    /// Appends all bytes of a stream since the last call in one packet, followed by the stream's end if it has ended.
    /// sockety-js loses pieces if one read returns several.
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

    /// Appends bytes of a file in one packet of at most 1 MiB and returns the number of bytes taken. Other packets may
    /// follow.
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

    /// Appends the end of a file, whose bytes must all have been sent. Every file needs one, even an empty file.
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

    /// Aborts a message in progress. Its channel is never used again, unless [`Sender::reuse_aborted_channels`] was
    /// called: sockety-js does not know this packet and closes when a new message comes on a channel that it considers
    /// busy. Within an open packet a message cannot be aborted; only the connection can be closed.
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

    /// Tells the sender that other code has appended packets that choose a channel. The next packet chooses its channel
    /// again.
    pub fn forget_channel(&mut self) {
        self.wire = None;
    }

    /// The channel of an unfinished packet, and the bytes that are missing. Meanwhile nothing else may be appended, not
    /// even a single packet.
    pub fn open_packet(&self) -> Option<(u16, u32)> {
        self.open.map(|(channel, left)| (channel, left.get()))
    }

    /// Whether a message is in progress on a channel.
    pub fn is_busy(&self, channel: u16) -> bool {
        self.channels.in_progress(channel).is_some()
    }

    /// The number of messages in progress.
    pub fn in_progress(&self) -> usize {
        self.channels.count()
    }

    /// The memory held, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.channels.held_bytes()
    }

    /// The current channel if it is free, which saves a packet, otherwise another free one.
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

    /// Appends packets of a channel, preceded by the choice of the channel if it is not the current one. Appends all or
    /// nothing.
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

/// The most bytes of a file in one packet. sockety-js reads sizes of at most three bytes; the limit is lower, so that
/// packets of other messages can come between.
const FILE_PACKET: usize = 1 << 20;

/// Why nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// A packet of data is unfinished.
    #[error("a packet has been begun")]
    PacketOpen,
    /// The channel has no message in progress.
    #[error("no message in progress on channel {0}")]
    NotInProgress(u16),
    /// All channels are used up by aborted messages.
    #[error("no channel is left")]
    NoChannel,
    /// The contents are not those that the message's head announced.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// The value cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}
