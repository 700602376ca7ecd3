//! The wire's interface for hyper: reading and writing.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::HttpConnection;

/// See the module.
pub(in crate::http) struct HyperIo(pub(in crate::http) Rc<HttpConnection>);

impl AsyncRead for HyperIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let HttpConnection { wire, around, .. } = &*self.0;
        wire.borrow_mut().poll_give(cx, around, buf)
    }
}

impl AsyncWrite for HyperIo {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let HttpConnection { wire, .. } = &*self.0;
        {
            let wire = &mut *wire.borrow_mut();
            if let Some(count) = wire.hyper_output.mute.take(slices) {
                return Poll::Ready(Ok(count));
            }
            wire.hyper_output.begin();
            if wire.to_http_1_0 {
                let wrote = wire.poll_write_vectored(cx, &self.0.around, &relabel(slices));
                wire.to_http_1_0 = wrote.is_pending();
                return self.0.queue(wire, wrote);
            }
        }
        self.0.poll_write(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let HttpConnection { wire, around, .. } = &*self.0;
        let wire = &mut *wire.borrow_mut();
        let flushed = wire.poll_flush(cx, around);
        if flushed.is_ready() {
            wire.hyper_output.written();
        }
        flushed
    }

    /// The connection's task shuts the stream down, because it may still have an answer to send.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Changes the version of answers: hyper answers HTTP/1.0 with HTTP/1.0, but a server names the newest version it
/// supports (RFC 9110 §6.2).
fn relabel<'a>(slices: &'a [IoSlice<'a>]) -> SmallVec<[IoSlice<'a>; 8]> {
    let first = slices.first().map_or(&[][..], |first| first);
    let Some(rest) = first.strip_prefix(b"HTTP/1.0") else {
        return slices.iter().copied().collect();
    };
    [IoSlice::new(b"HTTP/1.1"), IoSlice::new(rest)]
        .into_iter()
        .chain(slices.iter().skip(1).copied())
        .collect()
}
