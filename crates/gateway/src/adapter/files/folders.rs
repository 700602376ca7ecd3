//! Which folders of a mount's directory do not exist, so that requests for paths in them cost no look-up each: those of an
//! API, for example, beside which files are served. Valid for the same time as what is known about files.

use std::time::{Duration, Instant};

use ahash::AHashMap;

use crate::sync::Mutex;

/// See the module.
#[derive(Debug)]
pub(super) struct Folders {
    /// How long an entry is valid.
    believed: Duration,
    known: Mutex<AHashMap<Box<str>, Known>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    is_missing: bool,
    checked: Instant,
}

impl Folders {
    pub(super) fn new(believed: Duration) -> Self {
        Self {
            believed,
            known: Mutex::new(AHashMap::new()),
        }
    }

    /// Whether a path is in a folder that is known not to exist.
    pub(super) fn lack(&self, path: &str, now: Instant) -> bool {
        folder(path)
            .and_then(|name| self.get(name, now))
            .unwrap_or(false)
    }

    /// Learns about the folder of a path that names nothing. Returns whether the folder does not exist.
    pub(super) fn learn(&self, path: &str, now: Instant, lacks: impl FnOnce(&str) -> bool) -> bool {
        let Some(name) = folder(path).filter(|_| !self.believed.is_zero()) else {
            return false;
        };
        if let Some(is_missing) = self.get(name, now) {
            return is_missing;
        }
        let is_missing = lacks(name);
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.clear();
        }
        let checked = now;
        known.insert(
            name.into(),
            Known {
                is_missing,
                checked,
            },
        );
        is_missing
    }

    fn get(&self, name: &str, now: Instant) -> Option<bool> {
        let known = self.known.lock();
        let entry = known.get(name)?;
        let age = now.saturating_duration_since(entry.checked);
        (age < self.believed).then_some(entry.is_missing)
    }
}

/// The first segment of a path with more than one, unless it is long.
fn folder(path: &str) -> Option<&str> {
    let (name, _) = path.strip_prefix('/')?.split_once('/')?;
    (name.len() <= LONGEST).then_some(name)
}

/// The most folders that are known, and the longest name, in bytes.
const MOST: usize = 1024;
const LONGEST: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    const BELIEVED: Duration = Duration::from_secs(1);

    #[test]
    fn a_folder_is_asked_about_once_in_a_while() {
        let folders = Folders::new(BELIEVED);
        let then = Instant::now();
        assert!(!folders.lack("/users/1", then));
        assert!(folders.learn("/users/1", then, |name| name == "users"));
        assert!(folders.lack("/users/2", then) && folders.lack("/users/a/b", then));
        assert!(!folders.lack("/users", then) && !folders.lack("/other/2", then));
        assert!(folders.learn("/users/2", then, |_| panic!("it is known")));
        assert!(!folders.lack("/users/2", then + BELIEVED));
        assert!(!folders.learn("/users/2", then + BELIEVED, |_| false));
        assert!(!folders.lack("/users/2", then + BELIEVED));
    }

    #[test]
    fn their_number_is_bounded() {
        let folders = Folders::new(BELIEVED);
        let now = Instant::now();
        for number in 0..3 * MOST {
            assert!(folders.learn(&format!("/{number}/x"), now, |_| true));
            assert!(folders.known.lock().len() <= MOST);
        }
        let long = format!("/{}/x", "a".repeat(LONGEST + 1));
        assert!(!folders.learn(&long, now, |_| panic!("it is not asked about")));
        let nothing = Folders::new(Duration::ZERO);
        assert!(!nothing.learn("/a/b", now, |_| panic!("nothing would be kept")));
    }
}
