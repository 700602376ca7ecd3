//! How long a worker leaves its doorbell unanswered: the time for which its event loop is busy with other work.

use std::time::Instant;

use crate::stats::{Histogram, Times};
use crate::sync::{AtomicU64, Ordering};

/// See the module. Every [`SAMPLE`]th ring is timed.
#[derive(Debug)]
pub(crate) struct LoopDelays {
    since: Instant,
    rings: AtomicU64,
    /// The time of the ring that is being measured, in µs since `since`; 0: none.
    rung_at: AtomicU64,
    delays: Histogram,
}

impl LoopDelays {
    pub(crate) fn new() -> Self {
        Self {
            since: Instant::now(),
            rings: AtomicU64::new(0),
            rung_at: AtomicU64::new(0),
            delays: Histogram::default(),
        }
    }

    /// Records that the doorbell rings.
    pub(crate) fn rung(&self) {
        if self
            .rings
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(SAMPLE)
        {
            self.rung_at.store(self.micros(), Ordering::Relaxed);
        }
    }

    /// Records that the doorbell is answered.
    pub(crate) fn answered(&self) {
        if self.rung_at.load(Ordering::Relaxed) > 0 {
            let rung_at = self.rung_at.swap(0, Ordering::Relaxed);
            self.delays.observe(self.micros().saturating_sub(rung_at));
        }
    }

    pub(crate) fn times(&self) -> Times {
        self.delays.times()
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_micros())
            .unwrap_or(u64::MAX)
            .max(1)
    }
}

/// Reading the clock for every ring would cost as much as a short message.
const SAMPLE: u64 = 8;
