//! One environment, one worker and one connection, driven by the test.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use millrace_core::{ShardIndex, ShardSet};
use tokio::sync::oneshot;

use super::probe::Probe;
use crate::adapter::websocket::session_on_stage;
use crate::close::CloseReason;
use crate::config::ListenerConfig;
use crate::doorbell::Doorbell;
use crate::event::{Handlers, Opening, Step, TransferId};
use crate::frame::{Encodings, SharedBytes};
use crate::hub::{Hub, Worker};
use crate::inbox::{Command, Mail};
use crate::limits::GatewayLimits;
use crate::listener::ListenerState;
use crate::net::pipe::{Ends, Pipe};
use crate::net::stream::Stream;
use crate::socket::Session;
use crate::socket::connection::{Admission, Shared};
use crate::socket::env::Env;
use crate::socket::transfers::Owner;
use crate::stats::ShardStats;

/// The number of the probe's event and operation.
const PROBE: u32 = 0xffff;

/// A record that the worker got. A payload beside the batch is appended to the payload in the record.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) kind: u32,
    pub(super) is_last: bool,
    pub(super) payload: Vec<u8>,
}

/// The kind of records whose sidecar has no length in the record.
const PIECE: u32 = 7;

/// Flags of a record.
const LAST: u32 = 1 << 4;
const SIDECAR: u32 = 1 << 5;

struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

/// See the module.
pub(super) struct Harness {
    pub(super) env: Env,
    pub(super) worker: Arc<Worker>,
    pub(super) connection: Shared,
    pub(super) peer: Rc<RefCell<Ends>>,
    /// Receives the answer of `handleOpen`.
    _admission: oneshot::Receiver<Admission>,
}

impl Harness {
    /// A WebSocket for which `handleOpen` has not answered.
    pub(super) fn pending() -> Self {
        Self::pending_with(|listener| session_on_stage(&listener.config.limits))
    }

    /// Another protocol for which `handleOpen` has not answered.
    pub(super) fn pending_with(session: impl FnOnce(&ListenerState) -> Box<dyn Session>) -> Self {
        Self::pending_within(GatewayLimits::default(), session)
    }

    /// The same with these limits.
    pub(super) fn pending_within(
        limits: GatewayLimits,
        session: impl FnOnce(&ListenerState) -> Box<dyn Session>,
    ) -> Self {
        let hub = Arc::new(Hub::new(Arc::new(Encodings::new())));
        hub.inboxes().open(1, limits.shard_inbox_bytes);
        let handlers =
            Handlers::OPEN | Handlers::TEXT | Handlers::CLOSE | Handlers::SOCKETY_MESSAGE;
        let worker = Worker::new(1, handlers, Arc::new(Silent), Arc::downgrade(&hub));
        let worker = Arc::new(worker);
        worker.activate();
        let config = ListenerConfig::default();
        let listener = Arc::new(ListenerState::new(1, config, None, || {}));
        let permit = hub.permits().take(None).0;
        let index = ShardIndex::new(0).unwrap();
        let env = Env::new(index, hub, limits, Arc::new(ShardStats::default()));
        let session = session(&listener);
        let place = (None, permit);
        let (connection, admission) =
            env.reserve(Arc::clone(&worker), &listener, place, |_| session);
        let mut opening = Opening::unseen(connection.socket);
        opening.answer = true;
        assert!(env.announce(&connection, &opening));
        Self {
            env,
            worker,
            connection,
            peer: Rc::default(),
            _admission: admission,
        }
    }

    /// An open WebSocket.
    pub(super) fn open() -> Self {
        let harness = Self::pending();
        harness.admit();
        harness.begin();
        harness
    }

    /// An open probe, whose peer reads everything.
    pub(super) fn probe() -> Self {
        Self::probe_with(Probe::default())
    }

    pub(super) fn probe_with(probe: Probe) -> Self {
        Self::pending_with(|_| Box::new(probe)).opened()
    }

    /// The same with these limits.
    pub(super) fn probe_within(limits: GatewayLimits) -> Self {
        Self::pending_within(limits, |_| Box::new(Probe::default())).opened()
    }

    fn opened(self) -> Self {
        self.admit();
        self.begin();
        self.peer.borrow_mut().room = usize::MAX;
        assert_eq!(self.handle_all(), [1], "the connection is open");
        self
    }

    pub(super) fn admit(&self) {
        self.env.admit(&self.connection, Ok(Box::default()));
    }

    pub(super) fn begin(&self) {
        let stream = Stream::carried(Pipe(Rc::clone(&self.peer)));
        assert!(self.env.begin(&self.connection, stream, Box::default()));
        self.drive();
    }

    /// Runs the connection's task once.
    pub(super) fn drive(&self) {
        let mut cx = Context::from_waker(Waker::noop());
        // the connection table shows whether the task has ended
        let _done = self.env.drive(&self.connection, &mut cx);
    }

    /// Writes like a turn.
    pub(super) fn flush(&self) {
        let dirty = std::mem::take(&mut *self.env.dirty.borrow_mut());
        for connection in dirty {
            connection.dirty.set(false);
            self.env.flush(&connection, &mut connection.io.borrow_mut());
        }
    }

    pub(super) fn feed(&self, bytes: &[u8]) {
        self.peer.borrow_mut().feed(bytes);
    }

    /// The peer ends its stream.
    pub(super) fn feed_end(&self) {
        self.peer.borrow_mut().end();
    }

    /// What the peer has received since the last call.
    pub(super) fn written(&self) -> String {
        String::from_utf8(self.written_bytes()).unwrap()
    }

    pub(super) fn written_bytes(&self) -> Vec<u8> {
        self.flush();
        std::mem::take(&mut self.peer.borrow_mut().from_gateway)
    }

    /// The worker handles everything that waits, and the shard is told; returns the kinds of the records, in order.
    pub(super) fn handle_all(&self) -> Vec<u32> {
        let records = self.handle_records().into_iter();
        records.map(|record| record.kind).collect()
    }

    /// Like `handle_all`; returns the records.
    pub(super) fn handle_records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        self.env.hand_over();
        while let Some((batch, _)) = self.worker.queue().take() {
            let mut rest = &batch.bytes[..];
            while let Some((word, _)) = rest.split_first_chunk::<4>() {
                let word = u32::from_ne_bytes(*word);
                let length = usize::try_from(word >> 8).unwrap();
                let mut payload = rest[8..8 + length].to_vec();
                if word & SIDECAR != 0 {
                    // replaces its index and length
                    let words = if word & 15 == PIECE { 4 } else { 8 };
                    let own = payload.split_off(length - words);
                    let index = u32::from_ne_bytes(own[..4].try_into().unwrap());
                    let sidecar = &batch.sidecars[usize::try_from(index).unwrap()];
                    payload.extend_from_slice(sidecar.payload());
                }
                records.push(Record {
                    kind: word & 15,
                    is_last: word & LAST != 0,
                    payload,
                });
                rest = &rest[8 + length.next_multiple_of(4)..];
            }
            self.worker.queue().finish(batch);
        }
        self.env.look_at_endings();
        self.env.finish_endings();
        records
    }

    /// Applies what was posted to the connection; returns the number of commands.
    pub(super) fn take_posted(&self) -> usize {
        let mut mail = Mail::default();
        self.env.hub.inboxes().turn_begins(self.env.index());
        self.env.hub.inboxes().take(self.env.index(), &mut mail);
        assert!(!self.env.hub.inboxes().turn_ends(self.env.index()));
        let count = mail.commands.len();
        let Mail { commands, arena } = &mut mail;
        for command in commands.drain(..) {
            if let Command::TellSmall { start, length, .. } = command {
                let start = usize::try_from(start).unwrap();
                let length = usize::try_from(length).unwrap();
                let instruction = &arena[start..][..length];
                self.env.tell_in_one_piece(&self.connection, instruction);
            } else if let Command::Transfer { id, step } = command {
                let owner = self.env.transfers.owner(id);
                if let Some(Owner::Connection { slot, socket }) = owner {
                    let connection = self.env.find(slot, socket).unwrap();
                    self.env.step(&connection, id, step);
                }
            } else {
                self.env.apply_for(&self.connection, command);
            }
        }
        self.env
            .hub
            .inboxes()
            .processed(self.env.index(), &mut mail);
        count
    }

    /// The worker takes a step of a transfer.
    pub(super) fn step(&self, id: TransferId, step: Step) {
        self.worker.step(id, step, &mut ShardSet::default());
        self.take_posted();
    }

    pub(super) fn tell(&self, fields: &str, payload: &str) -> bool {
        self.tell_operation(PROBE, fields.as_bytes(), payload.as_bytes())
    }

    pub(super) fn tell_operation(&self, operation: u32, fields: &[u8], payload: &[u8]) -> bool {
        let (hub, mut dirty) = (&self.env.hub, ShardSet::default());
        let socket = self.connection.socket;
        hub.tell(socket, operation, fields, payload, &mut dirty)
    }

    pub(super) fn tell_shared(&self, operation: u32, fields: &[u8], shared: &SharedBytes) -> bool {
        let (hub, mut dirty) = (&self.env.hub, ShardSet::default());
        let socket = self.connection.socket;
        hub.tell_shared(socket, operation, fields, shared, &mut dirty)
    }

    /// Lets this many milliseconds pass.
    pub(super) fn pass(&self, milliseconds: u64) {
        let now = self.env.now() + milliseconds;
        loop {
            let Some(deadline) = self.connection.io.borrow().armed else {
                break;
            };
            let at = deadline.near(self.env.now());
            if at > now {
                break;
            }
            self.env.now.set(self.env.now().max(at));
            self.env.due(&self.connection, deadline);
        }
        self.env.now.set(now);
    }

    /// Sends like a handler.
    pub(super) fn send(&self, bytes: &[u8]) {
        let io = &mut *self.connection.io.borrow_mut();
        io.outbox
            .append(self.env.ledger(), |out| out.extend_from_slice(bytes));
        self.env.mark_dirty(&self.connection);
    }

    pub(super) fn close(&self, reason: &CloseReason) {
        let io = &mut *self.connection.io.borrow_mut();
        self.env.close(&self.connection, io, reason);
    }

    /// Asserts that nothing of the connection is left.
    pub(super) fn assert_gone(&self) {
        assert!(self.env.connections.borrow().is_empty(), "its slot is free");
        assert_eq!(self.env.hub.permits().taken(), 0, "its permit is free");
        assert_eq!(self.env.hub.ledgers().held(), 0, "nothing is charged");
    }
}
