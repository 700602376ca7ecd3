//! Opening and reading on systems other than Unix: on Windows.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Component, Path};

use super::super::path;
use super::Blocking;
pub(super) use super::lacks_path as lacks;

/// Resolves every link and short name, opens the result, and checks that it still resolves to the same path.
pub(super) fn open(root: &Path, name: &str, blocking: Blocking) -> io::Result<Option<File>> {
    if blocking == Blocking::Never {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let root = root.canonicalize()?;
    let wanted = name
        .split('/')
        .filter(|&step| step != ".")
        .fold(root.clone(), |at, step| at.join(step));
    let real = wanted.canonicalize()?;
    let Ok(below) = real.strip_prefix(&root) else {
        return Ok(None);
    };
    // Windows takes `GIT~1` for `.git`
    let unasked = below.components().any(|step| match step {
        Component::Normal(step) => {
            let step = step.to_string_lossy();
            path::is_hidden(&format!("/{step}")) && !name.split('/').any(|asked| asked == step)
        }
        _ => true,
    });
    if unasked {
        return Ok(None);
    }
    let file = open_any(&real)?;
    Ok((wanted.canonicalize()? == real).then_some(file))
}

/// Opens directories too: Windows opens them only with this flag.
#[cfg(windows)]
fn open_any(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;

    const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
}

#[cfg(not(windows))]
fn open_any(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether an error means that there is nothing that we may serve.
pub(super) fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound, PermissionDenied};

    matches!(
        error.kind(),
        NotFound | NotADirectory | PermissionDenied | InvalidInput | InvalidFilename
    )
}

pub(super) fn inode(_metadata: &Metadata) -> (u64, u64) {
    (0, 0)
}

pub(super) fn changed(_metadata: &Metadata) -> (i64, i64) {
    (0, 0)
}
