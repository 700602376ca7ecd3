//! Closing a connection: it leaves the core at once, its worker is told, a close is sent in its protocol, and the
//! stream is cut if that takes too long.

use super::connection::{Io, PeerClose, Phase, Shared};
use super::env::Env;
use crate::close::{CloseMode, CloseReason};
use crate::limits::OutboxPolicy;
use crate::net::stream::Stream;
use crate::socket::Goodbye;
use crate::worker::queue::PendingClose;

use std::pin::Pin;
use std::task::Context;
use tokio::io::AsyncWrite;

impl Env {
    /// Begins to close: the socket is gone for the application, and the peer is told. On a connection that is closing
    /// already, only what makes it end sooner has an effect.
    pub(crate) fn close(&self, connection: &Shared, io: &mut Io, reason: &CloseReason) {
        self.close_until(connection, io, reason, self.closing_deadline());
    }

    /// The time at which a connection is cut that begins to close now.
    pub(crate) fn closing_deadline(&self) -> u64 {
        self.now.get() + super::env::millis(self.limits.close_timeout)
    }

    /// Like [`close`](Self::close), with a deadline for what is queued.
    pub(crate) fn close_until(
        &self,
        connection: &Shared,
        io: &mut Io,
        reason: &CloseReason,
        deadline: u64,
    ) {
        match io.phase {
            Phase::Gone => return,
            Phase::Closing { .. } | Phase::Draining => {
                match reason.mode {
                    CloseMode::Handshake => {}
                    CloseMode::Final => {
                        if matches!(io.phase, Phase::Closing { .. })
                            && !connection.half_closed.get()
                        {
                            let peer_close = PeerClose::of(reason);
                            io.phase = Phase::Closing { peer_close };
                            self.mark_dirty(connection);
                        }
                    }
                    CloseMode::Cut => self.cut(connection, io),
                }
                return;
            }
            Phase::Ending(_) => return self.cut_ending_short(connection, io, reason, deadline),
            Phase::Pending(_) | Phase::Admitted | Phase::Open => {}
        }
        if reason.mode == CloseMode::Cut {
            self.leave_core(connection, io, reason);
            return self.cut(connection, io);
        }
        self.part(connection, io, reason, PeerClose::of(reason), deadline);
    }

    /// Takes the socket out of the core and appends a close, if there is one for this reason.
    pub(crate) fn part(
        &self,
        connection: &Shared,
        io: &mut Io,
        reason: &CloseReason,
        peer_close: PeerClose,
        deadline: u64,
    ) {
        self.leave_core(connection, io, reason);
        // after the peer's last byte the reason no longer decides what is expected of the peer
        let peer_close = if connection.half_closed.get() {
            PeerClose::StreamEnd
        } else {
            peer_close
        };
        io.phase = Phase::Closing { peer_close };
        if reason.mode != CloseMode::Cut {
            // the stash is kept: it may contain the peer's close, or the beginning of a frame before it
            io.outbox.lend(|| self.spare_buffer());
            let Io {
                outbox, session, ..
            } = io;
            outbox.append_control(self.ledger(), |out| {
                session.append_close(reason, out);
            });
        }
        io.times.change(|waits| waits.deadline = deadline);
        self.arm(connection, io, deadline);
        self.mark_dirty(connection);
        if !matches!(peer_close, PeerClose::Goodbye | PeerClose::StreamEnd) {
            // the peer's close may be among the input that is not read
            self.run_soon(connection);
        }
    }

    /// Takes the socket out of the core and tells its worker.
    pub(crate) fn leave_core(&self, connection: &Shared, io: &mut Io, reason: &CloseReason) {
        let closed = self.with_core(|core, poster| core.close(connection.socket, poster));
        self.stats.closed.add(1);
        tracing::debug!(
            target: "millrace::connection",
            socket = connection.socket.get(),
            code = reason.code,
            by_peer = reason.is_by_peer(),
            "closed"
        );
        io.session.left(reason, self);
        self.drop_extra(connection, io);
        let close = PendingClose {
            socket: connection.socket,
            code: reason.code,
            reason: reason.reason.as_ref().into(),
            token: closed.and_then(|closed| closed.token),
        };
        // the close follows the events of the connection
        self.queue_of(&connection.worker);
        if connection
            .worker
            .deliver_close(connection.worker_slot.get(), close)
        {
            self.ring_later(&connection.worker);
        }
        self.stop_holding_back(connection);
    }

    /// The outbox is full: applies the policy that the application chose.
    pub(crate) fn overflow(&self, connection: &Shared, io: &mut Io) {
        if self.limits.outbox_policy != OutboxPolicy::Close {
            let dropped = if self.hub.encodings().shows_marks(io.encoding) {
                self.drop_and_tell(io)
            } else {
                io.outbox.drop_excess(&self.limits)
            };
            self.stats.dropped_by_overflow.add(dropped);
            self.charge(connection, io);
            if !io.outbox.is_over(&self.limits) {
                return;
            }
            // only parts of something longer are left, which cannot be dropped
        }
        self.overflow_close(connection, io);
    }

    /// All outboxes together take too many bytes: empties this one, regardless of the policy.
    pub(crate) fn shed(&self, connection: &Shared, io: &mut Io) {
        if io.is_live() {
            return self.overflow_close(connection, io);
        }
        self.stats.dropped_by_close.add(io.outbox.truncate());
        self.charge(connection, io);
        self.close(connection, io, &CloseReason::ABNORMAL);
    }

    /// Drops the backlog and closes with 1013. The peer gets every message up to here, so that none is missing in
    /// between.
    fn overflow_close(&self, connection: &Shared, io: &mut Io) {
        self.stats.overflow_closes.add(1);
        tracing::warn!(
            target: "millrace::connection",
            socket = connection.socket.get(),
            outbox_bytes = io.outbox.charge(),
            "slow reader closed"
        );
        self.stats.dropped_by_overflow.add(io.outbox.truncate());
        self.charge(connection, io);
        if matches!(io.phase, Phase::Pending(_)) {
            // the close has to wait for the admission
            io.overflown = true;
        } else {
            self.close(connection, io, &CloseReason::OVERFLOW);
        }
    }

    /// Everything queued is written: continues with closing, if the connection is closing.
    pub(crate) fn output_drained(&self, connection: &Shared, io: &mut Io) {
        let Phase::Closing { peer_close } = io.phase else {
            return;
        };
        // only the peer is awaited now
        let deadline = io.times.waits().deadline.min(self.closing_deadline());
        io.times.change(|waits| waits.deadline = deadline);
        self.arm(connection, io, deadline);
        match peer_close {
            PeerClose::Nothing if connection.traits.get().goodbye == Goodbye::Answered => return,
            // the end of the stream is all that the peer is told, and it may still be sending
            PeerClose::Nothing if connection.traits.get().half_close => io.phase = Phase::Draining,
            PeerClose::Nothing | PeerClose::Goodbye | PeerClose::StreamEnd => {
                // nothing can follow, so the stream is closed without waiting for the peer
                io.phase = Phase::Gone;
                if io.stream.as_ref().is_none_or(Stream::is_plain) {
                    // what runs or flushes a watched connection releases it behind this
                    if !connection.is_watched.get() {
                        self.run_soon(connection);
                    }
                    return;
                }
            }
            PeerClose::Mistake => io.phase = Phase::Draining,
        }
        if let Some(stream) = io.stream.as_mut() {
            connection.with_waker(|waker| {
                // a stream that is broken already ends at its next read
                let _broken = Pin::new(stream).poll_shutdown(&mut Context::from_waker(waker));
            });
        }
        self.run_soon(connection);
    }

    /// Cuts the connection: nothing more is read or written.
    pub(crate) fn cut(&self, connection: &Shared, io: &mut Io) {
        io.phase = Phase::Gone;
        if io.stream.is_none() {
            // the connection has no task yet
            self.release(connection, io);
        }
        self.run_soon(connection);
    }

    /// Drops what a connection that is gone still holds, and frees its slot.
    pub(crate) fn release(&self, connection: &Shared, io: &mut Io) {
        self.stats.dropped_by_close.add(io.outbox.messages());
        io.outbox = super::outbox::Outbox::default();
        self.charge(connection, io);
        io.stash = None;
        self.count_unfinished(connection, io, 0);
        self.drop_extra(connection, io);
        match (io.stream.take(), connection.permit.take()) {
            (Some(Stream::Carried(carried)), Some(permit)) => carried.give_back(permit),
            // dropping the permit frees it
            (stream, permit) => drop((stream, permit)),
        }
        connection.is_watched.set(false);
        connection.task.take();
        let slot = connection.slot;
        let mut connections = self.connections.borrow_mut();
        // the connection may have been removed before, and its slot reused
        if connections
            .get(slot)
            .is_some_and(|known| known.socket == connection.socket)
        {
            connections.remove(slot);
            self.stops.left(connection.listener.id);
        }
    }
}
