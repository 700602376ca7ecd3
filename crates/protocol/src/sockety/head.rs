//! What a message or response says of itself in front of its contents. In a packet it is the body.

use super::files::FileList;
use super::id::Id;
use super::packet::Start;
use super::width::{Cursor, DATA_SIZE, FILES_COUNT, FILES_TOTAL, TEXT_LENGTH};

/// A message or a response, without its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// Which of the two it is.
    pub subject: Subject<'a>,
    /// Its own id.
    pub id: Id,
    /// Whether an answer is expected. Advice: answers to others are right too.
    pub expects_response: bool,
    /// Whether a stream belongs to it, which then has to end. Of a response it should not be sent to sockety-js: its
    /// reader takes it for an error.
    pub has_stream: bool,
    /// Bytes of its data, at most 2^48 - 1.
    pub data_size: u64,
    /// Its files.
    pub files: FileList<'a>,
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A message of its own accord: the name of its action, which may be empty.
    Action(&'a str),
    /// A response: the id of the message or response that it answers.
    Parent(Id),
}

/// All of a head but the headers of its files: what it says, and where it lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front {
    id: Id,
    /// Of a response.
    parent: Option<Id>,
    pub(super) data_size: u64,
    pub(super) total_size: u64,
    pub(super) files: u32,
    /// Where the action begins, and its bytes.
    action_at: u16,
    action_length: u16,
    /// Bytes of all of it.
    pub(super) length: u32,
}

impl Front {
    /// What begins `bytes`; `None`: it is not complete. What is text is not looked at.
    #[inline]
    pub(super) fn parse(start: Start, bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let flags = cursor.byte()?;
        let first = cursor.id()?;
        let (id, parent, action_length) = if start.response {
            (cursor.id()?, Some(first), 0)
        } else {
            let length = cursor.uint32(TEXT_LENGTH.of(flags >> 1 & 1))?;
            (first, None, length)
        };
        let action_at = cursor.taken();
        cursor.take(usize::try_from(action_length).ok()?)?;
        let data_size = cursor.uint(DATA_SIZE.of(flags >> 6))?;
        let (mut files, mut total_size) = (0, 0);
        if flags >> 4 & 0b11 != 0 {
            files = cursor.uint32(FILES_COUNT.of(flags >> 4))?;
            total_size = cursor.uint(FILES_TOTAL.of(flags >> 2))?;
        }
        Some(Self {
            id,
            parent,
            data_size,
            total_size,
            files,
            action_at: action_at.try_into().ok()?,
            action_length: action_length.try_into().ok()?,
            length: cursor.taken().try_into().ok()?,
        })
    }

    /// Its action in the bytes that it was parsed of; empty for a response.
    #[inline]
    pub(super) fn action<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let at = usize::from(self.action_at);
        bytes
            .get(at..at + usize::from(self.action_length))
            .unwrap_or_default()
    }

    /// The head that lies in `bytes`, of which this is the front, whose action is UTF-8 and which is complete.
    #[inline]
    pub(super) fn head<'a>(&self, start: Start, bytes: &'a [u8]) -> Head<'a> {
        let subject = self.parent.map_or_else(
            || {
                let action = simdutf8::basic::from_utf8(self.action(bytes));
                Subject::Action(action.unwrap_or_default())
            },
            Subject::Parent,
        );
        let headers = usize::try_from(self.length)
            .ok()
            .and_then(|length| bytes.get(length..));
        Head {
            subject,
            id: self.id,
            expects_response: start.expects_response,
            has_stream: start.has_stream,
            data_size: self.data_size,
            files: FileList::new(self.files, self.total_size, headers.unwrap_or_default()),
        }
    }
}
