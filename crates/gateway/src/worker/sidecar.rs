//! Payloads that travel beside a batch's records because they are long.

use std::sync::Arc;

use crate::frame::{Block, Blocks, HEAD_ROOM};

/// A payload beside the records.
#[derive(Debug)]
pub enum Sidecar {
    /// A long text, all ASCII.
    Text(AsciiText),
    /// Any other payload.
    Bytes(Vec<u8>),
}

/// A long ASCII text that can be sent without a copy, because it lies behind [`HEAD_ROOM`].
#[derive(Debug, Default)]
pub struct AsciiText(Block);

impl Sidecar {
    /// The payload.
    pub fn payload(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl AsciiText {
    /// An empty one with room for so many bytes.
    pub(super) fn with_room(length: usize, blocks: &Arc<Blocks>) -> Self {
        Self(blocks.take(HEAD_ROOM + length))
    }

    /// Makes it this text.
    pub(super) fn fill(&mut self, payload: &[u8]) {
        self.0.clear();
        self.0.extend_from_slice(&[0; HEAD_ROOM]);
        self.0.extend_from_slice(payload);
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.get(HEAD_ROOM..).unwrap_or_default()
    }

    /// The text behind [`HEAD_ROOM`] arbitrary bytes.
    pub(crate) fn into_roomy(self) -> Block {
        self.0
    }
}
