//! The connection header: the number of channels on which its sender receives.

use super::error::DecodeError;
use super::width::{Cursor, append_uint};

/// The most channels in one direction.
pub const MOST_CHANNELS: u16 = 4096;

/// Appends the header of a side that receives on `channels` channels. Values below 1 and above
/// [`MOST_CHANNELS`] are replaced by the nearest valid one. Each side sends its header first.
///
/// # Example
///
/// ```
/// use millrace_protocol::sockety::append_header;
///
/// let mut out = Vec::new();
/// append_header(256, &mut out);
/// assert_eq!(out, [0xe2, 0, 1]); // one byte cannot express 256
/// ```
pub fn append_header(channels: u16, out: &mut Vec<u8>) {
    match channels {
        0 | 1 => out.push(CONSTANT),
        2..=255 => {
            out.push(CONSTANT | 1);
            append_uint(channels.into(), 1, out);
        }
        256..MOST_CHANNELS => {
            out.push(CONSTANT | 2);
            append_uint(channels.into(), 2, out);
        }
        MOST_CHANNELS.. => out.push(CONSTANT | 3),
    }
}

/// Parses the number of channels and the length of the header. `None` means that it is incomplete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(u16, usize)>, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let Some(first) = cursor.byte() else {
        return Ok(None);
    };
    if first & !0b11 != CONSTANT {
        return Err(DecodeError::ControlByte(first));
    }
    let count = match first & 0b11 {
        0 => Some(1),
        // sockety-js and sockety-go send this for 256 channels
        1 => cursor
            .uint32(1)
            .map(|count| if count == 0 { 256 } else { count }),
        2 => cursor.uint32(2),
        _ => Some(MOST_CHANNELS.into()),
    };
    match count.map(|count| u16::try_from(count).unwrap_or(MOST_CHANNELS)) {
        None => Ok(None),
        Some(0) => Err(DecodeError::NoChannels),
        Some(count) => Ok(Some((count.min(MOST_CHANNELS), cursor.taken()))),
    }
}

/// The upper six bits of the first byte.
const CONSTANT: u8 = 0b1110_0000;
