//! One incoming file that is written to disk on the blocking pool. Keeps its position; knows no connection.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

/// One file. Its first bytes are written by the worker, so whichever side writes first creates it. Unless all of it was
/// written, dropping this removes the file, whether the worker still exists or not. The file is open only during a
/// write.
#[derive(Debug)]
pub(super) struct Save {
    path: PathBuf,
    /// The position of the next byte.
    at: u64,
    /// Whether something was written. From then on a missing file has been removed by someone else and is not created
    /// again.
    begun: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle,
    Writing(Writing),
    /// All of the file was written.
    Done,
    Failed,
}

/// The outcome of one write.
#[derive(Debug, Default)]
enum Outcome {
    #[default]
    Running,
    Written(io::Result<()>),
    /// The file was given up during the write. The writing task then removes it, because it may have created the file
    /// after it was removed.
    Unwanted,
}

#[derive(Debug)]
struct Writing {
    outcome: Arc<Mutex<Outcome>>,
    bytes: usize,
    last: bool,
}

/// The result of a write.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) last: bool,
}

impl Save {
    /// Writes from this position on.
    pub(super) fn new(path: PathBuf, at: u64) -> Self {
        Self {
            path,
            at,
            begun: false,
            state: State::Idle,
        }
    }

    /// Whether no write is in progress.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// The bytes that are being written.
    pub(super) fn writing(&self) -> usize {
        match &self.state {
            State::Writing(writing) => writing.bytes,
            _ => 0,
        }
    }

    /// Writes more; must be idle. Calls `then` on another thread when that is done, unless the file was given up.
    pub(super) fn write(
        &mut self,
        bytes: Vec<u8>,
        last: bool,
        then: impl FnOnce() + Send + 'static,
    ) {
        let (path, place) = (self.path.clone(), SeekFrom::Start(self.at));
        let outcome = Arc::default();
        self.state = State::Writing(Writing {
            outcome: Arc::clone(&outcome),
            bytes: bytes.len(),
            last,
        });
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.at = self.at.saturating_add(length);
        let creates = !std::mem::replace(&mut self.begun, true);
        // the task is not awaited: `then` makes the session look at the result
        let _writing = tokio::task::spawn_blocking(move || {
            let written = append(&path, creates, place, &bytes);
            let mut outcome = outcome.lock();
            if matches!(*outcome, Outcome::Unwanted) {
                remove(&path);
                return;
            }
            *outcome = Outcome::Written(written);
            drop(outcome);
            then();
        });
    }

    /// What was written since the last look; `None`: nothing.
    pub(super) fn look(&mut self) -> Option<io::Result<Written>> {
        let State::Writing(writing) = &self.state else {
            return None;
        };
        let written = match std::mem::take(&mut *writing.outcome.lock()) {
            Outcome::Written(written) => written,
            Outcome::Running | Outcome::Unwanted => return None,
        };
        let (bytes, last) = (
            u64::try_from(writing.bytes).unwrap_or(u64::MAX),
            writing.last,
        );
        self.state = match &written {
            Err(_) => State::Failed,
            Ok(()) if last => State::Done,
            Ok(()) => State::Idle,
        };
        Some(written.map(|()| Written { bytes, last }))
    }
}

impl Drop for Save {
    fn drop(&mut self) {
        if let State::Writing(writing) = &self.state {
            let mut outcome = writing.outcome.lock();
            if matches!(*outcome, Outcome::Running) {
                *outcome = Outcome::Unwanted;
            }
        }
        if !matches!(self.state, State::Done) {
            remove_beside(Leftover(std::mem::take(&mut self.path)));
        }
    }
}

/// Removes its file when dropped, even if the task that should do it never runs.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Removes the file on the blocking pool, or here if the event loop has ended.
fn remove_beside(leftover: Leftover) {
    if let Ok(runtime) = Handle::try_current() {
        let _removing = runtime.spawn_blocking(move || drop(leftover));
    }
}

/// Removes the file. The worker that began it removes it as well, but it may have ended.
fn remove(path: &Path) {
    let _removed = fs::remove_file(path);
}

fn append(path: &Path, creates: bool, place: SeekFrom, bytes: &[u8]) -> io::Result<()> {
    let mut file = open(path, creates)?;
    file.seek(place)?;
    file.write_all(bytes)
}

/// Opens an existing file, or creates it if allowed. The other side may create it at the same time.
fn open(path: &Path, creates: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    match options.open(path) {
        Err(error) if creates && error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn gone(path: &Path) {
        while path.exists() {
            tokio::task::yield_now().await;
        }
    }

    async fn written(save: &mut Save, bytes: &[u8], last: bool) -> io::Result<Written> {
        let rings = Arc::new(AtomicUsize::new(0));
        let rung = Arc::clone(&rings);
        save.write(bytes.to_vec(), last, move || {
            rung.fetch_add(1, Ordering::SeqCst);
        });
        assert!(!save.is_idle());
        while rings.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        save.look().unwrap()
    }

    #[tokio::test]
    async fn later_bytes_are_written_behind_earlier_ones() {
        let path = std::env::temp_dir().join(format!("millrace-save-{}", std::process::id()));
        fs::write(&path, "early").unwrap();
        let mut save = Save::new(path.clone(), 5);
        assert!(save.is_idle());
        let first = written(&mut save, b" and", false).await.unwrap();
        assert_eq!((first.bytes, first.last), (4, false));
        assert!(save.is_idle() && save.look().is_none());
        let second = written(&mut save, b" late", true).await.unwrap();
        assert_eq!((second.bytes, second.last), (5, true));
        assert!(!save.is_idle());
        assert_eq!(save.writing(), 0);
        drop(save);
        assert_eq!(fs::read(&path).unwrap(), b"early and late");
        let mut incomplete = Save::new(path.clone(), 0);
        written(&mut incomplete, b"x", false).await.unwrap();
        drop(incomplete);
        gone(&path).await;
        let mut removed = Save::new(path.clone(), 0);
        written(&mut removed, b"x", false).await.unwrap();
        fs::remove_file(&path).unwrap();
        let error = written(&mut removed, b"y", true).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!path.exists(), "the removed file is not created again");
        let created = written(&mut Save::new(path.clone(), 3), b"x", true).await;
        assert_eq!(
            (created.unwrap().bytes, fs::read(&path).unwrap()),
            (1, b"\0\0\0x".to_vec())
        );
        fs::remove_file(&path).unwrap();
        let nowhere = written(&mut Save::new(path.join("x"), 0), b"x", true).await;
        assert_eq!(nowhere.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_file_dropped_during_a_write_is_removed() {
        let path = std::env::temp_dir().join(format!("millrace-dropped-{}", std::process::id()));
        for count in 0..200 {
            // the removal of an earlier round must not hit this file
            let path = path.with_extension(count.to_string());
            let mut save = Save::new(path.clone(), 0);
            save.write(vec![0; 1000], true, || {});
            let State::Writing(writing) = &save.state else {
                panic!("a write is in progress");
            };
            let outcome = Arc::clone(&writing.outcome);
            drop(save);
            while Arc::strong_count(&outcome) > 1 {
                tokio::task::yield_now().await;
            }
            gone(&path).await;
        }
    }

    #[test]
    fn a_dropped_file_is_removed_without_blocking_the_event_loop() {
        let path =
            std::env::temp_dir().join(format!("millrace-saved-beside-{}", std::process::id()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        fs::write(&path, "x").unwrap();
        let busy = Arc::new(Mutex::new(()));
        let held = busy.lock();
        runtime.block_on(async {
            let busy = Arc::clone(&busy);
            // a disk that does not respond
            let _waits = tokio::task::spawn_blocking(move || drop(busy.lock()));
            drop(Save::new(path.clone(), 0));
        });
        assert!(path.exists(), "dropping did not wait for the disk");
        drop(held);
        drop(runtime);
        assert!(!path.exists());
        fs::write(&path, "x").unwrap();
        drop(Save::new(path.clone(), 0));
        assert!(!path.exists());
    }
}
