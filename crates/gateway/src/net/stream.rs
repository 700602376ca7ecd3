//! The one stream type of the gateway: whatever carries bytes to and from a peer.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_rustls::TlsStream;

use crate::permits::Permit;

/// See the module.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    Tls(Box<TlsStream<Stream>>),
    /// Some bytes were read already.
    Early(Box<Early>),
    /// Inside another connection.
    Carried(Box<dyn Carried>),
}

/// A stream in front of which some of its bytes lie.
#[derive(Debug)]
pub(crate) struct Early {
    bytes: Vec<u8>,
    read: usize,
    stream: Stream,
}

/// A stream whose bytes another connection carries, and counts.
pub(crate) trait Carried: AsyncRead + AsyncWrite + fmt::Debug + Unpin {
    /// Whether its end has to be said.
    fn needs_shutdown(&self) -> bool;

    /// The socket is gone; its permit goes where it came from, or is free.
    fn give_back(&self, permit: Permit) {
        drop(permit);
    }
}

/// A stream on its way to the shard that will own it, not registered with any event loop.
#[derive(Debug)]
pub(crate) enum RawStream {
    Tcp(std::net::TcpStream),
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixStream),
}

impl Stream {
    /// Takes the stream off its event loop.
    pub(crate) fn into_raw(self) -> io::Result<RawStream> {
        Ok(match self {
            Self::Tcp(stream) => RawStream::Tcp(stream.into_std()?),
            #[cfg(unix)]
            Self::Unix(stream) => RawStream::Unix(stream.into_std()?),
            // its state is no descriptor's: it stays on the shard that made it
            Self::Tls(_) | Self::Early(_) | Self::Carried(_) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        })
    }

    /// Registers the stream with the event loop of the current thread.
    pub(crate) fn from_raw(raw: RawStream) -> io::Result<Self> {
        Ok(match raw {
            RawStream::Tcp(stream) => Self::Tcp(TcpStream::from_std(stream)?),
            #[cfg(unix)]
            RawStream::Unix(stream) => Self::Unix(UnixStream::from_std(stream)?),
        })
    }
}

impl Stream {
    /// Puts bytes that were read too far back in front.
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

    /// The stream itself, once what lay in front is read.
    pub(crate) fn settled(self) -> Self {
        match self {
            Self::Early(early) if early.rest().is_empty() => early.stream,
            other => other,
        }
    }

    /// The first byte that the peer sent, which stays unread; `None` where that cannot be seen.
    pub(crate) async fn first_byte(&mut self) -> io::Result<Option<u8>> {
        let mut first = [0];
        match self {
            Self::Tcp(stream) => match stream.peek(&mut first).await? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(Some(first[0])),
            },
            Self::Early(early) => Ok(early.rest().first().copied()),
            _ => Ok(None),
        }
    }

    /// As `poll_write`, at less cost while the kernel takes what it is given.
    pub(crate) fn poll_write_at_once(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Self::Tcp(stream) = self {
            match stream.try_write(buf) {
                // registers who is to be woken
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                wrote => return Poll::Ready(wrote),
            }
        }
        Pin::new(self).poll_write(cx, buf)
    }

    /// Whether its end needs no word of its own.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::Tls(_) => false,
            Self::Carried(carried) => !carried.needs_shutdown(),
            _ => true,
        }
    }

    /// Whether another connection carries its bytes, and counts them.
    pub(crate) fn is_carried(&self) -> bool {
        matches!(self, Self::Carried(_))
    }

    /// Whether the peer chose HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        match self {
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
            _ => false,
        }
    }

    /// Whether bytes that were taken have not reached the kernel.
    pub(crate) fn has_unsent(&self) -> bool {
        match self {
            Self::Tls(stream) => stream.get_ref().1.wants_write(),
            _ => false,
        }
    }

    /// Whether nothing written would reach the peer any more, as far as the event loop has heard.
    pub(crate) fn is_broken(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let ready = match self {
            Self::Tcp(stream) => pin!(stream.ready(Interest::WRITABLE)).poll(&mut cx),
            #[cfg(unix)]
            Self::Unix(stream) => pin!(stream.ready(Interest::WRITABLE)).poll(&mut cx),
            Self::Tls(stream) => return stream.get_ref().0.is_broken(),
            Self::Early(early) => return early.stream.is_broken(),
            Self::Carried(_) => return false,
        };
        matches!(ready, Poll::Ready(Ok(ready)) if ready.is_write_closed())
    }

    /// The descriptor, where what is written there reaches the peer as it is.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    pub(crate) fn bare(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        match self {
            Self::Tcp(stream) => Some(stream.as_fd()),
            Self::Unix(stream) => Some(stream.as_fd()),
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
