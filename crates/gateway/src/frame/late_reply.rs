//! A reply on its way through its own shard's inbox.

use super::shared::Frame;

/// See the module. Small, because commands are.
#[derive(Debug)]
pub(crate) enum LateReply {
    /// Not counted before it is in the outbox.
    Short(Box<[u8]>),
    /// Counted since it was made.
    Long(Frame),
}
