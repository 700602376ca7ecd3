//! Why received bytes are refused, and which values cannot be encoded.

use super::contents::ContentsError;

/// The peer broke the protocol or a limit of [`DecoderConfig`](super::DecoderConfig). The connection must end, because
/// the beginning of the next packet is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The connection does not begin with a header.
    #[error("wrong control byte {0:#04x}")]
    ControlByte(u8),
    /// A header that announces no channel.
    #[error("header without a channel")]
    NoChannels,
    /// A packet of an undefined type. The value is its first byte.
    #[error("unknown packet type in {0:#04x}")]
    UnknownType(u8),
    /// A channel that was not announced.
    #[error("channel {0} is not open to the peer")]
    Channel(u16),
    /// A message or response on a channel where another is in progress.
    #[error("channel {0} is busy")]
    ChannelBusy(u16),
    /// A continuation of a head on a channel without an incomplete head.
    #[error("nothing to continue on channel {0}")]
    StrayContinue(u16),
    /// The head is longer than its fields.
    #[error("body longer than its fields")]
    BodyTooLong,
    /// An action that is not UTF-8.
    #[error("action is not UTF-8")]
    Action,
    /// The name of a file is not UTF-8. The value is the file's index.
    #[error("name of file {0} is not UTF-8")]
    FileName(u32),
    /// Contents that do not fit the message.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// The head would exceed `head_bytes`. The value is the size of the packet that announced it.
    #[error("head too big: its bound is exceeded by a packet of {0} bytes")]
    HeadTooBig(u32),
    /// More files than `files`.
    #[error("{0} files in one message")]
    TooManyFiles(u32),
    /// Messages in progress would exceed `pending_bytes` together.
    #[error("too much pending of messages in progress")]
    TooMuchPending,
}

impl DecodeError {
    /// The code to close the connection with: 1002, 1007 or 1009.
    pub const fn close_code(&self) -> u16 {
        match self {
            Self::Action | Self::FileName(_) => 1007,
            Self::HeadTooBig(_) | Self::TooManyFiles(_) | Self::TooMuchPending => 1009,
            _ => 1002,
        }
    }

    /// The reason to close the connection with: short ASCII text without any of the peer's bytes.
    pub const fn close_reason(&self) -> &'static str {
        match self {
            Self::ControlByte(_) => "wrong control byte",
            Self::NoChannels => "no channels",
            Self::UnknownType(_) => "unknown packet type",
            Self::Channel(_) => "channel out of range",
            Self::ChannelBusy(_) => "channel busy",
            Self::StrayContinue(_) => "nothing to continue",
            Self::BodyTooLong => "body too long",
            Self::Action => "invalid UTF-8 in action",
            Self::FileName(_) => "invalid UTF-8 in file name",
            Self::Contents(error) => error.close_reason(),
            Self::HeadTooBig(_) => "head too big",
            Self::TooManyFiles(_) => "too many files",
            Self::TooMuchPending => "too much pending",
        }
    }
}

/// A value that cannot be encoded. Nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// Actions have at most 65,535 bytes.
    #[error("an action of {0} bytes is too long")]
    ActionTooLong(usize),
    /// Names of files have at most 65,535 bytes.
    #[error("a file name of {0} bytes is too long")]
    NameTooLong(usize),
    /// Data, a file, and the files of a message together have at most 2^48 - 1 bytes.
    #[error("{0} bytes are too many")]
    TooBig(u64),
    /// A message has at most 16,777,215 files. The value is the number or index that is too high.
    #[error("there is no file {0}")]
    FileIndex(u32),
    /// A packet carries at most 2^32 - 1 bytes.
    #[error("a packet of {0} bytes is too long")]
    PacketTooLong(u64),
    /// Channels are 0 to 4095.
    #[error("there is no channel {0}")]
    Channel(u16),
    /// Codes of fast replies are 0 to 4095.
    #[error("there is no code {0}")]
    Code(u16),
}
