//! Writing: output is buffered until the turn ends, or goes to the stream at once.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite as _;

use super::Wire;
use crate::http::connection::Around;
use crate::net::stream::Stream;
use crate::shard::Shard;

impl Wire {
    /// Writes the rest of `bytes` and ends the stream.
    pub(in crate::http) fn poll_end(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
        rest: &mut &[u8],
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_write_buffer(cx, &around.shard))?;
        while !rest.is_empty() {
            let wrote = self.stream()?.poll_write(cx, rest);
            self.wrote(&around.shard, &wrote);
            *rest = rest.get(ready!(wrote)?..).unwrap_or_default();
        }
        self.stream()?.poll_shutdown(cx)
    }

    /// The descriptor, if bytes written to it reach the peer unchanged.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    pub(in crate::http) fn bare(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.stream.as_ref()?.bare()
    }

    /// Whether all output is sent, and later output may go to the stream without this.
    pub(in crate::http) fn is_bare(&self) -> bool {
        self.write_buffer.is_empty() && self.stream.as_ref().is_some_and(Stream::is_plain)
    }

    /// Sends the buffered output.
    pub(in crate::http) fn poll_write_buffer(
        &mut self,
        cx: &mut Context<'_>,
        shard: &Shard,
    ) -> Poll<io::Result<()>> {
        while !self.write_buffer.is_empty() {
            let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            let wrote = Pin::new(stream).poll_write(cx, self.write_buffer.rest());
            self.wrote(shard, &wrote);
            match ready!(wrote)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.write_buffer.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends output that the peer did not accept before. `Err`: the connection is broken.
    pub(in crate::http) fn send_late(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
    ) -> Result<(), ()> {
        let late = !self.write_buffer.queued && !self.write_buffer.is_empty();
        let sent = late.then(|| self.poll_write_buffer(cx, &around.shard));
        if self.write_buffer.broken || matches!(sent, Some(Poll::Ready(Err(_)))) {
            return Err(());
        }
        Ok(())
    }

    /// Whether output waits for the end of the turn.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn waits_for_the_turn(&self, around: &Around) -> bool {
        // a connection that becomes a socket hands its stream over at once
        (self.write_buffer.queued || self.write_buffer.is_empty())
            && !self.inspector.is_at_upgrade()
            && self.bare().is_some()
            && around.shard.has_ring()
    }

    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    #[expect(clippy::unused_self, reason = "Linux has the same function")]
    fn waits_for_the_turn(&self, _: &Around) -> bool {
        false
    }

    pub(in crate::http) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let shard = &around.shard;
        if self.waits_for_the_turn(around)
            && let Some(count) = self
                .write_buffer
                .take(slices, || around.pending_writes.buffer())
        {
            self.clock.wrote(shard.now(), true);
            return Poll::Ready(Ok(count));
        }
        ready!(self.poll_write_buffer(cx, shard))?;
        let wrote = self.stream()?.poll_write_vectored(cx, slices);
        self.wrote(shard, &wrote);
        wrote
    }

    pub(in crate::http) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
    ) -> Poll<io::Result<()>> {
        if !self.write_buffer.queued {
            ready!(self.poll_write_buffer(cx, &around.shard))?;
        }
        let flushed = self.stream()?.poll_flush(cx);
        self.clock.flushed(around.shard.now(), flushed.is_ready());
        flushed
    }

    fn wrote(&mut self, shard: &Shard, wrote: &Poll<io::Result<usize>>) {
        self.clock.wrote(shard.now(), wrote.is_ready());
        if let Poll::Ready(Ok(count)) = wrote {
            shard.count_written(*count);
        }
    }
}
