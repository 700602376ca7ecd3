//! Listeners that report a connection with its first bytes.
#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "no safe interface has this option")
)]

use std::io;
use std::os::fd::BorrowedFd;

/// Has the kernel report a connection of this listener when its first bytes are there, so that the server is woken once
/// for both, or at once again. A client that sends nothing is reported after about a second.
///
/// # Errors
///
/// If the socket does not listen on TCP, or the system lacks the option.
#[cfg(target_os = "linux")]
pub fn defer_accept(listener: BorrowedFd<'_>, defers: bool) -> io::Result<()> {
    use std::mem::size_of;
    use std::os::fd::AsRawFd;

    let seconds = libc::c_int::from(defers);
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>());
    let length = length.map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the descriptor is open, and the kernel reads `length` bytes of `seconds`, which lives until the call returns.
    let outcome = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            length,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Linux has this option.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn defer_accept(_listener: BorrowedFd<'_>, _defers: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_connection_is_accepted_with_its_first_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        defer_accept(listener.as_fd(), true).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let error = listener.accept().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        client.write_all(b"x").unwrap();
        listener.set_nonblocking(false).unwrap();
        listener.accept().unwrap();
        defer_accept(listener.as_fd(), false).unwrap();
        let _silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener.accept().unwrap();
    }

    #[test]
    fn a_silent_client_is_accepted_later() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        defer_accept(listener.as_fd(), true).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        listener.accept().unwrap();
    }

    #[test]
    fn a_socket_of_another_kind_is_an_error() {
        let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        defer_accept(socket.as_fd(), true).unwrap_err();
    }
}
