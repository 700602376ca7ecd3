//! Recent look-ups of paths, so that a repeated request needs no system call. Bounded in bytes. An entry is valid for a
//! set time; after that the next request checks the file again.

use std::time::{Duration, Instant};

use ahash::AHashMap;

use super::resource::Found;
use crate::sync::Mutex;

/// See the module.
#[derive(Debug)]
pub(super) struct Cache {
    limit: usize,
    /// How long an entry is valid.
    believed: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: AHashMap<Box<str>, Entry>,
    weight: usize,
}

#[derive(Debug)]
struct Entry {
    found: Found,
    weight: usize,
    checked: Instant,
    /// Whether the entry was used since room was last made.
    used: bool,
}

impl Cache {
    pub(super) fn new(limit: usize, believed: Duration) -> Self {
        Self {
            limit,
            believed,
            state: Mutex::new(State::default()),
        }
    }

    /// The entry of the path, if it is still valid. The first request after it expired gets nothing and has to check
    /// the file; for all others the entry is valid for the same time again.
    pub(super) fn get(&self, path: &str, now: Instant) -> Option<Found> {
        let mut state = self.state.lock();
        let entry = state.entries.get_mut(path)?;
        if now.saturating_duration_since(entry.checked) >= self.believed {
            entry.checked = now;
            return None;
        }
        entry.used = true;
        Some(entry.found.clone())
    }

    /// Stores what was found at `checked`.
    pub(super) fn put(&self, path: &str, found: &Found, checked: Instant) {
        let content = match found {
            Found::File(resource) => resource.weight(),
            Found::Directory | Found::Missing => 0,
        };
        let weight = content + path.len() + ENTRY_WEIGHT;
        let mut state = self.state.lock();
        state.remove(path);
        if weight > self.limit / LARGEST_SHARE {
            return;
        }
        if state.weight + weight > self.limit {
            state.make_room(self.limit / 2);
        }
        state.weight += weight;
        let entry = Entry {
            found: found.clone(),
            weight,
            checked,
            used: false,
        };
        state.entries.insert(path.into(), entry);
    }

    /// Removes an entry that turned out to be wrong.
    pub(super) fn forget(&self, path: &str) {
        self.state.lock().remove(path);
    }
}

impl State {
    fn remove(&mut self, path: &str) {
        if let Some(entry) = self.entries.remove(path) {
            self.weight -= entry.weight;
        }
    }

    /// Removes entries that no request has used since the last time, and what exceeds `most`.
    fn make_room(&mut self, most: usize) {
        let mut kept = 0;
        self.entries.retain(|_, entry| {
            let keep = std::mem::take(&mut entry.used) && kept + entry.weight <= most;
            if keep {
                kept += entry.weight;
            }
            keep
        });
        self.weight = kept;
    }
}

/// The bytes that an entry is charged beside its path and its content.
const ENTRY_WEIGHT: usize = 256;

/// An entry takes at most one part in this many of the whole cache.
const LARGEST_SHARE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const BELIEVED: Duration = Duration::from_secs(1);

    fn holds(cache: &Cache, path: &str, now: Instant) -> bool {
        cache.get(path, now).is_some()
    }

    #[test]
    fn an_entry_is_valid_for_a_set_time() {
        let cache = Cache::new(1 << 20, BELIEVED);
        let then = Instant::now();
        cache.put("/a", &Found::Missing, then);
        let last = BELIEVED.saturating_sub(Duration::from_nanos(1));
        assert!(holds(&cache, "/a", then + last));
        assert!(!holds(&cache, "/a", then + BELIEVED));
        // the first request checks the file again, the others use the entry
        assert!(holds(&cache, "/a", then + BELIEVED));
        cache.put("/a", &Found::Missing, then + BELIEVED);
        assert!(holds(&cache, "/a", then + BELIEVED));
        cache.forget("/a");
        assert!(!holds(&cache, "/a", then + BELIEVED));
        assert_eq!(cache.state.lock().weight, 0);
    }

    #[test]
    fn unused_entries_make_room() {
        let limit = 100 * (ENTRY_WEIGHT + 8);
        let cache = Cache::new(limit, BELIEVED);
        let now = Instant::now();
        cache.put("/hot", &Found::Missing, now);
        for number in 0..1000 {
            cache.put(&format!("/{number}"), &Found::Missing, now);
            assert!(holds(&cache, "/hot", now), "{number}");
            let state = cache.state.lock();
            assert!(state.weight <= limit);
            let sum: usize = state.entries.values().map(|entry| entry.weight).sum();
            assert_eq!(state.weight, sum);
        }
    }

    #[test]
    fn nothing_is_kept_without_room() {
        let now = Instant::now();
        let cache = Cache::new(0, BELIEVED);
        cache.put("/a", &Found::Missing, now);
        assert!(!holds(&cache, "/a", now));
        let cache = Cache::new(1 << 20, Duration::ZERO);
        cache.put("/a", &Found::Missing, now);
        assert!(!holds(&cache, "/a", now));
    }
}
