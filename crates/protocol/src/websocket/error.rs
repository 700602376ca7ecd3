//! Why a peer's bytes are refused, and what the close frame tells it.
//!
//! Never describes our own failures: each variant is an error of the peer and ends its connection.

use super::close;

/// The peer broke RFC 6455 or a limit of [`DecoderConfig`](super::DecoderConfig).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A client must mask every frame (§5.1).
    #[error("unmasked frame from a client")]
    Unmasked,
    /// A server must not mask any frame (§5.1).
    #[error("masked frame from a server")]
    Masked,
    /// A reserved bit is set that no extension defines (§5.2). The value is the frame's first byte.
    #[error("reserved bit set in {0:#04x}")]
    ReservedBits(u8),
    /// An undefined opcode (§5.2).
    #[error("reserved opcode {0:#x}")]
    ReservedOpcode(u8),
    /// A close, ping or pong without FIN (§5.5).
    #[error("fragmented control frame")]
    FragmentedControl,
    /// A close, ping or pong with more than 125 bytes (§5.5). The value is its 7-bit length.
    #[error("control frame with length code {0}, above 125")]
    ControlTooLong(u8),
    /// A length in a longer form than necessary (§5.2).
    #[error("length {0} is not in its shortest form")]
    LengthNotMinimal(u64),
    /// A 64-bit length with its highest bit set (§5.2).
    #[error("length {0:#x} has its highest bit set")]
    LengthOverflow(u64),
    /// A continuation frame without a message to continue (§5.4).
    #[error("continuation outside of a message")]
    StrayContinuation,
    /// A new message before the last fragment of the one before (§5.4).
    #[error("new message inside of an unfinished one")]
    InterruptedMessage,
    /// A text message has bytes that cannot be the beginning of UTF-8 (§8.1).
    #[error("text message is not UTF-8")]
    InvalidUtf8,
    /// The message would exceed `message_bytes`. The value is the length of the frame that announced it.
    #[error("message too big: its bound is exceeded by a frame of {0} bytes")]
    MessageTooBig(u64),
    /// A compressed message is not valid DEFLATE (RFC 7692 §7.2.2).
    #[error("compressed message is not valid DEFLATE")]
    CorruptDeflate,
    /// The text of a compressed message would exceed `message_bytes`.
    #[error("compressed message too big")]
    InflatedTooBig,
    /// A close payload of one byte, which is half a code (§5.5.1).
    #[error("close frame of one byte")]
    CloseTruncated,
    /// A close code that must not be on the wire (§7.4).
    #[error("invalid close code {0}")]
    CloseCode(u16),
    /// A close reason that is not UTF-8 (§5.5.1).
    #[error("close reason is not UTF-8")]
    CloseReason,
    /// More pings and pongs than [`DecoderConfig`](super::DecoderConfig) allows.
    #[error("too many control frames")]
    ControlRate,
}

impl DecodeError {
    /// The code to close the connection with: 1002, 1007, 1008 or 1009.
    pub const fn close_code(&self) -> u16 {
        match self {
            Self::InvalidUtf8 | Self::CorruptDeflate | Self::CloseReason => close::INVALID_PAYLOAD,
            Self::MessageTooBig(_) | Self::InflatedTooBig => close::MESSAGE_TOO_BIG,
            Self::ControlRate => close::POLICY_VIOLATION,
            _ => close::PROTOCOL_ERROR,
        }
    }

    /// The reason to close the connection with: short ASCII text without any of the peer's bytes.
    pub const fn close_reason(&self) -> &'static str {
        match self {
            Self::Unmasked => "unmasked frame",
            Self::Masked => "masked frame",
            Self::ReservedBits(_) => "reserved bit set",
            Self::ReservedOpcode(_) => "reserved opcode",
            Self::FragmentedControl => "fragmented control frame",
            Self::ControlTooLong(_) => "control frame too long",
            Self::LengthNotMinimal(_) => "length not minimal",
            Self::LengthOverflow(_) => "length overflow",
            Self::StrayContinuation => "stray continuation",
            Self::InterruptedMessage => "message interrupted",
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::MessageTooBig(_) | Self::InflatedTooBig => "message too big",
            Self::CorruptDeflate => "invalid compressed data",
            Self::CloseTruncated => "truncated close frame",
            Self::CloseCode(_) => "invalid close code",
            Self::CloseReason => "invalid UTF-8 in close reason",
            Self::ControlRate => "too many control frames",
        }
    }
}
