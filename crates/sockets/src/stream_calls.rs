//! Reading and writing a stream that does not wait, by the system call alone. In the C library both are points at which a
//! thread may be cancelled, which costs two locked instructions per call in a process with several threads.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::net::SendFlags;

/// Reads what has arrived; 0 is the end of the stream.
///
/// # Errors
///
/// What `read` reports, for example [`io::ErrorKind::WouldBlock`].
#[inline]
pub fn read_stream(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(socket, buffer)?)
}

/// Writes what the kernel accepts, without `SIGPIPE`.
///
/// # Errors
///
/// What `send` reports, for example [`io::ErrorKind::WouldBlock`].
#[inline]
pub fn write_stream(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn tcp() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// Passes bytes from one end to the other, and their end.
    fn pass(one: BorrowedFd<'_>, other: BorrowedFd<'_>, end: impl FnOnce()) {
        let mut buffer = [0; 8];
        assert_eq!(write_stream(one, b"bytes").unwrap(), 5);
        assert_eq!(read_stream(other, &mut buffer[..3]).unwrap(), 3);
        assert_eq!(read_stream(other, &mut buffer[3..]).unwrap(), 2);
        assert_eq!(&buffer[..5], b"bytes");
        end();
        assert_eq!(read_stream(other, &mut buffer).unwrap(), 0);
        let error = write_stream(one, b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn bytes_and_their_end_arrive_and_a_broken_pipe_is_an_error() {
        let (one, other) = tcp();
        pass(one.as_fd(), other.as_fd(), || {
            one.shutdown(Shutdown::Write).unwrap();
        });
        let (one, other) = UnixStream::pair().unwrap();
        pass(one.as_fd(), other.as_fd(), || {
            one.shutdown(Shutdown::Write).unwrap();
        });
    }

    #[test]
    fn what_would_wait_is_an_error() {
        let (one, _other) = tcp();
        one.set_nonblocking(true).unwrap();
        let error = read_stream(one.as_fd(), &mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let bytes = vec![0; 1 << 20];
        let error = loop {
            if let Err(error) = write_stream(one.as_fd(), &bytes) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
