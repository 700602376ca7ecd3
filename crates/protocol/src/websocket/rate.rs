//! The bound on pings and pongs: a token bucket kept as one number. Also keeps whether decoding has ended, because every
//! idle connection pays for a field of its own.
//!
//! Never reads a clock: milliseconds of any monotonic clock are an argument.

/// A token bucket in the form of the generic cell rate algorithm: it keeps the time at which the bucket
/// will be full again, instead of a level and the time of that level.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// [`ENDED`] is the end of decoding.
    full_at_us: u64,
}

impl Rate {
    /// Takes one token at `now_ms` from a bucket of `burst` (at least 1) tokens, refilled with
    /// `per_second`. Returns false if the bucket is empty. `per_second` 0 switches the limit off.
    #[inline]
    pub(super) fn admit(&mut self, per_second: u32, burst: u32, now_ms: u64) -> bool {
        let Some(token_us) = 1_000_000u64.checked_div(u64::from(per_second)) else {
            return true;
        };
        let now = now_ms.saturating_mul(1000);
        let full_at_us = self.full_at_us.max(now);
        let spent_us = full_at_us - now;
        if spent_us > token_us * u64::from(burst.saturating_sub(1)) {
            return false;
        }
        self.full_at_us = full_at_us.saturating_add(token_us).min(ENDED - 1);
        true
    }

    /// Ends decoding. No token is taken after that.
    #[inline]
    pub(super) fn end(&mut self) {
        self.full_at_us = ENDED;
    }

    #[inline]
    pub(super) fn is_ended(&self) -> bool {
        self.full_at_us == ENDED
    }
}

/// A time that no bucket reaches.
const ENDED: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_followed_by_the_sustained_rate() {
        let mut rate = Rate::default();
        assert_eq!(
            (0..2000).filter(|_| rate.admit(100, 1000, 5_000)).count(),
            1000
        );
        assert!(!rate.admit(100, 1000, 5_009), "9 ms refill no token");
        assert!(rate.admit(100, 1000, 5_010));
        assert!(!rate.admit(100, 1000, 5_010));
        let sustained = (0..60_000)
            .filter(|ms| rate.admit(100, 1000, 5_010 + ms))
            .count();
        assert_eq!(sustained, 5_999);
        let after_rest = (0..5000)
            .filter(|_| rate.admit(100, 1000, 1_000_000))
            .count();
        assert_eq!(after_rest, 1000, "an idle bucket holds a burst, not more");
    }

    #[test]
    fn zero_is_off_and_the_clock_may_stop_or_step_back() {
        let mut rate = Rate::default();
        assert!((0..5000).all(|_| rate.admit(0, 0, 0)));
        assert!(rate.admit(1, 0, 10_000));
        assert!(!rate.admit(1, 0, 9_000));
        assert!(!rate.admit(1, 0, 10_000));
        assert!(rate.admit(1, 0, 11_000));
        assert!(rate.admit(1, 1, u64::MAX), "no overflow");
        assert!(!rate.is_ended());
        rate.end();
        assert!(rate.is_ended());
    }
}
