//! The timer wheels of an I/O shard: coarse deadlines for every connection, at a few bytes each. Pure: the current time
//! is an argument.

use millrace_core::SocketId;

/// Milliseconds per tick.
pub(crate) const TICK_MS: u64 = 50;

/// Ticks of one revolution, in which every bucket has its turn …
const REVOLUTION: u64 = 512;

/// … and its milliseconds.
pub(crate) const REVOLUTION_MS: u64 = REVOLUTION * TICK_MS;

/// A deadline that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) slot: u32,
    pub(crate) socket: SocketId,
    /// The deadline as it was set, in milliseconds. The entry is stale if its connection has set an earlier one since.
    pub(crate) at: u64,
}

/// An entry of a wheel.
pub(crate) trait Timed: Copy {
    /// When it is due, in milliseconds.
    fn at(&self) -> u64;
}

impl Timed for Due {
    fn at(&self) -> u64 {
        self.at
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

    pub(crate) fn insert(&mut self, due: T) {
        let tick = (due.at() / TICK_MS).max(self.tick);
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
                let waits = due.at() / TICK_MS > last;
                if !waits {
                    fired.push(*due);
                }
                waits
            });
            self.entries -= before - bucket.len();
            if bucket.is_empty() && bucket.capacity() > KEPT_CAPACITY {
                *bucket = Vec::new();
            }
        }
        self.tick = self.tick.max(last + 1);
    }

    fn index(tick: u64) -> usize {
        usize::try_from(tick % REVOLUTION).unwrap_or_default()
    }
}

/// Capacity that an emptied bucket keeps.
const KEPT_CAPACITY: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn due(slot: u32, at: u64) -> Due {
        Due {
            slot,
            socket: SocketId::new(u64::from(slot) + 1).unwrap(),
            at,
        }
    }

    fn fired(wheel: &mut Wheel<Due>, now: u64) -> Vec<u32> {
        let mut list = Vec::new();
        wheel.advance(now, &mut list);
        list.iter().map(|due| due.slot).collect()
    }

    #[test]
    fn fires_at_its_tick_and_not_before() {
        let mut wheel = Wheel::new(0);
        wheel.insert(due(1, 1000));
        assert_eq!(fired(&mut wheel, 999 - TICK_MS), []);
        assert_eq!(fired(&mut wheel, 1000), [1]);
        assert!(wheel.is_empty());
    }

    #[test]
    fn keeps_deadlines_beyond_one_revolution() {
        let turn = REVOLUTION_MS;
        let mut wheel = Wheel::new(0);
        wheel.insert(due(1, 2 * turn + 100));
        assert_eq!(fired(&mut wheel, turn + 100), []);
        assert_eq!(fired(&mut wheel, 2 * turn + 99 - TICK_MS), []);
        assert_eq!(fired(&mut wheel, 2 * turn + 100), [1]);
    }

    #[test]
    fn a_deadline_in_the_past_fires_at_the_next_turn() {
        let mut wheel = Wheel::new(10_000);
        wheel.insert(due(1, 50));
        assert_eq!(fired(&mut wheel, 10_000 + TICK_MS), [1]);
    }

    #[test]
    fn a_wheel_that_was_idle_long_fires_everything_once() {
        let mut wheel = Wheel::new(0);
        wheel.insert(due(1, 100));
        wheel.insert(due(2, 40_000));
        assert_eq!(fired(&mut wheel, 10_000_000), [1, 2]);
        assert!(fired(&mut wheel, 20_000_000).is_empty());
    }
}
