//! Messages on their way out: a publication is encoded at most once per wire encoding and its frame
//! shared by all recipients. The ledger knows how much memory frames hold.

use std::sync::{Arc, OnceLock};

use millrace_core::Kind;

use crate::adapter::Encoding;
use crate::sync::{AtomicUsize, Ordering};

/// Bytes held by all frames and outbox entries of a gateway.
#[derive(Debug)]
pub(crate) struct Ledger {
    held: AtomicUsize,
}

/// A message for many sockets. Kept as its WebSocket frame, whose tail is the payload; other
/// encodings are made from that when somebody asks.
#[derive(Debug)]
pub(crate) struct Publication {
    kind: Kind,
    websocket: Frame,
    payload_start: usize,
    others: [OnceLock<Frame>; Encoding::COUNT - 1],
    ledger: Arc<Ledger>,
}

/// Encoded bytes shared by reference; counted in the ledger from creation to the last drop.
#[derive(Clone, Debug)]
pub(crate) struct Frame(Arc<Held>);

#[derive(Debug)]
struct Held {
    bytes: Vec<u8>,
    ledger: Arc<Ledger>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            held: AtomicUsize::new(0),
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes held now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl Publication {
    pub(crate) fn new(kind: Kind, payload: &[u8], ledger: &Arc<Ledger>) -> Self {
        let bytes = Encoding::WebSocket.encode(kind, payload);
        Self {
            kind,
            payload_start: bytes.len() - payload.len(),
            websocket: Frame::new(bytes, ledger),
            others: [const { OnceLock::new() }; Encoding::COUNT - 1],
            ledger: Arc::clone(ledger),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.websocket
            .bytes()
            .get(self.payload_start..)
            .unwrap_or_default()
    }

    /// The frame in this encoding, made at most once.
    pub(crate) fn frame(&self, encoding: Encoding) -> &Frame {
        match encoding
            .index()
            .checked_sub(1)
            .and_then(|index| self.others.get(index))
        {
            None => &self.websocket,
            Some(other) => other.get_or_init(|| {
                Frame::new(encoding.encode(self.kind, self.payload()), &self.ledger)
            }),
        }
    }
}

impl Frame {
    pub(crate) fn new(bytes: Vec<u8>, ledger: &Arc<Ledger>) -> Self {
        ledger.add(bytes.capacity());
        Self(Arc::new(Held {
            bytes,
            ledger: Arc::clone(ledger),
        }))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.0.bytes.len()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ledger.subtract(self.bytes.capacity());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_is_encoded_once_per_encoding() {
        let ledger = Arc::new(Ledger::new());
        let publication = Publication::new(Kind::Text, b"hello", &ledger);
        let first = publication.frame(Encoding::WebSocket).clone();
        let second = publication.frame(Encoding::WebSocket).clone();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        assert_eq!(first.bytes(), b"\x81\x05hello");
    }

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
