//! What is still to come of a message's contents: data, files, a stream. The same for what is received and what is sent.
//!
//! Counts, and holds none of it.

use std::fmt;

/// What a message still owes behind its head. Sizes are counted when a packet begins.
#[derive(Debug)]
pub(super) struct Contents {
    data_left: u64,
    files: Option<Box<Files>>,
    has_data: bool,
    stream: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    None,
    Open,
    Ended,
}

impl Contents {
    pub(super) fn new(data_size: u64, has_stream: bool, files: Files) -> Self {
        Self {
            data_left: data_size,
            files: (!files.left.is_empty()).then(|| Box::new(files)),
            has_data: data_size > 0,
            stream: if has_stream {
                Stream::Open
            } else {
                Stream::None
            },
        }
    }

    /// A packet of data.
    #[inline]
    pub(super) fn take_data(&mut self, size: u32) -> Result<(), ContentsError> {
        if !self.has_data {
            return Err(ContentsError::Unexpected(Content::Data));
        }
        let left = self.data_left.checked_sub(size.into());
        self.data_left = left.ok_or(ContentsError::TooMuchData(size))?;
        Ok(())
    }

    /// Whether a packet of the stream may come.
    #[inline]
    pub(super) fn take_stream(&self) -> Result<(), ContentsError> {
        match self.stream {
            Stream::Open => Ok(()),
            _ => Err(ContentsError::Unexpected(Content::Stream)),
        }
    }

    pub(super) fn end_stream(&mut self) -> Result<(), ContentsError> {
        if self.stream != Stream::Open {
            return Err(ContentsError::Unexpected(Content::StreamEnd));
        }
        self.stream = Stream::Ended;
        Ok(())
    }

    /// Its files, or that a packet of this sort was not expected.
    pub(super) fn files(&mut self, packet: Content) -> Result<&mut Files, ContentsError> {
        let files = self.files.as_deref_mut();
        files.ok_or(ContentsError::Unexpected(packet))
    }

    #[inline]
    pub(super) fn data_left(&self) -> u64 {
        self.data_left
    }

    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.data_left == 0
            && self.stream != Stream::Open
            && self.files.as_deref().is_none_or(|files| files.open == 0)
    }

    /// How many files it has, ended ones included.
    pub(super) fn file_count(&self) -> usize {
        self.files.as_deref().map_or(0, Files::count)
    }

    /// Memory held, beside the value itself.
    pub(super) fn held_bytes(&self) -> usize {
        let files = self.files.as_deref();
        files.map_or(0, |files| size_of::<Files>() + files.held_bytes())
    }
}

/// What is to come of each file of a message.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Bytes, or [`ENDED`].
    left: Vec<u64>,
    /// Those that have not ended.
    open: u32,
}

/// Sizes are smaller.
const ENDED: u64 = u64::MAX;

impl Files {
    /// One more file, of so many bytes.
    pub(super) fn push(&mut self, size: u64) {
        self.left.push(size);
        self.open = self.open.saturating_add(1);
    }

    /// A packet of a file. `enforce`: not more than was announced.
    pub(super) fn take(
        &mut self,
        index: u32,
        size: u32,
        enforce: bool,
    ) -> Result<(), ContentsError> {
        let left = self.left_of(index)?;
        *left = match left.checked_sub(size.into()) {
            None if enforce => return Err(ContentsError::FileTooLong(index)),
            left => left.unwrap_or_default(),
        };
        Ok(())
    }

    /// `enforce`: not less than was announced.
    pub(super) fn end(&mut self, index: u32, enforce: bool) -> Result<(), ContentsError> {
        let left = self.left_of(index)?;
        if enforce && *left > 0 {
            return Err(ContentsError::FileTooShort(index));
        }
        *left = ENDED;
        self.open = self.open.saturating_sub(1);
        Ok(())
    }

    fn left_of(&mut self, index: u32) -> Result<&mut u64, ContentsError> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        match self.left.get_mut(place) {
            None => Err(ContentsError::FileIndex(index)),
            Some(&mut ENDED) => Err(ContentsError::FileEnded(index)),
            Some(left) => Ok(left),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.left.len()
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.left.capacity() * size_of::<u64>()
    }
}

/// The packets that carry contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Data.
    Data,
    /// A piece of a stream.
    Stream,
    /// A stream's end.
    StreamEnd,
    /// A piece of a file.
    File,
    /// A file's end.
    FileEnd,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "Data",
            Self::Stream => "Stream",
            Self::StreamEnd => "Stream End",
            Self::File => "File",
            Self::FileEnd => "File End",
        })
    }
}

/// Contents that are not those of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentsError {
    /// There is no message on the channel, or it has nothing of this sort, or no more, or its head is not complete.
    #[error("unexpected {0}")]
    Unexpected(Content),
    /// More data than was announced, by a packet of this size.
    #[error("too much data by a packet of {0} bytes")]
    TooMuchData(u32),
    /// No file of the message has this index, as far as its head has come.
    #[error("wrong file index {0}")]
    FileIndex(u32),
    /// More of the file than was announced.
    #[error("file {0} longer than announced")]
    FileTooLong(u32),
    /// The file ended in front of what was announced.
    #[error("file {0} shorter than announced")]
    FileTooShort(u32),
    /// The file has ended before.
    #[error("file {0} had ended")]
    FileEnded(u32),
}

impl ContentsError {
    /// Short ASCII text without any of the peer's bytes.
    pub const fn close_reason(&self) -> &'static str {
        match self {
            Self::Unexpected(Content::Data) => "unexpected Data",
            Self::Unexpected(Content::Stream) => "unexpected Stream",
            Self::Unexpected(Content::StreamEnd) => "unexpected Stream End",
            Self::Unexpected(Content::File) => "unexpected File",
            Self::Unexpected(Content::FileEnd) => "unexpected File End",
            Self::TooMuchData(_) => "too much data",
            Self::FileIndex(_) => "wrong file index",
            Self::FileTooLong(_) => "file too long",
            Self::FileTooShort(_) => "file too short",
            Self::FileEnded(_) => "file ended twice",
        }
    }
}
