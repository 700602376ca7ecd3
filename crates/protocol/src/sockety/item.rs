//! The items that a decoder returns. They own no bytes.

use super::head::Head;
use super::id::Id;

/// The next thing that a peer sent. Borrows from the input or from the decoder until the next call.
///
/// Items of a message name its channel. A channel carries one message at a time: after an item with `finished`, the
/// next item of that channel belongs to another message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// The connection header. It is always the first item.
    Header {
        /// The number of channels on which the peer receives, 1 to 4096.
        channels: u16,
    },
    /// A message or response whose head is complete.
    Message {
        /// The channel of its contents.
        channel: u16,
        /// The fields of the head.
        head: Head<'a>,
        /// The message is complete: it has no contents, or only files that ended before the head did.
        finished: bool,
    },
    /// A piece of a message's data, never empty.
    Data {
        /// The message's channel.
        channel: u16,
        /// The bytes received.
        bytes: &'a [u8],
        /// The bytes of the data that are still missing.
        left: u64,
        /// The message is complete.
        finished: bool,
    },
    /// A piece of a file, never empty. It may come before its message, when the head is incomplete but contains that
    /// file's header. Such pieces count against [`DecoderConfig::pending_bytes`](super::DecoderConfig::pending_bytes).
    File {
        /// The message's channel.
        channel: u16,
        /// The index of the file in the message's list.
        index: u32,
        /// The bytes received.
        bytes: &'a [u8],
    },
    /// A file has ended. Like a file's pieces, this may come before its message.
    FileEnd {
        /// The message's channel.
        channel: u16,
        /// The index of the file in the message's list.
        index: u32,
        /// The message is complete.
        finished: bool,
    },
    /// A piece of a message's stream, never empty. The boundaries of pieces have no meaning.
    Stream {
        /// The message's channel.
        channel: u16,
        /// The bytes received.
        bytes: &'a [u8],
    },
    /// A message's stream has ended.
    StreamEnd {
        /// The message's channel.
        channel: u16,
        /// The message is complete.
        finished: bool,
    },
    /// The message in progress is aborted, whether its head was complete or not. The channel is free.
    Abort {
        /// The message's channel.
        channel: u16,
    },
    /// A reply that consists of a code.
    FastReply {
        /// 0 to 4095.
        code: u16,
        /// The message or response that it answers. The id may be unknown.
        id: Id,
    },
    /// A heartbeat, which shows that the peer is alive.
    Heartbeat,
    /// The peer will disconnect soon.
    GoAway,
}
