//! Temporary files that JavaScript of a worker's thread is writing and has not renamed yet. Owns the list of them, and removes
//! the files that are left when the thread ends or is given up, because no JavaScript runs there that could.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

/// The files of one thread. Clones share one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuardedFiles(Arc<Mutex<HashSet<PathBuf>>>);

impl GuardedFiles {
    /// Adds a file, which may exist from now on.
    pub(crate) fn guard(&self, path: String) {
        self.0.lock().insert(path.into());
    }

    /// Takes a file off the list, because it was renamed or removed.
    pub(crate) fn release(&self, path: String) {
        self.0.lock().remove(&PathBuf::from(path));
    }

    /// Removes the files that are left.
    pub(crate) fn remove_all(&self) {
        let left = std::mem::take(&mut *self.0.lock());
        for path in left {
            // the file may not exist yet, or may have been renamed
            let _gone = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_removed_and_nothing_else() {
        let named = |name: &str| {
            let name = format!("millrace-guarded-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            path.into_os_string().into_string().unwrap()
        };
        let (left, released, absent) = (named("left"), named("released"), named("absent"));
        let files = GuardedFiles::default();
        for path in [&left, &released, &absent] {
            files.guard(path.clone());
        }
        fs::write(&left, "x").unwrap();
        fs::write(&released, "x").unwrap();
        files.release(released.clone());
        files.remove_all();
        assert!(!fs::exists(&left).unwrap());
        assert!(fs::exists(&released).unwrap());
        fs::write(&left, "another one").unwrap();
        files.remove_all();
        assert!(fs::exists(&left).unwrap());
        for path in [left, released] {
            fs::remove_file(path).unwrap();
        }
    }
}
