//! Files that come and are written to the file system, beside the event loop. Owns how far each is; knows no messages.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Waker;

use ahash::AHashMap;
use parking_lot::Mutex;

use super::waiting::Waiting;
use super::{disk, fields};
use crate::contract::{Context, Event, TransferId};

/// Those of one connection.
#[derive(Debug, Default)]
pub(super) struct Saves(AHashMap<TransferId, Save>);

impl Saves {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, id: TransferId) -> bool {
        !self.0.is_empty() && self.0.contains_key(&id)
    }

    /// What waits of a transfer, and what comes, is written from now on.
    pub(super) fn begin(&mut self, id: TransferId, save: Save) {
        self.0.insert(id, save);
    }

    /// Nobody wants it any more.
    pub(super) fn forget(&mut self, id: TransferId) {
        self.0.remove(&id);
    }

    /// Writes what waits of a transfer, if nothing of it is being written.
    pub(super) fn write(&mut self, id: TransferId, waiting: &mut Waiting, cx: &mut Context<'_>) {
        let Some(save) = self.0.get_mut(&id).filter(|save| save.is_idle()) else {
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
            save.write(bytes, ended, cx.waker());
        }
    }

    /// Something was written. Tells the worker, and goes on. Says which failed, of which nothing more is wanted.
    pub(super) fn look(&mut self, waiting: &mut Waiting, cx: &mut Context<'_>) -> Vec<TransferId> {
        let mut failed = Vec::new();
        if self.is_empty() {
            return failed;
        }
        let ids: Vec<_> = self.0.keys().copied().collect();
        for id in ids {
            match self.0.get_mut(&id).and_then(Save::look) {
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

/// One file. It is there already: what came before is written by somebody else.
#[derive(Debug)]
pub(super) struct Save {
    state: State,
    /// Where the next byte goes.
    at: u64,
}

#[derive(Debug)]
enum State {
    Unopened(PathBuf),
    Open(File),
    Writing(Writing),
    Over,
}

#[derive(Debug)]
struct Writing {
    result: Arc<Mutex<Option<io::Result<File>>>>,
    bytes: u64,
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
            state: State::Unopened(path),
            at,
        }
    }

    /// Whether nothing is being written.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Unopened(_) | State::Open(_))
    }

    /// Writes more, while it is idle. The waker is called when that is done.
    pub(super) fn write(&mut self, bytes: Vec<u8>, last: bool, waker: Waker) {
        let state = mem::replace(&mut self.state, State::Over);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let place = SeekFrom::Start(self.at);
        let result = Arc::default();
        self.at = self.at.saturating_add(length);
        self.state = State::Writing(Writing {
            result: Arc::clone(&result),
            bytes: length,
            last,
        });
        // nobody waits for it: who is woken looks
        let _writing = tokio::task::spawn_blocking(move || {
            let written = state.into_file().and_then(|mut file| {
                file.seek(place)?;
                file.write_all(&bytes)?;
                Ok(file)
            });
            *result.lock() = Some(written);
            waker.wake();
        });
    }

    /// What was written since it was looked at; `None`: nothing.
    pub(super) fn look(&mut self) -> Option<io::Result<Written>> {
        let State::Writing(writing) = &self.state else {
            return None;
        };
        let written = writing.result.lock().take()?;
        let (bytes, last) = (writing.bytes, writing.last);
        Some(written.map(|file| {
            self.state = if last { State::Over } else { State::Open(file) };
            Written { bytes, last }
        }))
    }
}

impl State {
    fn into_file(self) -> io::Result<File> {
        match self {
            Self::Unopened(path) => OpenOptions::new().write(true).open(path),
            Self::Open(file) => Ok(file),
            Self::Writing(_) | Self::Over => Err(io::ErrorKind::Other.into()),
        }
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
        assert_eq!(fs::read(&path).unwrap(), b"early and late");
        fs::remove_file(&path).unwrap();
        let gone = written(&mut Save::new(path, 0), b"x", true).await;
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
