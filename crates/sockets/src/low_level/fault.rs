//! Why a call failed: the system's error number and its text.

use std::io;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The system's `errno`.
    System(i32),
    /// The address does not belong to the descriptor's family.
    Address,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::System(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(error: rustix::io::Errno) -> Self {
        Self::System(error.raw_os_error())
    }
}

/// The system's text for an error number, without the number.
pub fn error_text(errno: i32) -> String {
    let mut text = io::Error::from_raw_os_error(errno).to_string();
    // the standard library adds " (os error 9)"
    if let Some(end) = text.rfind(" (os error ") {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_system() {
        assert_eq!(error_text(libc::EBADF), "Bad file descriptor");
        assert_eq!(error_text(libc::EEXIST), "File exists");
    }
}
