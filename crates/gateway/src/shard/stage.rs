//! One shard, its hub, a worker and connections of any protocol, run until nothing is left to do: no thread, no
//! runtime, peers in memory, and a clock that tests set. Only in tests and with the feature `fuzzing`. Over 400 lines because
//! everything that a test does to a shard is in one object.

#[cfg(test)]
mod beside;
pub(crate) mod life;
mod speaks;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use millrace_core::{Kind, Name, ShardIndex, ShardSet, SocketId, Space, Target};

use crate::config::{GatewayConfig, ListenerConfig};
use crate::doorbell::Doorbell;
use crate::event::{Event, Handlers, Opening};
use crate::frame::{Encodings, Message, Via};
use crate::hub::{Hub, Worker};
use crate::limits::GatewayLimits;
use crate::listener::ListenerState;
use crate::net::pipe::{Ends, Pipe};
use crate::net::stream::Stream;
use crate::shard::Shard;
use crate::shard::readiness::Readiness;
use crate::socket::Session;
use crate::socket::connection::Shared;
use crate::socket::wheel::TICK_MS;
use crate::stats::ShardStats;
#[cfg(test)]
pub(super) use speaks::Arriving;
use speaks::Forms;
pub(crate) use speaks::{EVERY, Speaks};

/// The worker's default handlers. Without `handleEnd` the end of a peer's stream closes the connection.
const HANDLERS: Handlers = Handlers::OPEN
    .with(Handlers::TEXT)
    .with(Handlers::BINARY)
    .with(Handlers::CLOSE)
    .with(Handlers::SOCKETY_MESSAGE);

/// Kinds of records.
pub(super) const OPEN: u32 = 1;
pub(super) const CLOSE: u32 = 4;
pub(super) const PIECE: u32 = 7;
pub(super) const EVENT: u32 = 9;

/// A shard of this hub, and whether its turn is due.
fn shard_of(
    hub: &Arc<Hub>,
    index: ShardIndex,
    config: &GatewayConfig,
    readiness: Readiness,
) -> (Rc<Shard>, Arc<Flag>) {
    let stats = Arc::new(ShardStats::default());
    hub.add_counters(Arc::clone(&stats));
    let counters = (stats, Arc::default());
    let shard = Shard::new(index, Arc::clone(hub), config, counters, readiness);
    let shard = Rc::new(shard);
    shard.set_clock(1_000);
    let turn = Arc::new(Flag::default());
    *shard.turn_waker.borrow_mut() = Some(Flag::waker(&turn));
    hub.inboxes().set_waker(index, Flag::waker(&turn));
    (shard, turn)
}

struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

/// Whether something has to run.
#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Flag {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    fn waker(flag: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(flag))
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection and its peer.
pub(super) struct Actor {
    pub(super) speaks: Speaks,
    pub(super) connection: Shared,
    pub(super) socket: SocketId,
    pub(super) peer: Rc<RefCell<Ends>>,
    woken: Arc<Flag>,
    done: Cell<bool>,
}

/// See the module.
pub(super) struct Stage {
    pub(super) shard: Rc<Shard>,
    pub(super) hub: Arc<Hub>,
    pub(super) worker: Arc<Worker>,
    pub(super) listener: Arc<ListenerState>,
    forms: Forms,
    turn: Arc<Flag>,
    actors: RefCell<Vec<Rc<Actor>>>,
}

impl Stage {
    /// A stage whose worker has these handlers in addition to the default ones.
    pub(super) fn handling(more: Handlers, limits: impl FnOnce(&mut GatewayLimits)) -> Self {
        Self::watching(Readiness::none(), more, limits)
    }

    /// The same with a readiness loop.
    pub(super) fn watching(
        readiness: Readiness,
        more: Handlers,
        limits: impl FnOnce(&mut GatewayLimits),
    ) -> Self {
        let encodings = Arc::new(Encodings::new());
        let forms = Forms::new(&encodings);
        let hub = Arc::new(Hub::new(encodings));
        let mut config = GatewayConfig {
            io_threads: 1,
            io_uring: false,
            ..GatewayConfig::default()
        };
        limits(&mut config.limits);
        hub.inboxes().open(1, config.limits.shard_inbox_bytes);
        let worker = Worker::new(1, HANDLERS | more, Arc::new(Silent), Arc::downgrade(&hub));
        let worker = Arc::new(worker);
        worker.activate();
        let listener = ListenerConfig::default();
        let listener = Arc::new(ListenerState::new(1, listener, None, || {}));
        let index = ShardIndex::new(0).expect("the first is one");
        let (shard, turn) = shard_of(&hub, index, &config, readiness);
        Self {
            shard,
            hub,
            worker,
            listener,
            forms,
            turn,
            actors: RefCell::default(),
        }
    }

    /// Opens a connection, whose peer reads only a header so far.
    pub(super) fn open(&self, speaks: Speaks) -> Rc<Actor> {
        self.open_with(speaks, |id| self.session(speaks, id))
    }

    pub(super) fn session(&self, speaks: Speaks, id: SocketId) -> Box<dyn Session> {
        let its = (&self.hub, &self.listener);
        self.forms.session(speaks, id, its)
    }

    /// Opens a connection with a splice session; returns the other ends of its targets, too.
    #[cfg(test)]
    pub(super) fn open_splice(&self, config: &ListenerConfig) -> (Rc<Actor>, Arriving) {
        let (session, arriving) = self.forms.splice().session_with_targets(&self.hub, config);
        (self.open_with(Speaks::Splice, |_| session), arriving)
    }

    pub(super) fn open_with(
        &self,
        speaks: Speaks,
        make: impl FnOnce(SocketId) -> Box<dyn Session>,
    ) -> Rc<Actor> {
        let permit = self.hub.permits().take(None).0;
        let connection = if speaks.has_worker() {
            let worker = Arc::clone(&self.worker);
            let place = (None, permit);
            let (connection, admission) = self.shard.reserve(worker, &self.listener, place, make);
            let opening = Opening::unseen(connection.socket);
            assert!(self.shard.announce(&connection, &opening));
            drop(admission);
            connection
        } else {
            let place = (None, permit);
            self.shard.open_without_worker(&self.listener, place, make)
        };
        let (peer, woken) = (Rc::<RefCell<Ends>>::default(), Arc::<Flag>::default());
        let stream = Stream::carried(Pipe(Rc::clone(&peer)));
        assert!(self.shard.begin(&connection, stream, Box::default()));
        woken.0.store(true, Ordering::Relaxed);
        let actor = Rc::new(Actor {
            speaks,
            socket: connection.socket,
            connection,
            peer,
            woken,
            done: Cell::new(false),
        });
        self.actors.borrow_mut().push(Rc::clone(&actor));
        actor.peer.borrow_mut().give_room(speaks.header().len());
        actor.peer.borrow_mut().feed(speaks.header());
        self.run();
        assert_eq!(actor.got(), speaks.header());
        actor
    }

    /// Runs tasks and turns until nothing is left to do. Returns whether there was something.
    pub(super) fn run(&self) -> bool {
        for round in 0..MOST_ROUNDS {
            let mut ran = false;
            for actor in self.actors.borrow().iter() {
                ran |= self.drive(actor);
            }
            ran |= self.turn();
            if !ran {
                return round > 0;
            }
        }
        panic!("the stage never comes to rest");
    }

    /// Runs a connection's task if it was woken.
    pub(super) fn drive(&self, actor: &Actor) -> bool {
        let runs = actor.woken.take() && !actor.done.get();
        if runs {
            let waker = Flag::waker(&actor.woken);
            let ended = self
                .shard
                .drive(&actor.connection, &mut Context::from_waker(&waker));
            actor.done.set(ended.is_ready());
        }
        runs
    }

    /// Runs a turn if one is due.
    pub(super) fn turn(&self) -> bool {
        let runs = self.turn.take();
        if runs {
            self.shard.turn();
        }
        runs
    }

    /// Lets time pass, and runs everything that it causes.
    pub(super) fn pass(&self, ms: u64) {
        let end = self.shard.now() + ms;
        while self.shard.now() < end {
            let now = end.min(self.shard.now() + TICK_MS);
            self.shard.set_clock(now);
            self.shard.look_at_deadlines(&mut Vec::new());
            self.run();
        }
    }

    /// Lets the worker handle what waits; returns kinds, slots and payloads.
    pub(super) fn handle(&self) -> Vec<(u32, u32, Vec<u8>)> {
        let mut records = Vec::new();
        self.worker.begin_drain();
        while let Some(batch) = self.worker.take() {
            let mut rest = &batch.bytes[..];
            while let Some((head, behind)) = rest.split_first_chunk::<8>() {
                let length = usize::try_from(word(head, 0) >> 8).expect("24 bits");
                // a payload beside the batch has no header in front
                let is_whole = word(head, 0) & 1 << 5 == 0;
                let payload = if is_whole || matches!(word(head, 0) & 15, PIECE | EVENT) {
                    behind[..length].to_vec()
                } else {
                    let index = usize::try_from(word(behind, 0)).expect("an index");
                    batch.sidecars[index].payload().to_vec()
                };
                records.push((word(head, 0) & 15, word(head, 4), payload));
                rest = &behind[length.next_multiple_of(4)..];
            }
            self.worker.finish(batch);
        }
        self.run();
        records
    }

    /// The kinds of records that the worker gets, without those that only JavaScript code of a protocol gets.
    pub(super) fn told(&self) -> Vec<u32> {
        self.kinds(&self.handle())
    }

    /// The kinds of records, without those that only the Sockety code in JavaScript gets.
    fn kinds(&self, records: &[(u32, u32, Vec<u8>)]) -> Vec<u32> {
        let actors = self.actors.borrow();
        let is_sockety = actors.iter().any(|actor| actor.speaks == Speaks::Sockety);
        let told = records.iter().filter(|(kind, _, payload)| match *kind {
            PIECE => !is_sockety,
            EVENT => !is_sockety || word(payload, 0) == Event::End.number(),
            _ => true,
        });
        told.map(|record| record.0).collect()
    }

    /// Sends to a socket, without running a turn.
    pub(super) fn send(&self, actor: &Actor, payload: &[u8]) -> usize {
        let mut dirty = ShardSet::default();
        let who = [Target::Socket(actor.socket)];
        let sent = self.hub.send(&who, Kind::Text, payload, &[], &mut dirty);
        self.hub.wake(&mut dirty);
        sent
    }

    /// Publishes to a channel, without running a turn.
    pub(super) fn publish(&self, channel: &[u8], payload: &[u8]) -> usize {
        let mut dirty = ShardSet::default();
        let to = [Target::Channel(channel)];
        let sent = self.hub.send(&to, Kind::Text, payload, &[], &mut dirty);
        self.hub.wake(&mut dirty);
        sent
    }

    /// Changes a subscription, without running a turn.
    pub(super) fn subscribe(&self, actor: &Actor, channel: &[u8], delta: i32) {
        let mut dirty = ShardSet::default();
        let who = [Target::Socket(actor.socket)];
        let changed = self.hub.subscribe(&who, channel, delta, &mut dirty);
        changed.expect("there is room for one channel");
        self.hub.wake(&mut dirty);
    }

    /// Closes a socket like the application, without running a turn.
    pub(super) fn close(&self, actor: &Actor, code: u16) -> bool {
        let mut dirty = ShardSet::default();
        let known = self.hub.close(actor.socket, code, "enough", &mut dirty);
        self.hub.wake(&mut dirty);
        known
    }

    /// A text as this connection gets it, published to a channel or sent to it alone.
    pub(super) fn frame(&self, actor: &Actor, channel: Option<&[u8]>, payload: &[u8]) -> Vec<u8> {
        let name = channel.map(|channel| Name::new(Space::Channel, channel));
        let via = name.as_ref().map(|channel| Via {
            channel,
            pattern: None,
            mark: None,
            from: None,
            number: None,
        });
        let message = Message {
            kind: Kind::Text,
            payload,
            via,
        };
        let encoding = actor.connection.io.borrow().encoding;
        if encoding == Encodings::LEAD {
            let mut frame = Vec::new();
            Encodings::append_lead(&message, &mut frame);
            return frame;
        }
        let encoded = self.hub.encodings().encode(encoding, &message);
        encoded.expect("a text fits any encoding")
    }

    /// Makes all peers vanish, and asserts that nothing of them is left. Returns what the worker is told meanwhile.
    pub(super) fn assert_nothing_left(&self) -> Vec<u32> {
        for actor in self.actors.borrow().iter() {
            actor.peer.borrow_mut().vanish();
        }
        self.run();
        // input that waited is handled step by step
        let mut told = Vec::new();
        loop {
            let more = self.handle();
            if more.is_empty() {
                break;
            }
            told.extend(self.kinds(&more));
        }
        let timeout = self.shard.limits.close_timeout;
        let timeout = u64::try_from(timeout.as_millis()).expect("seconds");
        self.pass(timeout + 10 * TICK_MS);
        assert!(self.shard.connections.borrow().is_empty(), "a slot is left");
        assert_eq!(self.hub.permits().taken(), 0, "a permit is left");
        assert_eq!(self.hub.ledgers().held(), 0, "a charge is left");
        assert_eq!(self.hub.inbound().bytes(), 0, "a begun message is left");
        assert_eq!(self.shard.transfers.count(), 0, "a transfer is left");
        let counts = self.hub.core().counts();
        assert_eq!((counts.sockets, counts.channels), (0, 0), "in the core");
        told.extend(self.told());
        told
    }
}

impl Actor {
    /// Takes what the peer has received so far.
    pub(super) fn got(&self) -> Vec<u8> {
        std::mem::take(&mut self.peer.borrow_mut().from_gateway)
    }

    /// The peer reads everything from now on.
    pub(super) fn read_all(&self) {
        self.peer.borrow_mut().give_room(usize::MAX);
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.get()
    }

    /// The close for this reason, in the connection's protocol.
    pub(super) fn goodbye(&self, reason: &crate::close::CloseReason) -> Vec<u8> {
        let mut out = Vec::new();
        let io = &mut *self.connection.io.borrow_mut();
        io.session.append_close(reason, &mut out);
        out
    }
}

/// A word of a record.
fn word(record: &[u8], at: usize) -> u32 {
    let bytes = record[at..].first_chunk().expect("records are whole");
    u32::from_ne_bytes(*bytes)
}

const MOST_ROUNDS: usize = 100_000;
