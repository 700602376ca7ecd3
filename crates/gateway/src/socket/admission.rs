//! Opening a connection: from its place in the table to the first message.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use millrace_core::{SocketId, SocketInfo};
use tokio::sync::oneshot;

use super::connection::{Admission, Connection, Io, Phase, Shared, Swelling};
use super::env::Env;
use super::moment::Moment;
use super::outbox::Outbox;
use super::rate::Rate;
use super::{Session, Wake};
use crate::close::CloseReason;
use crate::event::{Acceptance, Opening, Rejection};
use crate::hub::Worker;
use crate::listener::ListenerState;
use crate::net::stream::Stream;
use crate::permits::{KeyIsFull, Permit};

impl Connection {
    /// Has what is sent from now on left uncompressed. The peer may still compress.
    pub(crate) fn stop_compressing(&self) {
        let io = &mut *self.io.borrow_mut();
        io.session.stop_compressing();
        let traits = io.session.traits();
        self.traits.set(traits);
        io.encoding = traits.encoding;
    }
}

impl Env {
    /// Registers a connection under a new socket id: from now on it can be sent to and subscribed. The receiver gets
    /// the answer of `handleOpen`.
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
        let slot = connections.vacant();
        let info = SocketInfo {
            address,
            worker: worker.id(),
        };
        let socket = self.hub.core().open(self.index, slot, info);
        let mut session = session(socket);
        let traits = session.traits();
        let mut opening = Vec::new();
        session.append_opening(socket, &mut opening);
        let connection = Rc::new(Connection {
            socket,
            slot,
            worker,
            worker_slot: Cell::new(0),
            listener: Arc::clone(listener),
            dirty: Cell::new(false),
            partial: Cell::default(),
            half_closed: Cell::new(false),
            is_shown: Cell::new(false),
            is_watched: Cell::new(false),
            task: Cell::default(),
            runnable: Cell::new(false),
            traits: Cell::new(traits),
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
            let (ledger, outbox) = (self.ledger(), &mut io.outbox);
            outbox.append_control(ledger, |out| *out = opening);
        }
        connections.insert(Rc::clone(&connection));
        self.stops.came(listener.id);
        (connection, receiver)
    }

    /// Opens a connection that no worker is told of: it is accepted at once.
    pub(crate) fn open_without_worker(
        &self,
        listener: &Arc<ListenerState>,
        place: (Option<IpAddr>, Permit),
        session: impl FnOnce(SocketId) -> Box<dyn Session>,
    ) -> Shared {
        let none = Arc::clone(self.hub.workers().none());
        let (connection, answer) = self.reserve(none, listener, place, session);
        self.admit(&connection, Ok(Box::new(Acceptance::default())));
        // dropped only now: without a receiver, the connection would count as one whose client has left
        drop(answer);
        connection
    }

    /// Tells the worker. False: the worker was just retired, or its queue is full, and the connection is dropped.
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

    /// Applies the answer of `handleOpen`, or a decision made in its place.
    pub(crate) fn admit(&self, connection: &Shared, answer: Admission) {
        let io = &mut *connection.io.borrow_mut();
        // the connection may have been closed meanwhile
        let Some(waiting) = io.phase.admit() else {
            return;
        };
        let refused = answer.is_err();
        let (answer, key_is_full) = self.count_for_key(connection, io, answer);
        let left = waiting.send(answer).is_err();
        if refused {
            self.stats.refused.add(1);
            tracing::debug!(target: "millrace::connection", socket = connection.socket.get(), "refused");
            io.phase = Phase::Gone;
            // the connection is refused: its queue is discarded without a count, and the worker gets no close
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
        if left || key_is_full {
            // the handler has accepted it, so it is told of the close
            let reason = if key_is_full {
                CloseReason::KEY_IS_FULL
            } else {
                CloseReason::ABNORMAL
            };
            self.leave_core(connection, io, &reason);
            io.phase = Phase::Gone;
            self.release(connection, io);
        } else if io.overflown {
            self.close(connection, io, &CloseReason::OVERFLOW);
        }
    }

    /// Counts a connection for the key that its acceptance names. If the key has too many connections, the peer gets the
    /// refusal that is returned instead.
    fn count_for_key(
        &self,
        connection: &Shared,
        io: &mut Io,
        mut answer: Admission,
    ) -> (Admission, bool) {
        let acceptance = answer.as_mut().ok();
        let Some(key) = acceptance.and_then(|acceptance| acceptance.limit_key.take()) else {
            return (answer, false);
        };
        let Some(mut permit) = connection.permit.take() else {
            return (answer, false);
        };
        let counted = permit.count_for_key(&key);
        connection.permit.set(Some(permit));
        match counted {
            Ok(None) => (answer, false),
            Ok(of_key @ Some(_)) => {
                let extra = io.extra.get_or_insert_default();
                extra.rate.get_or_insert_default().of_key = of_key;
                (answer, false)
            }
            Err(KeyIsFull) => {
                self.stats.refused_by_key.add(1);
                tracing::warn!(
                    target: "millrace::connection",
                    socket = connection.socket.get(),
                    "refused: its key has too many connections"
                );
                let text = CloseReason::KEY_IS_FULL.reason;
                let rejection = Rejection {
                    status: 503,
                    headers: Vec::new(),
                    body: Bytes::copy_from_slice(text.as_bytes()),
                };
                (Err(Box::new(rejection)), true)
            }
        }
    }

    /// Refuses a connection for which `handleOpen` has not answered.
    pub(crate) fn refuse(&self, connection: &Shared, status: u16, body: &'static str) {
        let rejection = Rejection {
            status,
            headers: Vec::new(),
            body: Bytes::from_static(body.as_bytes()),
        };
        self.admit(connection, Err(Box::new(rejection)));
    }

    /// The client left while `handleOpen` runs. The answer is still awaited, because a connection that it accepts has
    /// to be closed. Until then the connection keeps its permit, or a client that connects and leaves in a loop could
    /// have any number of them.
    pub(crate) fn abandoned(&self, connection: &Shared) {
        let admitted = matches!(connection.io.borrow().phase, Phase::Admitted);
        if admitted {
            self.lost(connection);
        }
    }

    /// The connection was accepted, but the 101 was never sent.
    pub(crate) fn lost(&self, connection: &Shared) {
        let io = &mut *connection.io.borrow_mut();
        if matches!(io.phase, Phase::Gone) {
            return;
        }
        self.close(connection, io, &CloseReason::ABNORMAL);
        self.release(connection, io);
    }

    /// Appends the first output of an accepted connection, which is sent when it has begun. False: it has output already.
    pub(crate) fn send_first(&self, connection: &Shared, bytes: &[u8]) -> bool {
        let io = &mut *connection.io.borrow_mut();
        let is_first = matches!(io.phase, Phase::Admitted) && io.outbox.is_empty();
        if is_first {
            io.outbox.lend(|| self.spare_buffer());
            let append = |out: &mut Vec<u8>| out.extend_from_slice(bytes);
            io.outbox.append_control(self.ledger(), append);
        }
        is_first
    }

    /// Tells the session whether the subprotocol is its own. What was sent so far is in that subprotocol; if it is another
    /// one, that is undone.
    pub(crate) fn agree(&self, connection: &Shared, is_own: bool) {
        let io = &mut *connection.io.borrow_mut();
        io.session.agree(is_own);
        let traits = io.session.traits();
        connection.traits.set(traits);
        io.encoding = traits.encoding;
        if !is_own {
            let Io {
                session, outbox, ..
            } = io;
            outbox.rewrite(self.ledger(), |sent, out| session.unwrap_sent(sent, out));
        }
    }

    /// Starts an accepted connection: messages may flow, and it may be run. `early` followed the handshake. False: the
    /// connection must not start any more.
    pub(crate) fn begin(&self, connection: &Shared, stream: Stream, early: Box<[u8]>) -> bool {
        let io = &mut *connection.io.borrow_mut();
        match io.phase {
            Phase::Admitted => io.phase = Phase::Open,
            // closed meanwhile: the close is in the outbox
            Phase::Closing { .. } => {}
            _ => return false,
        }
        let now = Moment::at(self.now.get());
        (io.times.alive, io.times.message) = (now, now);
        io.stream = Some(stream);
        io.stash = (!early.is_empty()).then(|| Box::new(early));
        self.arm_first(connection, io);
        self.wake_session(connection, io, Wake::Opened);
        if !io.outbox.is_empty() {
            // writes what the session has appended first
            self.mark_dirty(connection);
            if io.swelling == Swelling::Paused {
                // the application has sent that much while it accepted the connection
                self.tell_congested(connection, io);
            }
        }
        true
    }
}
