//! A file of the file system that is sent: read beside the event loop, piece by piece. Owns what was read and not taken yet; sends
//! nothing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;

/// See the module. At most one piece of it is in memory.
#[derive(Debug)]
pub(super) struct DiskFile(Arc<Mutex<Option<io::Result<Piece>>>>);

/// What was read.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// `None`: that is all.
    pub(super) rest: Option<Rest>,
}

/// What is left to be read.
#[derive(Debug)]
pub(super) struct Rest {
    file: File,
    left: u64,
}

impl DiskFile {
    /// Opens a file of which so many bytes are sent, fewer where it ends before, and reads the first piece. Whenever there is
    /// something to be taken the waker is called.
    pub(super) fn open(path: PathBuf, size: u64, waker: Waker) -> Self {
        let file = Self(Arc::default());
        file.read(move || Rest::open(&path, size), waker);
        file
    }

    /// Reads the next piece.
    pub(super) fn go_on(&self, rest: Rest, waker: Waker) {
        self.read(move || Ok(rest), waker);
    }

    /// What was read; `None`: nothing yet.
    pub(super) fn take(&self) -> Option<io::Result<Piece>> {
        self.0.lock().take()
    }

    fn read(&self, rest: impl FnOnce() -> io::Result<Rest> + Send + 'static, waker: Waker) {
        let place = Arc::clone(&self.0);
        // nobody waits for it: who is woken looks
        let _reading = tokio::task::spawn_blocking(move || {
            let read = rest().and_then(Rest::read);
            *place.lock() = Some(read);
            waker.wake();
        });
    }
}

impl Rest {
    fn open(path: &Path, size: u64) -> io::Result<Self> {
        // opening something else, such as a pipe, might wait for ever
        if !fs::metadata(path)?.is_file() {
            let problem = "it is no regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let file = File::open(path)?;
        Ok(Self { file, left: size })
    }

    fn read(mut self) -> io::Result<Piece> {
        let wanted = self.left.min(PIECE_BYTES);
        let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
        (&mut self.file).take(wanted).read_to_end(&mut bytes)?;
        let came = u64::try_from(bytes.len()).unwrap_or(wanted);
        self.left -= came;
        let goes_on = self.left > 0 && came == wanted;
        Ok(Piece {
            bytes,
            rest: goes_on.then_some(self),
        })
    }
}

/// What an error is called in JavaScript, and what it says.
pub(super) fn told(error: &io::Error) -> String {
    let code = match error.kind() {
        io::ErrorKind::NotFound => "ENOENT",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::InvalidInput => "EINVAL",
        io::ErrorKind::NotADirectory => "ENOTDIR",
        _ => "EIO",
    };
    format!("{code}: {error}")
}

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// All of a file, by pieces.
    fn pieces(path: &Path, size: u64) -> io::Result<Vec<Vec<u8>>> {
        let mut pieces = Vec::new();
        let mut rest = Some(Rest::open(path, size)?);
        while let Some(now) = rest {
            let piece = now.read()?;
            pieces.push(piece.bytes);
            rest = piece.rest;
        }
        Ok(pieces)
    }

    #[test]
    fn a_file_is_read_in_pieces_up_to_its_size() {
        let path = std::env::temp_dir().join(format!("millrace-disk-{}", std::process::id()));
        let length = 2 * PIECE_BYTES + 10;
        fs::write(&path, vec![7; usize::try_from(length).unwrap()]).unwrap();
        let lengths = |size| -> Vec<u64> {
            let read = pieces(&path, size).unwrap();
            assert!(read.iter().flatten().all(|byte| *byte == 7));
            let lengths = read.iter().map(|piece| piece.len().try_into().unwrap());
            lengths.collect()
        };
        assert_eq!(lengths(length), [PIECE_BYTES, PIECE_BYTES, 10]);
        assert_eq!(lengths(PIECE_BYTES), [PIECE_BYTES], "it has grown");
        assert_eq!(
            lengths(length + 5),
            [PIECE_BYTES, PIECE_BYTES, 10],
            "it has shrunk"
        );
        assert_eq!(lengths(0), [0]);
        fs::remove_file(&path).unwrap();
        let gone = pieces(&path, 1).unwrap_err();
        assert!(told(&gone).starts_with("ENOENT: "), "{gone}");
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let error = pieces(&std::env::temp_dir(), 1).unwrap_err();
        assert_eq!(told(&error), "EINVAL: it is no regular file");
    }
}
