//! Files that arrived before the rest of their message's head, so that the worker does not know the message yet. Limits
//! how many bytes they take.

use ahash::AHashMap;

use crate::contract::{CloseMode, CloseReason};

/// The early files of one connection, by channel.
#[derive(Debug, Default)]
pub(super) struct Early {
    channels: AHashMap<u16, Pieces>,
    bytes: usize,
}

/// Pieces of files, one after the other: index, length or [`END`], bytes.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<u8>);

impl Early {
    /// Adds more of a file.
    pub(super) fn push(
        &mut self,
        channel: u16,
        index: u32,
        (bytes, ended): (&[u8], bool),
    ) -> Result<(), CloseReason> {
        let length = u32::try_from(bytes.len()).unwrap_or(END);
        let pieces = &mut self.channels.entry(channel).or_default().0;
        let before = pieces.len();
        if length > 0 {
            append(pieces, index, length);
            pieces.extend_from_slice(bytes);
        }
        if ended {
            append(pieces, index, END);
        }
        self.bytes += pieces.len() - before;
        if self.bytes > MOST_BYTES {
            return Err(TOO_MUCH);
        }
        Ok(())
    }

    /// Takes the pieces that arrived on a channel.
    pub(super) fn take(&mut self, channel: u16) -> Pieces {
        if self.channels.is_empty() {
            return Pieces::default();
        }
        let pieces = self.channels.remove(&channel).unwrap_or_default();
        self.bytes -= pieces.0.len();
        pieces
    }
}

impl Pieces {
    /// Each piece's file index, its bytes, and whether the file has ended, in the order of arrival.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[u8], bool)> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (index, behind) = rest.split_first_chunk()?;
            let (length, behind) = behind.split_first_chunk()?;
            let (index, length) = (u32::from_le_bytes(*index), u32::from_le_bytes(*length));
            let ended = length == END;
            let length = if ended {
                0
            } else {
                usize::try_from(length).ok()?
            };
            let (bytes, behind) = behind.split_at_checked(length)?;
            rest = behind;
            Some((index, bytes, ended))
        })
    }
}

fn append(out: &mut Vec<u8>, index: u32, length: u32) {
    out.extend_from_slice(&index.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
}

/// Replaces the length to mark the end of a file.
const END: u32 = u32::MAX;

/// The most bytes that may wait, bookkeeping included. No known sender sends any file this early.
const MOST_BYTES: usize = 4 * 1024 * 1024;

const TOO_MUCH: CloseReason = CloseReason::new(1009, "too much pending", CloseMode::Final);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_in_order() {
        let mut early = Early::default();
        early.push(3, 1, (b"ab", false)).unwrap();
        early.push(4, 0, (b"x", true)).unwrap();
        early.push(3, 0, (b"", true)).unwrap();
        early.push(3, 1, (b"c", true)).unwrap();
        let taken = early.take(3);
        let pieces: Vec<_> = taken.iter().collect();
        let expected = [
            (1, &b"ab"[..], false),
            (0, b"", true),
            (1, b"c", false),
            (1, b"", true),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(early.take(3).iter().count(), 0);
        assert_eq!(early.take(4).iter().count(), 2);
        assert_eq!(early.bytes, 0);
    }

    #[test]
    fn too_many_early_bytes_are_an_error() {
        let mut early = Early::default();
        let refused = (0..=MOST_BYTES / 9).find_map(|_| early.push(0, 0, (b"x", false)).err());
        assert_eq!(refused, Some(TOO_MUCH));
    }
}
