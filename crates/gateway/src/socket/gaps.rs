//! What a connection was told of messages that a policy has dropped. Pure.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use millrace_core::Position;

use crate::frame::FrameIdentity;

/// The gaps of the notice that was put into an outbox last. The notice itself belongs to the outbox.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// Channels, and the positions up to which their messages are missing.
    pub(super) gaps: BTreeMap<Vec<u8>, Position>,
    pub(super) notice: Option<FrameIdentity>,
}

impl Lost {
    /// Adds a gap, or makes that of its channel longer.
    pub(super) fn add(&mut self, channel: Vec<u8>, last: Position) {
        match self.gaps.entry(channel) {
            Entry::Vacant(none) => {
                none.insert(last);
            }
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let offset = if known.epoch == last.epoch {
                    known.offset.max(last.offset)
                } else {
                    last.offset
                };
                *known = Position { offset, ..last };
            }
        }
    }
}
