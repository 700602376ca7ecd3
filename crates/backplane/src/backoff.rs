//! How long to wait before the next attempt to connect. Owns the rule; randomness is an argument.

use std::time::Duration;

/// Attempts that failed in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after one more failure: doubled each time up to [`LONGEST`], and cut by up to a half, so that
    /// nodes that lost the same server do not come back together.
    pub(crate) fn next(&mut self, random: u64) -> Duration {
        let whole = SHORTEST
            .saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX))
            .min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let micros = u64::try_from(whole.as_micros()).unwrap_or(u64::MAX);
        whole.saturating_sub(Duration::from_micros(random % (micros / 2 + 1)))
    }

    /// There was a link for so long. Only one that lasted makes the next attempt an early one: who lets us in and throws
    /// us out again is not to be asked all the time.
    pub(crate) fn lasted(&mut self, time: Duration) {
        if time >= LASTING {
            self.failures = 0;
        }
    }

    /// Attempts that failed in a row.
    pub(crate) fn failures(self) -> u32 {
        self.failures
    }
}

const SHORTEST: Duration = Duration::from_millis(50);

/// The longest wait.
pub(crate) const LONGEST: Duration = Duration::from_millis(800);

/// A link that lasted as long was a good one.
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
