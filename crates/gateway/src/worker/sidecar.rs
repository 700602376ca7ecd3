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
    pub(super) fn new(payload: &[u8], blocks: &Arc<Blocks>) -> Self {
        let mut bytes = blocks.take(HEAD_ROOM + payload.len());
        bytes.extend_from_slice(&[0; HEAD_ROOM]);
        bytes.extend_from_slice(payload);
        Self(bytes)
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
