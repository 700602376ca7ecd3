//! The timer wheels of an I/O shard: coarse deadlines for every connection, at a few bytes each. Pure: the current time
//! is an argument.

use super::moment::lower_half;

/// Milliseconds per tick.
pub(crate) const TICK_MS: u64 = 50;

/// Ticks of one revolution, in which every bucket has its turn …
const REVOLUTION: u64 = 512;

/// … and its milliseconds.
pub(crate) const REVOLUTION_MS: u64 = REVOLUTION * TICK_MS;

/// The check of a connection. Every connection has one or more in the wheel, so it is as small as possible: the
/// connection itself knows its deadlines, and so whether the entry is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) slot: u32,
    /// The lower half of the tick in which it is due. A tick comes again after six years.
    tick: u32,
}

/// An entry of a wheel.
pub(crate) trait Timed: Copy {
    /// Whether it is due in this tick.
    fn is_due(&self, tick: u64) -> bool;
}

impl Due {
    /// The entry for a connection with a deadline at this time, in milliseconds.
    pub(crate) fn new(slot: u32, at: u64) -> Self {
        Self {
            slot,
            tick: lower_half(at / TICK_MS),
        }
    }

    /// Whether this is the entry of a deadline.
    pub(crate) fn is_of(self, at: u64) -> bool {
        self.tick == lower_half(at / TICK_MS)
    }
}

impl Timed for Due {
    fn is_due(&self, tick: u64) -> bool {
        lower_half(tick).wrapping_sub(self.tick) < 1 << 31
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    buckets: Vec<Vec<T>>,
    /// The first tick that was not handled yet.
    tick: u64,
    entries: usize,
}

impl<T: Timed> Wheel<T> {
    pub(crate) fn new(now: u64) -> Self {
        Self {
            buckets: (0..REVOLUTION).map(|_| Vec::new()).collect(),
            tick: now / TICK_MS,
            entries: 0,
        }
    }

    /// Adds an entry that is due at a time, in milliseconds.
    pub(crate) fn insert(&mut self, due: T, at: u64) {
        let tick = (at / TICK_MS).max(self.tick);
        let index = Self::index(tick);
        self.buckets[index].push(due);
        self.entries += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Advances to `now`, and appends what is due to `fired`.
    pub(crate) fn advance(&mut self, now: u64, fired: &mut Vec<T>) {
        let last = now / TICK_MS;
        // an idle wheel may be far behind; one revolution visits every bucket
        let first = self.tick.max((last + 1).saturating_sub(REVOLUTION));
        for tick in first..=last {
            let bucket = &mut self.buckets[Self::index(tick)];
            let before = bucket.len();
            bucket.retain(|due| {
                let is_due = due.is_due(last);
                if is_due {
                    fired.push(*due);
                }
                !is_due
            });
            self.entries -= before - bucket.len();
            if bucket.capacity() > KEPT_CAPACITY.max(4 * bucket.len()) {
                bucket.shrink_to(2 * bucket.len());
            }
        }
        self.tick = self.tick.max(last + 1);
    }

    fn index(tick: u64) -> usize {
        usize::try_from(tick % REVOLUTION).unwrap_or_default()
    }
}

/// Capacity that a bucket keeps when its entries are due.
const KEPT_CAPACITY: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(wheel: &mut Wheel<Due>, slot: u32, at: u64) {
        wheel.insert(Due::new(slot, at), at);
    }

    fn fired(wheel: &mut Wheel<Due>, now: u64) -> Vec<u32> {
        let mut list = Vec::new();
        wheel.advance(now, &mut list);
        list.iter().map(|due| due.slot).collect()
    }

    #[test]
    fn fires_at_its_tick_and_not_before() {
        let mut wheel = Wheel::new(0);
        insert(&mut wheel, 1, 1000);
        assert_eq!(fired(&mut wheel, 999 - TICK_MS), []);
        assert_eq!(fired(&mut wheel, 1000), [1]);
        assert!(wheel.is_empty());
    }

    #[test]
    fn keeps_deadlines_beyond_one_revolution() {
        let turn = REVOLUTION_MS;
        let mut wheel = Wheel::new(0);
        insert(&mut wheel, 1, 2 * turn + 100);
        assert_eq!(fired(&mut wheel, turn + 100), []);
        assert_eq!(fired(&mut wheel, 2 * turn + 99 - TICK_MS), []);
        assert_eq!(fired(&mut wheel, 2 * turn + 100), [1]);
    }

    #[test]
    fn a_deadline_in_the_past_fires_at_the_next_turn() {
        let mut wheel = Wheel::new(10_000);
        insert(&mut wheel, 1, 50);
        assert_eq!(fired(&mut wheel, 10_000 + TICK_MS), [1]);
    }

    #[test]
    fn a_wheel_that_was_idle_long_fires_everything_once() {
        let mut wheel = Wheel::new(0);
        insert(&mut wheel, 1, 100);
        insert(&mut wheel, 2, 40_000);
        assert_eq!(fired(&mut wheel, 10_000_000), [1, 2]);
        assert!(fired(&mut wheel, 20_000_000).is_empty());
    }

    #[test]
    fn an_entry_is_eight_bytes() {
        assert_eq!(size_of::<Due>(), 8, "every connection has one or more");
    }

    #[test]
    fn ticks_may_exceed_half_a_word() {
        let turn = TICK_MS << 32;
        for now in [turn - 1000, turn, 3 * turn - 10_000] {
            let mut wheel = Wheel::new(now);
            insert(&mut wheel, 1, now + 5_000);
            insert(&mut wheel, 2, now + REVOLUTION_MS);
            assert_eq!(fired(&mut wheel, now + 5_000 - TICK_MS), []);
            assert_eq!(fired(&mut wheel, now + 5_000), [1]);
            assert_eq!(fired(&mut wheel, now + REVOLUTION_MS), [2]);
        }
    }

    #[test]
    fn an_entry_stands_for_the_deadlines_of_its_tick() {
        let due = Due::new(1, 1010);
        assert!(due.is_of(1010) && due.is_of(1040));
        assert!(!due.is_of(999) && !due.is_of(1050));
    }

    #[test]
    fn a_bucket_does_not_keep_memory_for_a_crowd() {
        let mut wheel = Wheel::new(0);
        for slot in 0..10_000 {
            insert(&mut wheel, slot, 1000);
        }
        insert(&mut wheel, 10_000, 1000 + REVOLUTION_MS);
        assert_eq!(fired(&mut wheel, 1000).len(), 10_000);
        let kept: usize = wheel.buckets.iter().map(Vec::capacity).sum();
        assert!(kept <= KEPT_CAPACITY, "{kept}");
        assert_eq!(fired(&mut wheel, 1000 + REVOLUTION_MS), [10_000]);
    }
}
