//! The gateway: one core, its inboxes, workers and counters, and the I/O shards while it is started.
//! Everything here may be called from any thread and never waits for the network.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_core::{Annotation, Core, Kind, ShardIndex, ShardSet, SocketId, Target, TokenError};

use crate::address::{self, ListenError};
use crate::config::{GatewayConfig, ListenerConfig};
use crate::frame::Ledger;
use crate::limits::MAX_SHARDS;
use crate::listener::{ListenerState, Listening as Accepting, Seats, Stopping};
use crate::notice::{Notice, Notices};
use crate::shard::inbox::{Command, Inboxes};
use crate::shard::poster::{Outgoing, Poster};
use crate::stats::{ShardStats, Stats, Traffic, WorkerStats};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};
use crate::worker::queue::PendingClose;
use crate::worker::{Doorbell, Handlers, Roster, Worker};

/// See the module.
pub struct Gateway {
    core: Core,
    inboxes: Inboxes,
    ledger: Arc<Ledger>,
    workers: Roster,
    notices: Notices,
    seats: Seats,
    epoch: Instant,
    state: Mutex<State>,
    /// I/O shards running; 0 while not started.
    shards: AtomicUsize,
    next_shard: AtomicUsize,
    liveness_suspended: AtomicBool,
    unannotated: AtomicU64,
    unhandled_closes: AtomicU64,
}

#[derive(Default)]
struct State {
    config: Option<GatewayConfig>,
    listeners: Vec<Arc<ListenerState>>,
    next_listener: u32,
    next_ticket: u32,
    next_worker: u32,
    shards_left: usize,
    stats: Vec<Arc<ShardStats>>,
    ended: Traffic,
    reported: Vec<(&'static str, Instant)>,
}

/// A listener that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// For [`Gateway::stop_listeners`].
    pub id: u32,
    /// What was bound: `ip:port` with the real port, or `unix:/path`.
    pub address: String,
}

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It runs with another value of something that the first start fixes.
    #[error("the gateway runs already with a different value of {option}")]
    AlreadyStarted {
        /// The option's name as JavaScript knows it.
        option: &'static str,
    },
    /// It is ending.
    #[error("the gateway is shutting down")]
    ShuttingDown,
    /// Not 1 to [`MAX_SHARDS`].
    #[error("ioThreads must be 1 to 64, not {0}")]
    IoThreads(usize),
    /// The system has no thread for us.
    #[error("an I/O thread could not be started: {0}")]
    Thread(std::io::Error),
}

impl StartError {
    /// The stable code shown to JavaScript.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyStarted { .. } => "ERR_MILLRACE_ALREADY_STARTED",
            Self::ShuttingDown => "ERR_MILLRACE_SHUTTING_DOWN",
            Self::IoThreads(_) => "ERR_MILLRACE_INVALID_OPTION",
            Self::Thread(_) => "ERR_MILLRACE_SHARD_FAILED",
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}

/// Beginning and end.
impl Gateway {
    /// A gateway that is not started: its core works already.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            core: Core::new(),
            inboxes: Inboxes::new(),
            ledger: Arc::new(Ledger::new()),
            workers: Roster::new(),
            notices: Notices::new(),
            seats: Seats::new(),
            epoch: Instant::now(),
            state: Mutex::new(State::default()),
            shards: AtomicUsize::new(0),
            next_shard: AtomicUsize::new(0),
            liveness_suspended: AtomicBool::new(false),
            unannotated: AtomicU64::new(0),
            unhandled_closes: AtomicU64::new(0),
        })
    }

    /// Starts the I/O shards. On a running gateway the configuration has to be the same. `notices`
    /// is rung when there is something to [take](Self::take_notices).
    pub fn start(
        self: &Arc<Self>,
        config: GatewayConfig,
        notices: Arc<dyn Doorbell>,
    ) -> Result<(), StartError> {
        let mut state = self.state.lock();
        if let Some(running) = &state.config {
            return same(running, &config);
        }
        if state.shards_left > 0 {
            return Err(StartError::ShuttingDown);
        }
        if config.io_threads == 0 || config.io_threads > MAX_SHARDS {
            return Err(StartError::IoThreads(config.io_threads));
        }
        self.notices.set_door(notices);
        self.seats.set_limits(
            config.limits.connections,
            config.limits.connections_per_address,
        );
        self.inboxes
            .open(config.io_threads, config.limits.shard_inbox_bytes);
        for index in 0..config.io_threads {
            let Some(shard) = u8::try_from(index).ok().and_then(ShardIndex::new) else {
                break;
            };
            let counters = Arc::new(ShardStats::default());
            let (gateway, limits, counted) = (
                Arc::clone(self),
                config.limits.clone(),
                Arc::clone(&counters),
            );
            let run = move || crate::shard::run(shard, &gateway, limits, counted);
            if let Err(error) = std::thread::Builder::new()
                .name(format!("millrace-io-{index}"))
                .spawn(run)
            {
                self.inboxes.post_all(|| Command::End);
                return Err(StartError::Thread(error));
            }
            state.stats.push(counters);
            state.shards_left += 1;
        }
        self.shards.store(config.io_threads, Ordering::SeqCst);
        state.config = Some(config);
        Ok(())
    }

    /// Whether it is started.
    pub fn is_running(&self) -> bool {
        self.shards.load(Ordering::SeqCst) > 0
    }

    /// Binds an address, at once, and accepts connections there from now on.
    pub fn listen(self: &Arc<Self>, config: ListenerConfig) -> Result<Listening, ListenError> {
        let mut state = self.state.lock();
        let shards = self.shards.load(Ordering::SeqCst);
        if shards == 0 {
            return Err(ListenError::NotRunning);
        }
        let (bound, address) = address::bind(&config.address)?;
        state.next_listener += 1;
        let id = state.next_listener;
        let listener = Arc::new(ListenerState::new(id, config));
        state.listeners.push(Arc::clone(&listener));
        let home = usize::try_from(id).unwrap_or_default() % shards;
        if let Some(home) = u8::try_from(home).ok().and_then(ShardIndex::new) {
            self.inboxes.post(
                home,
                Command::Listen(Box::new(Accepting {
                    bound,
                    state: listener,
                })),
            );
            self.inboxes.wake_bits(1 << home.get());
        }
        Ok(Listening { id, address })
    }

    /// Stops listeners: no more connections, 1001 to the clients, and whoever has not left after
    /// `drain` is cut. Returns a ticket at once; [`Notice::ListenersStopped`] follows.
    pub fn stop_listeners(&self, ids: &[u32], drain: Duration) -> u32 {
        let (ticket, shards) = {
            let mut state = self.state.lock();
            state.listeners.retain(|listener| {
                let stops = ids.contains(&listener.id);
                if stops {
                    listener.stop();
                }
                !stops
            });
            state.next_ticket += 1;
            (state.next_ticket, self.shards.load(Ordering::SeqCst))
        };
        if shards == 0 {
            self.notices
                .post(Notice::ListenersStopped { ticket, cut: 0 });
            return ticket;
        }
        let stopping = Arc::new(Stopping {
            ticket,
            listeners: ids.to_vec(),
            deadline: Instant::now() + drain,
            shards_left: AtomicUsize::new(shards),
            cut: AtomicU64::new(0),
        });
        self.inboxes
            .post_all(|| Command::Stop(Arc::clone(&stopping)));
        ticket
    }

    /// Ends everything: connections are cut, I/O shards end. [`Notice::Stopped`] follows; then it
    /// may be started again.
    pub fn shutdown(&self) {
        let running = {
            let mut state = self.state.lock();
            state.listeners.clear();
            self.shards.store(0, Ordering::SeqCst);
            state.config.take().is_some()
        };
        if running {
            self.inboxes.post_all(|| Command::End);
        } else {
            self.notices.post(Notice::Stopped);
        }
    }

    /// What happened since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.notices.take()
    }

    /// A worker that takes no connections until it is [activated](Worker::activate).
    pub fn add_worker(
        self: &Arc<Self>,
        handlers: Handlers,
        door: Arc<dyn Doorbell>,
    ) -> Arc<Worker> {
        let id = {
            let mut state = self.state.lock();
            state.next_worker += 1;
            state.next_worker
        };
        Arc::new(Worker::new(id, handlers, door, Arc::downgrade(self)))
    }

    /// Active workers, in the order of their registration.
    pub fn active_workers(&self) -> Vec<Arc<Worker>> {
        self.workers.all()
    }

    /// While suspended, workers that do not answer are left alone: a debugger may hold them.
    pub fn suspend_liveness(&self, suspended: bool) {
        self.liveness_suspended.store(suspended, Ordering::Relaxed);
    }

    /// Gives closes that no handler has begun to another worker. Without one they wait, but not
    /// beyond the gateway's end: then they are counted.
    pub(crate) fn inherit(&self, closes: Vec<PendingClose>) {
        self.workers.inherit(closes);
        if !self.is_running() {
            let lost = u64::try_from(self.workers.drop_orphans()).unwrap_or(u64::MAX);
            self.unhandled_closes.fetch_add(lost, Ordering::Relaxed);
        }
    }

    pub(crate) fn shard_ended(&self) {
        let last = {
            let mut state = self.state.lock();
            state.shards_left -= 1;
            if state.shards_left == 0 {
                let mut sum = state.ended;
                for stats in state.stats.drain(..) {
                    sum.add(&stats);
                }
                state.ended = sum;
            }
            state.shards_left == 0
        };
        if last {
            self.inherit(Vec::new());
            self.notices.post(Notice::Stopped);
        }
    }
}

/// Messages and subscriptions. `touched` collects the I/O shards to [wake](Gateway::wake), so that
/// many calls share one wake-up.
impl Gateway {
    /// Sends to sockets and channels; returns the deliveries posted. Never blocks.
    pub fn send(
        &self,
        targets: &[Target<'_>],
        kind: Kind,
        payload: &[u8],
        except: &[SocketId],
        touched: &mut ShardSet,
    ) -> usize {
        let message = Outgoing::new(kind, payload);
        let mut poster = Poster::new(&self.inboxes, &self.ledger, touched);
        let count = targets
            .iter()
            .map(|target| match target {
                Target::Socket(id) => self.core.send(*id, &message, except, &mut poster),
                Target::Channel(name) => self.core.publish(name, &message, except, &mut poster),
            })
            .sum();
        let (unannotated, refused) = (poster.unannotated(), poster.refused());
        if unannotated > 0 {
            self.count_unannotated(u64::from(unannotated));
        }
        if refused {
            self.report(
                "ERR_MILLRACE_INBOX_FULL",
                "an I/O thread has too much to send; deliveries to its sockets were refused",
            );
        }
        count
    }

    /// Changes subscriptions; see [`Core::subscribe`].
    pub fn subscribe(
        &self,
        who: &[Target<'_>],
        channel: &[u8],
        delta: i32,
        touched: &mut ShardSet,
    ) -> Vec<SocketId> {
        self.core.subscribe(
            who,
            channel,
            delta,
            &mut Poster::new(&self.inboxes, &self.ledger, touched),
        )
    }

    /// Whether anybody is subscribed on this node.
    pub fn has_subscriptions(&self, channel: &[u8]) -> bool {
        self.core.has_subscriptions(channel)
    }

    /// See [`Core::create_virtual`].
    pub fn create_virtual(&self, target: SocketId, annotation: Option<Annotation>) -> SocketId {
        self.core.create_virtual(target, annotation)
    }

    /// See [`Core::delete_virtual`].
    pub fn delete_virtual(
        &self,
        id: SocketId,
        expected: Option<SocketId>,
        touched: &mut ShardSet,
    ) -> bool {
        self.core.delete_virtual(
            id,
            expected,
            &mut Poster::new(&self.inboxes, &self.ledger, touched),
        )
    }

    /// Attaches bytes to a real, open socket; its handlers get them from their next call on.
    pub fn set_token(&self, id: SocketId, token: Bytes) -> Result<(), TokenError> {
        self.core.set_token(id, token)?;
        if let Some(worker) = self.worker_of(id) {
            worker.token_changed(id);
        }
        Ok(())
    }

    /// The token of a real, open socket.
    pub fn token(&self, id: SocketId) -> Option<Bytes> {
        self.core.token(id)
    }

    /// Closes a socket, following virtual ones. False: there is none.
    pub fn close(&self, id: SocketId, code: u16, reason: &str, touched: &mut ShardSet) -> bool {
        let Some(route) = self.core.route(id) else {
            return false;
        };
        let command = Command::Close {
            slot: route.slot,
            socket: route.socket,
            code,
            reason: reason.into(),
        };
        self.inboxes.post(route.shard, command);
        touched.insert(route.shard);
        true
    }

    /// A copy of a key's value.
    pub fn key(&self, key: &[u8]) -> Option<Bytes> {
        self.core.key(key)
    }

    /// Sets or, without a value, deletes a key; returns what it was.
    pub fn set_key(&self, key: &[u8], value: Option<Bytes>) -> Option<Bytes> {
        self.core.set_key(key, value)
    }

    /// Compare and set; see [`Core::set_key_if`].
    pub fn set_key_if(&self, key: &[u8], new: Option<Bytes>, check: Option<&[u8]>) -> bool {
        self.core.set_key_if(key, new, check)
    }

    /// The registry, for a look at its state.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Wakes the shards in the set, each once, and empties it.
    pub fn wake(&self, touched: &mut ShardSet) {
        self.inboxes.wake(touched);
    }

    /// Counters and sizes of this moment.
    pub fn stats(&self) -> Stats {
        let counts = self.core.counts();
        let posted = self.inboxes.posted();
        let traffic = {
            let state = self.state.lock();
            let mut traffic = state.ended;
            state.stats.iter().for_each(|stats| traffic.add(stats));
            traffic
        };
        let workers = self.workers.all();
        Stats {
            traffic,
            connections: self.seats.taken(),
            sockets: counts.sockets,
            virtual_sockets: counts.virtual_sockets,
            channels: counts.channels,
            subscriptions: counts.subscriptions,
            keys: counts.keys,
            deliveries: posted.deliveries,
            deliveries_refused: posted.refused,
            unannotated: self.unannotated.load(Ordering::Relaxed),
            unhandled_closes: self.unhandled_closes.load(Ordering::Relaxed),
            outbox_bytes: self.ledger.held(),
            io_threads: self.shards.load(Ordering::Relaxed),
            workers: workers
                .iter()
                .map(|worker| {
                    let (queued_events, queued_bytes) = worker.queue().backlog();
                    WorkerStats {
                        id: worker.id(),
                        connections: worker.queue().connections(),
                        queued_events,
                        queued_bytes,
                    }
                })
                .collect(),
        }
    }
}

/// For the rest of the crate.
impl Gateway {
    pub(crate) fn inboxes(&self) -> &Inboxes {
        &self.inboxes
    }

    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    pub(crate) fn workers(&self) -> &Roster {
        &self.workers
    }

    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    pub(crate) fn seats(&self) -> &Seats {
        &self.seats
    }

    pub(crate) fn epoch(&self) -> Instant {
        self.epoch
    }

    pub(crate) fn liveness_suspended(&self) -> bool {
        self.liveness_suspended.load(Ordering::Relaxed)
    }

    /// The shard whose turn it is to take a connection.
    pub(crate) fn next_shard(&self) -> ShardIndex {
        let shards = self.shards.load(Ordering::Relaxed).max(1);
        let turn = self.next_shard.fetch_add(1, Ordering::Relaxed) % shards;
        u8::try_from(turn)
            .ok()
            .and_then(ShardIndex::new)
            .unwrap_or_else(|| ShardIndex::new(0).expect("there is a shard 0"))
    }

    pub(crate) fn count_unannotated(&self, count: u64) {
        self.unannotated.fetch_add(count, Ordering::Relaxed);
        self.report(
            "ERR_MILLRACE_NOT_AN_OBJECT",
            "a text message to a virtual socket with user data is no JSON object; it was sent unchanged",
        );
    }

    /// Tells the application of something, each kind at most once a second.
    pub(crate) fn report(&self, code: &'static str, message: &str) {
        {
            let now = Instant::now();
            let mut state = self.state.lock();
            match state.reported.iter_mut().find(|(known, _)| *known == code) {
                Some((_, last)) if now.duration_since(*last) < REPORT_INTERVAL => return,
                Some((_, last)) => *last = now,
                None => state.reported.push((code, now)),
            }
        }
        self.notices.post(Notice::Error {
            code,
            message: message.to_owned(),
        });
    }

    fn worker_of(&self, id: SocketId) -> Option<Arc<Worker>> {
        match self.core.socket(id)? {
            millrace_core::SocketState::Real { worker, .. } => self.workers.find(worker),
            millrace_core::SocketState::Virtual { .. } => None,
        }
    }
}

/// How often one kind of trouble is reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

fn same(running: &GatewayConfig, config: &GatewayConfig) -> Result<(), StartError> {
    if running.io_threads != config.io_threads {
        return Err(StartError::AlreadyStarted {
            option: "ioThreads",
        });
    }
    if running.limits != config.limits {
        return Err(StartError::AlreadyStarted { option: "limits" });
    }
    Ok(())
}
