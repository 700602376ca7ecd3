//! A file on disk that is sent to the peer. It is read piece by piece: at once if the bytes are in the page cache,
//! otherwise on the blocking pool. Keeps its position; sends nothing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;

use crate::disk::{self, Blocking};

/// See the module.
#[derive(Debug)]
pub(super) struct DiskFile(State);

#[derive(Debug)]
enum State {
    /// Its path, the bytes to be sent, and the most bytes of a piece.
    Unopened(PathBuf, u64, usize),
    Open(Rest),
    /// A read on the blocking pool, which puts its result here.
    Reading(Arc<Mutex<Option<Read>>>),
    Over,
}

/// A piece, and the rest of the file after it.
type Read = io::Result<(Vec<u8>, Rest)>;

/// The rest of a file.
#[derive(Debug)]
struct Rest {
    file: File,
    at: u64,
    left: u64,
    /// The most bytes of a piece.
    most: usize,
}

impl DiskFile {
    /// A file of which this many bytes are sent, or fewer if it is shorter, in pieces of at most `most` bytes.
    pub(super) fn new(path: PathBuf, size: u64, most: usize) -> Self {
        Self(State::Unopened(path, size, most))
    }

    /// Reads the next piece into `buffer`, and returns whether more follows. `None`: the disk is being read, and the
    /// waker will be called.
    pub(super) fn next(
        &mut self,
        buffer: &mut Vec<u8>,
        waker: impl FnOnce() -> Waker,
    ) -> Option<io::Result<bool>> {
        let mut rest = match std::mem::replace(&mut self.0, State::Over) {
            State::Unopened(path, size, most) => {
                match Rest::open(&path, (size, most), Blocking::Never) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let open = move || Rest::open(&path, (size, most), Blocking::Allowed);
                        return self.read_beside(open, waker());
                    }
                    Err(error) => return Some(Err(error)),
                    Ok(rest) => rest,
                }
            }
            State::Open(rest) => rest,
            State::Reading(place) => {
                let Some(read) = place.lock().take() else {
                    self.0 = State::Reading(Arc::clone(&place));
                    return None;
                };
                return Some(read.map(|(bytes, rest)| {
                    *buffer = bytes;
                    self.keep(rest)
                }));
            }
            State::Over => return Some(Ok(false)),
        };
        match rest.read(buffer, Blocking::Never) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.read_beside(move || Ok(rest), waker())
            }
            read => Some(read.map(|()| self.keep(rest))),
        }
    }

    fn keep(&mut self, rest: Rest) -> bool {
        let goes_on = rest.left > 0;
        if goes_on {
            self.0 = State::Open(rest);
        }
        goes_on
    }

    fn read_beside<T>(
        &mut self,
        rest: impl FnOnce() -> io::Result<Rest> + Send + 'static,
        waker: Waker,
    ) -> Option<T> {
        let place = Arc::default();
        self.0 = State::Reading(Arc::clone(&place));
        // the task is not awaited: the waker makes the session look at the result
        let _reading = tokio::task::spawn_blocking(move || {
            let read = rest().and_then(|mut rest| {
                let mut bytes = Vec::new();
                rest.read(&mut bytes, Blocking::Allowed)?;
                Ok((bytes, rest))
            });
            *place.lock() = Some(read);
            waker.wake();
        });
        None
    }
}

impl Rest {
    fn open(path: &Path, (size, most): (u64, usize), blocking: Blocking) -> io::Result<Self> {
        let file = disk::open(path, blocking)?;
        Ok(Self {
            file,
            at: 0,
            left: size,
            most,
        })
    }

    /// Reads the next piece. Nothing is left once the file has ended.
    fn read(&mut self, buffer: &mut Vec<u8>, blocking: Blocking) -> io::Result<()> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        buffer.resize(left.min(self.most), 0);
        let mut filled = 0;
        while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
            match disk::read_at(&self.file, room, self.at, blocking) {
                // the rest of the piece is not in the page cache
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && filled > 0 => break,
                Err(error) => return Err(error),
                Ok(0) => {
                    self.left = 0;
                    break;
                }
                Ok(count) => {
                    filled += count;
                    let count = u64::try_from(count).unwrap_or(self.left);
                    self.at += count;
                    self.left = self.left.saturating_sub(count);
                }
            }
        }
        buffer.truncate(filled);
        Ok(())
    }
}

/// The text about an error for the worker: the number of the error in the system, and its message. Where the system's
/// numbers differ from those of Node.js, the name of the error replaces the number.
pub(super) fn told(error: &io::Error) -> String {
    // the path names something other than a regular file
    let is_invalid = error.kind() == io::ErrorKind::InvalidInput;
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    match error.raw_os_error().filter(|_| cfg!(unix)) {
        Some(number) => format!("{number} {text}"),
        None if is_invalid => format!("EINVAL {text}"),
        None if error.kind() == io::ErrorKind::NotFound => format!("ENOENT {text}"),
        None if error.kind() == io::ErrorKind::PermissionDenied => format!("EACCES {text}"),
        None => format!("EIO {text}"),
    }
}

/// The most bytes of one read.
pub(super) const PIECE_BYTES: usize = 256 * 1024;

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

    /// Reads a whole file; returns the lengths of its pieces.
    async fn lengths(path: &Path, size: u64) -> io::Result<Vec<usize>> {
        let rings = Arc::new(Rings::default());
        let (mut file, mut buffer) = (
            DiskFile::new(path.to_owned(), size, PIECE_BYTES),
            Vec::new(),
        );
        let mut lengths = Vec::new();
        let mut waits = 0;
        loop {
            match file.next(&mut buffer, || Waker::from(Arc::clone(&rings))) {
                None => {
                    waits += 1;
                    while rings.0.load(Ordering::SeqCst) < waits {
                        tokio::task::yield_now().await;
                    }
                }
                Some(Err(error)) => return Err(error),
                Some(Ok(goes_on)) => {
                    assert!(buffer.iter().all(|byte| *byte == 7));
                    lengths.push(buffer.len());
                    if !goes_on {
                        return Ok(lengths);
                    }
                }
            }
        }
    }

    #[tokio::test]
    async fn a_file_is_read_in_pieces_up_to_its_size() {
        let path = std::env::temp_dir().join(format!("millrace-disk-{}", std::process::id()));
        let length = 2 * PIECE_BYTES + 10;
        fs::write(&path, vec![7; length]).unwrap();
        for (size, expected) in [
            (length, &[PIECE_BYTES, PIECE_BYTES, 10][..]),
            (PIECE_BYTES, &[PIECE_BYTES]),
            (length + 5, &[PIECE_BYTES, PIECE_BYTES, 10]),
            (0, &[0]),
        ] {
            let size = u64::try_from(size).unwrap();
            assert_eq!(lengths(&path, size).await.unwrap(), expected, "{size}");
        }
        fs::remove_file(&path).unwrap();
        let gone = lengths(&path, 1).await.unwrap_err();
        assert_eq!(told(&gone), "2 No such file or directory");
    }

    #[tokio::test]
    async fn reading_on_the_blocking_pool_gives_the_same_bytes() {
        let path =
            std::env::temp_dir().join(format!("millrace-read-beside-{}", std::process::id()));
        fs::write(&path, [7; 100]).unwrap();
        let mut file = DiskFile::new(path.clone(), 100, 60);
        let open = path.clone();
        let rings = Arc::new(Rings::default());
        let waker = Waker::from(Arc::clone(&rings));
        let none = file.read_beside::<()>(
            move || Rest::open(&open, (100, 60), Blocking::Allowed),
            waker.clone(),
        );
        assert!(none.is_none());
        while rings.0.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let mut buffer = Vec::new();
        let next = file.next(&mut buffer, || waker.clone());
        assert!(matches!(next, Some(Ok(true))), "{next:?}");
        assert_eq!(buffer, [7; 60]);
        assert!(matches!(file.next(&mut buffer, || waker), Some(Ok(false))));
        assert_eq!(buffer, [7; 40]);
        fs::remove_file(&path).unwrap();
    }

    #[tokio::test]
    async fn only_regular_files_are_opened() {
        let error = lengths(&std::env::temp_dir(), 1).await.unwrap_err();
        assert_eq!(told(&error), "EINVAL it is no regular file");
    }
}
