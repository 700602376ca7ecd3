//! Opening and reading on Unix. On Linux one call opens a path and refuses to leave the root. Elsewhere, and where that
//! call is not available, every link is resolved first and then no link is followed.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

#[cfg(target_os = "linux")]
use crate::disk::{is_undecided, soon};

use super::Blocking;

/// A file is examined after it was opened and before it is read, so opening a pipe must not block.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Flags for a directory on the way to the file.
#[cfg(target_os = "linux")]
const PASSED: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The root is opened anew each time, because a release may put another directory in its place.
#[cfg(target_os = "linux")]
pub(super) fn open(root: &Path, name: &str, blocking: Blocking) -> io::Result<Option<File>> {
    use rustix::fs::{CWD, ResolveFlags, openat2};

    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if blocking == Blocking::Never {
        let cached = ResolveFlags::CACHED;
        let directory = openat2(CWD, root, PASSED, Mode::empty(), cached).map_err(soon)?;
        let file = openat2(&directory, name, FLAGS, Mode::empty(), beneath | cached);
        return file.map(|file| Some(file.into())).map_err(soon);
    }
    let directory = rustix::fs::open(root, PASSED, Mode::empty())?;
    match openat2(&directory, name, FLAGS, Mode::empty(), beneath) {
        Ok(file) => Ok(Some(file.into())),
        Err(error) if is_undecided(error) => walk(root, name),
        Err(error) => Err(error.into()),
    }
}

/// Whether the root has no entry of this name; without waiting, where the system can tell.
#[cfg(target_os = "linux")]
pub(super) fn lacks(root: &Path, name: &str, blocking: Blocking) -> io::Result<bool> {
    use rustix::fs::{CWD, ResolveFlags, openat2};

    if blocking == Blocking::Allowed {
        return super::lacks_path(root, name, blocking);
    }
    let cached = ResolveFlags::CACHED;
    let directory = openat2(CWD, root, PASSED, Mode::empty(), cached)?;
    let named = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat2(&directory, name, named, Mode::empty(), cached);
    Ok(found.is_err_and(|error| error == Errno::NOENT))
}

#[cfg(not(target_os = "linux"))]
pub(super) use super::lacks_path as lacks;

#[cfg(not(target_os = "linux"))]
pub(super) fn open(root: &Path, name: &str, blocking: Blocking) -> io::Result<Option<File>> {
    match blocking {
        Blocking::Allowed => walk(root, name),
        Blocking::Never => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Resolves every link, then walks the result without following any, so that a link created meanwhile has no effect.
pub(super) fn walk(root: &Path, name: &str) -> io::Result<Option<File>> {
    let root = root.canonicalize()?;
    let real = root.join(name).canonicalize()?;
    let Ok(below) = real.strip_prefix(&root) else {
        return Ok(None);
    };
    let mut at: OwnedFd = rustix::fs::open(&root, PASSED, Mode::empty())?;
    let mut steps = below.components().peekable();
    if steps.peek().is_none() {
        return Ok(Some(File::open(&root)?));
    }
    while let Some(step) = steps.next() {
        let Component::Normal(step) = step else {
            return Ok(None);
        };
        let flags = if steps.peek().is_some() {
            PASSED
        } else {
            FLAGS
        };
        at = rustix::fs::openat(&at, step, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(Some(at.into()))
}

/// Whether an error means that there is nothing that we may serve.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::NOENT
                | Errno::NOTDIR
                | Errno::ACCESS
                | Errno::PERM
                | Errno::LOOP
                | Errno::MLINK
                | Errno::NAMETOOLONG
                | Errno::INVAL
                | Errno::ILSEQ
                | Errno::NXIO
                | Errno::NODEV
        )
    )
}

pub(super) fn inode(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

pub(super) fn changed(metadata: &Metadata) -> (i64, i64) {
    (metadata.ctime(), metadata.ctime_nsec())
}
