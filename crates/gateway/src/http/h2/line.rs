//! The bytes of an HTTP/2 connection as hyper reads and writes them: counted, and watched for a peer that accepts none.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::session::Session;
use crate::net::stream::Stream;

/// See the module.
pub(super) struct Line {
    stream: Stream,
    session: Rc<Session>,
}

impl Line {
    pub(super) fn new(stream: Stream, session: &Rc<Session>) -> Self {
        let session = Rc::clone(session);
        Self { stream, session }
    }

    fn note(&self, wrote: &Poll<io::Result<usize>>) {
        let count = match wrote {
            Poll::Ready(Ok(count)) => *count,
            _ => 0,
        };
        self.session.wrote(wrote.is_ready(), count);
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.session.count_read(buf.filled().len() - before);
        read
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(&wrote);
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.note(&wrote);
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // over TLS a peer that accepts nothing may be noticed only here
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.session.wrote(flushed.is_ready(), 0);
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
