//! How long to wait before the next attempt to connect. Owns the rule; randomness is an argument.

use std::time::Duration;

/// Counts consecutive failed attempts to connect.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after a further failure. It is doubled each time up to [`LONGEST`] and shortened by up to a half
    /// at random, so that nodes that lost the same server do not reconnect at the same moment.
    pub(crate) fn next(&mut self, random: u64) -> Duration {
        let whole = SHORTEST
            .saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX))
            .min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let micros = u64::try_from(whole.as_micros()).unwrap_or(u64::MAX);
        whole.saturating_sub(Duration::from_micros(random % (micros / 2 + 1)))
    }

    /// Records how long a link lasted. Only a link that lasted long enough resets the waits, so that a server that
    /// accepts connections and closes them at once is not asked all the time.
    pub(crate) fn lasted(&mut self, time: Duration) {
        if time >= LASTING {
            self.failures = 0;
        }
    }

    /// The number of consecutive failed attempts.
    pub(crate) fn failures(self) -> u32 {
        self.failures
    }
}

const SHORTEST: Duration = Duration::from_millis(50);

/// The longest wait.
pub(crate) const LONGEST: Duration = Duration::from_millis(800);

/// A link that lasted this long resets the waits.
const LASTING: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..7).map(|_| backoff.next(0).as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 800, 800]);
        for _ in 0..100 {
            let wait = backoff.next(u64::MAX);
            assert!(wait >= LONGEST / 2 && wait <= LONGEST);
        }
        backoff.lasted(LASTING / 2);
        assert_eq!(backoff.next(0), LONGEST);
        backoff.lasted(LASTING);
        assert_eq!(backoff.next(0).as_millis(), 50);
    }
}
