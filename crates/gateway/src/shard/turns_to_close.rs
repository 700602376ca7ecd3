//! When each connection of a stop that is spread over a time has its turn, and when its client is told to come back.
//! Pure: the current time is an argument. Times are in milliseconds.

/// See the module. The connections of one shard have their turns at equal distances; those of the shards lie between
/// each other.
#[derive(Debug)]
pub(super) struct TurnsToClose {
    /// Connections that have not had their turn.
    left: u64,
    /// Their turns are from here …
    from: u64,
    /// … until here. The last shard's last connection has its turn at this time.
    until: u64,
    /// The connections that had their turn since `from`, and those that were to have it.
    done: u64,
    all: u64,
    place: Place,
}

/// A shard among all shards of its gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) index: u64,
    pub(super) of: u64,
}

impl TurnsToClose {
    pub(super) fn new(count: usize, from: u64, until: u64, place: Place) -> Self {
        let all = u64::try_from(count).unwrap_or(u64::MAX);
        Self {
            left: all,
            from,
            until,
            done: 0,
            all,
            place,
        }
    }

    /// Makes the end earlier: those that are left share the time until then.
    pub(super) fn end_by(&mut self, now: u64, until: u64) {
        if until < self.until {
            (self.from, self.until) = (now.min(until), until);
            (self.done, self.all) = (0, self.left);
        }
    }

    /// How many connections have their turn now that had none before.
    pub(super) fn take(&mut self, now: u64) -> usize {
        let due = self.due(now).min(self.all) - self.done;
        self.done += due;
        self.left -= due;
        usize::try_from(due).unwrap_or(usize::MAX)
    }

    /// The number of those whose turn was at or before a time. The turn of number `n`, counted from 0, is
    /// `(n + (index + 1) / of) / all` of the time.
    fn due(&self, now: u64) -> u64 {
        if now >= self.until {
            return self.all;
        }
        let [all, index, of] = [self.all, self.place.index, self.place.of].map(u128::from);
        let passed = u128::from(now.saturating_sub(self.from));
        let whole = u128::from(self.until - self.from);
        let ahead = of.saturating_sub(index + 1);
        let due = (all * passed * of + ahead * whole) / (whole * of);
        u64::try_from(due).map_or(self.all, |due| if passed == 0 { 0 } else { due })
    }
}

/// When clients are told to come back: not at once, and evenly within a time.
#[derive(Debug)]
pub(super) struct Returns {
    /// The part of the time for the last client, in fractions of 2^64.
    part: u64,
}

impl Returns {
    pub(super) fn new(place: Place) -> Self {
        // the shards begin at different parts
        let part = (u64::MAX / place.of.max(1)).wrapping_mul(place.index);
        Self { part }
    }

    /// The milliseconds after which the next client is to come back, if all are to come back within this time.
    pub(super) fn next(&mut self, within: u64) -> u64 {
        // multiples of the golden ratio, without their whole parts, lie evenly, no matter how many there are
        self.part = self.part.wrapping_add(GOLDEN);
        let share = (u128::from(within.max(LEAST)) * u128::from(self.part)) >> u64::BITS;
        LEAST.saturating_add(u64::try_from(share).unwrap_or(within))
    }
}

/// The least time that a client stays away, and the least time within which those that are closed together come back.
const LEAST: u64 = 1000;

/// The golden ratio without its whole part, in fractions of 2^64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Place = Place { index: 0, of: 1 };

    /// The times at which connections have their turn, if time is looked at every 10 ms.
    fn turns(mut turns: TurnsToClose, until: u64) -> Vec<u64> {
        let times = (0..=until).step_by(10);
        times.flat_map(|now| vec![now; turns.take(now)]).collect()
    }

    #[test]
    fn turns_are_even_and_the_last_is_at_the_end() {
        let alone = TurnsToClose::new(4, 0, 1000, ALONE);
        assert_eq!(turns(alone, 2000), [250, 500, 750, 1000]);
        let of_two = |index| TurnsToClose::new(2, 0, 1000, Place { index, of: 2 });
        assert_eq!(turns(of_two(0), 2000), [250, 750]);
        assert_eq!(turns(of_two(1), 2000), [500, 1000]);
        assert_eq!(turns(TurnsToClose::new(0, 0, 1000, ALONE), 2000), []);
    }

    #[test]
    fn the_turns_of_many_shards_with_one_connection_each_are_even_too() {
        let mut all: Vec<u64> = (0..10)
            .flat_map(|index| turns(TurnsToClose::new(1, 0, 1000, Place { index, of: 10 }), 2000))
            .collect();
        all.sort_unstable();
        assert_eq!(all, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
    }

    #[test]
    fn an_earlier_end_shortens_what_is_left() {
        let mut turns = TurnsToClose::new(10, 0, 1000, ALONE);
        assert_eq!(turns.take(500), 5);
        turns.end_by(500, 2000);
        assert_eq!(turns.take(600), 1);
        turns.end_by(600, 640);
        assert_eq!(turns.take(620), 2);
        assert_eq!(turns.take(640), 2);
        assert_eq!(turns.take(5000), 0);
        let mut turns = TurnsToClose::new(10, 0, 1000, ALONE);
        turns.end_by(500, 400);
        assert_eq!(turns.take(500), 10);
    }

    #[test]
    fn the_longest_time_and_the_most_connections_do_not_overflow() {
        let year = 365 * 24 * 3_600_000;
        let mut turns = TurnsToClose::new(usize::MAX, 0, year, Place { index: 0, of: 64 });
        assert!(turns.take(year / 2) > usize::MAX / 3);
        assert!(Returns::new(ALONE).next(u64::MAX) >= LEAST);
    }

    #[test]
    fn clients_come_back_evenly_within_the_time_after_the_least() {
        let mut returns = Returns::new(ALONE);
        let mut tenths = [0; 10];
        for _ in 0..1000 {
            let after = returns.next(10_000);
            assert!((1000..11_000).contains(&after));
            tenths[usize::try_from((after - 1000) / 1000).unwrap()] += 1;
        }
        assert!(
            tenths.iter().all(|count| (95..=105).contains(count)),
            "{tenths:?}"
        );
        let mut returns = Returns::new(Place { index: 3, of: 4 });
        assert!((0..100).all(|_| (1000..2000).contains(&returns.next(0))));
    }
}
