//! Reading from one connection: what runs it, the readiness loop or its task, reads and decodes while there is credit, and
//! continues writing when the kernel has room again.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::connection::{Io, Partial, PeerClose, Phase, Shared, Wait};
use super::env::Env;
use super::moment::Moment;
use crate::close::CloseReason;
use crate::net::stream::Stream;
use crate::socket::context::{Outcome, Parts, Replied};
use crate::socket::{self as session, Liveness, Session, Wake};

impl Env {
    /// Runs a connection that has a task of its own, whose context this is.
    pub(crate) fn drive(&self, connection: &Shared, cx: &mut Context<'_>) -> Poll<()> {
        if connection.with_waker(|waker| waker.will_wake(cx.waker())) != Some(true) {
            connection.task.set(Some(Box::new(cx.waker().clone())));
        }
        self.proceed(connection, cx)
    }

    /// Writes and reads what is possible now. Ready: the connection is gone.
    pub(crate) fn proceed(&self, connection: &Shared, cx: &mut Context<'_>) -> Poll<()> {
        let io = &mut *connection.io.borrow_mut();
        if io.is_behind() {
            self.flush(connection, io);
        }
        self.read(connection, io, cx);
        // reading may produce output that is not a message, as TLS does
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
                // the end of the stream would be found again and again
                Phase::Open if connection.half_closed.get() => false,
                Phase::Open => self.may_read(connection, io),
                Phase::Closing { peer_close } => peer_close != PeerClose::StreamEnd,
                // input behind a close or an error is ignored
                Phase::Ending(ref ending) => {
                    matches!(ending.peer_close, PeerClose::Goodbye | PeerClose::Mistake)
                }
                Phase::Draining => true,
                Phase::Pending(_) | Phase::Admitted | Phase::Gone => false,
            };
            if !readable {
                return;
            }
            if let Some(mut stash) = io.stash.take() {
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
                    if matches!(io.phase, Phase::Draining | Phase::Ending(_)) {
                        continue;
                    }
                    self.decode(connection, io, buffer.filled_mut());
                }
                Poll::Ready(Ok(())) => return self.input_ended(connection, io),
                Poll::Ready(Err(_)) => {
                    return self.close(connection, io, &CloseReason::ABNORMAL);
                }
            }
        }
        // more input may be waiting, and other connections get a turn first
        self.run_soon(connection);
    }

    /// Whether the connection may be read. If not, ending the pause wakes its task.
    fn may_read(&self, connection: &Shared, io: &mut Io) -> bool {
        if io.swelling.pauses() && unread(connection, io) > self.limits.outbox_read_pause_bytes {
            return false;
        }
        if let Some(extra) = io.extra.as_deref_mut() {
            if extra.stalls() {
                return false;
            }
            if std::mem::take(&mut extra.yields) {
                self.run_soon(connection);
                return false;
            }
            let now = self.now.get();
            let wait = extra.rate.as_mut().map_or(0, |rate| rate.wait(now));
            if wait > 0 {
                self.arm(connection, io, now + wait);
                return false;
            }
        }
        if io.wait == Wait::InLine || connection.partial.get() == Partial::HeldBack {
            return false;
        }
        let has_room = if connection.traits.get().feeds_worker {
            self.worker_has_room(connection, io)
        } else {
            // a session without input for the worker does not wait for it, unless it asks the worker too much
            self.has_room_for_questions(connection, io)
        };
        if has_room {
            return true;
        }
        self.wait_for_worker(connection, io);
        false
    }

    /// Whether the worker can take what the session of this connection asks it, if it could not before.
    fn has_room_for_questions(&self, connection: &Shared, io: &mut Io) -> bool {
        let extra = io.extra.as_deref_mut();
        let Some(extra) = extra.filter(|extra| extra.awaits_worker) else {
            return true;
        };
        extra.awaits_worker = !self.queue_has_room(connection.worker.queue());
        !extra.awaits_worker
    }

    /// Whether the worker can take another event of this connection. If not, the worker wakes this shard when it has
    /// caught up.
    pub(crate) fn worker_has_room(&self, connection: &Shared, io: &mut Io) -> bool {
        let queue = connection.worker.queue();
        let limits = &self.limits;
        let mut room = || {
            io.credit.has_room(queue.handled(self.index), limits)
                && queue.has_room(limits.worker_queue_events, limits.worker_queue_bytes)
        };
        if !room() {
            queue.pause(1 << self.index.get());
            // a batch may have been finished between the check and the announcement
            if !room() {
                return false;
            }
        }
        true
    }

    fn decode(&self, connection: &Shared, io: &mut Io, bytes: &mut [u8]) {
        let (result, progressed) =
            self.call_session(connection, io, |session, cx| session.input(bytes, cx));
        let taken = match result {
            Ok(taken) => taken,
            Err(reason) => {
                let unfinished = io.session.unfinished();
                if unfinished > 0 || connection.partial.get() != Partial::None {
                    self.count_unfinished(connection, io, unfinished);
                }
                return self.peer_ended(connection, io, reason);
            }
        };
        if taken.unfinished {
            let mut since = io.times.waits().unfinished;
            if since == 0 || progressed {
                since = self.now.get().max(1);
                io.times.change(|waits| waits.unfinished = since);
            }
            let limit = connection.listener.config.limits.message_deadline;
            self.arm(connection, io, since + super::env::millis(limit));
        } else {
            io.times.end(|waits| waits.unfinished = 0);
        }
        if let Some(rest) = bytes.get(taken.bytes..).filter(|rest| !rest.is_empty()) {
            io.stash = Some(Box::new(rest.into()));
        }
        if taken.unfinished || io.extra.is_some() || connection.partial.get() != Partial::None {
            self.count_held(connection, io);
        }
    }

    /// Counts what the session keeps of its peer's input.
    fn count_held(&self, connection: &Shared, io: &mut Io) {
        let mut held = io.session.unfinished();
        if io.extra.is_some() {
            held += io.session.waiting();
        }
        self.count_unfinished(connection, io, held);
    }

    /// Wakes the session of an open connection.
    pub(crate) fn wake_session(&self, connection: &Shared, io: &mut Io, why: Wake<'_>) {
        if !matches!(io.phase, Phase::Open) {
            return;
        }
        self.wake_called(connection, io, why);
    }

    /// Wakes the session on behalf of its worker, in every phase in which the worker may send: before the opening is
    /// complete, and after the peer's last input.
    pub(crate) fn tell_session(&self, connection: &Shared, io: &mut Io, why: Wake<'_>) {
        if !io.is_live() {
            return;
        }
        self.wake_called(connection, io, why);
        // what the session was waiting for may have been the last thing
        self.finish_ending(connection, io);
    }

    fn wake_called(&self, connection: &Shared, io: &mut Io, why: Wake<'_>) {
        let stalled = io.stalls();
        let (result, _) = self.call_session(connection, io, |session, cx| session.wake(why, cx));
        if let Err(reason) = result {
            if reason.is_by_peer() {
                // what came before the close is handled first
                self.peer_ended(connection, io, reason);
            } else {
                self.close(connection, io, &reason);
            }
        } else if stalled && !io.stalls() {
            // the transfer that input waited for has ended, or the session has room again
            self.restart_clocks(io);
            self.run_soon(connection);
        }
        if io.extra.is_some() && connection.partial.get() != Partial::None {
            self.count_held(connection, io);
        }
    }

    /// Calls the session and applies the outcome. The flag says that something complete was taken.
    pub(crate) fn call_session<R>(
        &self,
        connection: &Shared,
        io: &mut Io,
        call: impl FnOnce(&mut dyn Session, &mut session::Context<'_>) -> R,
    ) -> (R, bool) {
        let Io {
            session,
            encoding,
            outbox,
            credit,
            extra,
            phase,
            wait,
            swelling,
            ..
        } = &mut *io;
        let audience = phase.audience();
        let parts = Parts {
            credit,
            outbox,
            encoding,
            extra,
            wait: *wait,
            swelling,
        };
        let mut cx = session::Context::new(self, connection, parts, audience);
        let result = call(&mut **session, &mut cx);
        // this returns the worker's parcel, which closing hands over
        let outcome = cx.outcome();
        let progressed = outcome.alive && outcome.delivered > 0;
        self.settle(connection, io, outcome);
        (result, progressed)
    }

    fn settle(&self, connection: &Shared, io: &mut Io, mut outcome: Outcome) {
        let now = self.now.get();
        self.hub.wake(&mut outcome.dirty);
        if outcome.pauses {
            io.wait = Wait::InLine;
        }
        if outcome.waits_for_shards {
            self.wait_for_shards(connection, io);
        }
        let mut look_again = outcome.look_again;
        if outcome.alive {
            // the check at the pong's deadline would be too late for the next ping
            io.times
                .end(|waits| look_again |= std::mem::take(&mut waits.ping) > 0);
            io.times.alive = Moment::at(now);
        }
        if outcome.delivered > 0 {
            io.times.message = Moment::at(now);
            self.stats.messages_in.add(outcome.delivered);
            self.stats.message_bytes_in.add(outcome.delivered_bytes);
            if connection.traits.get().feeds_worker {
                self.ring_later(&connection.worker);
            }
        }
        if look_again {
            self.arm_first(connection, io);
        }
        if outcome.sent || outcome.passed {
            io.times.message = Moment::at(now);
        }
        if outcome.sent || outcome.replied != Replied::No {
            self.after_reply(connection, io, outcome.replied);
        }
        if outcome.no_handler {
            self.peer_ended(connection, io, CloseReason::NO_HANDLER);
        }
    }

    /// A long reply is written before more of it follows; other replies are written when the turn ends.
    fn after_reply(&self, connection: &Shared, io: &mut Io, replied: Replied) {
        let is_long = replied == Replied::Long || io.outbox.wants_flush();
        if is_long && matches!(io.phase, Phase::Open) {
            self.flush(connection, io);
        }
        self.mark_dirty(connection);
    }
}

/// What holds input back. The client of an event stream sends each message by a request of its own, which cannot wait as long as a
/// long message may take, so what is being written does not count there.
fn unread(connection: &Shared, io: &Io) -> usize {
    match connection.traits.get().liveness {
        Liveness::Tells => io.outbox.charge_behind(),
        Liveness::Asks | Liveness::Kernel | Liveness::Own => io.outbox.charge(),
    }
}

/// Consecutive reads before other connections get a turn.
const READS: usize = 4;
