//! A token bucket that threads share without a lock: one number. It holds what a second brings. Pure: the current time, in
//! milliseconds, is an argument.

use crate::sync::{AtomicU64, Ordering};

/// See the module.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Nanoseconds until there is one more; 0: there is no limit.
    interval: AtomicU64,
    /// When it is full again, in nanoseconds.
    full_at: AtomicU64,
}

impl Bucket {
    /// A full bucket; 0: without a limit.
    pub(crate) fn new(per_second: u32) -> Self {
        let bucket = Self {
            interval: AtomicU64::new(0),
            full_at: AtomicU64::new(0),
        };
        bucket.set(per_second);
        bucket
    }

    /// Sets the rate; 0: no limit.
    pub(super) fn set(&self, per_second: u32) {
        let interval = SECOND.checked_div(u64::from(per_second));
        let interval = interval.map_or(0, |interval| interval.max(1));
        self.interval.store(interval, Ordering::Relaxed);
    }

    /// Takes one, even if there is none; then it takes longer until there is one again.
    pub(crate) fn spend(&self, now: u64) {
        let interval = self.interval.load(Ordering::Relaxed);
        let spent = |full_at: u64| Some(full_at.max(nanos(now)).saturating_add(interval));
        let (store, load) = (Ordering::Relaxed, Ordering::Relaxed);
        // the function always has a new value
        let _before = self.full_at.fetch_update(store, load, spent);
    }

    /// Takes one, if there is one.
    pub(super) fn take(&self, now: u64) -> bool {
        let interval = self.interval.load(Ordering::Relaxed);
        let taken = |full_at: u64| {
            let full_at = full_at.max(nanos(now)).saturating_add(interval);
            (full_at <= nanos(now) + SECOND).then_some(full_at)
        };
        let (store, load) = (Ordering::Relaxed, Ordering::Relaxed);
        self.full_at.fetch_update(store, load, taken).is_ok()
    }

    /// How long to wait until there is one, in milliseconds; 0: there is one.
    pub(crate) fn wait(&self, now: u64) -> u64 {
        let full_at = self.full_at.load(Ordering::Relaxed).max(nanos(now));
        let next = full_at.saturating_add(self.interval.load(Ordering::Relaxed));
        let missing = next.saturating_sub(nanos(now) + SECOND);
        missing.div_ceil(MILLISECOND)
    }

    /// Whether it is as if nothing had been taken.
    pub(super) fn is_full(&self, now: u64) -> bool {
        self.full_at.load(Ordering::Relaxed) <= nanos(now)
    }

    /// Whether there is a limit.
    pub(super) fn limits(&self) -> bool {
        self.interval.load(Ordering::Relaxed) > 0
    }
}

const MILLISECOND: u64 = 1_000_000;

const SECOND: u64 = 1000 * MILLISECOND;

/// Milliseconds in nanoseconds, up to 290 years.
fn nanos(ms: u64) -> u64 {
    ms.min(u64::MAX / 2 / MILLISECOND) * MILLISECOND
}

#[cfg(all(test, not(millrace_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_second_brings_as_many_as_the_limit() {
        let bucket = Bucket::new(10);
        for _ in 0..10 {
            assert_eq!(bucket.wait(5000), 0);
            assert!(bucket.take(5000));
        }
        assert!(!bucket.take(5000) && !bucket.is_full(5000));
        assert_eq!(bucket.wait(5000), 100);
        assert_eq!(bucket.wait(5099), 1);
        assert!(bucket.take(5100));
        assert!(!bucket.take(5100));
        assert!(bucket.is_full(6100));
        // time that passed before does not bring more than a second's
        let taken = (0..100).filter(|_| bucket.take(1_000_000)).count();
        assert_eq!(taken, 10);
    }

    #[test]
    fn what_is_spent_in_advance_is_waited_for() {
        let bucket = Bucket::new(2);
        for _ in 0..5 {
            bucket.spend(0);
        }
        assert_eq!(bucket.wait(0), 2000);
        assert!(!bucket.take(1999));
        assert!(bucket.take(2000));
    }

    #[test]
    fn every_limit_works_and_none_is_off() {
        let bucket = Bucket::new(0);
        assert!((0..1_000_000).all(|_| bucket.take(7)));
        assert!(!bucket.limits() && bucket.is_full(7));
        let slow = Bucket::new(1);
        assert!(slow.take(0) && !slow.take(999) && slow.take(1000));
        let fast = Bucket::new(u32::MAX);
        assert!((0..1_000_000).all(|_| fast.take(0)));
        // a time that no clock reaches
        assert!(fast.take(u64::MAX));
        assert_eq!(fast.wait(u64::MAX), 0);
    }

    #[test]
    fn an_earlier_time_of_another_thread_changes_nothing() {
        let bucket = Bucket::new(1);
        assert!(bucket.take(10_000));
        assert!(!bucket.take(9000));
        assert_eq!(bucket.wait(9000), 2000);
        assert!(bucket.take(11_000));
    }
}

#[cfg(all(test, millrace_loom))]
mod loom_tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn two_threads_take_no_more_than_there_is() {
        loom::model(|| {
            let bucket = Arc::new(Bucket::new(1));
            let others = Arc::clone(&bucket);
            let other = loom::thread::spawn(move || others.take(0));
            let own = bucket.take(0);
            assert!(own != other.join().unwrap(), "one of the two gets it");
        });
    }
}
