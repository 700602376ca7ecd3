//! A reply that passes through its own shard's inbox, so that it follows earlier commands.

use super::shared::Frame;

/// See the module. Small, because commands are small.
#[derive(Debug)]
pub(crate) enum LateReply {
    /// Not counted before it is in the outbox.
    Short(Box<[u8]>),
    /// Counted since it was made.
    Long(Frame),
}
