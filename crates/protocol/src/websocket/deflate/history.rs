//! What a connection with context takeover keeps: the end of the plain text of its compressed messages.
//!
//! Owns at most one window of bytes. Grows with the messages, never ahead of them.

use super::window::WindowBits;

/// The plain text that the next message may refer to.
#[derive(Debug)]
pub struct History {
    bytes: Vec<u8>,
    window: WindowBits,
}

impl History {
    /// The history of a new connection, empty.
    pub const fn new(window: WindowBits) -> Self {
        Self {
            bytes: Vec::new(),
            window,
        }
    }

    /// The kept text, at most as long as the window.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the plain text of a message that was compressed with this history, or inflated with it.
    pub fn push(&mut self, message: &[u8]) {
        let most = self.window.bytes();
        let kept = message.get(message.len().saturating_sub(most)..);
        let kept = kept.unwrap_or_default();
        let over = (self.bytes.len() + kept.len()).saturating_sub(most);
        self.bytes.drain(..over);
        let length = self.bytes.len() + kept.len();
        if length > self.bytes.capacity() {
            let wanted = self.bytes.capacity().saturating_mul(2).clamp(length, most);
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(kept);
    }

    /// The memory held, in bytes.
    pub fn held(&self) -> usize {
        self.bytes.capacity()
    }
}
