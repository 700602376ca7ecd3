//! A connection's beginning: from its place in the table to the first byte of messages.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use millrace_core::{SocketId, SocketInfo};
use tokio::sync::oneshot;

use super::connection::{Admission, Connection, Io, Phase, Shared};
use super::env::Env;
use super::outbox::Outbox;
use super::rate::Rate;
use super::{Session, Wake};
use crate::close::CloseReason;
use crate::event::{Acceptance, Opening, Rejection};
use crate::hub::Worker;
use crate::listener::ListenerState;
use crate::net::stream::Stream;
use crate::permits::Permit;

impl Env {
    /// Makes a connection known under a new socket id: it can be sent to and subscribed from now
    /// on. The receiver gets `handleOpen`'s answer.
    pub(crate) fn reserve(
        &self,
        worker: Arc<Worker>,
        listener: &Arc<ListenerState>,
        (address, permit): (Option<IpAddr>, Permit),
        session: impl FnOnce(SocketId) -> Box<dyn Session>,
    ) -> (Shared, oneshot::Receiver<Admission>) {
        let (sender, receiver) = oneshot::channel();
        let now = self.now.get();
        let per_second = listener.config.limits.messages_per_second;
        let rate = (per_second > 0).then(|| Rate::new(per_second, now));
        let mut connections = self.connections.borrow_mut();
        let entry = connections.vacant_entry();
        let slot = u32::try_from(entry.key()).expect("a shard has fewer than 2^32 connections");
        let info = SocketInfo {
            address,
            worker: worker.id(),
        };
        let socket = self.hub.core().open(self.index, slot, info);
        let mut session = session(socket);
        let traits = session.traits();
        let mut opening = Vec::new();
        session.append_opening(&mut opening);
        let connection = Rc::new(Connection {
            socket,
            slot,
            worker,
            worker_slot: Cell::new(0),
            listener: Arc::clone(listener),
            dirty: Cell::new(false),
            partial: Cell::default(),
            half_closed: Cell::new(false),
            waker: Cell::new(None),
            traits,
            io: RefCell::new(Io::new(
                Phase::Pending(sender),
                (session, traits.encoding),
                rate,
                now,
            )),
            permit: Cell::new(Some(permit)),
        });
        if !opening.is_empty() {
            let io = &mut *connection.io.borrow_mut();
            let (ledger, outbox) = (self.hub.ledger(), &mut io.outbox);
            outbox.append_control(ledger, |out| *out = opening);
        }
        entry.insert(Rc::clone(&connection));
        self.stops.came(listener.id);
        (connection, receiver)
    }

    /// Takes a connection in that no worker is told of: it is accepted at once.
    pub(crate) fn open_without_worker(
        &self,
        listener: &Arc<ListenerState>,
        place: (Option<IpAddr>, Permit),
        session: impl FnOnce(SocketId) -> Box<dyn Session>,
    ) -> Shared {
        let none = Arc::clone(self.hub.workers().none());
        let (connection, answer) = self.reserve(none, listener, place, session);
        self.admit(&connection, Ok(Box::new(Acceptance::default())));
        // held until now: without anybody who waits for it, the connection would be taken for one that left
        drop(answer);
        connection
    }

    /// Tells the worker. False: it was retired this moment, or its queue filled, and the connection is forgotten.
    pub(crate) fn announce(&self, connection: &Shared, opening: &Opening<'_>) -> bool {
        let bounds = (
            self.limits.worker_queue_events,
            self.limits.worker_queue_bytes,
        );
        let Some((slot, many)) = connection.worker.queue().open(opening, bounds) else {
            let io = &mut *connection.io.borrow_mut();
            io.phase = Phase::Gone;
            self.with_core(|core, poster| core.close(connection.socket, poster));
            self.release(connection, io);
            return false;
        };
        connection.worker_slot.set(slot);
        if opening.answer || many {
            self.ring_later(&connection.worker);
        }
        if !opening.answer {
            self.admit(connection, Ok(Box::new(Acceptance::default())));
        }
        true
    }

    /// `handleOpen` answered, or somebody else decided in its place.
    pub(crate) fn admit(&self, connection: &Shared, answer: Admission) {
        let io = &mut *connection.io.borrow_mut();
        // it may have been closed meanwhile
        let Some(waiting) = io.phase.admit() else {
            return;
        };
        let refused = answer.is_err();
        let left = waiting.send(answer).is_err();
        if refused {
            self.stats.refused.add(1);
            tracing::debug!(target: "millrace::connection", socket = connection.socket.get(), "refused");
            io.phase = Phase::Gone;
            // refused: what was queued is discarded uncounted, and no close is told
            self.with_core(|core, poster| core.close(connection.socket, poster));
            connection
                .worker
                .queue()
                .free_slot(connection.worker_slot.get());
            io.outbox = Outbox::default();
            self.release(connection, io);
            return;
        }
        self.stats.opened.add(1);
        tracing::debug!(
            target: "millrace::connection",
            socket = connection.socket.get(),
            worker = connection.worker.id(),
            "opened"
        );
        if left {
            self.leave_core(connection, io, &CloseReason::ABNORMAL);
            io.phase = Phase::Gone;
            self.release(connection, io);
        } else if io.overflown {
            self.close(connection, io, &CloseReason::OVERFLOW);
        }
    }

    /// Refuses a connection whose `handleOpen` has not answered.
    pub(crate) fn refuse(&self, connection: &Shared, status: u16, body: &'static str) {
        let rejection = Rejection {
            status,
            headers: Vec::new(),
            body: Bytes::from_static(body.as_bytes()),
        };
        self.admit(connection, Err(Box::new(rejection)));
    }

    /// The client left while `handleOpen` runs: its answer is still awaited, because a connection
    /// it accepts has to be closed again. Until then it keeps its place, or else who connects and leaves in a loop would
    /// have any number of them.
    pub(crate) fn abandoned(&self, connection: &Shared) {
        let admitted = matches!(connection.io.borrow().phase, Phase::Admitted);
        if admitted {
            self.lost(connection);
        }
    }

    /// Accepted, but the 101 never left.
    pub(crate) fn lost(&self, connection: &Shared) {
        let io = &mut *connection.io.borrow_mut();
        if matches!(io.phase, Phase::Gone) {
            return;
        }
        self.close(connection, io, &CloseReason::ABNORMAL);
        self.release(connection, io);
    }

    /// The 101 is written: messages may flow, and its task may begin. `early` came right behind the handshake. False: it is
    /// not to be, any more.
    pub(crate) fn begin(&self, connection: &Shared, stream: Stream, early: &Bytes) -> bool {
        let io = &mut *connection.io.borrow_mut();
        match io.phase {
            Phase::Admitted => io.phase = Phase::Open,
            // closed meanwhile: the goodbye is in the outbox
            Phase::Closing { .. } => {}
            _ => return false,
        }
        let now = self.now.get();
        (io.times.alive, io.times.message) = (now, now);
        io.stream = Some(stream.settled());
        io.stash = early.as_ref().into();
        self.arm_first(connection, io);
        self.wake_session(connection, io, Wake::Opened);
        if !io.outbox.is_empty() {
            // its first words
            self.mark_dirty(connection);
        }
        true
    }
}
