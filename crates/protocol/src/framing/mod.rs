//! Messages on a plain stream of bytes: lines, messages that begin with their length, or unframed bytes.
//!
//! Owns the bytes of an incomplete message. Never allocates for an announced length, never copies a message that lies
//! wholly in the input, never reads a clock.
//!
//! ```
//! use millrace_protocol::framing::{Decoder, Framing, append_line};
//!
//! let mut stream = Vec::new();
//! append_line(b"hello", &mut stream);
//! stream.extend_from_slice(b"wor");
//!
//! let (mut decoder, mut input) = (Decoder::new(Framing::Line), &stream[..]);
//! assert_eq!(decoder.next(&mut input, 100)?.as_deref(), Some(&b"hello"[..]));
//! assert_eq!(decoder.next(&mut input, 100)?, None);
//! assert_eq!(decoder.unfinished(), Some(3));
//! # Ok::<(), millrace_protocol::framing::DecodeError>(())
//! ```

mod length;
mod line;

use std::borrow::Cow;

pub use length::{TooLong, Width, append_length};
pub use line::{Text, append_line, is_http_request};

/// How messages are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Each message ends with LF. One CR before it belongs to the line end.
    Line,
    /// Each message begins with its length, big-endian, in this width. The length does not include itself.
    Length(Width),
    /// Messages are not separated: bytes are handed on as they are received.
    None,
}

/// The receiving half of one connection.
#[derive(Debug)]
pub struct Decoder {
    state: State,
}

#[derive(Debug)]
enum State {
    Line(line::Partial),
    Length(length::Partial),
    None,
    /// The state after an error. Nothing more is yielded.
    Failed,
}

const _: () = assert!(
    size_of::<Decoder>() <= 40,
    "every idle connection pays for this"
);

impl Decoder {
    /// Makes a decoder for a new connection. Allocates nothing.
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Line => State::Line(line::Partial::default()),
            Framing::Length(width) => State::Length(length::Partial::new(width)),
            Framing::None => State::None,
        };
        Self { state }
    }

    /// Returns the next message and removes it from `input`. `None` means that all input was consumed and more is
    /// needed. A message has at most `message_bytes`, without its framing; a piece of an unframed stream has at most as
    /// many. The message is borrowed if it lies wholly in the input, otherwise owned.
    ///
    /// After an error nothing more is yielded, and all further input is discarded.
    #[inline]
    pub fn next<'i>(
        &mut self,
        input: &mut &'i [u8],
        message_bytes: usize,
    ) -> Result<Option<Cow<'i, [u8]>>, DecodeError> {
        let found = match &mut self.state {
            State::Line(partial) => partial.next(input, message_bytes),
            State::Length(partial) => partial.next(input, message_bytes),
            State::None => Ok(chunk(input, message_bytes)),
            State::Failed => {
                *input = &[];
                Ok(None)
            }
        };
        if found.is_err() {
            self.state = State::Failed;
            *input = &[];
        }
        found
    }

    /// Ends the stream. This also ends a line, so an unfinished line is returned.
    pub fn finish(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Line(partial) => Ok(partial.finish()),
            State::Length(partial) => partial.finish().map(|()| None),
            State::None | State::Failed => Ok(None),
        }
    }

    /// The bytes received of an incomplete message, including those of its length; `None` between messages.
    pub fn unfinished(&self) -> Option<usize> {
        match &self.state {
            State::Line(partial) => partial.unfinished(),
            State::Length(partial) => partial.unfinished(),
            State::None | State::Failed => None,
        }
    }

    /// The memory that the incomplete message holds: at most about twice the bytes received.
    pub fn held_bytes(&self) -> usize {
        match &self.state {
            State::Line(partial) => partial.held_bytes(),
            State::Length(partial) => partial.held_bytes(),
            State::None | State::Failed => 0,
        }
    }
}

/// Takes all input, but at most as many bytes as a message may have.
fn chunk<'i>(input: &mut &'i [u8], most: usize) -> Option<Cow<'i, [u8]>> {
    let bytes = *input;
    let (chunk, rest) = bytes.split_at(most.max(1).min(bytes.len()));
    *input = rest;
    (!chunk.is_empty()).then_some(Cow::Borrowed(chunk))
}

/// Appends received bytes to `held`. Doubles the capacity, so that appending stays cheap, but never beyond `most`, the
/// longest that the message can become.
fn hold(held: &mut Vec<u8>, arrived: &[u8], most: usize) {
    let least = held.len().saturating_add(arrived.len());
    if least > held.capacity() {
        let wanted = held.capacity().saturating_mul(2).min(most).max(least);
        held.reserve_exact(wanted - held.len());
    }
    held.extend_from_slice(arrived);
}

/// Why bytes are not valid messages. The connection must end, because the beginning of the next message is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A line exceeds the bound, which is the value. The full length of the line is not known.
    #[error("line too long: it has more than {0} bytes")]
    LineTooLong(usize),
    /// A message would exceed the bound; the value is the length that was announced.
    #[error("message too big: {0} bytes are announced")]
    MessageTooBig(u32),
    /// The stream ended within a message or its length. The value is the number of bytes received.
    #[error("the stream ended within a message, {0} bytes of which had come")]
    Truncated(usize),
}

impl DecodeError {
    /// The code to close the connection with, as in RFC 6455: 1009, or 1006 if the peer has already ended the stream.
    pub const fn close_code(&self) -> u16 {
        match self {
            Self::LineTooLong(_) | Self::MessageTooBig(_) => 1009,
            Self::Truncated(_) => 1006,
        }
    }

    /// The reason to close the connection with: short ASCII text without any of the peer's bytes.
    pub const fn close_reason(&self) -> &'static str {
        match self {
            Self::LineTooLong(_) => "line too long",
            Self::MessageTooBig(_) => "message too big",
            Self::Truncated(_) => "message truncated",
        }
    }
}
