//! Little-endian numbers whose width is given by two bits of an earlier byte, and a cursor over bytes that may be
//! incomplete.

use super::id::Id;

/// The widths in bytes for the four values of a width code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths([u8; 4]);

/// The widths of a packet's size.
pub(super) const PACKET_SIZE: Widths = Widths([1, 2, 3, 4]);
/// The widths of a file's index in a packet.
pub(super) const FILE_INDEX: Widths = Widths([0, 1, 2, 3]);
/// The widths of the size of a message's data.
pub(super) const DATA_SIZE: Widths = Widths([0, 1, 2, 6]);
/// The widths of the number of a message's files.
pub(super) const FILES_COUNT: Widths = Widths([0, 1, 2, 3]);
/// The widths of the total size of a message's files.
pub(super) const FILES_TOTAL: Widths = Widths([2, 3, 4, 6]);
/// The widths of the size of one file.
pub(super) const FILE_SIZE: Widths = Widths([1, 2, 3, 6]);
/// The widths of the length of an action or a file's name. The code is one bit.
pub(super) const TEXT_LENGTH: Widths = Widths([1, 2, 2, 2]);

/// The largest size of a message's data, of a file, and of all files of a message.
pub(super) const MOST_SIZE: u64 = (1 << 48) - 1;

impl Widths {
    /// The width for a code, of which only the lowest two bits are used.
    #[inline]
    pub(super) fn of(self, code: u8) -> usize {
        let [first, second, third, fourth] = self.0;
        usize::from(match code & 0b11 {
            0 => first,
            1 => second,
            2 => third,
            _ => fourth,
        })
    }

    /// The code of the smallest width for a value; `None` if the value is too large.
    #[inline]
    pub(super) fn code(self, value: u64) -> Option<u8> {
        (0..4).find(|code| {
            let bits = 8 * self.of(*code);
            u64::BITS - value.leading_zeros() <= u32::try_from(bits).unwrap_or_default()
        })
    }
}

/// Appends the lowest `width` bytes of a value.
#[inline]
pub(super) fn append_uint(value: u64, width: usize, out: &mut Vec<u8>) {
    out.extend(value.to_le_bytes().iter().take(width));
}

/// A position in bytes that may be incomplete. Reading a value that is incomplete returns `None`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    taken: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            taken: 0,
        }
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        self.taken += count;
        Some(taken)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        self.taken += 1;
        Some(*byte)
    }

    /// Reads a number of at most eight bytes.
    #[inline]
    pub(super) fn uint(&mut self, width: usize) -> Option<u64> {
        let bytes = self.take(width)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |value, byte| value << 8 | u64::from(*byte)),
        )
    }

    /// Reads a number of at most four bytes.
    #[inline]
    pub(super) fn uint32(&mut self, width: usize) -> Option<u32> {
        self.uint(width)?.try_into().ok()
    }

    #[inline]
    pub(super) fn id(&mut self) -> Option<Id> {
        let (id, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        self.taken += id.len();
        Some(Id::new(*id))
    }

    /// The number of bytes before this position.
    #[inline]
    pub(super) fn taken(&self) -> usize {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_width_is_chosen() {
        let code = |value| FILES_TOTAL.code(value);
        assert_eq!((code(0), code(0xffff)), (Some(0), Some(0)));
        assert_eq!((code(0x1_0000), code(0xff_ffff)), (Some(1), Some(1)));
        assert_eq!((code(1 << 24), code(u32::MAX.into())), (Some(2), Some(2)));
        assert_eq!((code(1 << 32), code(MOST_SIZE)), (Some(3), Some(3)));
        assert_eq!(code(MOST_SIZE + 1), None);
        assert_eq!((DATA_SIZE.code(0), DATA_SIZE.code(1)), (Some(0), Some(1)));
        assert_eq!(TEXT_LENGTH.code(65_535), Some(1));
        assert_eq!(FILE_INDEX.code(1 << 24), None);
    }

    #[test]
    fn incomplete_values_are_not_consumed() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert_eq!((cursor.uint(4), cursor.taken()), (None, 0));
        assert_eq!((cursor.uint(2), cursor.taken()), (Some(0x0201), 2));
        assert_eq!((cursor.uint(0), cursor.id()), (Some(0), None));
        assert_eq!((cursor.byte(), cursor.byte()), (Some(3), None));
    }
}
