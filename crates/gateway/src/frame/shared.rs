//! An encoded message, shared by all its recipients.

use std::sync::Arc;

use super::block::Block;
use super::charge::Charge;
use super::ledger::Ledger;

/// Encoded bytes shared by reference; counted in the ledger from creation to the last drop.
#[derive(Clone, Debug)]
pub(crate) struct Frame(Arc<Held>);

#[derive(Debug)]
struct Held {
    bytes: Block,
    /// The index in `bytes` at which the frame begins.
    start: usize,
    ledger: Arc<Ledger>,
}

impl Frame {
    pub(crate) fn new(bytes: Vec<u8>, ledger: &Arc<Ledger>) -> Self {
        Self::starting(0, bytes.into(), ledger)
    }

    pub(super) fn starting(start: usize, bytes: Block, ledger: &Arc<Ledger>) -> Self {
        ledger.add(bytes.capacity());
        Self(Arc::new(Held {
            bytes,
            start,
            ledger: Arc::clone(ledger),
        }))
    }

    /// Makes a frame of the bytes from `start` on, which were counted before.
    pub(crate) fn charged(start: usize, bytes: Vec<u8>, charge: Charge) -> Self {
        let ledger = charge.become_held(bytes.capacity());
        Self(Arc::new(Held {
            bytes: bytes.into(),
            start,
            ledger,
        }))
    }

    pub(super) fn ledger(&self) -> &Arc<Ledger> {
        &self.0.ledger
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.bytes.get(self.0.start..).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.bytes.len() - self.0.start
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ledger.subtract(self.bytes.capacity());
    }
}

/// Bytes that are sent repeatedly without a copy. The application that made them holds them, so no limit counts them.
#[derive(Clone, Debug)]
pub struct SharedBytes(Frame);

impl SharedBytes {
    /// Copies these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(Frame::new(bytes.to_vec(), &Arc::new(Ledger::new())))
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.0
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &Self) -> bool {
        self.0.bytes() == other.0.bytes()
    }
}

impl Eq for SharedBytes {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_counts_a_frame_once_until_its_last_holder_drops_it() {
        let ledger = Arc::new(Ledger::new());
        let frame = Frame::new(vec![0; 100], &ledger);
        let other = frame.clone();
        assert_eq!(ledger.held(), 100);
        drop(frame);
        assert_eq!(ledger.held(), 100);
        drop(other);
        assert_eq!(ledger.held(), 0);
    }
}
