//! The stream type of the gateway: everything that carries bytes to and from a peer.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_rustls::TlsStream;

#[cfg(unix)]
use super::polled::Polled;
use super::raw::RawStream;
#[cfg(unix)]
use super::watch::Waking;
use crate::permits::Permit;

/// See the module. Two words long, because every connection has one.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(Box<TcpStream>),
    #[cfg(unix)]
    Unix(Box<UnixStream>),
    /// A socket that a task reads and writes.
    #[cfg(unix)]
    Waking(Box<Waking>),
    /// A socket of a connection that the readiness loop of a shard runs.
    #[cfg(unix)]
    Polled(Polled),
    Tls(Box<TlsStream<Stream>>),
    /// A stream of which some bytes were already read.
    Early(Box<Early>),
    /// A stream inside another connection.
    Carried(Box<Box<dyn Carried>>),
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(Box::new(stream))
    }
}

#[cfg(unix)]
impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(Box::new(stream))
    }
}

/// A stream with bytes in front of it that were already read.
#[derive(Debug)]
pub(crate) struct Early {
    bytes: Vec<u8>,
    read: usize,
    stream: Stream,
}

/// A stream whose bytes another connection carries and counts.
pub(crate) trait Carried: AsyncRead + AsyncWrite + Unpin {
    /// Whether the stream has to be shut down to end it.
    fn needs_shutdown(&self) -> bool;

    /// Called when the socket is gone, with its permit: the carrier may take the permit back, otherwise it is freed.
    fn give_back(&self, permit: Permit) {
        drop(permit);
    }
}

impl fmt::Debug for dyn Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carried")
    }
}

impl Stream {
    /// Deregisters the stream from its event loop.
    #[cfg(unix)]
    pub(crate) fn into_raw(self) -> io::Result<RawStream> {
        Ok(match self {
            Self::Tcp(stream) => RawStream::Tcp(stream.into_std()?),
            Self::Unix(stream) => RawStream::Unix(stream.into_std()?),
            // these have more state than a descriptor and stay on the shard that made them
            Self::Waking(_) | Self::Polled(_) => return Err(io::ErrorKind::Unsupported.into()),
            Self::Tls(_) | Self::Early(_) | Self::Carried(_) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        })
    }

    /// Registers the stream with the event loop of the current thread.
    #[cfg(not(unix))]
    pub(crate) fn from_raw(raw: RawStream) -> io::Result<Self> {
        let RawStream::Tcp(stream) = raw;
        Ok(TcpStream::from_std(stream)?.into())
    }
}

impl Stream {
    /// A stream inside another connection.
    pub(crate) fn carried(stream: impl Carried + 'static) -> Self {
        Self::Carried(Box::new(Box::new(stream)))
    }

    /// Puts bytes that were read too early back in front.
    pub(crate) fn with_early(self, bytes: Vec<u8>) -> Self {
        if bytes.is_empty() {
            return self;
        }
        Self::Early(Box::new(Early {
            bytes,
            read: 0,
            stream: self,
        }))
    }

    /// The stream without its wrapper, and the bytes in front that are not read so far.
    pub(crate) fn settled(self) -> (Self, Vec<u8>) {
        match self {
            Self::Early(mut early) => {
                let rest = early.bytes.split_off(early.read.min(early.bytes.len()));
                (early.stream, rest)
            }
            other => (other, Vec::new()),
        }
    }

    /// The first byte from the peer, which stays unread; `None` if it cannot be peeked.
    pub(crate) async fn first_byte(&mut self) -> io::Result<Option<u8>> {
        let mut first = [0];
        match self {
            Self::Tcp(stream) => match stream.peek(&mut first).await? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(Some(first[0])),
            },
            #[cfg(unix)]
            Self::Waking(stream) => stream.first_byte().await,
            Self::Early(early) => Ok(early.rest().first().copied()),
            _ => Ok(None),
        }
    }

    /// Like `poll_write`, at less cost while the kernel accepts everything.
    pub(crate) fn poll_write_at_once(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            #[cfg(unix)]
            Self::Polled(stream) => return stream.write(buf),
            Self::Tcp(stream) => match stream.try_write(buf) {
                // `poll_write` below registers the waker
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                wrote => return Poll::Ready(wrote),
            },
            _ => {}
        }
        Pin::new(self).poll_write(cx, buf)
    }

    /// Writes the last bytes of a stream that is closed at once behind this call, together with its end. `None`: nothing
    /// is written, and an ordinary write decides.
    #[cfg(unix)]
    pub(crate) fn write_last(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Polled(stream) => stream.write_last(bytes),
            _ => None,
        }
    }

    /// Whether the readiness loop runs its connection and has reported input that is not read so far.
    pub(crate) fn has_unread(&self) -> bool {
        match self {
            #[cfg(unix)]
            Self::Polled(stream) => stream.is_readable(),
            _ => false,
        }
    }

    /// Whether the stream ends without a shutdown of its own.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::Tls(_) => false,
            Self::Carried(carried) => !carried.needs_shutdown(),
            _ => true,
        }
    }

    /// The address on this side; `None` if it is not a TCP socket.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            #[cfg(unix)]
            Self::Waking(stream) => stream.local_address(),
            _ => None,
        }
    }

    /// Calls `set` with the TCP socket, if it is one.
    pub(crate) fn with_tcp(&self, set: impl FnOnce(SockRef<'_>)) {
        match self {
            Self::Tcp(stream) => set(SockRef::from(&**stream)),
            #[cfg(unix)]
            Self::Waking(stream) if stream.is_tcp() => set(SockRef::from(&**stream)),
            _ => {}
        }
    }

    /// Whether the readiness loop runs its connection.
    pub(crate) fn is_polled(&self) -> bool {
        match self {
            #[cfg(unix)]
            Self::Polled(_) => true,
            _ => false,
        }
    }

    /// Whether another connection carries its bytes and counts them.
    pub(crate) fn is_carried(&self) -> bool {
        matches!(self, Self::Carried(_))
    }

    /// Whether the peer selected HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        match self {
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
            _ => false,
        }
    }

    /// Whether bytes that it accepted have not reached the kernel.
    pub(crate) fn has_unsent(&self) -> bool {
        match self {
            Self::Tls(stream) => stream.get_ref().1.wants_write(),
            _ => false,
        }
    }

    /// Whether the event loop has reported that nothing written would reach the peer.
    pub(crate) fn is_broken(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let ready = match self {
            Self::Tcp(stream) => pin!(stream.ready(Interest::WRITABLE)).poll(&mut cx),
            #[cfg(unix)]
            Self::Unix(stream) => pin!(stream.ready(Interest::WRITABLE)).poll(&mut cx),
            #[cfg(unix)]
            Self::Waking(stream) => return stream.is_broken(),
            #[cfg(unix)]
            Self::Polled(stream) => return stream.is_broken(),
            Self::Tls(stream) => return stream.get_ref().0.is_broken(),
            Self::Early(early) => return early.stream.is_broken(),
            Self::Carried(_) => return false,
        };
        matches!(ready, Poll::Ready(Ok(ready)) if ready.is_write_closed())
    }

    /// The descriptor, if bytes written to it reach the peer unchanged.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    pub(crate) fn bare(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        match self {
            Self::Tcp(stream) => Some(stream.as_fd()),
            Self::Unix(stream) => Some(stream.as_fd()),
            Self::Waking(stream) => Some(stream.as_fd()),
            Self::Polled(stream) => Some(stream.as_fd()),
            Self::Tls(_) | Self::Early(_) | Self::Carried(_) => None,
        }
    }
}

impl Early {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.read..).unwrap_or_default()
    }
}

macro_rules! each {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Tcp($stream) => $call,
            #[cfg(unix)]
            Stream::Unix($stream) => $call,
            Stream::Tls($stream) => $call,
            Stream::Carried($stream) => $call,
            #[cfg(unix)]
            Stream::Waking($stream) => $call,
            #[cfg(unix)]
            Stream::Polled($stream) => $call,
            Stream::Early(early) => {
                let $stream = &mut early.stream;
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        #[cfg(unix)]
        if let Self::Polled(stream) = &mut *self {
            return Pin::new(stream).poll_read(cx, buf);
        }
        if let Self::Early(early) = &mut *self {
            let rest = early.rest();
            if !rest.is_empty() {
                let (now, _later) = rest.split_at(rest.len().min(buf.remaining()));
                buf.put_slice(now);
                early.read += now.len();
                return Poll::Ready(Ok(()));
            }
        }
        each!(self, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
