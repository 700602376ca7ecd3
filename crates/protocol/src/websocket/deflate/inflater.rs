//! Inflates messages.
//!
//! Owns the state of zlib, about 45 KiB, and room for short messages, and uses both again for each message. Never writes
//! more than the bound of a message, whatever its bytes stand for, and never keeps its text.

use std::fmt;
use std::mem;

use zlib_rs::{Inflate, InflateFlush, Status};

use super::super::item::Payload;
use super::window::WindowBits;

/// Inflates one message after the other, of any connection.
pub struct Inflater {
    stream: Inflate,
    /// Nothing was inflated since the stream was made or reset.
    fresh: bool,
    /// Where messages are written. Its length is its initialised room.
    room: Vec<u8>,
}

/// Why a message cannot be inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InflateError {
    /// Its bytes are not DEFLATE, end within a block, or refer to text before the history.
    #[error("compressed message is not valid DEFLATE")]
    Corrupt,
    /// Its text is longer than the bound.
    #[error("compressed message is too big")]
    TooBig,
}

/// Messages up to this size are lent from a buffer that is used again.
pub(super) const SHORT: usize = 64 << 10;

/// Room for the first bytes of a message, doubled while they do not fit.
const BEGINNING: usize = 1 << 10;

/// What is fed after a message: the tail that its sender has removed (RFC 7692 §7.2.2), and an empty final block, so that
/// the end of the stream shows that the message did not end within a block.
const END: [u8; 6] = [0, 0, 0xff, 0xff, 0x03, 0x00];

/// A sender that cannot flush may end blocks with BFINAL (§7.2.3.4). The stream begins again after each of them, which
/// copies the window, so that their number is limited: this many, and one more for each KiB.
const FINAL_BLOCKS: usize = 16;

impl Inflater {
    /// Makes an inflater. It accepts messages of every window.
    pub fn new() -> Self {
        Self {
            stream: Inflate::new(false, WindowBits::MOST.get()),
            fresh: true,
            room: Vec::new(),
        }
    }

    /// Inflates a whole message, at most `most` bytes, whose matches may refer to `history`. Messages of up to 64 KiB are
    /// lent, longer ones are given away.
    pub fn inflate(
        &mut self,
        compressed: &[u8],
        history: &[u8],
        most: usize,
    ) -> Result<Payload<'_>, InflateError> {
        let length = match self.fill(compressed, history, most) {
            Ok(length) => length,
            Err(error) => {
                self.settle();
                return Err(error);
            }
        };
        if length <= SHORT {
            self.settle();
            return Ok(Payload::Borrowed(
                self.room.get(..length).unwrap_or_default(),
            ));
        }
        let mut message = mem::take(&mut self.room);
        message.truncate(length);
        message.shrink_to_fit();
        Ok(Payload::Owned(message))
    }

    /// The first bytes of a message that refers to no other: up to the first `end` and some more, at most `most`. `None`: they
    /// cannot be inflated.
    pub fn beginning(&mut self, compressed: &[u8], end: u8, most: usize) -> Option<Vec<u8>> {
        self.begin(&[], 0).ok()?;
        let (mut text, mut input, mut length) = (Vec::new(), compressed, 0_usize);
        loop {
            let wanted = length
                .saturating_mul(2)
                .clamp(BEGINNING, most.max(BEGINNING));
            text.resize(wanted, 0);
            let room = text.get_mut(length..).unwrap_or_default();
            let (taken, written, status) = step(&mut self.stream, input, room).ok()?;
            let is_full = written == room.len();
            let is_found = memchr::memchr(end, room.get(..written).unwrap_or_default()).is_some();
            input = input.get(taken..).unwrap_or_default();
            length += written;
            if is_found || !is_full || length >= most || matches!(status, Status::StreamEnd) {
                break;
            }
        }
        text.truncate(length.min(most));
        Some(text)
    }

    /// Gives back what a long message has needed.
    fn settle(&mut self) {
        if self.room.len() > SHORT {
            self.room.truncate(SHORT);
            self.room.shrink_to_fit();
        }
    }

    /// The memory held beside the state of zlib, in bytes.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.room.capacity()
    }

    /// Writes the text of a message into the room. Returns its length.
    fn fill(
        &mut self,
        compressed: &[u8],
        history: &[u8],
        most: usize,
    ) -> Result<usize, InflateError> {
        self.begin(history, 0)?;
        let mut final_blocks = FINAL_BLOCKS + compressed.len() / 1024;
        let (mut input, mut ends, mut length) = (compressed, false, 0);
        loop {
            let room = after(&mut self.room, length, most);
            let (taken, written, status) = step(&mut self.stream, input, room)?;
            let filled = written == room.len();
            input = input.get(taken..).unwrap_or_default();
            length += written;
            if length > most {
                return Err(InflateError::TooBig);
            }
            match status {
                // a final block at the very end needs no block after it
                Status::StreamEnd if input.is_empty() => return Ok(length),
                Status::StreamEnd if ends || final_blocks == 0 => {
                    return Err(InflateError::Corrupt);
                }
                Status::StreamEnd => {
                    final_blocks -= 1;
                    self.begin(history, length)?;
                }
                _ if filled => {}
                _ if input.is_empty() && !ends => {
                    input = &END;
                    ends = true;
                }
                _ => return Err(InflateError::Corrupt),
            }
        }
    }

    /// Begins a stream whose matches may refer to the history and to what was written of this message.
    fn begin(&mut self, history: &[u8], length: usize) -> Result<(), InflateError> {
        if !self.fresh {
            self.stream.reset(false);
        }
        self.fresh = false;
        let before = self.room.get(..length).unwrap_or_default();
        for text in [history, before] {
            if !text.is_empty() && self.stream.set_dictionary(text).is_err() {
                return Err(InflateError::Corrupt);
            }
        }
        Ok(())
    }
}

/// The room after what was written: never empty, and at most one byte more than the message may have.
fn after(room: &mut Vec<u8>, length: usize, most: usize) -> &mut [u8] {
    let bound = most.saturating_add(1);
    if length == room.len() {
        let wanted = room.len().saturating_mul(2).max(SHORT);
        let wanted = wanted.min(bound.max(SHORT));
        room.reserve_exact(wanted - length);
        room.resize(wanted, 0);
    }
    let end = room.len().min(bound);
    room.get_mut(length..end).unwrap_or_default()
}

/// Inflates until the input or the room is used up. Returns how much of each was used.
fn step(
    stream: &mut Inflate,
    input: &[u8],
    room: &mut [u8],
) -> Result<(usize, usize, Status), InflateError> {
    let (taken, written) = (stream.total_in(), stream.total_out());
    let status = stream
        .decompress(input, room, InflateFlush::NoFlush)
        .map_err(|_| InflateError::Corrupt)?;
    let count = |now: u64, before| usize::try_from(now - before).unwrap_or(usize::MAX);
    let taken = count(stream.total_in(), taken);
    Ok((taken, count(stream.total_out(), written), status))
}

impl AsMut<Self> for Inflater {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater")
            .field("room", &self.room.len())
            .finish_non_exhaustive()
    }
}
