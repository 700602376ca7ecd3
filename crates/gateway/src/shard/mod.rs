//! An I/O shard: one thread, one event loop, and the connections it owns for life. This file holds
//! the shard itself; its siblings hold what it does: [`turn`], [`read`], [`write`], [`admission`],
//! [`delivery`], [`ending`], [`close`], [`timers`].

mod accept;
mod admission;
#[cfg(feature = "bench")]
pub mod bench;
mod bug;
#[cfg(test)]
mod bug_tests;
mod close;
pub(crate) mod connection;
mod delivery;
mod ending;
mod fullest;
pub(crate) mod open;
pub(crate) mod outbox;
mod preamble;
mod rate;
mod read;
mod read_queue;
mod recipients;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod send_ring;
mod stop;
mod timers;
mod turn;
pub(crate) mod wheel;
mod write;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use millrace_core::{ShardIndex, ShardSet};
use slab::Slab;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, LocalSet};

use crate::adapter::Requests;
use crate::config::GatewayConfig;
use crate::http::{HttpConnection, HttpConnections, PendingWrites};
use crate::hub::{Hub, Poster, Worker};
use crate::limits::GatewayLimits;
use crate::stats::ShardStats;
use connection::Shared;
use recipients::Recipients;
use wheel::Wheel;

/// See the module. Lives on its thread, shared by the thread's tasks.
pub(crate) struct Shard {
    index: ShardIndex,
    hub: Arc<Hub>,
    limits: GatewayLimits,
    stats: Arc<ShardStats>,
    epoch: Instant,
    /// Milliseconds since the epoch, as of this turn.
    now: Cell<u64>,
    connections: RefCell<Slab<Shared>>,
    recipients: RefCell<Recipients>,
    /// Connections with a backlog, by its size.
    backlogs: RefCell<fullest::Fullest>,
    /// Connections to be written at the end of the turn.
    dirty: RefCell<Vec<Shared>>,
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    send_ring: RefCell<send_ring::SendRing>,
    /// Connections that wait for their worker.
    read_queue: RefCell<read_queue::ReadQueue>,
    /// Ends that wait for their worker.
    endings: RefCell<ending::Endings>,
    /// Workers to ring at the end of the turn.
    to_ring: RefCell<Vec<Arc<Worker>>>,
    /// What every connection reads into.
    read_buffer: RefCell<Box<[u8]>>,
    /// Emptied chunk buffers.
    spare: RefCell<Vec<Vec<u8>>>,
    wheel: RefCell<Wheel<wheel::Due>>,
    wheel_armed: Notify,
    turn_waker: RefCell<Option<Waker>>,
    acceptors: RefCell<Vec<(u32, Vec<AbortHandle>)>>,
    /// Connections that speak HTTP.
    http_connections: RefCell<HttpConnections>,
    pending_writes: PendingWrites,
    requests: Requests,
    ended: Notify,
    /// A task that the shard cannot do without was ended by a bug.
    failed: Notify,
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

impl Shard {
    fn new(
        index: ShardIndex,
        hub: Arc<Hub>,
        config: &GatewayConfig,
        stats: Arc<ShardStats>,
    ) -> Self {
        let epoch = hub.epoch();
        let now = millis(epoch.elapsed());
        Self {
            index,
            hub,
            limits: config.limits.clone(),
            stats,
            epoch,
            now: Cell::new(now),
            connections: RefCell::default(),
            recipients: RefCell::default(),
            backlogs: RefCell::default(),
            dirty: RefCell::default(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            send_ring: RefCell::new(send_ring::SendRing::new(config.io_uring)),
            read_queue: RefCell::default(),
            endings: RefCell::default(),
            to_ring: RefCell::default(),
            read_buffer: RefCell::new(vec![0; READ_BYTES].into_boxed_slice()),
            spare: RefCell::default(),
            wheel: RefCell::new(Wheel::new(now)),
            wheel_armed: Notify::new(),
            turn_waker: RefCell::new(None),
            acceptors: RefCell::default(),
            http_connections: RefCell::new(HttpConnections::new(now)),
            pending_writes: PendingWrites::default(),
            requests: Requests::new(index),
            ended: Notify::new(),
            failed: Notify::new(),
        }
    }

    pub(crate) fn index(&self) -> ShardIndex {
        self.index
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) fn limits(&self) -> &GatewayLimits {
        &self.limits
    }

    /// Memory for what a connection is about to write.
    pub(crate) fn spare_buffer(&self) -> Vec<u8> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// A peer may not come in.
    pub(crate) fn count_refused(&self) {
        self.stats.refused.add(1);
    }

    /// The requests that wait for their answers.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Milliseconds since the epoch.
    pub(crate) fn elapsed(&self) -> u64 {
        millis(self.epoch.elapsed())
    }

    /// Remembers the accepting tasks of a listener, to abort them when it stops.
    pub(crate) fn keep_acceptors(&self, listener: u32, tasks: Vec<AbortHandle>) {
        self.acceptors.borrow_mut().push((listener, tasks));
    }

    /// The connections that speak HTTP.
    pub(crate) fn http_connections(&self) -> &RefCell<HttpConnections> {
        &self.http_connections
    }

    /// Milliseconds since the gateway was made, as of this turn.
    pub(crate) fn now(&self) -> u64 {
        self.now.get()
    }

    /// Time without progress of a blocked write.
    pub(crate) fn write_timeout(&self) -> Duration {
        self.limits.write_timeout
    }

    /// Lends what every connection reads into.
    pub(crate) fn with_read_buffer<R>(&self, read: impl FnOnce(&mut [u8]) -> R) -> R {
        read(&mut self.read_buffer.borrow_mut())
    }

    fn tick(&self) {
        self.now.set(millis(self.epoch.elapsed()));
    }

    /// Makes the turn run once the event loop has done what is ready.
    fn schedule(&self) {
        if let Some(waker) = &*self.turn_waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Bytes were read from a connection.
    pub(crate) fn count_read(&self, bytes: usize) {
        self.stats
            .bytes_in
            .add(u64::try_from(bytes).unwrap_or_default());
    }

    /// Bytes were written to a connection.
    pub(crate) fn count_written(&self, bytes: usize) {
        self.stats
            .bytes_out
            .add(u64::try_from(bytes).unwrap_or_default());
    }

    /// An HTTP request was answered.
    pub(crate) fn count_request(&self) {
        self.stats.requests.add(1);
    }

    /// Those that wait for the end of the turn with what they wrote.
    pub(crate) fn pending_writes(&self) -> &PendingWrites {
        &self.pending_writes
    }

    /// Sends what this one has written at the end of the turn.
    pub(crate) fn write_later(&self, connection: &Rc<HttpConnection>) {
        self.pending_writes.add(connection);
        self.schedule();
    }

    /// Lists a connection for the writes at the end of the turn.
    fn mark_dirty(&self, connection: &Shared) {
        if !connection.dirty.replace(true) {
            self.dirty.borrow_mut().push(Rc::clone(connection));
            self.schedule();
        }
    }

    pub(crate) fn ring_later(&self, worker: &Arc<Worker>) {
        let mut to_ring = self.to_ring.borrow_mut();
        if !to_ring.iter().any(|known| Arc::ptr_eq(known, worker)) {
            to_ring.push(Arc::clone(worker));
            self.schedule();
        }
    }

    /// Runs a change of the core from this thread and wakes the shards that it made dirty.
    fn with_core<R>(
        &self,
        change: impl FnOnce(&millrace_core::Core, &mut Poster<'_, '_>) -> R,
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

/// Runs a shard until it is told to end. `Err`: it ended otherwise, and why.
pub(crate) fn run(
    index: ShardIndex,
    hub: &Arc<Hub>,
    config: &GatewayConfig,
    stats: Arc<ShardStats>,
) -> Result<(), String> {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(WAITING_THREADS)
            .build()?;
        let local = LocalSet::new();
        let shard = Rc::new(Shard::new(index, Arc::clone(hub), config, stats));
        let sound = local.block_on(&runtime, live(Rc::clone(&shard)));
        shard.end();
        drop((shard, local));
        // a disk that does not answer must not hold up the end
        runtime.shutdown_timeout(LAST_READS);
        Ok::<_, std::io::Error>(sound)
    }));
    drop(hub.inboxes().shut(index));
    // it may have been the one that was too full
    hub.shards_caught_up();
    match outcome {
        Ok(Ok(true)) => Ok(()),
        Ok(Err(error)) => Err(format!("an I/O thread could not start: {error}")),
        Ok(Ok(false)) | Err(_) => {
            Err("an I/O thread ended by a bug in Millrace; the gateway ends".to_owned())
        }
    }
}

/// Threads beside a shard that wait for the disk; the reads of more requests wait for one.
const WAITING_THREADS: usize = 16;

/// Time that reads have to end which nobody waits for any more.
const LAST_READS: Duration = Duration::from_secs(1);

/// Lives until the shard is told to end; false when a task that it cannot do without was ended by a bug.
async fn live(shard: Rc<Shard>) -> bool {
    // one turn writes to any number of connections: tokio's budget of 128 operations would make the
    // rest wait for another round through the event loop, each in its own task
    shard.spawn_vital(tokio::task::unconstrained(turn::turns(Rc::clone(&shard))));
    shard.spawn_vital(timers::timers(Rc::clone(&shard)));
    if shard.index.get() == 0 {
        let timeout = shard.limits.worker_timeout;
        shard.spawn_vital(crate::hub::watch(Arc::clone(&shard.hub), timeout));
    }
    tokio::select! {
        () = shard.ended.notified() => true,
        () = shard.failed.notified() => false,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).map_or(LONGEST_MS, |ms| ms.min(LONGEST_MS))
}

/// Longer times mean this one, so that sums of times never overflow: more than 30,000 years.
const LONGEST_MS: u64 = 1 << 50;
