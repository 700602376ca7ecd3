//! The last bytes of a stream, sent together with its end.

use std::io;
use std::os::fd::BorrowedFd;

use socket2::SockRef;

/// Sends the last bytes of a TCP stream that is closed at once behind this call, without waiting for room and without
/// `SIGPIPE`. On Linux the bytes wait for the end of the stream, so that both leave in one segment, and the receiver is
/// woken once. Returns how many bytes the kernel accepted.
///
/// If input of the socket is unread when it is closed, the kernel drops these bytes.
///
/// # Errors
///
/// What `send` reports, for example [`io::ErrorKind::WouldBlock`].
pub fn send_last(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    SockRef::from(&socket).send_with_flags(bytes, FLAGS)
}

#[cfg(target_os = "linux")]
const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_MORE;
// a socket of these systems is made without SIGPIPE
#[cfg(not(target_os = "linux"))]
const FLAGS: libc::c_int = libc::MSG_DONTWAIT;

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn the_last_bytes_arrive_with_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nodelay(true).unwrap();
        assert_eq!(send_last(server.as_fd(), b"the last").unwrap(), 8);
        drop(server);
        let mut all = Vec::new();
        client.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"the last");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_last_bytes_wait_for_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nodelay(true).unwrap();
        send_last(server.as_fd(), b"the last").unwrap();
        client.set_nonblocking(true).unwrap();
        let error = client.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_stream_whose_peer_is_gone_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.shutdown(std::net::Shutdown::Write).unwrap();
        drop(client);
        send_last(server.as_fd(), b"the last").unwrap_err();
    }
}
