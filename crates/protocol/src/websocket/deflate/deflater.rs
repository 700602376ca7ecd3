//! Compresses messages.
//!
//! Owns the state of zlib, about 300 KiB, and uses it again for each message. Never keeps a message's text: what later
//! messages may refer to is an argument.

use std::fmt;

use zlib_rs::{Deflate, DeflateConfig, DeflateFlush};

use super::TAIL;
use super::window::WindowBits;

/// Compresses one message after the other, each for any connection with the same window.
pub struct Deflater {
    stream: Deflate,
    window: WindowBits,
    level: u8,
    /// Nothing was compressed since the stream was made or reset.
    fresh: bool,
    chunk: Box<[u8; CHUNK]>,
}

/// The size of the buffer for the symbols of a block: 4,096 of them, 12 KiB, which zlib clears before each message and after
/// each block. Level 8, its default, has 48 KiB, which short messages do not need and long ones gain nothing by.
const MEM_LEVEL: i32 = 6;

/// The output is collected in pieces of this size, so that the buffer of the caller grows with the compressed bytes.
const CHUNK: usize = 8 << 10;

impl Deflater {
    /// Makes a compressor with the level of zlib, from 0 (none) to 9 (best); higher ones count as 9. Its matches reach
    /// back at most a window.
    pub fn new(level: u8, window: WindowBits) -> Self {
        let level = level.min(9);
        let config = DeflateConfig {
            level: i32::from(level),
            window_bits: -i32::from(zlib_bits(window)),
            mem_level: MEM_LEVEL,
            ..DeflateConfig::default()
        };
        Self {
            stream: Deflate::new_with_config(config),
            window,
            level,
            fresh: true,
            chunk: Box::new([0; CHUNK]),
        }
    }

    /// Appends a compressed message, as RFC 7692 §7.2.1 puts it into frames: without the tail `00 00 ff ff`. Its matches
    /// may refer to `history`, the plain text before it, which is empty without context takeover. Earlier calls have no
    /// influence.
    pub fn append(&mut self, payload: &[u8], history: &[u8], out: &mut Vec<u8>) {
        if !self.fresh {
            self.stream.reset();
        }
        self.fresh = false;
        let start = out.len();
        let reach = history.len().saturating_sub(self.window.bytes());
        let history = history.get(reach..).unwrap_or_default();
        let done = (history.is_empty() || self.stream.set_dictionary(history).is_ok())
            && self.compress(payload, out).is_some()
            && out.get(start..).is_some_and(|new| new.ends_with(&TAIL));
        if done {
            out.truncate(out.len() - TAIL.len());
        } else {
            // zlib reports no error for valid arguments; a message in stored blocks is correct in any case
            debug_assert!(false, "zlib refuses a message");
            out.truncate(start);
            append_stored(payload, out);
        }
    }

    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut rest = payload;
        loop {
            let (taken, written) = (self.stream.total_in(), self.stream.total_out());
            self.stream
                .compress(rest, self.chunk.as_mut_slice(), DeflateFlush::SyncFlush)
                .ok()?;
            let taken = usize::try_from(self.stream.total_in() - taken).ok()?;
            let written = usize::try_from(self.stream.total_out() - written).ok()?;
            rest = rest.get(taken..)?;
            out.extend_from_slice(self.chunk.get(..written)?);
            if written < CHUNK {
                return rest.is_empty().then_some(());
            }
        }
    }
}

/// zlib has no raw stream with a window of 256 bytes. With 512 bytes its matches reach back 250 bytes at most, because it
/// keeps the length of the longest match free (262 bytes with what it looks ahead), so that they fit the smaller window.
fn zlib_bits(window: WindowBits) -> u8 {
    window.get().max(9)
}

/// Appends a message as stored blocks, and the first byte of the empty one at its end.
pub(super) fn append_stored(payload: &[u8], out: &mut Vec<u8>) {
    for part in payload.chunks(usize::from(u16::MAX)) {
        let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(part);
    }
    out.push(0);
}

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deflater")
            .field("level", &self.level)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
