//! A cursor over bytes that were just read.
//!
//! Never copies and never keeps anything: bytes that the decoder took are removed, other bytes are
//! unchanged, still masked, and may be fed again later.

use std::mem;

/// Bytes to decode. Complete frames are unmasked in place and lent to the items.
#[derive(Debug)]
pub struct Input<'a> {
    bytes: &'a mut [u8],
    frames: u32,
}

impl<'a> Input<'a> {
    /// Makes a cursor at the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, frames: 0 }
    }

    /// Takes the next `count` bytes, or all if there are fewer.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> &'a mut [u8] {
        let bytes = mem::take(&mut self.bytes);
        let (taken, rest) = bytes.split_at_mut(count.min(bytes.len()));
        self.bytes = rest;
        taken
    }

    #[inline]
    pub(super) fn count_frame(&mut self) {
        self.frames = self.frames.saturating_add(1);
    }

    /// The bytes that were not consumed. Empty when [`Decoder::next`](super::Decoder::next) has returned
    /// `None`; a caller that stops earlier may keep them and feed them later.
    #[inline]
    pub fn remaining(&self) -> &[u8] {
        self.bytes
    }

    /// The number of complete and valid frames that were consumed. Only these show that the peer is
    /// alive.
    #[inline]
    pub fn frames(&self) -> u32 {
        self.frames
    }
}
