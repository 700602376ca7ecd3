//! The contents of a message that are still missing: data, files, a stream. Used for receiving and for sending.
//!
//! Counts bytes and holds none.

use std::fmt;

/// The contents that must still follow a message's head. The bytes of a packet are counted when it begins.
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

    /// Counts a packet of data.
    #[inline]
    pub(super) fn take_data(&mut self, size: u32) -> Result<(), ContentsError> {
        if !self.has_data {
            return Err(ContentsError::Unexpected(Content::Data));
        }
        let left = self.data_left.checked_sub(size.into());
        self.data_left = left.ok_or(ContentsError::TooMuchData(size))?;
        Ok(())
    }

    /// Checks that a packet of the stream is expected.
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

    /// Returns the message's files, or the error that a packet of this kind was not expected.
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

    /// The number of files, including those that have ended.
    pub(super) fn file_count(&self) -> usize {
        self.files.as_deref().map_or(0, Files::count)
    }

    /// The memory held, without the value itself.
    pub(super) fn held_bytes(&self) -> usize {
        let files = self.files.as_deref();
        files.map_or(0, |files| size_of::<Files>() + files.held_bytes())
    }
}

/// How many bytes of each file of a message are still missing.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The missing bytes of each file, or [`ENDED`].
    left: Vec<u64>,
    /// The number of files that have not ended.
    open: u32,
}

/// Marks a file that has ended. No size is this large.
const ENDED: u64 = u64::MAX;

impl Files {
    /// Adds a file of this size.
    pub(super) fn push(&mut self, size: u64) {
        self.left.push(size);
        self.open = self.open.saturating_add(1);
    }

    /// Counts a packet of a file. `enforce`: refuses more bytes than announced.
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

    /// Ends a file. `enforce`: refuses fewer bytes than announced.
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

/// The kinds of packets that carry contents.
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

/// Contents that do not fit the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentsError {
    /// The channel has no message, or the message has no contents of this kind, or no more of them, or its head is
    /// incomplete.
    #[error("unexpected {0}")]
    Unexpected(Content),
    /// More data than announced. The value is the size of the packet.
    #[error("too much data by a packet of {0} bytes")]
    TooMuchData(u32),
    /// The message has no file with this index, as far as its head was received.
    #[error("wrong file index {0}")]
    FileIndex(u32),
    /// The file has more bytes than announced.
    #[error("file {0} longer than announced")]
    FileTooLong(u32),
    /// The file has fewer bytes than announced.
    #[error("file {0} shorter than announced")]
    FileTooShort(u32),
    /// The file has ended already.
    #[error("file {0} had ended")]
    FileEnded(u32),
}

impl ContentsError {
    /// A short ASCII text without any of the peer's bytes.
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
