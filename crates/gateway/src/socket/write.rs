//! Writing to one connection: what the kernel accepts of its outbox, and what follows from the rest. The turn makes the
//! first attempt; the connection's task makes the others.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::connection::{Connection, Io, Shared, Swelling, Wait};
use super::env::Env;
use super::outbox::Outbox;
use crate::close::CloseReason;
use crate::event::{Handlers, RecordKind};
use crate::frame::{LateReply, Ledger};
use crate::hub::SHOWN_BYTES;
use crate::net::stream::Stream;
use crate::socket::Wake;

impl Env {
    /// Writes what the kernel accepts, then checks what is left.
    #[inline]
    pub(crate) fn flush(&self, connection: &Shared, io: &mut Io) {
        #[cfg(unix)]
        if self.write_simply(io) {
            return;
        }
        self.write_and_look(connection, io);
    }

    /// Writes the output of a connection on which nothing depends on that, as on most, so that nothing has to be checked
    /// afterwards. False: it is another one, or the kernel has not accepted everything.
    #[cfg(unix)]
    #[inline]
    fn write_simply(&self, io: &mut Io) -> bool {
        if !io.awaits_nothing() {
            return false;
        }
        let Some(Stream::Polled(stream)) = &mut io.stream else {
            return false;
        };
        if let Some(chunk) = io.outbox.chunk() {
            let length = chunk.len();
            // an error occurs again
            let Poll::Ready(Ok(wrote)) = stream.write(chunk) else {
                return false;
            };
            io.outbox.advance_chunk(wrote, self.ledger());
            self.count_written(wrote);
            if wrote < length {
                return false;
            }
        } else if !io.outbox.is_empty() {
            return false;
        }
        if let Some(buffer) = io.outbox.reclaim() {
            self.keep_spare(buffer);
        }
        true
    }

    #[inline(never)]
    fn write_and_look(&self, connection: &Shared, io: &mut Io) {
        let ledger = self.ledger();
        #[cfg(unix)]
        if io.ends_behind_output() {
            self.write_last(io, ledger);
        }
        let outbox = &mut io.outbox;
        let written = io.stream.as_mut().and_then(|stream| {
            connection.with_waker(|waker| {
                write_out(stream, outbox, &mut Context::from_waker(waker), ledger)
            })
        });
        let wrote = written.unwrap_or_else(|| {
            // the handshake is not complete: everything waits, by reference
            outbox.seal(ledger);
            Ok(0)
        });
        if let Some(buffer) = io.outbox.reclaim() {
            self.keep_spare(buffer);
        }
        let Ok(wrote) = wrote else {
            return self.close(connection, io, &CloseReason::ABNORMAL);
        };
        if !io.stream.as_ref().is_some_and(Stream::is_carried) {
            self.count_written(wrote);
        }
        if io.is_behind() {
            self.fall_behind(connection, io, wrote);
        } else {
            io.times.end(|waits| waits.blocked = 0);
        }
        self.charge(connection, io);
        // the session that is told of room may ask for a notice about new output, of which nothing is written yet
        if let Some(extra) = io.extra.as_deref_mut() {
            if io.outbox.is_empty() {
                // what it says is written
                extra.lost = None;
            }
            let has_streams = extra.message_streams.is_some();
            if extra.unwritten > 0 {
                self.look_whether_written(connection, io, wrote);
            }
            if has_streams {
                self.look_at_streams(connection, io);
            }
        }
        if io.swelling != Swelling::None && io.outbox.charge() <= self.drained_bytes() {
            self.drained(connection, io);
        }
        if io.outbox.is_empty() && !io.times.is_blocked() {
            self.output_drained(connection, io);
        }
    }

    /// Writes what the kernel accepts of much output that another connection's session has appended. The consequences
    /// wait for the end of the turn, because no session is called within the call of another.
    pub(crate) fn write_ahead(&self, connection: &Shared, io: &mut Io) {
        if io.is_behind() || !io.outbox.wants_flush() {
            return;
        }
        let (ledger, outbox) = (self.ledger(), &mut io.outbox);
        let written = io.stream.as_mut().and_then(|stream| {
            connection.with_waker(|waker| {
                write_out(stream, outbox, &mut Context::from_waker(waker), ledger)
            })
        });
        // an error occurs again when the turn ends
        if let Some(Ok(wrote)) = written
            && !io.stream.as_ref().is_some_and(Stream::is_carried)
        {
            self.count_written(wrote);
        }
    }

    /// Writes the output together with the end of the stream, which follows at once, if the kernel accepts it.
    #[cfg(unix)]
    #[inline(never)]
    fn write_last(&self, io: &mut Io, ledger: &Arc<Ledger>) {
        let all = io.stream.as_mut().zip(io.outbox.single());
        let wrote = all.and_then(|(stream, bytes)| stream.write_last(bytes));
        let wrote = wrote.unwrap_or_default();
        if wrote > 0 {
            io.outbox.advance_single(wrote, ledger);
            self.count_written(wrote);
            // the time for the rest begins anew
            io.times.end(|waits| waits.blocked = 0);
        }
    }

    /// Tells the session when the output that it asked about is written.
    #[inline(never)]
    fn look_whether_written(&self, connection: &Shared, io: &mut Io, wrote: usize) {
        // output that was dropped, or sent by the ring, counts as written
        let most = io.outbox.unwritten();
        let Some(extra) = io.extra.as_deref_mut() else {
            return;
        };
        extra.unwritten = extra.unwritten.saturating_sub(wrote).min(most);
        if extra.unwritten == 0 {
            self.tell_session(connection, io, Wake::Written);
        }
    }

    /// The kernel accepted less than there was.
    #[inline(never)]
    fn fall_behind(&self, connection: &Shared, io: &mut Io, wrote: usize) {
        // what waits for compression says nothing about the peer: no time runs, and no limit of the outbox is checked
        let parked = io.is_parked();
        if parked {
            io.times.end(|waits| waits.blocked = 0);
        } else if (wrote > 0 || !io.times.is_blocked()) && io.stream.is_some() {
            let now = self.now.get().max(1);
            io.times.change(|waits| waits.blocked = now);
            let at = now + super::env::millis(self.limits.write_timeout);
            self.arm(connection, io, at);
        }
        let reads_on = io.extra.as_deref().is_some_and(|extra| extra.reads_on);
        if io.outbox.charge() > self.limits.outbox_read_pause_bytes
            && !reads_on
            && io.swelling != Swelling::Paused
        {
            if parked {
                // nor is that the peer's fault, but what it sends now would only wait behind
                io.swelling = Swelling::Parked;
            } else {
                io.swelling = Swelling::Paused;
                self.tell_congested(connection, io);
            }
        }
        if !parked && io.is_live() && io.outbox.is_over(&self.limits) {
            self.overflow(connection, io);
        }
    }

    /// Appends a reply that had to follow what was posted before, and continues reading.
    pub(crate) fn answer(&self, connection: &Shared, answer: LateReply) {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() {
            return;
        }
        let ledger = self.ledger();
        match answer {
            LateReply::Short(answer) => {
                io.outbox.lend(|| self.spare_buffer());
                io.outbox
                    .append_reply(ledger, |out| out.extend_from_slice(&answer));
            }
            LateReply::Long(frame) => io.outbox.append_asked(ledger, frame),
        }
        if connection.traits.get().feeds_worker || !self.hub.is_congested() {
            io.wait = Wait::Never;
            self.restart_clocks(io);
            self.run_soon(connection);
        } else {
            // what this connection publishes goes to all shards
            self.wait_for_shards(connection, io);
        }
        self.mark_dirty(connection);
        self.tell_session(connection, io, Wake::Resumed);
    }

    /// The low-water mark of an outbox, at most half of its limit: the rest is room for new output.
    pub(crate) fn drained_bytes(&self) -> usize {
        let pause = self.limits.outbox_read_pause_bytes / DRAINED_PART;
        pause.min(self.limits.outbox_bytes / 2)
    }

    /// The outbox fell below its low-water mark: reading continues, and the application may send more.
    #[inline(never)]
    fn drained(&self, connection: &Shared, io: &mut Io) {
        let swelling = std::mem::replace(&mut io.swelling, Swelling::None);
        self.tell_room(connection, io);
        if !swelling.pauses() {
            return;
        }
        self.restart_clocks(io);
        self.run_soon(connection);
        if swelling == Swelling::Paused {
            self.tell_level(connection, io, (Handlers::DRAIN, RecordKind::Drain));
        }
    }

    /// Updates the ledger's count of outbox entries, and the list of backlogs.
    pub(crate) fn charge(&self, connection: &Connection, io: &mut Io) {
        let entries = io.outbox.entries();
        let before = usize::try_from(io.charged_entries).unwrap_or(usize::MAX);
        let ledger = self.ledger();
        let charge = crate::limits::ENTRY_CHARGE;
        if entries > before {
            ledger.add((entries - before) * charge);
        } else if entries < before {
            ledger.subtract((before - entries) * charge);
        }
        // the number of entries in memory stays far below the maximum
        io.charged_entries = u32::try_from(entries).unwrap_or(u32::MAX);
        if entries > 0 || before > 0 {
            self.list_backlog(connection, io);
        }
    }

    /// Updates a connection's entry in the list of backlogs by what waits for the kernel.
    #[inline(never)]
    pub(crate) fn list_backlog(&self, connection: &Connection, io: &Io) {
        let size = match io.outbox.entries() {
            0 => 0,
            _ => io.outbox.charge(),
        };
        self.backlogs.borrow_mut().put(connection.slot, size);
        if size > SHOWN_BYTES || connection.is_shown.get() {
            self.show_backlog(connection, size);
        }
    }
}

#[cfg(unix)]
impl Io {
    /// Whether nothing depends on what the kernel accepts of the output, if it accepts everything.
    #[inline]
    fn awaits_nothing(&self) -> bool {
        self.phase.is_open()
            && self.swelling == Swelling::None
            && self.charged_entries == 0
            && self.extra.is_none()
            && !self.times.is_blocked()
    }
}

/// An outbox counts as drained at the read pause divided by this.
const DRAINED_PART: usize = 4;

/// Writes the outbox until it is empty or the kernel accepts no more; returns the bytes written.
fn write_out(
    stream: &mut Stream,
    outbox: &mut Outbox,
    cx: &mut Context<'_>,
    ledger: &Arc<Ledger>,
) -> io::Result<usize> {
    let mut total = 0;
    let mut stream = Pin::new(stream);
    if let Some(chunk) = outbox.chunk() {
        match stream.poll_write_at_once(cx, chunk) {
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(count)) => {
                outbox.advance_chunk(count, ledger);
                total += count;
            }
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => {
                outbox.seal(ledger);
                return Ok(total);
            }
        }
    }
    outbox.seal(ledger);
    while outbox.is_backlogged() {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let used = outbox.slices(&mut slices);
        let wrote = match slices.get(..used).unwrap_or_default() {
            // a frame is being compressed
            [] => break,
            [one] => stream.as_mut().poll_write(cx, one),
            many => stream.as_mut().poll_write_vectored(cx, many),
        };
        match wrote {
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(count)) => {
                outbox.advance(count);
                total += count;
            }
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => break,
        }
    }
    if stream.has_unsent()
        && let Poll::Ready(Err(error)) = stream.poll_flush(cx)
    {
        return Err(error);
    }
    Ok(total)
}

/// The most frames in one vectored write.
const SLICES: usize = 64;
