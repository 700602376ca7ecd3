//! What a connection needs from its thread. A shard makes it, or a test: it has no task, no runtime and no socket of
//! its own. The submodules have what waits: ends, incomplete messages, reading, and relayed output.

mod ahead;
mod ending;
mod inbound;
mod parcels;
pub(crate) mod read_queue;
mod relays;
mod slots;
mod spares;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use millrace_core::{ShardIndex, ShardSet, SocketId};
use tokio::sync::Notify;

use super::connection::Shared;
use super::fullest::Fullest;
use super::links::Dials;
use super::stops::Stops;
use super::transfers::Transfers;
use super::wheel::{Due, Wheel};
use crate::frame::{KeptMessage, Ledger};
use crate::hub::{Hub, Poster};
use crate::limits::GatewayLimits;
use crate::stats::ShardStats;
pub(crate) use ahead::Ahead;
use ending::Endings;
use inbound::Partials;
use parcels::Parcels;
use read_queue::ReadQueue;
use relays::Relays;
pub(crate) use slots::Slots;

/// See the module. Stays on its thread.
pub(crate) struct Env {
    pub(crate) index: ShardIndex,
    pub(crate) hub: Arc<Hub>,
    /// Counts the output that waits for peers of this thread.
    ledger: Arc<Ledger>,
    pub(crate) limits: GatewayLimits,
    pub(crate) stats: Arc<ShardStats>,
    epoch: Instant,
    /// Whether a test sets the time.
    #[cfg(any(test, feature = "fuzzing"))]
    time_is_set: Cell<bool>,
    /// Milliseconds since the epoch, at the start of this turn.
    pub(crate) now: Cell<u64>,
    pub(crate) connections: RefCell<Slots>,
    /// Connections with a backlog, by its size.
    pub(crate) backlogs: RefCell<Fullest>,
    /// Connections with an incomplete message.
    pub(crate) partials: Partials,
    /// Connections to be written at the end of the turn.
    pub(crate) dirty: RefCell<Vec<Shared>>,
    /// Connections that the readiness loop runs next.
    pub(crate) runnable: RefCell<Vec<Shared>>,
    /// Connections that wait for their worker.
    pub(crate) read_queue: RefCell<ReadQueue>,
    /// Ends that wait for their worker.
    pub(crate) endings: RefCell<Endings>,
    /// Stops of listeners that wait for connections to end.
    pub(crate) stops: Stops,
    /// The transfers of this thread.
    pub(crate) transfers: Transfers,
    /// Connections whose outbox has room again for messages of the past.
    pub(crate) history_room: RefCell<Vec<SocketId>>,
    /// Connections to be dialled.
    pub(crate) dials: Dials,
    /// Events for workers, which get them at the end of the turn.
    parcels: Parcels,
    /// The buffer that every connection reads into.
    pub(crate) read_buffer: RefCell<Box<[u8]>>,
    /// Output that sessions have written to other connections.
    relays: Relays,
    /// Emptied chunk buffers.
    spare: RefCell<Vec<Vec<u8>>>,
    /// The capacity of the longer ones.
    long_spare_bytes: Cell<usize>,
    pub(crate) wheel: RefCell<Wheel<Due>>,
    pub(crate) wheel_armed: Notify,
    /// Runs the readiness loop.
    pub(crate) loop_waker: RefCell<Option<Waker>>,
    /// Whether a turn is asked for that has not begun.
    pub(crate) turn_is_due: Cell<bool>,
    /// Whether the readiness loop runs that turn itself, so that its task need not be woken.
    pub(crate) turn_follows: Cell<bool>,
    /// What the turn that runs now will still do.
    ahead: Cell<Ahead>,
    /// Runs the turn.
    pub(crate) turn_waker: RefCell<Option<Waker>>,
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl Env {
    pub(crate) fn new(
        index: ShardIndex,
        hub: Arc<Hub>,
        limits: GatewayLimits,
        stats: Arc<ShardStats>,
    ) -> Self {
        hub.inbound().begin(index);
        hub.backlogs().begin(index);
        let epoch = hub.epoch();
        let now = millis(epoch.elapsed());
        Self {
            index,
            ledger: Arc::clone(hub.ledgers().of(index)),
            hub,
            limits,
            stats,
            epoch,
            #[cfg(any(test, feature = "fuzzing"))]
            time_is_set: Cell::new(false),
            now: Cell::new(now),
            connections: RefCell::default(),
            backlogs: RefCell::default(),
            partials: Partials::default(),
            dirty: RefCell::default(),
            runnable: RefCell::default(),
            loop_waker: RefCell::new(None),
            turn_is_due: Cell::new(false),
            turn_follows: Cell::new(false),
            read_queue: RefCell::default(),
            endings: RefCell::default(),
            stops: Stops::default(),
            transfers: Transfers::new(index),
            history_room: RefCell::default(),
            dials: Dials::default(),
            parcels: Parcels::default(),
            read_buffer: RefCell::new(vec![0; READ_BYTES].into_boxed_slice()),
            relays: Relays::default(),
            spare: RefCell::default(),
            long_spare_bytes: Cell::new(0),
            wheel: RefCell::new(Wheel::new(now)),
            wheel_armed: Notify::new(),
            ahead: Cell::default(),
            turn_waker: RefCell::new(None),
        }
    }

    pub(crate) fn index(&self) -> ShardIndex {
        self.index
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    pub(crate) fn limits(&self) -> &GatewayLimits {
        &self.limits
    }

    /// Counts a refused peer.
    pub(crate) fn count_refused(&self) {
        self.stats.refused.add(1);
    }

    /// The time since the epoch.
    pub(crate) fn clock(&self) -> Duration {
        #[cfg(any(test, feature = "fuzzing"))]
        if self.time_is_set.get() {
            return Duration::from_millis(self.now.get());
        }
        self.epoch.elapsed()
    }

    /// Milliseconds since the epoch.
    pub(crate) fn elapsed(&self) -> u64 {
        millis(self.clock())
    }

    /// Milliseconds since the gateway was made, at the start of this turn.
    pub(crate) fn now(&self) -> u64 {
        self.now.get()
    }

    /// The time for which a blocked write may make no progress.
    pub(crate) fn write_timeout(&self) -> Duration {
        self.limits.write_timeout
    }

    /// Calls `read` with the shared read buffer.
    pub(crate) fn with_read_buffer<R>(&self, read: impl FnOnce(&mut [u8]) -> R) -> R {
        read(&mut self.read_buffer.borrow_mut())
    }

    #[inline]
    pub(crate) fn tick(&self) {
        self.now.set(self.elapsed());
    }

    /// Sets the clock to this time and stops it.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn set_clock(&self, now: u64) {
        self.time_is_set.set(true);
        self.now.set(now);
    }

    /// Makes the turn run once the event loop has handled what is ready.
    pub(crate) fn schedule(&self) {
        if !self.turn_is_due.replace(true)
            && !self.turn_follows.get()
            && let Some(waker) = &*self.turn_waker.borrow()
        {
            waker.wake_by_ref();
        }
    }

    /// Counts bytes that were read from a connection.
    pub(crate) fn count_read(&self, bytes: usize) {
        self.stats
            .bytes_in
            .add(u64::try_from(bytes).unwrap_or_default());
    }

    /// Counts bytes that were written to a connection.
    pub(crate) fn count_written(&self, bytes: usize) {
        self.stats
            .bytes_out
            .add(u64::try_from(bytes).unwrap_or_default());
    }

    /// Counts an answered HTTP request.
    pub(crate) fn count_request(&self) {
        self.stats.requests.add(1);
    }

    /// The connection in this slot, if it still has this id.
    pub(crate) fn find(&self, slot: u32, socket: SocketId) -> Option<Shared> {
        let connections = self.connections.borrow();
        let connection = connections.get(slot)?;
        (connection.socket == socket).then(|| Rc::clone(connection))
    }

    /// Lists a connection for the writes at the end of the turn.
    pub(crate) fn mark_dirty(&self, connection: &Shared) {
        if !connection.dirty.replace(true) {
            self.dirty.borrow_mut().push(Rc::clone(connection));
            self.schedule_for(Ahead::Writes);
        }
    }

    /// Has what runs the connection run it again, after others that are ready.
    pub(crate) fn run_soon(&self, connection: &Shared) {
        if !connection.is_watched.get() {
            connection.with_waker(Waker::wake_by_ref);
        } else if !connection.runnable.replace(true) {
            self.runnable.borrow_mut().push(Rc::clone(connection));
            if let Some(waker) = &*self.loop_waker.borrow() {
                waker.wake_by_ref();
            }
        }
    }

    /// Changes the core from this thread, and wakes the shards that this made dirty.
    pub(crate) fn with_core<R>(
        &self,
        change: impl FnOnce(&millrace_core::Core<KeptMessage>, &mut Poster<'_, '_>) -> R,
    ) -> R {
        let mut dirty = ShardSet::default();
        let result = {
            let mut poster = self.hub.poster(&mut dirty);
            change(self.hub.core(), &mut poster)
        };
        self.hub.wake(&mut dirty);
        result
    }
}

/// Bytes read at once: a WebSocket message of 64 KiB and its head, which are then decoded in place.
const READ_BYTES: usize = 65 * 1024;

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).map_or(LONGEST_MS, |ms| ms.min(LONGEST_MS))
}

/// The longest duration; longer ones are cut to it, so that sums of times never overflow: more than 30,000 years.
const LONGEST_MS: u64 = 1 << 50;
