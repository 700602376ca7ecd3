//! Panics on demand, for tests of how panics are handled. In other builds this code does nothing.

#[cfg(test)]
use crate::sync::{AtomicUsize, Ordering};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The number of the fault at which the next panic happens; 0: none.
    #[cfg(test)]
    next: AtomicUsize,
}

/// The places where a test can cause a panic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Turn = 1,
    Timers,
    Accept,
    Liveness,
    Stop,
    Requests,
    HttpConnection,
    Connection,
    Relays,
    Upload,
    Preamble,
}

impl Faults {
    /// Panics if a test has asked for it at this place.
    #[inline]
    pub(crate) fn hit(&self, fault: Fault) {
        #[cfg(test)]
        {
            let asked =
                self.next
                    .compare_exchange(fault.number(), 0, Ordering::SeqCst, Ordering::SeqCst);
            assert!(asked.is_err(), "asked for by a test");
        }
        #[cfg(not(test))]
        let _ = (self, fault);
    }
}

#[cfg(test)]
impl Faults {
    pub(crate) fn ask(&self, fault: Fault) {
        self.next.store(fault.number(), Ordering::SeqCst);
    }
}

#[cfg(test)]
impl Fault {
    #[expect(clippy::as_conversions, reason = "the number of a variant")]
    fn number(self) -> usize {
        self as usize
    }
}
