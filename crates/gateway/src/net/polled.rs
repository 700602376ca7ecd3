//! A stream of the shard's readiness loop: non-blocking calls on a socket, and what the loop has reported of it. The
//! loop registers it once and reports changes (edges), so a call that finds nothing to do just returns.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::Poll;

use mio::event::{Event, Source};
use mio::{Interest, Registry, Token};
use tokio::io::ReadBuf;

use super::stream::RawStream;

/// See the module.
#[derive(Debug)]
pub(crate) struct Polled {
    socket: Socket,
    /// Whether there may be input.
    readable: bool,
    /// Whether the peer has sent its last byte, so that the end follows the input.
    read_closed: bool,
    /// Whether nothing written would reach the peer.
    write_closed: bool,
}

#[derive(Debug)]
enum Socket {
    Tcp(mio::net::TcpStream),
    Unix(mio::net::UnixStream),
}

macro_rules! on {
    ($self:ident, $socket:ident => $call:expr) => {
        match &mut $self.socket {
            Socket::Tcp($socket) => $call,
            Socket::Unix($socket) => $call,
        }
    };
}

impl Polled {
    /// A stream whose events are reported with this token.
    ///
    /// # Errors
    ///
    /// If the system cannot watch another descriptor.
    pub(crate) fn register(raw: RawStream, registry: &Registry, token: Token) -> io::Result<Self> {
        let mut socket = match raw {
            RawStream::Tcp(stream) => Socket::Tcp(mio::net::TcpStream::from_std(stream)),
            RawStream::Unix(stream) => Socket::Unix(mio::net::UnixStream::from_std(stream)),
        };
        let interest = Interest::READABLE | Interest::WRITABLE;
        match &mut socket {
            Socket::Tcp(stream) => stream.register(registry, token, interest)?,
            Socket::Unix(stream) => stream.register(registry, token, interest)?,
        }
        Ok(Self {
            socket,
            readable: false,
            read_closed: false,
            write_closed: false,
        })
    }

    /// Records what the loop reports.
    pub(crate) fn reported(&mut self, event: &Event) {
        self.read_closed |= event.is_read_closed();
        self.write_closed |= event.is_write_closed();
        self.readable |= event.is_readable() || event.is_error() || self.read_closed;
    }

    /// Reads what there is. `Pending`: nothing until the loop reports more.
    pub(crate) fn read(&mut self, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.readable {
            return Poll::Pending;
        }
        let room = buffer.initialize_unfilled();
        let most = room.len();
        loop {
            return match on!(self, socket => socket.read(room)) {
                Ok(count) => {
                    // a short read has emptied the socket: more input is another change, but for the end of the input,
                    // which may have been reported already
                    self.readable = count == most || self.read_closed;
                    buffer.advance(count);
                    Poll::Ready(Ok(()))
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(error)),
            };
        }
    }

    /// Writes what the kernel accepts. `Pending`: nothing until the loop reports room.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        at_once(|| on!(self, socket => socket.write(bytes)))
    }

    /// Like [`write`](Self::write), with several pieces.
    pub(crate) fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        at_once(|| on!(self, socket => socket.write_vectored(slices)))
    }

    /// Ends the output.
    pub(crate) fn shutdown(&mut self) -> io::Result<()> {
        on!(self, socket => socket.shutdown(Shutdown::Write))
    }

    /// Whether the loop has reported that nothing written would reach the peer.
    pub(crate) fn is_broken(&self) -> bool {
        self.write_closed
    }

    /// The descriptor.
    pub(crate) fn bare(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

/// Makes a call that does not wait.
fn at_once(mut call: impl FnMut() -> io::Result<usize>) -> Poll<io::Result<usize>> {
    loop {
        return match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            done => Poll::Ready(done),
        };
    }
}
