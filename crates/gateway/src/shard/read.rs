//! Bytes from one connection: its task reads and decodes while there is credit, and lets the writing go on when the
//! kernel has room again.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::Shard;
use super::connection::{Io, Phase, Shared, Wait};
use super::taking::{Replied, Taken, Taking};
use crate::close::CloseReason;
use crate::net::stream::Stream;

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
            shard.release(connection, io);
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
            self.mark_dirty(connection);
        }
        if !matches!(io.phase, Phase::Gone) {
            return Poll::Pending;
        }
        self.release(connection, io);
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
        let parts = (credit, outbox, rate.as_deref_mut());
        let mut taking = Taking::new(self, connection, parts, discard);
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
            mut dirty,
        } = taking.taken();
        self.hub.wake(&mut dirty);
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
        if replied != Replied::No {
            self.after_reply(connection, io, replied);
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

    /// What is long is written before more of it follows, the rest when the turn ends.
    fn after_reply(&self, connection: &Shared, io: &mut Io, replied: Replied) {
        let is_long = replied == Replied::Long || io.outbox.wants_flush();
        if is_long && matches!(io.phase, Phase::Open) {
            self.flush(connection, io);
        }
        self.mark_dirty(connection);
    }
}

/// Reads in a row before others get their turn.
const READS: usize = 4;
