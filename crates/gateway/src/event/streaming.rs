//! A message that is sent in parts while it is made, as data: the steps that its sender takes. Knows no socket.

use bytes::Bytes;
use millrace_core::Kind;

use super::Question;

/// Identifies a message in its gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(u64);

impl StreamId {
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }
}

/// A step.
#[derive(Debug)]
pub(crate) enum StreamStep {
    /// The message follows everything that was sent before, and what is sent later follows the message.
    Begin {
        /// Answered when its parts may come.
        turn: Question,
        /// Answered when its last part is in the outbox.
        end: Question,
    },
    /// A part. The kind of the first one counts.
    Part {
        kind: Kind,
        payload: Bytes,
        /// Answered when there is room for another part.
        room: Question,
    },
    /// The message is complete. The kind counts if it has no part.
    End { kind: Kind },
    /// The message will never be complete.
    Abort,
}
