//! What a connection was told of messages that a policy has dropped. Pure.

use millrace_core::Position;

use crate::frame::Frame;

/// The gaps of the notice that was put into an outbox last.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    pub(super) gaps: Vec<Gap>,
    pub(super) notice: Option<Frame>,
}

/// Messages of a channel that are missing up to a position.
#[derive(Debug)]
pub(super) struct Gap {
    pub(super) channel: Vec<u8>,
    pub(super) last: Position,
}

impl Lost {
    /// Adds one, or makes that of its channel longer.
    pub(super) fn add(&mut self, channel: Vec<u8>, last: Position) {
        match self.gaps.iter_mut().find(|gap| gap.channel == channel) {
            Some(gap) if gap.last.epoch == last.epoch => {
                gap.last.offset = gap.last.offset.max(last.offset);
            }
            Some(gap) => gap.last = last,
            None => self.gaps.push(Gap { channel, last }),
        }
    }
}
