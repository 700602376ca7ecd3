//! The head of a message or response: everything before its contents. A packet carries it as its body.

use super::files::FileList;
use super::id::Id;
use super::packet::Start;
use super::width::{Cursor, DATA_SIZE, FILES_COUNT, FILES_TOTAL, TEXT_LENGTH};

/// A message or a response, without its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// Whether it is a message or a response.
    pub subject: Subject<'a>,
    /// Its own id.
    pub id: Id,
    /// Whether a reply is expected. This is only a hint: a message without it may be answered, too.
    pub expects_response: bool,
    /// Whether it has a stream, which must then be ended. Do not send a response with a stream to sockety-js: it
    /// treats it as an error.
    pub has_stream: bool,
    /// The size of its data in bytes, at most 2^48 - 1.
    pub data_size: u64,
    /// Its files.
    pub files: FileList<'a>,
}

/// The action of a message, or the parent of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// The name of a message's action, which may be empty.
    Action(&'a str),
    /// The id of the message or response that a response answers.
    Parent(Id),
}

/// A head without the headers of its files: the values, and their positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front {
    id: Id,
    /// The parent, in a response.
    parent: Option<Id>,
    pub(super) data_size: u64,
    pub(super) total_size: u64,
    pub(super) files: u32,
    /// The position of the action and its length.
    action_at: u16,
    action_length: u16,
    /// The length of all fields parsed.
    pub(super) length: u32,
}

impl Front {
    /// Parses the beginning of `bytes`. `None` means that the fields are incomplete. Text is not validated.
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

    /// The action in `bytes`, from which this value was parsed. Empty for a response.
    #[inline]
    pub(super) fn action<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let at = usize::from(self.action_at);
        bytes
            .get(at..at + usize::from(self.action_length))
            .unwrap_or_default()
    }

    /// The complete head in `bytes`, from which this value was parsed. The action must be UTF-8.
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
