//! Opening and reading on systems other than Unix: on Windows.

use std::fs::File;
use std::io;
use std::path::Path;

use super::Blocking;

pub(super) fn open(path: &Path, blocking: Blocking) -> io::Result<File> {
    match blocking {
        Blocking::Allowed => File::open(path),
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
        Blocking::Allowed => read_any(file, buffer, at),
        Blocking::Never => Err(io::ErrorKind::WouldBlock.into()),
    }
}

#[cfg(windows)]
fn read_any(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

#[cfg(not(windows))]
fn read_any(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    use std::io::{Read, Seek};

    file.seek(io::SeekFrom::Start(at))?;
    file.read(buffer)
}
