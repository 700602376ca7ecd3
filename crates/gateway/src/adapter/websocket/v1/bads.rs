//! How many malformed messages a connection has sent within a minute. Pure.

/// The times of the last malformed messages. A connection without one has no such value.
#[derive(Debug, Default)]
pub(super) struct Bads {
    /// In milliseconds.
    times: [u64; MOST - 1],
    count: usize,
}

impl Bads {
    /// Records one. Returns whether they are too many now.
    pub(super) fn add(&mut self, now: u64) -> bool {
        let place = self.count % self.times.len();
        let Some(oldest) = self.times.get_mut(place) else {
            return false;
        };
        let before = std::mem::replace(oldest, now);
        self.count += 1;
        self.count >= MOST && now.saturating_sub(before) < WITHIN_MS
    }
}

/// The number of malformed messages that closes the connection.
const MOST: usize = 10;

const WITHIN_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_within_any_minute_are_too_many() {
        let mut bads = Bads::default();
        // nine in the last second of a minute, and nine more behind it
        for time in 0..9 {
            assert!(!bads.add(59_000 + time));
        }
        assert!(bads.add(60_000));
        let mut bads = Bads::default();
        for time in 0..100 {
            assert!(!bads.add(time * WITHIN_MS / 9), "{time}");
        }
        let mut bads = Bads::default();
        for time in 0..9 {
            assert!(!bads.add(time));
        }
        assert!(!bads.add(WITHIN_MS), "the first is a minute old");
        assert!(bads.add(WITHIN_MS), "the second is not");
    }
}
