//! Files that come and are written to the file system, beside the event loop. Owns how far each is; knows no messages.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Waker;

use ahash::AHashMap;
use parking_lot::Mutex;

use super::waiting::Waiting;
use super::{disk, fields};
use crate::contract::{Context, Event, TransferId};

/// Those of one connection.
#[derive(Debug, Default)]
pub(super) struct Saves {
    all: AHashMap<TransferId, Save>,
    /// Bytes that are being written.
    writing: usize,
}

impl Saves {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn has(&self, id: TransferId) -> bool {
        !self.all.is_empty() && self.all.contains_key(&id)
    }

    /// What waits of a transfer, and what comes, is written from now on.
    pub(super) fn begin(&mut self, id: TransferId, save: Save) {
        self.all.entry(id).or_insert(save);
    }

    /// Bytes that are being written.
    pub(super) fn writing_bytes(&self) -> usize {
        self.writing
    }

    /// Nobody wants it any more.
    pub(super) fn forget(&mut self, id: TransferId) {
        if let Some(save) = self.all.remove(&id) {
            self.writing -= save.writing();
        }
    }

    /// Writes what waits of a transfer, if nothing of it is being written.
    pub(super) fn write(&mut self, id: TransferId, waiting: &mut Waiting, cx: &mut Context<'_>) {
        let Some(save) = self.all.get_mut(&id).filter(|save| save.is_idle()) else {
            return;
        };
        let (mut bytes, mut ended) = (Vec::new(), false);
        while bytes.len() < AT_ONCE
            && !ended
            && let Some((piece, last)) = waiting.take(id, usize::MAX)
        {
            ended = last;
            if bytes.is_empty() {
                bytes = piece;
            } else {
                bytes.extend_from_slice(&piece);
            }
        }
        if !bytes.is_empty() || ended {
            self.writing += bytes.len();
            save.write(bytes, ended, cx.waker());
        }
    }

    /// Something was written. Tells the worker, and goes on. Says which failed, of which nothing more is wanted.
    pub(super) fn look(&mut self, waiting: &mut Waiting, cx: &mut Context<'_>) -> Vec<TransferId> {
        let mut failed = Vec::new();
        if self.is_empty() {
            return failed;
        }
        let ids: Vec<_> = self.all.keys().copied().collect();
        for id in ids {
            let Some(save) = self.all.get_mut(&id) else {
                continue;
            };
            let bytes = save.writing();
            let looked = save.look();
            if looked.is_some() {
                self.writing -= bytes;
            }
            match looked {
                None => {}
                Some(Ok(Written { bytes, last })) => {
                    told(id, (bytes, last), "", cx);
                    if last {
                        self.forget(id);
                        cx.close_transfer(id);
                    } else {
                        self.write(id, waiting, cx);
                    }
                }
                Some(Err(error)) => {
                    told(id, (0, true), &disk::told(&error), cx);
                    failed.push(id);
                }
            }
        }
        failed
    }
}

/// The worker is told how much more of a file was written, whether that was the last of it, and what went wrong.
pub(super) fn told(
    id: TransferId,
    (bytes, last): (u64, bool),
    problem: &str,
    cx: &mut Context<'_>,
) {
    let fields = fields::of_saved(id, bytes, last);
    cx.report(Event::SocketyFileSaved, &fields, problem.as_bytes());
}

/// Bytes that are written at once, but for the last piece of them.
const AT_ONCE: usize = 256 * 1024;

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

    /// Writes more, while it is idle. The waker is called when that is done.
    pub(super) fn write(&mut self, bytes: Vec<u8>, last: bool, waker: Waker) {
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
            waker.wake();
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
            remove(&self.path);
        }
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
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Rings(AtomicUsize);

    impl Wake for Rings {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    async fn written(save: &mut Save, bytes: &[u8], last: bool) -> io::Result<Written> {
        let rings = Arc::new(Rings::default());
        save.write(bytes.to_vec(), last, Arc::clone(&rings).into());
        assert!(!save.is_idle());
        while rings.0.load(Ordering::SeqCst) == 0 {
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
        assert!(!path.exists());
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
        for _ in 0..200 {
            let mut save = Save::new(path.clone(), 0);
            save.write(vec![0; 1000], true, Arc::new(Rings::default()).into());
            let State::Writing(writing) = &save.state else {
                panic!("it is being written");
            };
            let outcome = Arc::clone(&writing.outcome);
            drop(save);
            while Arc::strong_count(&outcome) > 1 {
                tokio::task::yield_now().await;
            }
            assert!(!path.exists());
        }
    }
}
