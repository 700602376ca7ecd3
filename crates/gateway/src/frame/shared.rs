//! An encoded message, shared by all its recipients.

use std::sync::{Arc, OnceLock, Weak};

use super::block::Block;
use super::charge::Charge;
use super::ledger::Ledger;

/// Encoded bytes shared by reference. A ledger counts them once, from the time when the first outbox queues them, or from
/// creation, until the last holder drops them.
#[derive(Clone, Debug)]
pub(crate) struct Frame(Arc<Held>);

/// Tells one frame from all others, also when that is gone. Does not hold its bytes.
#[derive(Clone, Debug)]
pub(crate) struct FrameIdentity(Weak<Held>);

#[derive(Debug)]
struct Held {
    bytes: Block,
    /// The index in `bytes` at which the frame begins.
    start: usize,
    /// The ledger that counts the bytes; `Some(None)`: none ever does.
    counted: OnceLock<Option<Arc<Ledger>>>,
}

impl Frame {
    /// A frame that is about to be queued.
    pub(crate) fn new(bytes: Vec<u8>, ledger: &Arc<Ledger>) -> Self {
        ledger.add(bytes.capacity());
        Self::counted(0, bytes.into(), Some(Arc::clone(ledger)))
    }

    /// A frame that is counted once it is queued.
    pub(crate) fn uncounted(bytes: Vec<u8>) -> Self {
        Self::starting(0, bytes.into())
    }

    /// Like [`uncounted`](Self::uncounted), of the bytes from `start` on.
    pub(super) fn starting(start: usize, bytes: Block) -> Self {
        let counted = OnceLock::new();
        Self(Arc::new(Held {
            bytes,
            start,
            counted,
        }))
    }

    fn counted(start: usize, bytes: Block, ledger: Option<Arc<Ledger>>) -> Self {
        let counted = OnceLock::from(ledger);
        Self(Arc::new(Held {
            bytes,
            start,
            counted,
        }))
    }

    /// Makes a frame of the bytes from `start` on, which were counted before.
    pub(crate) fn charged(start: usize, bytes: Vec<u8>, charge: Charge) -> Self {
        let ledger = charge.become_held(bytes.capacity());
        Self::counted(start, bytes.into(), Some(ledger))
    }

    /// Counts the bytes, unless a ledger counts them already.
    #[inline]
    pub(crate) fn count(&self, ledger: &Arc<Ledger>) {
        if self.0.counted.get().is_none() {
            self.count_first(ledger);
        }
    }

    #[cold]
    fn count_first(&self, ledger: &Arc<Ledger>) {
        self.0.counted.get_or_init(|| {
            ledger.add(self.0.bytes.capacity());
            Some(Arc::clone(ledger))
        });
    }

    /// Whether there is another holder.
    pub(super) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    pub(crate) fn identity(&self) -> FrameIdentity {
        FrameIdentity(Arc::downgrade(&self.0))
    }

    /// Whether this is the frame with that identity.
    pub(crate) fn is(&self, identity: &FrameIdentity) -> bool {
        // no other frame gets the place of one that is gone while its identity exists
        std::ptr::eq(Arc::as_ptr(&self.0), identity.0.as_ptr())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.bytes.get(self.0.start..).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.bytes.len() - self.0.start
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(Some(ledger)) = self.counted.get() {
            ledger.subtract(self.bytes.capacity());
        }
    }
}

/// Bytes that are sent repeatedly without a copy. The application that made them holds them, so no limit counts them.
#[derive(Clone, Debug)]
pub struct SharedBytes(Frame);

impl SharedBytes {
    /// Copies these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(Frame::counted(0, bytes.to_vec().into(), None))
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

    #[test]
    fn an_identity_holds_nothing_and_no_later_frame_has_it() {
        let ledger = Arc::new(Ledger::new());
        let frame = Frame::new(vec![0; 100], &ledger);
        let identity = frame.identity();
        assert!(frame.is(&identity) && frame.clone().is(&identity));
        drop(frame);
        assert_eq!(ledger.held(), 0);
        for _ in 0..100 {
            assert!(!Frame::new(vec![0; 100], &ledger).is(&identity));
        }
    }

    #[test]
    fn the_first_ledger_that_counts_a_frame_counts_it_to_its_end() {
        let ledgers = [(); 2].map(|()| Arc::new(Ledger::new()));
        let held = || ledgers.each_ref().map(|ledger| ledger.held());
        let frame = Frame::uncounted(vec![0; 100]);
        let other = frame.clone();
        assert_eq!(held(), [0, 0]);
        other.count(&ledgers[1]);
        frame.count(&ledgers[0]);
        frame.count(&ledgers[1]);
        assert_eq!(held(), [0, 100]);
        drop(other);
        assert_eq!(held(), [0, 100]);
        drop(frame);
        assert_eq!(held(), [0, 0]);
        SharedBytes::new(b"shared").frame().count(&ledgers[0]);
        assert_eq!(held(), [0, 0]);
    }
}
