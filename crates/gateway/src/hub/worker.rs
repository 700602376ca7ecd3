//! Workers: the JavaScript threads that handle events, as Rust sees them. A worker is a queue, a doorbell and some
//! state; it never calls JavaScript itself.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use millrace_core::{ShardSet, SocketId};

use super::Hub;
use crate::doorbell::Doorbell;
use crate::event::{Acceptance, Handlers, Rejection};
use crate::inbox::Command;
use crate::stats::{Histogram, Times};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, Padded};
use crate::worker::LoopDelays;
use crate::worker::queue::{Batch, PendingClose, Queue};

/// The doorbell of [`Worker::none`], which rings nothing.
struct Silence;

impl Doorbell for Silence {
    fn ring(&self) {}
}

/// Tells JavaScript that the token at this index changed; see [`Worker::set_token_words`].
pub type TokenWords = Box<dyn Fn(usize) + Send + Sync>;

/// Cleans up after a thread that does not answer; see [`Worker::when_given_up`].
type GivenUp = Box<dyn Fn() + Send + Sync>;

/// The number of token words of a worker; a socket's word is its id modulo this.
pub const TOKEN_WORDS: u64 = 1024;

/// One JavaScript environment that runs handlers.
pub struct Worker {
    id: u32,
    handlers: Handlers,
    door: Arc<dyn Doorbell>,
    pub(super) hub: Weak<Hub>,
    /// Whether it takes only the connections of its own thread.
    is_own: bool,
    queue: Queue,
    /// Set when events stay in the queue because an inbox or the backplane is above its high-water mark.
    starved: AtomicBool,
    retired: AtomicBool,
    /// Requests that wait for the rest of their answer.
    requests: Padded<AtomicUsize>,
    /// Events whose handler's promise is pending, or that wait for such a one.
    held: Padded<AtomicU64>,
    token_words: OnceLock<TokenWords>,
    given_up: OnceLock<GivenUp>,
    handler_times: Padded<Histogram>,
    loop_delays: Padded<LoopDelays>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("id", &self.id)
            .field("handlers", &self.handlers)
            .finish_non_exhaustive()
    }
}

impl Worker {
    pub(crate) fn new(
        id: u32,
        handlers: Handlers,
        door: Arc<dyn Doorbell>,
        hub: Weak<Hub>,
    ) -> Self {
        Self {
            id,
            handlers,
            door,
            hub,
            is_own: false,
            queue: Queue::new(),
            starved: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            requests: Padded(AtomicUsize::new(0)),
            held: Padded(AtomicU64::new(0)),
            token_words: OnceLock::new(),
            given_up: OnceLock::new(),
            handler_times: Padded::default(),
            loop_delays: Padded(LoopDelays::new()),
        }
    }

    /// Makes it take only the connections of its own thread, and neither inherit nor leave closes.
    pub(crate) fn for_own_thread(self) -> Self {
        Self {
            is_own: true,
            ..self
        }
    }

    /// Stands for the absence of a worker: takes nothing, handles nothing, is never rung.
    pub(crate) fn none() -> Self {
        let none = Self::new(0, Handlers::NONE, Arc::new(Silence), Weak::new());
        drop(none.queue.retire());
        none
    }

    /// A positive number, unique in its gateway and never reused.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The handlers that its module exports.
    pub fn handlers(&self) -> Handlers {
        self.handlers
    }

    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// `handleStart` has finished: connections may be pinned to it from now on.
    pub fn activate(self: &Arc<Self>) {
        if let Some(hub) = self.hub.upgrade() {
            hub.workers().activate(self);
        }
    }

    /// Has to be called first whenever the doorbell has woken the thread: clears the ringing flag, which shows that the
    /// worker is alive.
    pub fn begin_drain(&self) {
        self.loop_delays.answered();
        self.queue.stop_ringing();
    }

    /// Takes the next batch. `None`: there is nothing now, or the shards or the backplane have too much to send; the
    /// doorbell rings when that changes.
    pub fn take(&self) -> Option<Batch> {
        let hub = self.hub.upgrade()?;
        if hub.is_congested() {
            self.starved.store(true, Ordering::SeqCst);
            if hub.is_congested() {
                return None;
            }
        }
        let (batch, paused) = self.queue.take()?;
        if paused != 0 {
            hub.inboxes().wake_bits(paused);
        }
        Some(batch)
    }

    /// Call when every record of the batch is handled or held. True: more is pending, so the bell has to ring again.
    pub fn finish(&self, batch: Batch) -> bool {
        let (more, paused) = self.queue.finish(batch);
        if paused != 0
            && let Some(hub) = self.hub.upgrade()
        {
            hub.inboxes().wake_bits(paused);
        }
        more
    }

    /// Rings the doorbell unless it is ringing already.
    pub fn ring(&self) {
        if self.queue.start_ringing() {
            self.loop_delays.rung();
            self.door.ring();
        }
    }

    /// Records of `socket` wait in JavaScript behind a pending promise. Has to be called inside the drain.
    pub fn hold(&self, socket: SocketId, events: u32, bytes: u32, dirty: &mut ShardSet) {
        self.held.fetch_add(counted(events), Ordering::Relaxed);
        self.post(socket, dirty, |slot| Command::Hold {
            slot,
            socket,
            events,
            bytes,
        });
    }

    /// Records that were held earlier are handled now.
    pub fn release(&self, socket: SocketId, events: u32, bytes: u32, dirty: &mut ShardSet) {
        self.held.fetch_sub(counted(events), Ordering::Relaxed);
        self.post(socket, dirty, |slot| Command::Release {
            slot,
            socket,
            events,
            bytes,
        });
    }

    /// Whether the caller may run `handleClose` for `socket`: true once; false if this worker was retired and another
    /// one runs it.
    pub fn claim_close(&self, socket: SocketId) -> bool {
        self.queue.claim_close(socket)
    }

    /// `handleOpen` accepted. Its token is valid from this call on.
    pub fn accept_open(&self, socket: SocketId, mut acceptance: Acceptance, dirty: &mut ShardSet) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        if let Some(token) = acceptance.token.take() {
            // a socket that has closed meanwhile needs no token
            let _gone = hub.set_token(socket, token);
        }
        let acceptance = Box::new(acceptance);
        self.post(socket, dirty, |slot| Command::Admit {
            slot,
            socket,
            answer: Ok(acceptance),
        });
    }

    /// `handleOpen` rejected the connection.
    pub fn refuse_open(&self, socket: SocketId, rejection: Rejection, dirty: &mut ShardSet) {
        let rejection = Box::new(rejection);
        self.post(socket, dirty, |slot| Command::Admit {
            slot,
            socket,
            answer: Err(rejection),
        });
    }

    /// Sets the function that tells this worker's environment that a token changed. The function must do nothing once
    /// the environment is gone.
    pub fn set_token_words(&self, words: TokenWords) {
        // an environment registers its function once; a second call changes nothing
        let _already_set = self.token_words.set(words);
    }

    /// Sets what cleans up if the thread does not answer its doorbell, because it cannot clean up itself then. It may block on
    /// the disk.
    pub fn when_given_up(&self, clean_up: GivenUp) {
        // set once, as the token words are
        let _already_set = self.given_up.set(clean_up);
    }

    /// Cleans up after a thread that does not answer and was retired, outside the event loop that calls this.
    pub(super) fn give_up(self: &Arc<Self>) {
        let worker = Arc::clone(self);
        let _cleaning_up = tokio::task::spawn_blocking(move || {
            if let Some(clean_up) = worker.given_up.get() {
                clean_up();
            }
        });
    }

    /// Records the duration of a handler in µs; a sample is enough.
    pub fn observe(&self, micros: u64) {
        self.handler_times.observe(micros);
        if let Some(hub) = self.hub.upgrade() {
            hub.handler_times().observe(micros);
        }
    }

    pub(crate) fn handler_times(&self) -> Times {
        self.handler_times.times()
    }

    pub(crate) fn loop_delays(&self) -> Times {
        self.loop_delays.times()
    }

    /// The number of requests that wait for the rest of their answer.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// The number of events whose handler's promise is pending, or that wait for such a one.
    pub(crate) fn held_events(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts one more request, or one less.
    pub(crate) fn count_request(&self, more: bool) {
        if more {
            self.requests.fetch_add(1, Ordering::Relaxed);
        } else {
            self.requests.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether the queue is empty and no close is unclaimed.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// The environment is gone or does not answer: its connections are closed with 1011 at once, and closes that no
    /// handler has begun go to another worker. May be called more than once.
    pub fn retire(self: &Arc<Self>) {
        if self.retired.swap(true, Ordering::SeqCst) {
            return;
        }
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        hub.workers().remove(self.id);
        let closes = self.queue.retire();
        self.bequeath(&hub, closes);
        hub.inboxes()
            .post_all(|| Command::WorkerGone { worker: self.id });
    }

    /// The worker is being replaced: it takes no more connections, and its connections are closed with 1012. It still
    /// handles what waits, including their closes, and still has to answer its doorbell.
    pub fn leave(&self) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        hub.workers().leave(self.id);
        let worker = self.id;
        hub.inboxes().post_all(|| Command::WorkerLeaves { worker });
    }

    /// The number of connections pinned to it.
    pub fn connections(&self) -> u64 {
        self.queue.connections()
    }

    /// Whether the worker takes no more events.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::SeqCst)
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Appends a close; the close of a retired worker goes to another one. True: the worker has to be rung.
    pub(crate) fn deliver_close(&self, slot: u32, close: PendingClose) -> bool {
        let handled = self.handlers.contains(Handlers::CLOSE);
        match self.queue.close(slot, close, handled) {
            // Sockety handlers may wait for something that does not arrive any more
            Ok(many) => handled || many || self.handlers.contains(Handlers::SOCKETY_MESSAGE),
            Err(close) => {
                // without `handleClose` there is nothing to handle
                if handled && let Some(hub) = self.hub.upgrade() {
                    self.bequeath(&hub, vec![close]);
                }
                false
            }
        }
    }

    /// Passes on closes that no handler of this worker will see.
    fn bequeath(&self, hub: &Hub, closes: Vec<PendingClose>) {
        if self.is_own {
            hub.count_unhandled_closes(closes.len());
        } else {
            hub.inherit(closes);
        }
    }

    pub(crate) fn token_changed(&self, socket: SocketId) {
        if let Some(bump) = self.token_words.get() {
            bump(usize::try_from(socket.get() % TOKEN_WORDS).unwrap_or_default());
        }
    }

    /// Rings if events stayed in the queue because an inbox was full.
    pub(crate) fn ring_if_starved(&self) {
        if self.starved.swap(false, Ordering::SeqCst) {
            self.ring();
        }
    }

    fn post(&self, socket: SocketId, dirty: &mut ShardSet, command: impl FnOnce(u32) -> Command) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        if let Some(route) = hub.core().route(socket) {
            hub.inboxes().post(route.shard, command(route.slot));
            dirty.insert(route.shard);
        }
    }
}

/// The events that are held, or 0 if the number only stops a connection.
fn counted(events: u32) -> u64 {
    if events < STOPPING {
        u64::from(events)
    } else {
        0
    }
}

/// More events than a connection can have: JavaScript holds so many to have it read no more.
const STOPPING: u32 = 1 << 31;
