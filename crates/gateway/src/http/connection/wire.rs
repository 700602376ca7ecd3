//! The bytes of one HTTP connection: read, inspected, and only then passed to hyper. Also keeps the times for its
//! deadlines; knows no request and no answer. Over 400 lines because reading, holding and writing share one state.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use millrace_protocol::http::{Inspector, Outcome, Refusal};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::Around;
use super::as_sent::{Heads, judge};
use super::hyper_output::HyperOutput;
use super::write_buffer::WriteBuffer;
use crate::http::clock::{Clock, Waits};
use crate::net::stream::Stream;
use crate::shard::Shard;

/// See the module.
pub(in crate::http) struct Wire {
    /// `None` before the stream is open and after it was handed over.
    stream: Option<Stream>,
    inspector: Inspector,
    /// Bytes that were read and not yet passed on.
    held: Vec<u8>,
    /// How many of these may be passed to hyper.
    ready: usize,
    pub(in crate::http) clock: Clock,
    /// Why nothing more is read.
    pub(in crate::http) refusal: Option<Refusal>,
    /// Whether the peer has sent its last byte.
    pub(in crate::http) half_closed: bool,
    /// Whether hyper was told that nothing follows.
    pub(in crate::http) ended: bool,
    /// Whether the next bytes to be written begin an answer to HTTP/1.0.
    pub(in crate::http) to_http_1_0: bool,
    /// Output that was not sent yet.
    pub(in crate::http) write_buffer: WriteBuffer,
    /// The heads of unanswered requests as they were sent, if Node listeners want them.
    heads: Heads,
    pub(in crate::http) hyper_output: HyperOutput,
}

/// Bytes that are read while an answer is made, to notice a peer that leaves.
const AHEAD_BYTES: usize = 16 * 1024;

impl Wire {
    pub(in crate::http) fn new(now: u64) -> Self {
        Self {
            stream: None,
            inspector: Inspector::new(),
            held: Vec::new(),
            ready: 0,
            clock: Clock::new(now),
            refusal: None,
            half_closed: false,
            ended: false,
            to_http_1_0: false,
            write_buffer: WriteBuffer::default(),
            heads: Heads::default(),
            hyper_output: HyperOutput::default(),
        }
    }

    pub(in crate::http) fn open(&mut self, stream: Stream, now: u64) {
        self.stream = Some(stream);
        self.clock.open(now);
    }

    pub(in crate::http) fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    pub(in crate::http) fn inspector(&self) -> &Inspector {
        &self.inspector
    }

    /// The bytes from the peer that belong to no request that was passed on.
    pub(in crate::http) fn leftover(&self) -> &[u8] {
        self.held.get(self.ready..).unwrap_or_default()
    }

    /// Takes the stream, and the bytes that were read behind an upgrade.
    pub(in crate::http) fn take(&mut self) -> Option<(Stream, Bytes)> {
        let early = Bytes::from(std::mem::take(&mut self.held));
        Some((self.stream.take()?, early))
    }

    pub(in crate::http) fn stream(&mut self) -> io::Result<Pin<&mut Stream>> {
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        Ok(Pin::new(stream))
    }

    /// Whether it waits for the peer between two requests.
    pub(in crate::http) fn is_idle(&self) -> bool {
        self.clock.is_waiting() && !self.inspector.is_in_body()
    }

    /// The head of the request with this number as it was sent, if Node listeners want it.
    pub(in crate::http) fn take_head(&mut self, serial: u64) -> Option<Box<[u8]>> {
        self.heads.take(serial)
    }

    /// Refuses everything that the peer sends from now on.
    pub(in crate::http) fn refuse(&mut self, refusal: Refusal) {
        self.inspector.refuse(refusal);
        self.refusal.get_or_insert(refusal);
    }

    /// Reads into the memory held here, and inspects it. Ready with the number of bytes read.
    fn poll_hold(&mut self, cx: &mut Context<'_>, around: &Around) -> Poll<io::Result<usize>> {
        let read = ready!(around.shard.with_read_buffer(|buffer| {
            let room = buffer.len().min(AHEAD_BYTES);
            let mut buffer = ReadBuf::new(buffer.get_mut(..room).unwrap_or_default());
            ready!(self.stream()?.poll_read(cx, &mut buffer))?;
            self.held.extend_from_slice(buffer.filled());
            Poll::Ready(Ok::<_, io::Error>(buffer.filled().len()))
        }))?;
        self.received(around, read);
        if read == 0 {
            self.half_closed = true;
        } else {
            self.inspect(around);
        }
        Poll::Ready(Ok(read))
    }

    fn received(&mut self, around: &Around, bytes: usize) {
        self.clock.received(around.shard.now(), bytes);
        around.shard.count_read(bytes);
    }

    fn inspect(&mut self, around: &Around) {
        let bytes = self.held.get_mut(self.ready..).unwrap_or_default();
        let progress = judge(&mut self.inspector, bytes, around, &mut self.heads);
        self.ready += progress.passed;
        if let Outcome::Refused(refusal) = progress.outcome {
            self.refusal.get_or_insert(refusal);
        }
    }

    /// Waits for the first head of the connection, so that silent and slow peers cost no parser. Ready with whether
    /// there is a head.
    pub(in crate::http) fn poll_first(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
    ) -> Poll<bool> {
        loop {
            if self.inspector.requests() > 0 {
                self.clock.stop();
                return Poll::Ready(true);
            }
            if self.is_over() {
                return Poll::Ready(false);
            }
            match self.poll_hold(cx, around) {
                Poll::Ready(Ok(0)) => self.cut_off(),
                Poll::Ready(Err(_)) => self.ended = true,
                Poll::Pending if self.wait(around) => return Poll::Pending,
                Poll::Ready(Ok(_)) | Poll::Pending => {}
            }
        }
    }

    /// Starts to wait for the peer. False: the connection ends instead, because the listener is stopping.
    fn wait(&mut self, around: &Around) -> bool {
        let waits = if self.inspector.is_in_body() {
            Waits::Body(self.inspector.requests())
        } else if self.inspector.is_in_head() {
            Waits::Head
        } else {
            Waits::Request
        };
        let hasty = self.inspector.is_in_first_of_http_1_0();
        self.clock.wait(around.shard.now(), waits, hasty);
        // a stop closes the connections that wait when it begins; this one was busy then, or was opened later
        let stops = around.listener.is_stopping() && self.is_idle();
        self.ended |= stops;
        !stops
    }

    /// Handles the end of the peer's stream, in the middle of a request or between requests.
    fn cut_off(&mut self) {
        if self.inspector.is_in_body() || self.inspector.is_in_head() {
            self.refuse(Refusal::Incomplete);
        }
        self.ended = true;
    }

    fn is_over(&self) -> bool {
        self.ended || self.refusal.is_some()
    }

    /// Checks whether the peer leaves while an answer is made. What it sends is held, up to a limit.
    pub(in crate::http) fn poll_ahead(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
    ) -> io::Result<()> {
        while !self.half_closed
            && !self.inspector.is_in_body()
            && !self.is_over()
            && self.held.len() < AHEAD_BYTES
        {
            match self.poll_hold(cx, around) {
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// Passes bytes to hyper as far as they are inspected.
    pub(in crate::http) fn poll_give(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.ready > 0 {
                self.give_held(buffer);
                break;
            }
            if self.is_over() || self.inspector.is_at_upgrade() {
                break;
            }
            if self.half_closed {
                self.cut_off();
                break;
            }
            if !self.held.is_empty() {
                if self.poll_hold(cx, around)?.is_pending() && self.wait(around) {
                    return Poll::Pending;
                }
                continue;
            }
            let before = buffer.filled().len();
            if self.stream()?.poll_read(cx, buffer)?.is_pending() {
                if self.wait(around) {
                    return Poll::Pending;
                }
                continue;
            }
            self.inspect_read(buffer, before, around);
            if buffer.filled().len() > before {
                break;
            }
        }
        self.clock.stop();
        Poll::Ready(Ok(()))
    }

    /// Inspects what was read directly into hyper's memory, and holds back what hyper may not have yet.
    fn inspect_read(&mut self, buffer: &mut ReadBuf<'_>, before: usize, around: &Around) {
        let read = buffer.filled_mut().get_mut(before..).unwrap_or_default();
        self.received(around, read.len());
        if read.is_empty() {
            self.half_closed = true;
            return;
        }
        let progress = judge(&mut self.inspector, read, around, &mut self.heads);
        let kept = read.get(progress.passed..).unwrap_or_default();
        self.held.extend_from_slice(kept);
        buffer.set_filled(before + progress.passed);
        if let Outcome::Refused(refusal) = progress.outcome {
            self.refusal.get_or_insert(refusal);
        }
    }

    fn give_held(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.ready.min(buffer.remaining());
        buffer.put_slice(self.held.get(..count).unwrap_or_default());
        self.ready -= count;
        if count == self.held.len() {
            // an idle connection keeps no memory here
            self.held = Vec::new();
        } else {
            self.held.drain(..count);
        }
    }

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

    /// Reads and discards: if it closed with unread bytes, the system would discard the answer. Ready when the peer
    /// ends its stream, or when it has sent nothing and `lingers` is false.
    pub(in crate::http) fn poll_drain(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
        lingers: &mut bool,
    ) -> Poll<()> {
        loop {
            let read = around.shard.with_read_buffer(|buffer| {
                let mut buffer = ReadBuf::new(buffer);
                ready!(self.stream()?.poll_read(cx, &mut buffer))?;
                Poll::Ready(Ok::<_, io::Error>(buffer.filled().len()))
            });
            match read {
                Poll::Ready(Ok(count @ 1..)) => {
                    around.shard.count_read(count);
                    *lingers = true;
                }
                Poll::Pending if *lingers => return Poll::Pending,
                _ => return Poll::Ready(()),
            }
        }
    }

    /// The descriptor, if bytes written to it reach the peer unchanged.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    pub(in crate::http) fn bare(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.stream.as_ref()?.bare()
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
