//! The bytes of one HTTP connection: read, inspected, and only then passed to hyper. Also keeps the times for its
//! deadlines; knows no request and no answer. [`output`] is the other direction. Over 400 lines because reading, holding
//! and passing on share one state.

mod output;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use millrace_protocol::http::{Inspector, InspectorConfig, NextHead, Outcome, Refusal};
use tokio::io::{AsyncRead as _, ReadBuf};

use super::Around;
use super::as_sent::{Heads, judge};
use super::hyper_output::HyperOutput;
use super::write_buffer::WriteBuffer;
use crate::http::clock::{Clock, Waits};
use crate::net::stream::Stream;

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

    /// Whether hyper, of whose requests this many were begun to be answered, has nothing left to do: it has read and
    /// written everything, and waits for a request of which nothing has arrived.
    pub(in crate::http) fn hyper_is_idle(&self, asked: u64) -> bool {
        self.clock.awaits_request()
            && !self.holds()
            && self.inspector.requests() == asked
            && !self.hyper_output.is_behind()
            && !self.half_closed
            && !self.is_over()
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
        let read = ready!(self.poll_keep(cx, around))?;
        if read > 0 {
            self.inspect(around);
        }
        Poll::Ready(Ok(read))
    }

    /// Reads into the memory held here. Ready with the number of bytes read.
    fn poll_keep(&mut self, cx: &mut Context<'_>, around: &Around) -> Poll<io::Result<usize>> {
        let read = ready!(around.shard.with_read_buffer(|buffer| {
            let room = buffer.len().min(AHEAD_BYTES);
            let mut buffer = ReadBuf::new(buffer.get_mut(..room).unwrap_or_default());
            ready!(self.stream()?.poll_read(cx, &mut buffer))?;
            self.held.extend_from_slice(buffer.filled());
            Poll::Ready(Ok::<_, io::Error>(buffer.filled().len()))
        }))?;
        self.received(around, read);
        self.half_closed |= read == 0;
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

    /// Waits for a head after this many requests, so that silent and slow peers cost no parser. Ready with whether
    /// there is a head.
    pub(in crate::http) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
        requests: u64,
    ) -> Poll<bool> {
        if self.ready == 0 && self.holds() {
            self.inspect(around);
        }
        loop {
            if self.inspector.requests() > requests {
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

    /// Whether bytes were read and not passed on.
    pub(in crate::http) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes what is held, while nothing of it is inspected.
    pub(in crate::http) fn take_held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Puts back what was taken, or the rest of it.
    pub(in crate::http) fn put_held(&mut self, held: Vec<u8>) {
        // an idle connection keeps no memory here
        if !held.is_empty() {
            self.held = held;
        }
    }

    /// Inspects the next head.
    pub(in crate::http) fn next_head(
        &mut self,
        bytes: &[u8],
        config: &InspectorConfig,
    ) -> NextHead {
        let next = self.inspector.next_head(bytes, config);
        if let NextHead::Refused(refusal) = next {
            self.refusal.get_or_insert(refusal);
        }
        next
    }

    /// Has hyper read a head of this length, which is inspected, and what is held behind it.
    pub(in crate::http) fn pass_on(&mut self, length: usize, around: &Around) {
        self.ready = length;
        self.inspect(around);
    }

    /// Has hyper read this head before what is held.
    pub(in crate::http) fn repeat(&mut self, head: &[u8], around: &Around) {
        self.held.splice(0..0, head.iter().copied());
        self.pass_on(head.len(), around);
    }

    /// Reads, and calls `find` with the bytes if nothing is held. It returns how many of them need not be kept. Ready
    /// with `None` if the bytes were added to those held, or if there is none.
    pub(in crate::http) fn poll_read<F>(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
        find: impl FnOnce(&mut Self, &[u8]) -> (F, usize),
    ) -> Poll<io::Result<Option<F>>> {
        around.shard.with_read_buffer(|buffer| {
            let room = buffer.len().min(AHEAD_BYTES);
            let mut buffer = ReadBuf::new(buffer.get_mut(..room).unwrap_or_default());
            ready!(self.stream()?.poll_read(cx, &mut buffer))?;
            let bytes = buffer.filled();
            self.received(around, bytes.len());
            self.half_closed = bytes.is_empty();
            if bytes.is_empty() || self.holds() {
                self.held.extend_from_slice(bytes);
                return Poll::Ready(Ok(None));
            }
            let (found, taken) = find(self, bytes);
            self.held
                .extend_from_slice(bytes.get(taken..).unwrap_or_default());
            Poll::Ready(Ok(Some(found)))
        })
    }

    /// Starts to wait for the peer. False: the connection ends instead, because the listener is stopping.
    pub(in crate::http) fn wait(&mut self, around: &Around) -> bool {
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
    pub(in crate::http) fn cut_off(&mut self) {
        if self.inspector.is_in_body() || self.inspector.is_in_head() {
            self.refuse(Refusal::Incomplete);
        }
        self.ended = true;
    }

    pub(in crate::http) fn is_over(&self) -> bool {
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

    /// The same, while nothing of what is held is inspected.
    pub(in crate::http) fn poll_ahead_of_head(
        &mut self,
        cx: &mut Context<'_>,
        around: &Around,
    ) -> io::Result<()> {
        while !self.half_closed && self.held.len() < AHEAD_BYTES {
            match self.poll_keep(cx, around) {
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
}
