//! The limits of messages per second: a token bucket of one connection, and the one that it shares with other
//! connections of its key. Pure: the current time is an argument.

use std::sync::Arc;

use crate::permits::Bucket;

/// The limits of one connection. At least one is set.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    pub(crate) own: Option<Rate>,
    pub(crate) of_key: Option<Arc<Bucket>>,
}

impl Pace {
    /// Counts one message. Returns whether another one may be taken at once.
    #[inline(never)] // few connections have a limit, and the others should not make way for it
    pub(crate) fn count(&mut self, now: u64) -> bool {
        if let Some(own) = &mut self.own {
            own.spend(now);
        }
        if let Some(of_key) = &self.of_key {
            of_key.spend(now);
        }
        self.wait(now) == 0
    }

    /// How long to wait until a message may be taken, in milliseconds; 0: not at all.
    #[inline(never)]
    pub(crate) fn wait(&mut self, now: u64) -> u64 {
        let own = self.own.as_mut().map_or(0, |own| own.wait(now));
        let of_key = self.of_key.as_ref().map_or(0, |of_key| of_key.wait(now));
        own.max(of_key)
    }
}

/// The bucket of one connection.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: u32,
    /// Thousandths of a message that may still be taken.
    milli: u64,
    last: u64,
}

impl Rate {
    /// A full bucket, for one second.
    pub(crate) fn new(per_second: u32, now: u64) -> Self {
        Self {
            per_second,
            milli: u64::from(per_second) * 1000,
            last: now,
        }
    }

    /// Counts one message.
    fn spend(&mut self, now: u64) {
        self.refill(now);
        self.milli = self.milli.saturating_sub(1000);
    }

    /// How long to wait until a message may be taken, in milliseconds; 0: not at all.
    fn wait(&mut self, now: u64) -> u64 {
        self.refill(now);
        let missing = 1000u64.saturating_sub(self.milli);
        missing.div_ceil(u64::from(self.per_second.max(1)))
    }

    fn refill(&mut self, now: u64) {
        let full = u64::from(self.per_second) * 1000;
        let gained = now
            .saturating_sub(self.last)
            .saturating_mul(u64::from(self.per_second));
        self.milli = self.milli.saturating_add(gained).min(full.max(1000));
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_wait_of_both_limits_counts() {
        let of_key = Arc::new(Bucket::new(4));
        let pace = |own| Pace {
            own,
            of_key: Some(Arc::clone(&of_key)),
        };
        let (mut limited, mut other) = (pace(Some(Rate::new(1, 0))), pace(None));
        assert!(!limited.count(0));
        assert_eq!((limited.wait(0), other.wait(0)), (1000, 0));
        assert!(other.count(0) && other.count(0) && !other.count(0));
        assert_eq!((limited.wait(0), other.wait(0)), (1000, 250));
        assert_eq!((limited.wait(900), other.wait(900)), (100, 0));
    }

    #[test]
    fn a_second_refills_its_messages() {
        let mut rate = Rate::new(10, 0);
        for _ in 0..10 {
            assert_eq!(rate.wait(0), 0);
            rate.spend(0);
        }
        assert_eq!(rate.wait(0), 100);
        assert_eq!(rate.wait(99), 1);
        assert_eq!(rate.wait(100), 0);
        rate.spend(100);
        assert_eq!(rate.wait(100), 100);
    }
}
