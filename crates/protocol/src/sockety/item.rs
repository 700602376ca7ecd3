//! What a decoder yields. Never holds a byte itself.

use super::head::Head;
use super::id::Id;

/// The next thing a peer said. Borrows from the input or from the decoder until the next call.
///
/// What belongs to a message names its channel. A channel carries one message at a time: what comes between the item that
/// has `finished` and the next message there is of no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// The connection header, always the first.
    Header {
        /// Channels that the peer receives on, 1 to 4096.
        channels: u16,
    },
    /// A message or response whose head is complete.
    Message {
        /// The channel of its contents.
        channel: u16,
        /// What it says of itself.
        head: Head<'a>,
        /// It has no contents, or only files that ended before the head did.
        finished: bool,
    },
    /// A piece of a message's data, never empty.
    Data {
        /// The message's channel.
        channel: u16,
        /// As many as came.
        bytes: &'a [u8],
        /// Bytes of the data still to come.
        left: u64,
        /// It was the last that the message owed.
        finished: bool,
    },
    /// A piece of a file, never empty. May come before its message, when the head is not complete but that file's part of it
    /// is: such pieces count against [`DecoderConfig::pending_bytes`](super::DecoderConfig::pending_bytes).
    File {
        /// The message's channel.
        channel: u16,
        /// The place of the file in the message's list.
        index: u32,
        /// As many as came.
        bytes: &'a [u8],
    },
    /// A file has ended. May come before its message, as its pieces.
    FileEnd {
        /// The message's channel.
        channel: u16,
        /// The place of the file in the message's list.
        index: u32,
        /// It was the last that the message owed.
        finished: bool,
    },
    /// A piece of a message's stream, never empty. Where pieces begin and end means nothing.
    Stream {
        /// The message's channel.
        channel: u16,
        /// As many as came.
        bytes: &'a [u8],
    },
    /// A message's stream has ended.
    StreamEnd {
        /// The message's channel.
        channel: u16,
        /// It was the last that the message owed.
        finished: bool,
    },
    /// The message in progress is given up, whether its head was complete or not. The channel is free.
    Abort {
        /// The message's channel.
        channel: u16,
    },
    /// An answer of two bytes.
    FastReply {
        /// 0 to 4095.
        code: u16,
        /// The message or response that it answers, perhaps unknown.
        id: Id,
    },
    /// A sign of life.
    Heartbeat,
    /// The peer will disconnect soon.
    GoAway,
}
