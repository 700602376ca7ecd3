//! The connections of each address, or of each key: how many there are, and how fast something is done. An entry is
//! removed with its last connection, or when its bucket is full after that. Pure: the current time, in milliseconds, is
//! an argument.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use ahash::AHashMap;

use super::bucket::Bucket;

/// See the module.
#[derive(Debug)]
pub(super) struct Tally<K> {
    /// Connections of each; 0: any number.
    most: usize,
    /// What each may do in a second; 0: there is no limit.
    per_second: u32,
    entries: AHashMap<K, Entry>,
    /// Entries that had no connection, and when to look at them. Their times never decrease.
    idle: VecDeque<(u64, K)>,
}

#[derive(Debug)]
struct Entry {
    connections: usize,
    /// `Some` if there is a limit per second.
    bucket: Option<Arc<Bucket>>,
    /// Whether it is in the list of idle ones.
    listed: bool,
}

/// The most entries without a connection; the oldest is removed for another one.
pub(super) const MOST_IDLE: usize = 65_536;

/// After this time without a connection a bucket is full.
const FULL_AFTER: u64 = 1000;

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self {
            most: 0,
            per_second: 0,
            entries: AHashMap::new(),
            idle: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Tally<K> {
    /// Sets the limits, 0: none. Entries that exist keep their buckets.
    pub(super) fn set(&mut self, most: usize, per_second: u32) {
        (self.most, self.per_second) = (most, per_second);
    }

    /// Counts a connection; if it `arrives`, in the rate, too. Returns whether it exceeds a limit: it counts
    /// nevertheless, until it [leaves](Self::leave).
    pub(super) fn enter(&mut self, of: K, arrives: bool, now: u64) -> bool {
        self.tidy(now);
        let most = self.most;
        let entry = self.entry(of);
        entry.connections += 1;
        if most > 0 && entry.connections > most {
            return true;
        }
        arrives
            && entry
                .bucket
                .as_ref()
                .is_some_and(|bucket| !bucket.take(now))
    }

    /// Counts a connection, unless there are too many. `Ok`: the bucket that it shares, if there is a limit per second.
    pub(super) fn enter_within(&mut self, of: K, now: u64) -> Result<Option<Arc<Bucket>>, Full> {
        self.tidy(now);
        if self.most > 0 {
            let entry = self.entries.get(&of);
            if entry.is_some_and(|entry| entry.connections >= self.most) {
                return Err(Full);
            }
        }
        let entry = self.entry(of);
        entry.connections += 1;
        Ok(entry.bucket.clone())
    }

    /// No longer counts a connection.
    pub(super) fn leave(&mut self, of: &K, now: u64) {
        let Some(entry) = self.entries.get_mut(of) else {
            return;
        };
        entry.connections -= 1;
        if entry.connections > 0 {
            return;
        }
        if entry
            .bucket
            .as_ref()
            .is_none_or(|bucket| bucket.is_full(now))
            && !entry.listed
        {
            self.entries.remove(of);
        } else if !std::mem::replace(&mut entry.listed, true) {
            self.idle.push_back((now + FULL_AFTER, of.clone()));
        }
        self.tidy(now);
    }

    fn entry(&mut self, of: K) -> &mut Entry {
        let per_second = self.per_second;
        self.entries.entry(of).or_insert_with(|| Entry {
            connections: 0,
            bucket: (per_second > 0).then(|| Arc::new(Bucket::new(per_second))),
            listed: false,
        })
    }

    /// Removes idle entries whose bucket is full, and the oldest if there are too many.
    fn tidy(&mut self, now: u64) {
        while let Some((at, _)) = self.idle.front() {
            let forced = self.idle.len() > MOST_IDLE;
            if *at > now && !forced {
                return;
            }
            let Some((_, of)) = self.idle.pop_front() else {
                return;
            };
            let Some(entry) = self.entries.get_mut(&of) else {
                continue;
            };
            entry.listed = false;
            if entry.connections > 0 {
                continue;
            }
            let full = |bucket: &Arc<Bucket>| bucket.is_full(now);
            if forced || entry.bucket.as_ref().is_none_or(full) {
                self.entries.remove(&of);
            } else {
                entry.listed = true;
                self.idle.push_back((now + FULL_AFTER, of));
            }
        }
    }
}

/// There are as many connections as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

#[cfg(test)]
impl<K: Clone + Eq + Hash> Tally<K> {
    /// The connections of each.
    pub(super) fn counts(&self) -> AHashMap<K, usize> {
        let entries = self.entries.iter();
        entries
            .map(|(of, entry)| (of.clone(), entry.connections))
            .collect()
    }
}

#[cfg(all(test, not(millrace_loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_more_than_the_most_exceeds_the_limit_and_counts() {
        let mut tally = Tally::default();
        tally.set(1, 0);
        assert!(!tally.enter("a", true, 0));
        assert!(tally.enter("a", true, 0));
        tally.leave(&"a", 0);
        assert_eq!(tally.counts(), AHashMap::from([("a", 1)]));
        tally.leave(&"a", 0);
        assert!(tally.counts().is_empty());
        tally.leave(&"a", 0);
    }

    #[test]
    fn one_more_than_the_most_is_not_counted_where_it_is_refused() {
        let mut tally = Tally::default();
        tally.set(2, 0);
        assert!(
            tally
                .enter_within("a", 0)
                .is_ok_and(|bucket| bucket.is_none())
        );
        assert!(tally.enter_within("a", 0).is_ok() && tally.enter_within("b", 0).is_ok());
        assert_eq!(tally.enter_within("a", 0).map(|_| ()), Err(Full));
        tally.leave(&"a", 0);
        assert!(tally.enter_within("a", 0).is_ok());
        assert_eq!(tally.counts(), AHashMap::from([("a", 2), ("b", 1)]));
    }

    #[test]
    fn a_rate_outlives_the_connections_until_its_bucket_is_full() {
        let mut tally = Tally::default();
        tally.set(0, 2);
        for now in [0, 0] {
            assert!(!tally.enter("a", true, now));
            tally.leave(&"a", now);
        }
        assert!(tally.enter("a", true, 100), "the third within a second");
        // one that was admitted before does not arrive
        assert!(!tally.enter("a", false, 100));
        tally.leave(&"a", 100);
        tally.leave(&"a", 100);
        assert!(!tally.enter("a", true, 500));
        tally.leave(&"a", 500);
        assert_eq!(tally.counts().len(), 1);
        tally.enter("b", true, 1000);
        assert_eq!(tally.counts().len(), 2, "not full yet");
        tally.enter("b", true, 2500);
        assert_eq!(tally.counts(), AHashMap::from([("b", 2)]));
        assert!(tally.idle.is_empty());
    }

    #[test]
    fn connections_of_one_share_a_bucket_and_those_that_come_back_have_the_same() {
        let mut tally = Tally::default();
        tally.set(0, 1);
        let mut bucket = || tally.enter_within("a", 0).ok().flatten().unwrap();
        let (one, other) = (bucket(), bucket());
        one.spend(0);
        assert_eq!(other.wait(0), 1000);
        tally.leave(&"a", 0);
        tally.leave(&"a", 0);
        let again = tally.enter_within("a", 10).ok().flatten().unwrap();
        assert_eq!(again.wait(10), 990);
    }

    #[test]
    fn one_that_comes_and_goes_is_listed_once() {
        let mut tally = Tally::default();
        tally.set(0, 1000);
        for _ in 0..1000 {
            tally.enter("a", true, 0);
            tally.leave(&"a", 0);
        }
        assert_eq!((tally.entries.len(), tally.idle.len()), (1, 1));
    }

    #[test]
    fn any_number_of_addresses_takes_a_bounded_amount_of_memory() {
        let mut tally = Tally::default();
        tally.set(1, 1);
        for of in 0..2 * MOST_IDLE {
            assert!(!tally.enter(of, true, 0));
            tally.leave(&of, 0);
        }
        assert_eq!(tally.entries.len(), MOST_IDLE);
        assert_eq!(tally.idle.len(), MOST_IDLE);
        assert!(!tally.enter(0, true, 0), "the oldest is forgotten");
        assert!(tally.enter(2 * MOST_IDLE - 1, true, 0));
    }
}
