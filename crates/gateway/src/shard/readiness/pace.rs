//! How long connections run before the runtime of their thread has its turn. Reads the clock once for many connections,
//! or for much input. Owns no clock and runs nothing.

use std::cell::Cell;
use std::time::Duration;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the runtime has its turn; `None` if the clock was not read since it had the last one.
    until: Cell<Option<Duration>>,
    /// How many connections run before the clock is read.
    left: Cell<u32>,
    /// The number of handled bytes at which the clock is read, too.
    mark: Cell<u64>,
}

impl Pace {
    /// The runtime has its turn.
    pub(super) fn restart(&self) {
        self.until.set(None);
        self.left.set(CONNECTIONS);
    }

    /// Whether another connection may run behind one without a look at the clock, now that the thread has handled this many
    /// bytes since it began.
    #[inline]
    pub(super) fn counts(&self, handled: u64) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 1 && handled < self.mark.get()
    }

    /// Whether another connection may run behind one at this time.
    pub(super) fn goes_on_behind(&self, handled: u64, now: Duration) -> bool {
        self.left.set(CONNECTIONS);
        self.mark.set(handled + BYTES);
        self.goes_on_at(now)
    }

    /// Whether another connection may run at this time. The time counts from the first call since the runtime had its
    /// turn.
    pub(super) fn goes_on_at(&self, now: Duration) -> bool {
        if let Some(until) = self.until.get() {
            return now < until;
        }
        self.until.set(Some(now + LONGEST));
        true
    }
}

/// The clock is read after this many connections, or when they have received this many bytes: those that were read and
/// those of their messages.
pub(super) const CONNECTIONS: u32 = 16;
pub(super) const BYTES: u64 = 128 * 1024;

/// How long connections run before the runtime has its turn.
pub(super) const LONGEST: Duration = Duration::from_millis(1);
