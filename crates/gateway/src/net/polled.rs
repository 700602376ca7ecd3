//! A non-blocking socket, and what the readiness loop of its shard has reported of it. The loop registers it once and
//! reports changes (edges), so that a call that finds nothing to do just returns.

#[cfg(not(target_os = "linux"))]
use std::io::Read;
use std::io::{self, IoSlice, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use millrace_sockets::send_last;
use mio::event::{Event, Source};
use mio::{Interest, Registry, Token};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::raw::RawStream;

/// A socket of an established connection, which the loop runs when it reports a change.
#[derive(Debug)]
pub(crate) struct Polled {
    pub(super) socket: Socket,
    pub(super) ready: Ready,
}

/// A socket without what is known of it.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(mio::net::TcpStream),
    Unix(mio::net::UnixStream),
}

/// What the loop has reported of a socket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    /// There may be input.
    readable: bool,
    /// The peer has sent its last byte, so that the end follows the input.
    read_closed: bool,
    /// Nothing written would reach the peer.
    write_closed: bool,
}

impl Ready {
    /// Of a socket that nothing was reported of: a read finds out.
    pub(crate) fn unknown() -> Self {
        Self {
            readable: true,
            ..Self::default()
        }
    }

    /// Records a report.
    pub(crate) fn report(&mut self, event: &Event) {
        self.read_closed |= event.is_read_closed();
        self.write_closed |= event.is_write_closed();
        self.readable |= event.is_readable() || event.is_error() || self.read_closed;
    }

    pub(crate) fn is_readable(self) -> bool {
        self.readable
    }

    pub(crate) fn is_write_closed(self) -> bool {
        self.write_closed
    }
}

macro_rules! on {
    ($self:ident, $socket:ident => $call:expr) => {
        match $self {
            Self::Tcp($socket) => $call,
            Self::Unix($socket) => $call,
        }
    };
}

impl Socket {
    pub(crate) fn new(raw: RawStream) -> Self {
        match raw {
            RawStream::Tcp(stream) => Self::Tcp(mio::net::TcpStream::from_std(stream)),
            RawStream::Unix(stream) => Self::Unix(mio::net::UnixStream::from_std(stream)),
        }
    }

    /// Has its changes reported with this token.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        on!(self, socket => socket.register(registry, token, CHANGES))
    }

    /// Has its changes, and what is ready now, reported with another token.
    pub(crate) fn reregister(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        on!(self, socket => socket.reregister(registry, token, CHANGES))
    }

    /// Reads what there is. `Pending`: nothing until the loop reports more.
    #[inline]
    pub(crate) fn read(
        &mut self,
        ready: &mut Ready,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !ready.readable {
            return Poll::Pending;
        }
        let room = buffer.initialize_unfilled();
        let most = room.len();
        match at_once(|| self.receive(room)) {
            Poll::Ready(Ok(count)) => {
                // a short read has emptied the socket: more input is another change, but for the end of the input, which
                // may have been reported already
                ready.readable = count == most || ready.read_closed;
                buffer.advance(count);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                ready.readable = false;
                Poll::Pending
            }
        }
    }

    /// Writes what the kernel accepts. `Pending`: nothing until the loop reports room.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        at_once(|| self.send(bytes))
    }

    /// Like [`write`](Self::write), with several pieces.
    pub(crate) fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        at_once(|| on!(self, socket => socket.write_vectored(slices)))
    }

    #[cfg(target_os = "linux")]
    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        millrace_sockets::read_stream(self.as_fd(), room)
    }

    #[cfg(not(target_os = "linux"))]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        on!(self, socket => socket.read(room))
    }

    #[cfg(target_os = "linux")]
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        millrace_sockets::write_stream(self.as_fd(), bytes)
    }

    #[cfg(not(target_os = "linux"))]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        on!(self, socket => socket.write(bytes))
    }

    /// Ends the output.
    pub(crate) fn shutdown(&mut self) -> io::Result<()> {
        on!(self, socket => socket.shutdown(Shutdown::Write))
    }

    /// Shows the first byte without taking it; `None` if the socket cannot show it.
    pub(crate) fn peek(&self, ready: &mut Ready) -> Poll<io::Result<Option<u8>>> {
        let Self::Tcp(stream) = self else {
            return Poll::Ready(Ok(None));
        };
        let mut first = [0];
        match at_once(|| stream.peek(&mut first)) {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            Poll::Ready(Ok(_)) => Poll::Ready(Ok(Some(first[0]))),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                ready.readable = false;
                Poll::Pending
            }
        }
    }

    /// The address on this side; `None` for a unix socket.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        on!(self, socket => socket.as_fd())
    }
}

impl Polled {
    /// Has a socket watched, whose changes are reported with this token.
    ///
    /// # Errors
    ///
    /// If the system cannot watch another descriptor.
    pub(crate) fn register(
        mut socket: Socket,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        socket.register(registry, token)?;
        let ready = Ready::default();
        Ok(Self { socket, ready })
    }

    /// Records a report of the loop.
    pub(crate) fn report(&mut self, event: &Event) {
        self.ready.report(event);
    }

    /// Writes what the kernel accepts. `Pending`: nothing until the loop reports room.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.socket.write(bytes)
    }

    /// Writes the last bytes of a TCP stream that is closed at once behind this call. `None`: nothing is written.
    pub(crate) fn write_last(&mut self, bytes: &[u8]) -> Option<usize> {
        match &self.socket {
            Socket::Tcp(socket) => send_last(socket.as_fd(), bytes).ok(),
            Socket::Unix(_) => None,
        }
    }

    /// Whether the loop has reported input that is not read so far.
    pub(crate) fn is_readable(&self) -> bool {
        self.ready.is_readable()
    }

    /// Whether the loop has reported that nothing written would reach the peer.
    pub(crate) fn is_broken(&self) -> bool {
        self.ready.is_write_closed()
    }
}

impl AsFd for Polled {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsyncRead for Polled {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, ready } = self.get_mut();
        socket.read(ready, buffer)
    }
}

impl AsyncWrite for Polled {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().socket.write(bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().socket.write_vectored(slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().socket.shutdown())
    }
}

/// Makes a call that does not wait.
#[inline]
pub(super) fn at_once<T>(mut call: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            done => return Poll::Ready(done),
        }
    }
}

/// What the loop reports of a socket.
pub(super) const CHANGES: Interest = Interest::READABLE.add(Interest::WRITABLE);
