//! Which sources of a line have rung, and whether its thread is answering them. Pure: wakes no thread.

#[cfg(millrace_loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
use std::cell::Cell;
#[cfg(not(millrace_loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module. A bit for each place, and one for the thread.
#[derive(Debug)]
pub(super) struct Rings(AtomicU64);

/// The number of places. The sources whose numbers differ by a multiple of it share one.
pub(crate) const PLACES: usize = 63;

/// The bit of a thread that is answering, and looks again before it stops.
const ANSWERING: u64 = 1 << PLACES;

/// The places that have rung.
#[derive(Debug)]
struct Places(u64);

impl Rings {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Records a ring. Returns whether the thread has to be woken: it is not answering, and nobody else wakes it.
    pub(super) fn ring(&self, source: usize) -> bool {
        self.0.fetch_or(1 << (source % PLACES), Ordering::AcqRel) == 0
    }

    /// Has the thread answer the places that have rung, and those that ring meanwhile, in at most so many rounds. Returns
    /// whether the caller has the thread woken again, because something is left. `answering` belongs to the thread: if a handler
    /// runs the event loop, a wake-up in there finds it set, and what has rung is left to the call that the handler is in.
    pub(super) fn answer(
        &self,
        answering: &Cell<bool>,
        most: usize,
        answer: impl FnMut(usize),
    ) -> bool {
        if answering.replace(true) {
            return false;
        }
        let is_left = self.answer_all(most, answer);
        answering.set(false);
        is_left
    }

    fn answer_all(&self, most: usize, mut answer: impl FnMut(usize)) -> bool {
        for _ in 0..most {
            for place in self.take() {
                answer(place);
            }
            if self.rest() {
                return false;
            }
        }
        self.leave()
    }

    /// Takes the places that have rung since the last call. The thread is answering until [`rest`](Self::rest) or
    /// [`leave`](Self::leave).
    fn take(&self) -> Places {
        Places(self.0.swap(ANSWERING, Ordering::AcqRel) & !ANSWERING)
    }

    /// Stops answering, unless there was a ring since the last [`take`](Self::take). Returns whether it has stopped.
    fn rest(&self) -> bool {
        self.0
            .compare_exchange(ANSWERING, 0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Stops answering. Returns whether there was a ring since the last [`take`](Self::take): then the caller has the
    /// thread woken again.
    fn leave(&self) -> bool {
        self.0.fetch_and(!ANSWERING, Ordering::AcqRel) != ANSWERING
    }
}

impl Iterator for Places {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = usize::try_from(self.0.trailing_zeros()).ok()?;
        self.0 &= self.0.checked_sub(1)?;
        Some(place)
    }
}

#[cfg(all(test, not(millrace_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_woken_once_for_all_that_ring() {
        let rings = Rings::new();
        assert!(rings.ring(0));
        assert!(!rings.ring(62));
        assert!(!rings.ring(63 + 5));
        assert_eq!(rings.take().collect::<Vec<_>>(), [0, 5, 62]);
        assert!(rings.rest());
        assert!(rings.ring(3));
    }

    #[test]
    fn a_thread_that_answers_is_not_woken_and_looks_again() {
        let rings = Rings::new();
        assert!(rings.ring(1));
        assert_eq!(rings.take().count(), 1);
        assert!(!rings.ring(2));
        assert!(!rings.rest());
        assert_eq!(rings.take().collect::<Vec<_>>(), [2]);
        assert!(!rings.ring(2));
        assert!(rings.leave(), "it has to wake itself");
        assert!(!rings.ring(4), "it does already");
        assert_eq!(rings.take().collect::<Vec<_>>(), [2, 4]);
        assert!(!rings.leave());
        assert!(rings.ring(0));
    }

    #[test]
    fn a_wake_up_within_a_handler_leaves_everything_to_the_call_around_it() {
        let (rings, answering) = (Rings::new(), Cell::new(false));
        assert!(rings.ring(1));
        let mut answered = Vec::new();
        let is_left = rings.answer(&answering, 2, |place| {
            answered.push(place);
            if place == 1 {
                assert!(!rings.ring(2), "the thread looks again");
                assert!(!rings.answer(&answering, 2, |_| panic!("out of order")));
            }
        });
        assert_eq!((answered, is_left), (vec![1, 2], false));
        assert!(rings.ring(3));
        let mut rounds = 0;
        let is_left = rings.answer(&answering, 2, |_| {
            rounds += 1;
            rings.ring(3);
        });
        assert!(
            is_left && rounds == 2,
            "the rest of the event loop has its turn"
        );
        assert!(!rings.answer(&answering, 1, |place| assert_eq!(place, 3)));
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: every interleaving of ringing and answering.
#[cfg(all(test, millrace_loom))]
mod loom_tests;
