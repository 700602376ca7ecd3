//! Counts memory before it is allocated.

use std::sync::Arc;

use super::ledger::{Ledger, Ledgers};

/// Bytes that are about to be allocated. They are in the ledger from the time they were found to fit until this is
/// dropped, or becomes part of the frame that holds them.
#[derive(Debug)]
pub(crate) struct Charge {
    ledger: Arc<Ledger>,
    ledgers: Arc<Ledgers>,
    /// The most bytes that all ledgers may hold.
    limit: usize,
    bytes: usize,
}

impl Charge {
    /// A charge of no bytes.
    pub(crate) fn new(ledger: &Arc<Ledger>, ledgers: &Arc<Ledgers>, limit: usize) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            ledgers: Arc::clone(ledgers),
            limit,
            bytes: 0,
        }
    }

    /// Counts this many more bytes. False: they exceed the limit and are not counted.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let fits = self.ledgers.try_add(&self.ledger, bytes, self.limit);
        if fits {
            self.bytes += bytes;
        }
        fits
    }

    /// Passes the count to the frame that holds `bytes` from now on.
    pub(super) fn become_held(mut self, bytes: usize) -> Arc<Ledger> {
        let counted = std::mem::take(&mut self.bytes);
        if bytes > counted {
            self.ledger.add(bytes - counted);
        } else {
            self.ledger.subtract(counted - bytes);
        }
        Arc::clone(&self.ledger)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.ledger.subtract(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Frame;
    use super::*;
    use millrace_core::ShardIndex;

    /// The ledger of one shard, and how to make a charge of at most 100 bytes.
    fn ledger() -> (Arc<Ledger>, impl Fn() -> Charge) {
        let ledgers = Arc::new(Ledgers::new());
        let ledger = Arc::clone(ledgers.of(ShardIndex::new(0).unwrap()));
        let own = Arc::clone(&ledger);
        (ledger, move || Charge::new(&own, &ledgers, 100))
    }

    #[test]
    fn bytes_that_do_not_fit_are_not_counted() {
        let (ledger, charge) = ledger();
        ledger.add(50);
        let mut charge = charge();
        assert!(charge.grow(40));
        assert!(!charge.grow(11));
        assert!(charge.grow(10));
        assert_eq!(ledger.held(), 100);
        drop(charge);
        assert_eq!(ledger.held(), 50);
    }

    #[test]
    fn a_frame_takes_over_the_bytes_counted_for_it() {
        for counted in [0, 60, 100] {
            let (ledger, charge) = ledger();
            let mut charge = charge();
            assert!(charge.grow(counted));
            let mut bytes = Vec::with_capacity(80);
            bytes.extend_from_slice(b"..frame");
            let capacity = bytes.capacity();
            let frame = Frame::charged(2, bytes, charge);
            assert_eq!(frame.bytes(), b"frame");
            assert_eq!(ledger.held(), capacity);
            drop(frame);
            assert_eq!(ledger.held(), 0);
        }
    }
}
