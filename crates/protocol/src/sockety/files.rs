//! The files that a message announces: name and size of each, as they lie on the wire.

use super::error::EncodeError;
use super::width::{Cursor, FILE_SIZE, MOST_SIZE, TEXT_LENGTH, append_uint};

/// A file of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo<'a> {
    /// As the sender gave it, may be empty. **No safe path**: it may name any place, or be none at all.
    pub name: &'a str,
    /// Bytes, at most 2^48 - 1.
    pub size: u64,
}

/// The files of a message, numbered from 0 in this order.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileList<'a> {
    count: u32,
    total_size: u64,
    headers: &'a [u8],
}

impl<'a> FileList<'a> {
    /// Of headers that [`FileHeader::parse`] has seen, with names that are UTF-8.
    pub(super) fn new(count: u32, total_size: u64, headers: &'a [u8]) -> Self {
        Self {
            count,
            total_size,
            headers,
        }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// What the sender says that they have together. Nobody compares it with the files.
    pub fn total_size(&self) -> u64 {
        self.total_size
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = FileInfo<'a>> + use<'a> {
        let mut rest = self.headers;
        (0..self.count).map_while(move |_| {
            let header = FileHeader::parse(rest)?;
            rest = rest.get(header.length..)?;
            Some(FileInfo {
                name: str::from_utf8(header.name).ok()?,
                size: header.size,
            })
        })
    }

    /// Their headers as they are on the wire.
    pub(super) fn headers(&self) -> &'a [u8] {
        self.headers
    }
}

/// By what it says, in whichever widths.
impl PartialEq for FileList<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
            && self.total_size == other.total_size
            && self.iter().eq(other.iter())
    }
}

impl Eq for FileList<'_> {}

/// A list of files in the making. Holds their headers in the shortest form.
#[derive(Debug, Clone, Default)]
pub struct FileListBuf {
    count: u32,
    total_size: u64,
    headers: Vec<u8>,
}

impl FileListBuf {
    /// One without a file. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file; its index is the number of those before.
    pub fn push(&mut self, name: &str, size: u64) -> Result<(), EncodeError> {
        let length = u16::try_from(name.len()).map_err(|_| EncodeError::NameTooLong(name.len()))?;
        let size_code = FILE_SIZE.code(size).ok_or(EncodeError::TooBig(size))?;
        let total_size = self.total_size.saturating_add(size);
        if total_size > MOST_SIZE {
            return Err(EncodeError::TooBig(total_size));
        }
        if self.count == MOST_FILES {
            return Err(EncodeError::FileIndex(self.count));
        }
        let length_code = u8::from(length > u8::MAX.into());
        self.headers.push(size_code << 2 | length_code << 1);
        append_uint(size, FILE_SIZE.of(size_code), &mut self.headers);
        append_uint(
            length.into(),
            TEXT_LENGTH.of(length_code),
            &mut self.headers,
        );
        self.headers.extend_from_slice(name.as_bytes());
        self.count += 1;
        self.total_size = total_size;
        Ok(())
    }

    /// What was added.
    pub fn as_list(&self) -> FileList<'_> {
        FileList::new(self.count, self.total_size, &self.headers)
    }
}

/// Three bytes count them.
const MOST_FILES: u32 = (1 << 24) - 1;

/// What is said of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileHeader<'a> {
    pub(super) size: u64,
    /// Not looked at.
    pub(super) name: &'a [u8],
    /// Bytes of all of it.
    pub(super) length: usize,
}

impl<'a> FileHeader<'a> {
    /// The header that begins `bytes`; `None`: it is not complete.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let first = cursor.byte()?;
        let size = cursor.uint(FILE_SIZE.of(first >> 2))?;
        let length = cursor.uint32(TEXT_LENGTH.of(first >> 1 & 1))?;
        let name = cursor.take(usize::try_from(length).ok()?)?;
        Some(Self {
            size,
            name,
            length: cursor.taken(),
        })
    }
}
