//! Bytes to one connection: what the kernel takes of its outbox, and what follows from what it leaves. The first attempt
//! is the turn's; the connection's task makes the others.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::connection::{Connection, Io, Phase, Shared, Swelling, Wait};
use super::env::Env;
use super::outbox::Outbox;
use crate::close::CloseReason;
use crate::event::Handlers;
use crate::frame::{LateReply, Ledger};
use crate::net::stream::Stream;
use crate::socket::Wake;

impl Env {
    /// Writes what the kernel takes, then judges what is left.
    pub(crate) fn flush(&self, connection: &Shared, io: &mut Io) {
        let ledger = self.hub.ledger();
        let outbox = &mut io.outbox;
        let written = io.stream.as_mut().and_then(|stream| {
            connection.with_waker(|waker| {
                write_out(stream, outbox, &mut Context::from_waker(waker), ledger)
            })
        });
        let wrote = written.unwrap_or_else(|| {
            // the handshake is not done: all of it waits, by reference
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
            io.times.blocked = 0;
        }
        self.charge(connection, io);
        // what is told of room may ask about more, of which nothing was written yet
        if io.extra.as_deref().is_some_and(|extra| extra.unwritten > 0) {
            self.look_whether_written(connection, io, wrote);
        }
        if io.swelling != Swelling::None && io.outbox.charge() <= self.drained_bytes() {
            self.drained(connection, io);
        }
        if io.outbox.is_empty() && io.times.blocked == 0 {
            self.output_drained(connection, io);
        }
    }

    /// Writes what the kernel takes of much that another connection's session has appended. What follows from that waits for the
    /// end of the turn: no session is called within the call of another.
    pub(crate) fn write_ahead(&self, connection: &Shared, io: &mut Io) {
        if io.is_behind() || !io.outbox.wants_flush() {
            return;
        }
        let (ledger, outbox) = (self.hub.ledger(), &mut io.outbox);
        let written = io.stream.as_mut().and_then(|stream| {
            connection.with_waker(|waker| {
                write_out(stream, outbox, &mut Context::from_waker(waker), ledger)
            })
        });
        // an error comes again when the turn ends
        if let Some(Ok(wrote)) = written
            && !io.stream.as_ref().is_some_and(Stream::is_carried)
        {
            self.count_written(wrote);
        }
    }

    /// The session is told when what it asked about is written.
    #[inline(never)]
    fn look_whether_written(&self, connection: &Shared, io: &mut Io, wrote: usize) {
        // what was dropped, or written by the ring, counts too
        let most = io.outbox.unwritten();
        let Some(extra) = io.extra.as_deref_mut() else {
            return;
        };
        extra.unwritten = extra.unwritten.saturating_sub(wrote).min(most);
        if extra.unwritten == 0 {
            self.tell_session(connection, io, Wake::Written);
        }
    }

    /// The kernel took less than there was.
    #[inline(never)]
    fn fall_behind(&self, connection: &Shared, io: &mut Io, wrote: usize) {
        if (wrote > 0 || io.times.blocked == 0) && io.stream.is_some() {
            io.times.blocked = self.now.get().max(1);
            self.arm(
                connection,
                io,
                io.times.blocked + super::env::millis(self.limits.write_timeout),
            );
        }
        let reads_on = io.extra.as_deref().is_some_and(|extra| extra.reads_on);
        if io.outbox.charge() > self.limits.outbox_read_pause_bytes && !reads_on {
            io.swelling = Swelling::Paused;
        }
        if io.is_live() && io.outbox.is_over(&self.limits) {
            self.overflow(connection, io);
        }
    }

    /// What the adapter said behind everything that was posted before is appended, and reading goes on.
    pub(crate) fn answer(&self, connection: &Shared, answer: LateReply) {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() {
            return;
        }
        let ledger = self.hub.ledger();
        match answer {
            LateReply::Short(answer) => {
                io.outbox
                    .lend(|| self.spare.borrow_mut().pop().unwrap_or_default());
                io.outbox
                    .append_control(ledger, |out| out.extend_from_slice(&answer));
            }
            LateReply::Long(frame) => io.outbox.append_asked(ledger, frame),
        }
        if connection.traits.feeds_worker || !self.hub.is_congested() {
            io.wait = Wait::Never;
            self.restart_clocks(io);
            connection.wake();
        } else {
            // what it publishes goes to all of them
            self.wait_for_shards(connection, io);
        }
        self.mark_dirty(connection);
        self.wake_session(connection, io, Wake::Resumed);
    }

    /// The low water of an outbox, whatever its limit: what comes then has half of it.
    pub(crate) fn drained_bytes(&self) -> usize {
        let pause = self.limits.outbox_read_pause_bytes / DRAINED_PART;
        pause.min(self.limits.outbox_bytes / 2)
    }

    /// The outbox fell below its low water: reading goes on, and the application may send more.
    #[inline(never)]
    fn drained(&self, connection: &Shared, io: &mut Io) {
        let paused = std::mem::replace(&mut io.swelling, Swelling::None) == Swelling::Paused;
        self.tell_room(connection, io);
        if !paused {
            return;
        }
        self.restart_clocks(io);
        connection.wake();
        if matches!(io.phase, Phase::Open) && connection.worker.handlers().contains(Handlers::DRAIN)
        {
            connection
                .worker
                .queue()
                .drained(connection.worker_slot.get());
            self.ring_later(&connection.worker);
        }
    }

    /// Keeps the ledger's count of outbox entries, and the list of backlogs.
    pub(crate) fn charge(&self, connection: &Connection, io: &mut Io) {
        let entries = io.outbox.entries();
        let before = usize::try_from(io.charged_entries).unwrap_or(usize::MAX);
        let ledger = self.hub.ledger();
        let charge = crate::limits::ENTRY_CHARGE;
        if entries > before {
            ledger.add((entries - before) * charge);
        } else if entries < before {
            ledger.subtract((before - entries) * charge);
        }
        // a count of boxes in memory stays far below
        io.charged_entries = u32::try_from(entries).unwrap_or(u32::MAX);
        if entries > 0 || before > 0 {
            self.list_backlog(connection, io);
        }
    }

    /// Lists a connection by what waits for the kernel, or no longer.
    pub(crate) fn list_backlog(&self, connection: &Connection, io: &Io) {
        let size = match io.outbox.entries() {
            0 => 0,
            _ => io.outbox.charge(),
        };
        self.backlogs.borrow_mut().put(connection.slot, size);
    }

    fn keep_spare(&self, buffer: Vec<u8>) {
        if buffer.capacity() > SPARE_BYTES {
            return self.keep_large(buffer);
        }
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_BUFFERS {
            spare.push(buffer);
        }
    }
}

/// A drained outbox holds at most this part of the read pause.
const DRAINED_PART: usize = 4;

/// Emptied chunk buffers kept, and how large each may be.
const SPARE_BUFFERS: usize = 1024;
const SPARE_BYTES: usize = 4096;

/// Writes the outbox until it is empty or the kernel is full; returns the bytes written.
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

/// Frames in one vectored write.
const SLICES: usize = 64;
