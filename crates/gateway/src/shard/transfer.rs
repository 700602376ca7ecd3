//! Bytes in and out of one connection: its task reads and decodes while there is credit, and goes
//! on writing when the kernel has room again. Over 400 lines because both directions pause and
//! resume each other. The first attempt to write is the turn's.

use std::future::Future;
use std::io::{self, IoSlice};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Shard;
use super::connection::{Io, Phase, Shared, Wait};
use super::outbox::Outbox;
use super::taking::{Taken, Taking};
use crate::close_reason::CloseReason;
use crate::frame::Ledger;
use crate::stream::Stream;

/// A connection's task. Ends when the connection is gone.
pub(super) struct Driver {
    pub(super) shard: Rc<Shard>,
    pub(super) connection: Shared,
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { shard, connection } = &*self;
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| shard.drive(connection, cx)));
        outcome.unwrap_or_else(|_| {
            shard.stats.panics.add(1);
            tracing::error!(
                target: "millrace::connection",
                socket = connection.socket.get(),
                "closed by a bug"
            );
            let io = &mut *connection.io.borrow_mut();
            shard.close(connection, io, &CloseReason::INTERNAL);
            io.phase = Phase::Gone;
            shard.forget(connection, io);
            Poll::Ready(())
        })
    }
}

impl Shard {
    fn drive(&self, connection: &Shared, cx: &mut Context<'_>) -> Poll<()> {
        let io = &mut *connection.io.borrow_mut();
        if connection.with_waker(|waker| waker.will_wake(cx.waker())) != Some(true) {
            connection.waker.set(Some(cx.waker().clone()));
        }
        if io.is_behind() {
            self.flush(connection, io);
        }
        self.read(connection, io, cx);
        // reading may have made something to say that is no message: TLS does that
        if io.stream.as_ref().is_some_and(Stream::has_unsent) {
            self.touch(connection);
        }
        if !matches!(io.phase, Phase::Gone) {
            return Poll::Pending;
        }
        self.forget(connection, io);
        Poll::Ready(())
    }

    fn read(&self, connection: &Shared, io: &mut Io, cx: &mut Context<'_>) {
        for _ in 0..READS {
            let readable = match io.phase {
                Phase::Open => self.may_read(connection, io),
                Phase::Closing { .. } | Phase::Draining => true,
                Phase::Pending(_) | Phase::Admitted | Phase::Gone => false,
            };
            if !readable {
                return;
            }
            if !io.stash.is_empty() {
                let mut stash = std::mem::take(&mut io.stash);
                io.wait = Wait::Never;
                self.decode(connection, io, &mut stash);
                continue;
            }
            let Some(stream) = io.stream.as_mut() else {
                return;
            };
            let carried = stream.is_carried();
            let mut shared = self.read_buffer.borrow_mut();
            let mut buffer = ReadBuf::new(&mut shared);
            match Pin::new(stream).poll_read(cx, &mut buffer) {
                Poll::Pending => {
                    io.wait = Wait::Never;
                    return;
                }
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    io.wait = Wait::Never;
                    let count = buffer.filled().len();
                    if !carried {
                        self.count_read(count);
                    }
                    if matches!(io.phase, Phase::Draining) {
                        continue;
                    }
                    self.decode(connection, io, buffer.filled_mut());
                }
                Poll::Ready(_) => {
                    self.close(connection, io, &CloseReason::ABNORMAL);
                    return;
                }
            }
        }
        // more may be waiting, and so may others
        cx.waker().wake_by_ref();
    }

    /// Whether the connection may be read; where not, whoever ends the pause wakes its task.
    fn may_read(&self, connection: &Shared, io: &mut Io) -> bool {
        if io.swollen && io.outbox.charge() > self.limits.outbox_read_pause_bytes {
            return false;
        }
        if let Some(rate) = &mut io.rate {
            let wait = rate.wait(self.now.get());
            if wait > 0 {
                self.arm(connection, io, self.now.get() + wait);
                return false;
            }
        }
        if io.wait == Wait::InLine {
            return false;
        }
        // whoever only listens has nothing for the worker
        if io.adapter.is_one_way() || self.worker_has_room(connection, io) {
            return true;
        }
        self.wait_for_worker(connection, io);
        false
    }

    /// Whether the worker can take another event of this connection; where not, the worker will
    /// wake this shard when it has caught up.
    pub(super) fn worker_has_room(&self, connection: &Shared, io: &mut Io) -> bool {
        let queue = connection.worker.queue();
        let limits = &self.limits;
        let mut room = || {
            io.credit.has_room(queue.handled(), limits)
                && queue.has_room(limits.worker_queue_events, limits.worker_queue_bytes)
        };
        if !room() {
            queue.pause(1 << self.index.get());
            // a batch may have been finished between the look and the announcement
            if !room() {
                return false;
            }
        }
        true
    }

    fn decode(&self, connection: &Shared, io: &mut Io, bytes: &mut [u8]) {
        let Io {
            adapter,
            encoding,
            outbox,
            credit,
            rate,
            times,
            phase,
            wait,
            ..
        } = &mut *io;
        let now = self.now.get();
        let discard = !matches!(phase, Phase::Open);
        let rate = rate.as_deref_mut();
        let mut taking = Taking::new(self, connection, (credit, outbox, rate), discard);
        let result = adapter.input(bytes, &mut taking);
        *encoding = adapter.encoding();
        // unlocks the worker's queue: closing may lock it again
        let Taken {
            alive,
            replied,
            delivered,
            delivered_bytes,
            answer_later,
            mut look_again,
            mut touched,
        } = taking.taken();
        self.gateway.wake(&mut touched);
        if answer_later {
            *wait = Wait::InLine;
        }
        if alive {
            // the look at the pong's deadline would come too late for the next ping
            look_again |= std::mem::replace(&mut times.ping, 0) > 0;
            times.alive = now;
        }
        if delivered > 0 {
            times.message = now;
            self.stats.messages_in.add(delivered);
            self.stats.message_bytes_in.add(delivered_bytes);
            self.ring_later(&connection.worker);
        }
        times.unfinished = match adapter.unfinished() {
            None => 0,
            Some(_) if times.unfinished == 0 || alive && delivered > 0 => now.max(1),
            Some(_) => times.unfinished,
        };
        if look_again {
            self.arm_first(connection, io);
        }
        if io.times.unfinished > 0 {
            self.arm(
                connection,
                io,
                io.times.unfinished
                    + super::millis(connection.listener.config.limits.message_deadline),
            );
        }
        if replied {
            if io.outbox.wants_flush() && matches!(io.phase, Phase::Open) {
                self.flush(connection, io);
            }
            self.touch(connection);
        }
        match result {
            Ok(taken) => {
                if let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
                    io.stash = rest.into();
                }
            }
            Err(reason) => self.close(connection, io, &reason),
        }
    }

    /// Writes what the kernel takes, then judges what is left.
    pub(super) fn flush(&self, connection: &Shared, io: &mut Io) {
        let ledger = self.gateway.ledger();
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
            if (wrote > 0 || io.times.blocked == 0) && io.stream.is_some() {
                io.times.blocked = self.now.get().max(1);
                self.arm(
                    connection,
                    io,
                    io.times.blocked + super::millis(self.limits.write_timeout),
                );
            }
            io.swollen |= io.outbox.charge() > self.limits.outbox_read_pause_bytes;
            if io.is_live() && io.outbox.is_over(&self.limits) {
                self.overflow(connection, io);
            }
        } else {
            io.times.blocked = 0;
        }
        self.charge(io);
        if io.swollen && io.outbox.charge() <= self.limits.outbox_read_pause_bytes / DRAINED_PART {
            self.drained(connection, io);
        }
        if io.outbox.is_empty() && io.times.blocked == 0 {
            Self::said(connection, io);
        }
    }

    /// What the adapter said behind everything that was posted before is appended, and reading goes on.
    pub(super) fn answer(&self, connection: &Shared, answer: &[u8]) {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() {
            return;
        }
        io.outbox
            .lend(|| self.spare.borrow_mut().pop().unwrap_or_default());
        io.outbox.append_control(self.gateway.ledger(), |out| {
            out.extend_from_slice(answer);
        });
        io.adapter.answer_written();
        io.encoding = io.adapter.encoding();
        io.wait = Wait::Never;
        self.restart_clocks(io);
        self.touch(connection);
        connection.wake();
    }

    /// The outbox fell below its low water: reading goes on, and the application may send more.
    fn drained(&self, connection: &Shared, io: &mut Io) {
        io.swollen = false;
        self.restart_clocks(io);
        connection.wake();
        if matches!(io.phase, Phase::Open) && connection.worker.handlers().drain {
            connection
                .worker
                .queue()
                .drained(connection.worker_slot.get());
            self.ring_later(&connection.worker);
        }
    }

    /// Keeps the ledger's count of outbox entries.
    pub(super) fn charge(&self, io: &mut Io) {
        let entries = io.outbox.entries();
        let before = usize::try_from(io.charged_entries).unwrap_or(usize::MAX);
        let ledger = self.gateway.ledger();
        let charge = crate::limits::ENTRY_CHARGE;
        if entries > before {
            ledger.add((entries - before) * charge);
        } else if entries < before {
            ledger.subtract((before - entries) * charge);
        }
        // a count of boxes in memory stays far below
        io.charged_entries = u32::try_from(entries).unwrap_or(u32::MAX);
    }

    fn keep_spare(&self, buffer: Vec<u8>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_BUFFERS && buffer.capacity() <= SPARE_BYTES {
            spare.push(buffer);
        }
    }
}

/// Reads in a row before others get their turn.
const READS: usize = 4;

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
