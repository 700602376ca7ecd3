//! The items that a decoder returns: messages, pings, pongs and the close.
//!
//! Never contains masked or unvalidated bytes, unless the caller asked for [masked](super::Masked)
//! messages.

use std::ops::Deref;

use super::close;
use super::error::DecodeError;
use super::opcode::{Kind, Opcode};

/// The next thing that a peer sent. Borrows from the input or from the decoder until the next call.
/// Messages are [`Payload`]s, or [`Masked`](super::Masked) ones if the caller asked for them.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a, P = Payload<'a>> {
    /// A finished message.
    Message {
        /// Text or binary. Text is valid UTF-8 unless the decoder's configuration disables the check.
        kind: Kind,
        /// Whether all bytes of a text are below 0x80. Always false for binary messages and unchecked text.
        ascii: bool,
        /// The message's bytes.
        payload: P,
    },
    /// A ping, which must be answered by a pong with these bytes, at most 125.
    Ping(&'a [u8]),
    /// A pong with at most 125 bytes: those of our ping, if it answers one.
    Pong(&'a [u8]),
    /// The peer closes the connection, and nothing follows. It must be answered by a close with the same
    /// code.
    Close {
        /// The code, valid on the wire; `None` if the frame was empty.
        code: Option<u16>,
        /// The reason, at most 123 bytes, often empty.
        reason: &'a str,
    },
}

/// The bytes of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// The message was one frame and lay wholly in the input.
    Borrowed(&'a [u8]),
    /// The message was assembled from several reads or fragments. The caller may keep the `Vec` without a
    /// copy.
    Owned(Vec<u8>),
}

impl Payload<'_> {
    /// Returns the bytes. Copies them if they are borrowed.
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
