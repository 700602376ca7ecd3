//! Messages on a plain stream of bytes: lines, lengths in front, or just what came.
//!
//! Owns the bytes of a message that has not come to its end. Never claims memory for a length that was announced, never
//! copies a message that lies whole in the input, never reads a clock.
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

/// How messages are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Each ends with LF; one CR before that belongs to the end.
    Line,
    /// Each has its length in front, big-endian, in this width. The length does not count itself.
    Length(Width),
    /// They are not: what comes is handed on as it comes.
    None,
}

/// The reading half of one connection.
#[derive(Debug)]
pub struct Decoder {
    state: State,
}

#[derive(Debug)]
enum State {
    Line(line::Partial),
    Length(length::Partial),
    None,
    /// After an error: nothing more is yielded.
    Failed,
}

const _: () = assert!(
    size_of::<Decoder>() <= 40,
    "every idle connection pays for this"
);

impl Decoder {
    /// A decoder before its first message. Allocates nothing.
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Line => State::Line(line::Partial::default()),
            Framing::Length(width) => State::Length(length::Partial::new(width)),
            Framing::None => State::None,
        };
        Self { state }
    }

    /// The next message in `input`, which is moved on behind what was taken; `None`: all of it was, and more is needed.
    /// A message has at most `message_bytes`, without what frames it; of an unframed stream, pieces have. Borrowed if it lay
    /// whole in the input, else owned.
    ///
    /// After an error nothing more is yielded, and all further input is thrown away.
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

    /// The stream has come to its end, which ends a line too: the line that was unfinished, if there is one.
    pub fn finish(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Line(partial) => Ok(partial.finish()),
            State::Length(partial) => partial.finish().map(|()| None),
            State::None | State::Failed => Ok(None),
        }
    }

    /// Bytes received of a message that has not come to its end, with those of its length; `None` between messages.
    pub fn unfinished(&self) -> Option<usize> {
        match &self.state {
            State::Line(partial) => partial.unfinished(),
            State::Length(partial) => partial.unfinished(),
            State::None | State::Failed => None,
        }
    }

    /// Bytes of memory that the unfinished message holds: at most about twice what was received.
    pub fn held_bytes(&self) -> usize {
        match &self.state {
            State::Line(partial) => partial.held_bytes(),
            State::Length(partial) => partial.held_bytes(),
            State::None | State::Failed => 0,
        }
    }
}

/// All of the input, but no more than a message may have.
fn chunk<'i>(input: &mut &'i [u8], most: usize) -> Option<Cow<'i, [u8]>> {
    let bytes = *input;
    let (chunk, rest) = bytes.split_at(most.max(1).min(bytes.len()));
    *input = rest;
    (!chunk.is_empty()).then_some(Cow::Borrowed(chunk))
}

/// Appends bytes that arrived to what is held. Doubles, so that appending stays cheap, but never beyond `most`, which is
/// what the message can come to.
fn hold(held: &mut Vec<u8>, arrived: &[u8], most: usize) {
    let least = held.len().saturating_add(arrived.len());
    if least > held.capacity() {
        let wanted = held.capacity().saturating_mul(2).min(most).max(least);
        held.reserve_exact(wanted - held.len());
    }
    held.extend_from_slice(arrived);
}

/// Why bytes are no messages. The connection cannot go on: nobody knows where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A line exceeds the bound, which is the value; how long it would have become is not known.
    #[error("line too long: it has more than {0} bytes")]
    LineTooLong(usize),
    /// A message would exceed the bound; the value is the length that was announced.
    #[error("message too big: {0} bytes are announced")]
    MessageTooBig(u32),
    /// The stream ended within a message, or within its length; the value is how many bytes of them came.
    #[error("the stream ended within a message, {0} bytes of which had come")]
    Truncated(usize),
}

impl DecodeError {
    /// The code to close the connection with, as RFC 6455 has them: 1009, or 1006 where nobody listens any more.
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
