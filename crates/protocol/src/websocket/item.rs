//! What a decoder yields: messages, pings, pongs and the close.
//!
//! Never holds a masked or unvalidated byte, unless the caller asked for [masked](super::Masked) messages.

use std::ops::Deref;

use super::close;
use super::error::DecodeError;
use super::opcode::{Kind, Opcode};

/// The next thing a peer said. Borrows from the input or from the decoder until the next call. Messages are
/// [`Payload`]s, or [`Masked`](super::Masked) ones where those were asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a, P = Payload<'a>> {
    /// A finished message.
    Message {
        /// Text, which is then valid UTF-8 unless the decoder's configuration says otherwise, or binary.
        kind: Kind,
        /// Text whose bytes are all below 0x80. Always false for binary, and for text that is not checked.
        ascii: bool,
        /// The message's bytes.
        payload: P,
    },
    /// To be answered by a pong with these bytes, at most 125.
    Ping(&'a [u8]),
    /// At most 125 bytes: those of our ping, if this is an answer.
    Pong(&'a [u8]),
    /// The peer closes; nothing follows. To be echoed with the same code.
    Close {
        /// The code, valid on the wire, or none when the frame was empty.
        code: Option<u16>,
        /// At most 123 bytes, often empty.
        reason: &'a str,
    },
}

/// The bytes of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// The message was one frame, wholly in the input.
    Borrowed(&'a [u8]),
    /// The message was assembled over reads or fragments: keep the `Vec` without a copy.
    Owned(Vec<u8>),
}

impl Payload<'_> {
    /// The bytes, copied if they are borrowed.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Borrowed(bytes) => bytes.to_vec(),
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Deref for Payload<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// The item of a complete control frame.
#[inline]
pub(super) fn control_item(opcode: Opcode, payload: &[u8]) -> Result<Item<'_>, DecodeError> {
    match opcode {
        Opcode::Ping => Ok(Item::Ping(payload)),
        Opcode::Pong => Ok(Item::Pong(payload)),
        _ => close_item(payload),
    }
}

/// The item of a close frame (RFC 6455 §5.5.1).
fn close_item(payload: &[u8]) -> Result<Item<'_>, DecodeError> {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return match payload {
            [] => Ok(Item::Close {
                code: None,
                reason: "",
            }),
            _ => Err(DecodeError::CloseTruncated),
        };
    };
    let code = u16::from_be_bytes(*code);
    if !close::is_valid_on_wire(code) {
        return Err(DecodeError::CloseCode(code));
    }
    let reason = str::from_utf8(reason).map_err(|_| DecodeError::CloseReason)?;
    Ok(Item::Close {
        code: Some(code),
        reason,
    })
}
