//! The files that a message announces, with their names and sizes in wire format.

use super::error::EncodeError;
use super::width::{Cursor, FILE_SIZE, MOST_SIZE, TEXT_LENGTH, append_uint};

/// A file of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo<'a> {
    /// The name that the sender chose, which may be empty. **This is not a safe path**: it may refer to
    /// any place or be invalid.
    pub name: &'a str,
    /// The size in bytes, at most 2^48 - 1.
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
    /// Makes a list of headers that [`FileHeader::parse`] accepted and whose names are UTF-8.
    pub(super) fn new(count: u32, total_size: u64, headers: &'a [u8]) -> Self {
        Self {
            count,
            total_size,
            headers,
        }
    }

    /// The number of files.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The total size that the sender announced. It is not compared with the sizes of the files.
    pub fn total_size(&self) -> u64 {
        self.total_size
    }

    /// The files in order.
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

    /// The headers of the files in wire format.
    pub(super) fn headers(&self) -> &'a [u8] {
        self.headers
    }
}

/// Two lists are equal if names and sizes are equal, whatever the widths of their fields.
impl PartialEq for FileList<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
            && self.total_size == other.total_size
            && self.iter().eq(other.iter())
    }
}

impl Eq for FileList<'_> {}

/// A list of files that is being built. Holds the headers in their shortest form.
#[derive(Debug, Clone, Default)]
pub struct FileListBuf {
    count: u32,
    total_size: u64,
    headers: Vec<u8>,
}

impl FileListBuf {
    /// Makes an empty list. Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Its index is the number of files before it.
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

    /// The files added so far.
    pub fn as_list(&self) -> FileList<'_> {
        FileList::new(self.count, self.total_size, &self.headers)
    }
}

/// The most files that a count of three bytes can express.
const MOST_FILES: u32 = (1 << 24) - 1;

/// The header of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileHeader<'a> {
    pub(super) size: u64,
    /// The bytes of the name, not validated.
    pub(super) name: &'a [u8],
    /// The length of the whole header.
    pub(super) length: usize,
}

impl<'a> FileHeader<'a> {
    /// Parses the header at the beginning of `bytes`. `None` means that it is incomplete.
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
