//! Another descriptor for a connection that a runtime owns, so that the connection outlives the runtime's descriptor.

use std::io;
use std::net::TcpStream;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use socket2::{Domain, SockRef, Type};

/// A duplicated connection. It does not block.
#[derive(Debug)]
pub enum Duplicate {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A connection of a unix socket.
    Unix(UnixStream),
}

/// Duplicates the descriptor of a connected stream socket.
///
/// # Errors
///
/// The system's, for a descriptor that is not open or cannot be duplicated; [`io::ErrorKind::NotConnected`] if the peer
/// has left, or if there never was one; [`io::ErrorKind::InvalidInput`] if it is no socket of a stream.
pub fn duplicate(descriptor: RawFd) -> io::Result<Duplicate> {
    if descriptor < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: `borrow_raw` asks for a descriptor that is not -1, which was checked, and that stays open while it is
    // borrowed. It is borrowed for the one call that duplicates it, which fails if it is not open; the caller's thread
    // owns it through an object that is not closed meanwhile, because that happens on the same thread.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let own = borrowed.try_clone_to_owned()?;
    checked(own)
}

fn checked(own: OwnedFd) -> io::Result<Duplicate> {
    let socket = SockRef::from(&own);
    let wrong = |_| io::Error::from(io::ErrorKind::InvalidInput);
    if socket.r#type().map_err(wrong)? != Type::STREAM {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let domain = socket.peer_addr()?.domain();
    socket.set_nonblocking(true)?;
    #[cfg(target_vendor = "apple")]
    socket.set_nosigpipe(true)?;
    if domain == Domain::UNIX {
        Ok(Duplicate::Unix(own.into()))
    } else if domain == Domain::IPV4 || domain == Domain::IPV6 {
        Ok(Duplicate::Tcp(own.into()))
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn a_connection_outlives_the_descriptor_that_was_duplicated() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let Duplicate::Tcp(mut own) = duplicate(server.as_raw_fd()).unwrap() else {
            panic!("it is TCP");
        };
        drop(server);
        assert_eq!(own.peer_addr().unwrap(), peer);
        own.write_all(b"alive").unwrap();
        drop(own);
        let mut received = String::new();
        client.read_to_string(&mut received).unwrap();
        assert_eq!(received, "alive");
    }

    #[test]
    fn a_connection_of_a_unix_socket_is_one() {
        let (one, _other) = UnixStream::pair().unwrap();
        let own = duplicate(one.as_raw_fd()).unwrap();
        assert!(matches!(own, Duplicate::Unix(_)));
    }

    #[test]
    fn everything_else_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        datagrams.connect(datagrams.local_addr().unwrap()).unwrap();
        let file = File::open("/dev/null").unwrap();
        for descriptor in [datagrams.as_raw_fd(), file.as_raw_fd(), -1] {
            let error = duplicate(descriptor).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        let error = duplicate(listener.as_raw_fd()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotConnected);
        assert!(duplicate(RawFd::MAX).is_err(), "it is not open");
    }
}
