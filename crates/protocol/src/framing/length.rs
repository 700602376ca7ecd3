//! Messages that begin with their length.

use std::borrow::Cow;
use std::mem;

use super::{DecodeError, hold};

/// The size of a length field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// Lengths up to 255.
    One,
    /// Up to 65,535.
    Two,
    /// Up to 4,294,967,295.
    Four,
}

impl Width {
    /// The number of bytes of the length field.
    pub const fn bytes(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// The longest payload that such a length can announce.
    pub const fn most_payload(self) -> u32 {
        u32::MAX >> (32 - 8 * self.bytes())
    }
}

/// A message that is not complete.
#[derive(Debug)]
pub(super) struct Partial {
    width: Width,
    /// The bytes of the length that were received, and their value.
    seen: u8,
    length: u32,
    held: Vec<u8>,
}

impl Partial {
    pub(super) fn new(width: Width) -> Self {
        Self {
            width,
            seen: 0,
            length: 0,
            held: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn next<'i>(
        &mut self,
        input: &mut &'i [u8],
        most: usize,
    ) -> Result<Option<Cow<'i, [u8]>>, DecodeError> {
        let Some(length) = self.take_length(input) else {
            return Ok(None);
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > most {
            return Err(DecodeError::MessageTooBig(self.length));
        }
        let bytes = *input;
        let awaited = length.saturating_sub(self.held.len());
        let (arrived, rest) = bytes.split_at(awaited.min(bytes.len()));
        *input = rest;
        let complete = arrived.len() == awaited;
        if complete && self.held.is_empty() {
            self.begin_next();
            return Ok(Some(Cow::Borrowed(arrived)));
        }
        hold(&mut self.held, arrived, length);
        if !complete {
            return Ok(None);
        }
        self.begin_next();
        Ok(Some(Cow::Owned(mem::take(&mut self.held))))
    }

    /// Returns the length when all its bytes were received.
    #[inline]
    fn take_length(&mut self, input: &mut &[u8]) -> Option<u32> {
        while self.seen < self.width.bytes() {
            let (byte, rest) = input.split_first()?;
            *input = rest;
            self.length = self.length << 8 | u32::from(*byte);
            self.seen += 1;
        }
        Some(self.length)
    }

    fn begin_next(&mut self) {
        self.seen = 0;
        self.length = 0;
    }

    /// Succeeds if no message is incomplete.
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        self.unfinished()
            .map_or(Ok(()), |bytes| Err(DecodeError::Truncated(bytes)))
    }

    pub(super) fn unfinished(&self) -> Option<usize> {
        (self.seen > 0).then_some(usize::from(self.seen) + self.held.len())
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held.capacity()
    }
}

/// A payload that is longer than its length field can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a payload of {0} bytes is too long")]
pub struct TooLong(pub usize);

/// Appends one message. Appends nothing if the payload is longer than [`Width::most_payload`].
///
/// # Example
///
/// ```
/// use millrace_protocol::framing::{Width, append_length};
///
/// let mut out = Vec::new();
/// append_length(Width::Two, b"hello", &mut out)?;
/// assert_eq!(out, b"\0\x05hello");
/// # Ok::<(), millrace_protocol::framing::TooLong>(())
/// ```
pub fn append_length(width: Width, payload: &[u8], out: &mut Vec<u8>) -> Result<(), TooLong> {
    let length = u32::try_from(payload.len())
        .ok()
        .filter(|length| *length <= width.most_payload())
        .ok_or(TooLong(payload.len()))?;
    let all = length.to_be_bytes();
    let said = all.len() - usize::from(width.bytes());
    out.reserve(payload.len().saturating_add(all.len()));
    out.extend(all.into_iter().skip(said));
    out.extend_from_slice(payload);
    Ok(())
}
