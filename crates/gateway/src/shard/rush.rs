//! Whether connections of a listener come so fast that each should be held back in the kernel until its first bytes are
//! there. Owns the count; touches no listener.

use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub(super) struct Rush {
    is_on: bool,
    /// When the count began, in milliseconds, and how many connections came since.
    since: u64,
    count: u32,
}

impl Rush {
    /// Without a connection for so long, a rush is over.
    pub(super) const LULL: Duration = Duration::from_millis(2 * SPAN);

    pub(super) fn new(now: u64) -> Self {
        Self {
            is_on: false,
            since: now,
            count: 0,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Counts a connection. True: a rush has begun or ended.
    pub(super) fn counts(&mut self, now: u64) -> bool {
        let mut is_on = self.is_on;
        if now.saturating_sub(self.since) >= SPAN {
            // the span that is over decides, until this one has as many
            is_on = self.count >= MANY;
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        is_on |= self.count >= MANY;
        std::mem::replace(&mut self.is_on, is_on) != is_on
    }

    /// No connection came for [`LULL`](Self::LULL). True: a rush has ended.
    pub(super) fn ends(&mut self, now: u64) -> bool {
        (self.since, self.count) = (now, 0);
        std::mem::replace(&mut self.is_on, false)
    }
}

/// The connections of a rush, within …
const MANY: u32 = 50;

/// … so many milliseconds.
const SPAN: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts connections at the same time; returns how often a rush began or ended.
    fn come(rush: &mut Rush, count: u32, now: u64) -> usize {
        (0..count).filter(|_| rush.counts(now)).count()
    }

    #[test]
    fn many_connections_within_a_short_time_are_a_rush() {
        let mut rush = Rush::new(1000);
        assert_eq!(come(&mut rush, MANY - 1, 1010), 0);
        assert!(!rush.is_on());
        assert_eq!(come(&mut rush, 1, 1010), 1);
        assert!(rush.is_on());
        assert_eq!(come(&mut rush, 3 * MANY, 1050), 0);
        assert_eq!(come(&mut rush, MANY, 1100), 0);
    }

    #[test]
    fn the_same_number_in_a_longer_time_is_none() {
        let mut rush = Rush::new(1000);
        for step in 0..u64::from(3 * MANY) {
            assert!(!rush.counts(1000 + step * 3));
        }
    }

    #[test]
    fn a_rush_ends_when_fewer_come_or_none() {
        let mut rush = Rush::new(1000);
        come(&mut rush, MANY, 1000);
        assert_eq!(come(&mut rush, 5, 1000 + SPAN), 0);
        assert_eq!(come(&mut rush, 5, 1000 + 2 * SPAN), 1);
        assert!(!rush.is_on());
        assert!(!rush.ends(1300));
        come(&mut rush, MANY, 1400);
        assert!(rush.ends(1700));
        assert!(!rush.is_on());
    }
}
