//! Output of a connection that the kernel has not accepted yet.

use std::io::IoSlice;

/// Written bytes of one connection that wait to be sent.
#[derive(Debug, Default)]
pub(in crate::http) struct WriteBuffer {
    bytes: Vec<u8>,
    /// How many of them are sent.
    sent: usize,
    /// Whether the end of the turn sends them; otherwise they wait until the peer accepts bytes.
    pub(in crate::http) queued: bool,
    /// Whether sending failed, which ends the connection.
    pub(in crate::http) broken: bool,
}

impl WriteBuffer {
    pub(in crate::http) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// The bytes that are left to send.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    /// Takes all of it, or nothing if it is too much to hold.
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

    /// Takes the memory of an empty buffer.
    pub(super) fn emptied(&mut self) -> Option<Vec<u8>> {
        if !self.is_empty() {
            return None;
        }
        self.sent = 0;
        let mut buffer = std::mem::take(&mut self.bytes);
        buffer.clear();
        (buffer.capacity() > 0).then_some(buffer)
    }

    /// Discards everything, because it cannot be sent.
    pub(super) fn fail(&mut self) {
        *self = Self {
            broken: true,
            ..Self::default()
        };
    }
}

/// The most bytes of one connection that wait; longer output is written at once, without a copy.
const MOST_BYTES: usize = 16 * 1024;
