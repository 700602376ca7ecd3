//! Reading files without waiting for the disk, where the system can say that it would. Knows nothing of what is read.

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

/// Whether a call may wait for the disk. One that may not fails with `WouldBlock` where it had to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocking {
    Allowed,
    Never,
}

/// Opens a regular file to be read; an error for everything else, which opening does not wait for either.
pub(crate) fn open(path: &Path, blocking: Blocking) -> io::Result<File> {
    let file = system::open(path, blocking)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let problem = "it is no regular file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// Reads up to the whole of `buffer` from a place of the file, which other readers do not notice.
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
