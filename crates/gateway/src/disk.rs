//! Reads files without waiting for the disk, if the system can tell that it would have to wait. Knows nothing of the
//! contents.

#[cfg(not(unix))]
#[path = "disk/other.rs"]
mod system;
#[cfg(unix)]
#[path = "disk/unix.rs"]
mod system;

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
pub(crate) use system::{is_undecided, soon};

/// Whether a call may wait for the disk. A call that may not wait fails with `WouldBlock` if it would have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocking {
    Allowed,
    Never,
}

/// Opens a regular file for reading, and fails for everything else. Opening does not wait for something other than the
/// disk, such as the other end of a pipe.
pub(crate) fn open(path: &Path, blocking: Blocking) -> io::Result<File> {
    let file = system::open(path, blocking)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let problem = "it is no regular file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// Reads up to the length of `buffer` at a position, without moving the file's own position.
pub(crate) fn read_at(
    file: &File,
    buffer: &mut [u8],
    at: u64,
    blocking: Blocking,
) -> io::Result<usize> {
    loop {
        match system::read_at(file, buffer, at, blocking) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
