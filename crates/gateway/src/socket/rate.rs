//! A token bucket for messages per second. Pure: the current time is an argument.

/// See the module.
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
    pub(crate) fn spend(&mut self, now: u64) {
        self.refill(now);
        self.milli = self.milli.saturating_sub(1000);
    }

    /// How long to wait until a message may be taken, in milliseconds; 0: not at all.
    pub(crate) fn wait(&mut self, now: u64) -> u64 {
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
