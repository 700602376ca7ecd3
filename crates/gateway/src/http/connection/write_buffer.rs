//! What a connection has written and the kernel has not taken.

use std::io::IoSlice;

/// Bytes of one connection that were written and wait.
#[derive(Debug, Default)]
pub(in crate::http) struct WriteBuffer {
    bytes: Vec<u8>,
    /// How many of them are sent.
    sent: usize,
    /// The turn will send them; else they wait until the peer takes some.
    pub(in crate::http) queued: bool,
    /// It could not be sent: the connection is over.
    pub(in crate::http) broken: bool,
}

impl WriteBuffer {
    pub(in crate::http) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// What is left to be sent.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    /// Takes all of it, or, where that is too much to be held, nothing.
    pub(super) fn take(
        &mut self,
        slices: &[IoSlice<'_>],
        buffer: impl FnOnce() -> Vec<u8>,
    ) -> Option<usize> {
        let length = slices.iter().map(|slice| slice.len()).sum::<usize>();
        if self.bytes.len() + length > MOST_BYTES {
            return None;
        }
        if self.bytes.capacity() == 0 {
            self.bytes = buffer();
        }
        for slice in slices {
            self.bytes.extend_from_slice(slice);
        }
        Some(length)
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.sent = (self.sent + count).min(self.bytes.len());
    }

    /// The memory of one that is empty now.
    pub(super) fn emptied(&mut self) -> Option<Vec<u8>> {
        if !self.is_empty() {
            return None;
        }
        self.sent = 0;
        let mut buffer = std::mem::take(&mut self.bytes);
        buffer.clear();
        (buffer.capacity() > 0).then_some(buffer)
    }

    /// Forgets all of it, because it cannot be sent.
    pub(super) fn fail(&mut self) {
        *self = Self {
            broken: true,
            ..Self::default()
        };
    }
}

/// Bytes of one connection that may wait: more are written at once, where they lie.
const MOST_BYTES: usize = 16 * 1024;
