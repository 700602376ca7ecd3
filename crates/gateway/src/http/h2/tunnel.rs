//! A stream of an HTTP/2 connection that carries a WebSocket, read and written like a connection of its own.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::session::StreamGuard;
use crate::net::stream::Carried;

/// See the module. Dropping it ends the stream.
#[derive(Debug)]
pub(super) struct Tunnel {
    io: TokioIo<Upgraded>,
    /// Its place in the session.
    _guard: StreamGuard,
}

impl Tunnel {
    pub(super) fn new(upgraded: Upgraded, guard: StreamGuard) -> Self {
        Self {
            io: TokioIo::new(upgraded),
            _guard: guard,
        }
    }
}

impl Carried for Tunnel {
    fn needs_shutdown(&self) -> bool {
        true
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // h2 copies what it accepts, outside of the outbox, so it must not get a whole message of many MiB
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        Pin::new(&mut self.io).poll_write(cx, piece)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Bytes written at once.
const PIECE: usize = 16 * 1024;
