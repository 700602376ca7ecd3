//! One file that comes and is written to the file system, beside the event loop. Owns how far it is; knows no connection.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

/// One file. What came before is written by somebody else: who of both is first creates it. Unless all of it was written, it is
/// removed with this, whether that other one is still there or not. It is open only while something is written.
#[derive(Debug)]
pub(super) struct Save {
    path: PathBuf,
    /// Where the next byte goes.
    at: u64,
    /// Something was written: who is not there any more was removed, and is not wanted.
    begun: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle,
    Writing(Writing),
    /// All of it was written.
    Done,
    Failed,
}

/// How far one write is.
#[derive(Debug, Default)]
enum Outcome {
    #[default]
    Running,
    Written(io::Result<()>),
    /// Nobody wants the file any more: who writes removes it, as it may have been removed before it was created.
    Unwanted,
}

#[derive(Debug)]
struct Writing {
    outcome: Arc<Mutex<Outcome>>,
    bytes: usize,
    last: bool,
}

/// What was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) last: bool,
}

impl Save {
    /// From this place on.
    pub(super) fn new(path: PathBuf, at: u64) -> Self {
        Self {
            path,
            at,
            begun: false,
            state: State::Idle,
        }
    }

    /// Whether nothing is being written.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Bytes that are being written.
    pub(super) fn writing(&self) -> usize {
        match &self.state {
            State::Writing(writing) => writing.bytes,
            _ => 0,
        }
    }

    /// Writes more, while it is idle. `then` is called on another thread when that is done, if anybody still wants it.
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
        // nobody waits for it: who is woken looks
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

    /// What was written since it was looked at; `None`: nothing.
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

/// A file that is removed with this, so also where what should do it is never run.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Removes it without waiting for the disk, but where the event loop has ended.
fn remove_beside(leftover: Leftover) {
    if let Ok(runtime) = Handle::try_current() {
        let _removing = runtime.spawn_blocking(move || drop(leftover));
    }
}

/// The worker that began it may be gone; where it is not, it removes the file as well.
fn remove(path: &Path) {
    let _removed = fs::remove_file(path);
}

fn append(path: &Path, creates: bool, place: SeekFrom, bytes: &[u8]) -> io::Result<()> {
    let mut file = open(path, creates)?;
    file.seek(place)?;
    file.write_all(bytes)
}

/// Opens a file that is there, or else creates it where that may be, as nobody else does at the same time.
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
    async fn what_comes_is_written_behind_what_came_before() {
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
        assert!(!path.exists(), "it does not come back");
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
    async fn what_is_dropped_while_it_is_written_leaves_no_file() {
        let path = std::env::temp_dir().join(format!("millrace-dropped-{}", std::process::id()));
        for count in 0..200 {
            // what is removed late is another one
            let path = path.with_extension(count.to_string());
            let mut save = Save::new(path.clone(), 0);
            save.write(vec![0; 1000], true, || {});
            let State::Writing(writing) = &save.state else {
                panic!("it is being written");
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
    fn what_is_dropped_is_removed_beside_the_event_loop_or_behind_its_end() {
        let path = std::env::temp_dir().join(format!("millrace-beside-{}", std::process::id()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        fs::write(&path, "x").unwrap();
        let busy = Arc::new(Mutex::new(()));
        let held = busy.lock();
        runtime.block_on(async {
            let busy = Arc::clone(&busy);
            // a disk that does not answer
            let _waits = tokio::task::spawn_blocking(move || drop(busy.lock()));
            drop(Save::new(path.clone(), 0));
        });
        assert!(path.exists(), "it was not waited for");
        drop(held);
        drop(runtime);
        assert!(!path.exists());
        fs::write(&path, "x").unwrap();
        drop(Save::new(path.clone(), 0));
        assert!(!path.exists());
    }
}
