//! Opening and reading on Unix.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
#[cfg(target_os = "linux")]
use rustix::io::Errno;

use super::Blocking;

/// Opening a pipe must not block.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

#[cfg(target_os = "linux")]
pub(super) fn open(path: &Path, blocking: Blocking) -> io::Result<File> {
    use rustix::fs::{CWD, ResolveFlags, openat2};

    if blocking == Blocking::Never {
        let opened = openat2(CWD, path, FLAGS, Mode::empty(), ResolveFlags::CACHED);
        return opened.map(File::from).map_err(soon);
    }
    Ok(rustix::fs::open(path, FLAGS, Mode::empty())?.into())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open(path: &Path, blocking: Blocking) -> io::Result<File> {
    match blocking {
        Blocking::Allowed => Ok(rustix::fs::open(path, FLAGS, Mode::empty())?.into()),
        Blocking::Never => Err(io::ErrorKind::WouldBlock.into()),
    }
}

pub(super) fn read_at(
    file: &File,
    buffer: &mut [u8],
    at: u64,
    blocking: Blocking,
) -> io::Result<usize> {
    match blocking {
        Blocking::Allowed => FileExt::read_at(file, buffer, at),
        Blocking::Never => read_cached(file, buffer, at),
    }
}

#[cfg(target_os = "linux")]
fn read_cached(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};

    let mut buffers = [io::IoSliceMut::new(buffer)];
    preadv2(file, &mut buffers, at, ReadWriteFlags::NOWAIT).map_err(soon)
}

#[cfg(not(target_os = "linux"))]
fn read_cached(_file: &File, _buffer: &mut [u8], _at: u64) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}

/// Whether `openat2` has not decided what a path is: it led out of its directory, the kernel or container lacks this
/// call, or something was moved meanwhile.
#[cfg(target_os = "linux")]
pub(crate) fn is_undecided(error: Errno) -> bool {
    matches!(
        error,
        Errno::XDEV | Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::TOOBIG
    )
}

/// The error of a call that may not wait. If it is undecided, a call that may wait decides.
#[cfg(target_os = "linux")]
pub(crate) fn soon(error: Errno) -> io::Error {
    let unknown = matches!(error, Errno::INVAL | Errno::OPNOTSUPP);
    if unknown || is_undecided(error) {
        return io::ErrorKind::WouldBlock.into();
    }
    error.into()
}
