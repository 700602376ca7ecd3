//! What all threads of a gateway share, and every call that any of them may make; no call waits for the network. The
//! hub is in this file, with the core, the inboxes, the workers and the counters; its calls are in the submodules.
//! Over 400 lines because every part of it is listed and documented here.

mod asking;
mod backlogs;
mod clients;
mod clock;
mod companions;
mod compressing;
mod following;
mod history;
mod inbound;
mod liveness;
mod looking_back;
mod messaging;
mod outgoing;
mod past_pages;
mod past_reader;
mod poster;
mod presence;
mod replicas;
mod rosters;
mod stored;
mod stored_past;
mod subscribing;
mod teller;
mod telling;
mod transfers;
mod uplink;
mod worker;
mod workers;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use millrace_backplane::State as LinkState;
use millrace_core::{Core, HistoryBounds, ShardIndex, ShardSet, SocketId, SocketState, TermsIndex};

use crate::config::ChannelTerms;
use crate::event::Questions;
use crate::fault::Faults;
use crate::frame::{Encodings, KeptMessage, Ledgers};
use crate::inbox::Inboxes;
use crate::limits::GatewayLimits;
use crate::notice::{Audience, Notice};
use crate::permits::Permits;
use crate::stats::{Histogram, ShardStats, Traffic};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, Padded};
use crate::target_stats::TargetStats;
use crate::worker::queue::PendingClose;

pub use asking::{Asked, Sending};
use backlogs::Backlogs;
pub(crate) use backlogs::SHOWN_BYTES;
pub use clock::unix_ms;
use compressing::Compressing;
pub(crate) use compressing::Job;
pub use history::PastError;
pub(crate) use history::expire;
pub(crate) use inbound::{Inbound, Received, UNCOUNTED_BYTES};
pub(crate) use liveness::watch;
pub use messaging::Forwardable;
#[cfg(test)]
pub(crate) use outgoing::Outgoing;
pub(crate) use past_reader::Reading;
pub(crate) use poster::Poster;
pub(crate) use replicas::Replicas;
pub(crate) use rosters::{Readiness, Rosters};
pub use subscribing::SubscribeError;
pub(crate) use teller::{StoreVerdict, Teller};
pub(crate) use uplink::{Storing, Uplink};
pub use worker::{TOKEN_WORDS, TokenWords, Worker};
pub(crate) use workers::Workers;

/// What all threads of a gateway share. Everything here may be called from any thread and never waits for the network.
pub struct Hub {
    core: Core<KeptMessage>,
    inboxes: Inboxes,
    ledgers: Arc<Ledgers>,
    inbound: Inbound,
    backlogs: Backlogs,
    /// Questions of JavaScript threads about sockets.
    questions: Questions,
    /// The number of messages in parts so far.
    streams: AtomicU64,
    encodings: Arc<Encodings>,
    /// Set at most once. The uplink may be idle.
    uplink: OnceLock<Arc<dyn Uplink>>,
    /// The channels that are followed in a store of histories, if there is one.
    replicas: Arc<Replicas>,
    /// The channels whose members on other nodes are followed, if there is a store of members.
    rosters: Arc<Rosters>,
    compressing: Compressing,
    /// What the application chose for channels, by the number of their terms.
    terms: Mutex<Arc<[ChannelTerms]>>,
    /// Whether clients may do something in some of these channels.
    has_clients: AtomicBool,
    workers: Workers,
    audience: Audience,
    permits: Permits,
    epoch: Instant,
    /// The number of running I/O shards; 0 while the gateway is not started.
    shards: AtomicUsize,
    next_shard: Padded<AtomicUsize>,
    liveness_suspended: AtomicBool,
    stops_in_progress: Arc<AtomicUsize>,
    counted: Padded<Counted>,
    targets: TargetStats,
    faults: Faults,
}

/// Counters apart from those of the shards.
#[derive(Debug, Default)]
struct Counted {
    traffic: Mutex<Counters>,
    unannotated: AtomicU64,
    /// Collected texts whose socket was closed before they were posted: deliveries that the close dropped.
    texts_too_late: AtomicU64,
    /// Messages of the past that were put into outboxes.
    recovered: AtomicU64,
    unhandled_closes: AtomicU64,
    handler_times: Histogram,
    errors: AtomicU64,
}

/// The counters of the I/O shards; those of ended shards are one sum.
#[derive(Debug, Default)]
struct Counters {
    running: Vec<Arc<ShardStats>>,
    ended: Traffic,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}

impl Hub {
    pub(crate) fn new(encodings: Arc<Encodings>) -> Self {
        Self::telling(Audience::Starter(Arc::default()), encodings)
    }

    /// The hub of a gateway that threads share.
    pub(crate) fn shared(encodings: Arc<Encodings>) -> Self {
        Self::telling(Audience::Members(Mutex::default()), encodings)
    }

    fn telling(audience: Audience, encodings: Arc<Encodings>) -> Self {
        let epoch = Instant::now();
        Self {
            core: Core::new(),
            inboxes: Inboxes::new(),
            ledgers: Arc::new(Ledgers::new()),
            inbound: Inbound::new(),
            backlogs: Backlogs::new(),
            questions: Questions::default(),
            streams: AtomicU64::new(0),
            encodings,
            uplink: OnceLock::new(),
            replicas: Arc::default(),
            rosters: Arc::default(),
            compressing: Compressing::default(),
            terms: Mutex::new(Arc::default()),
            has_clients: AtomicBool::new(false),
            workers: Workers::new(),
            audience,
            permits: Permits::new(epoch),
            epoch,
            shards: AtomicUsize::new(0),
            next_shard: Padded(AtomicUsize::new(0)),
            liveness_suspended: AtomicBool::new(false),
            stops_in_progress: Arc::default(),
            counted: Padded::default(),
            targets: TargetStats::default(),
            faults: Faults::default(),
        }
    }

    /// Whether the gateway is started.
    pub fn is_running(&self) -> bool {
        self.shards.load(Ordering::SeqCst) > 0
    }

    /// Active workers, in the order of their registration.
    pub fn active_workers(&self) -> Vec<Arc<Worker>> {
        self.workers.active()
    }

    /// While suspended, workers that do not answer are not retired, because a debugger may have stopped them.
    pub fn suspend_liveness(&self, suspended: bool) {
        self.liveness_suspended.store(suspended, Ordering::Relaxed);
    }

    /// Takes the notices since the last call. A gateway that [threads share](crate::Gateway::shared) has none here: its
    /// members get them.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.audience.starter().take()
    }

    /// The counters of the servers that sessions are relayed to.
    pub(crate) fn targets(&self) -> &TargetStats {
        &self.targets
    }

    /// The registry, for reading its state.
    pub fn core(&self) -> &Core<KeptMessage> {
        &self.core
    }

    /// Wakes the shards in the set, each once, and empties it.
    pub fn wake(&self, dirty: &mut ShardSet) {
        self.inboxes.wake(dirty);
    }

    /// Counts an error that was reported to the application.
    pub fn count_error(&self) {
        self.counted.errors.fetch_add(1, Ordering::Relaxed);
    }
}

/// Calls for the rest of the crate.
impl Hub {
    /// The channels that are followed in a store of histories.
    pub(crate) fn replicas(&self) -> &Arc<Replicas> {
        &self.replicas
    }

    /// The faults that tests cause.
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    pub(crate) fn inboxes(&self) -> &Inboxes {
        &self.inboxes
    }

    /// Whether so much waits for the I/O shards or for other nodes that callers that can wait should do so.
    pub(crate) fn is_congested(&self) -> bool {
        self.inboxes.congested() || self.uplink.get().is_some_and(|uplink| uplink.is_awaited())
    }

    /// The bytes of messages that are being received.
    pub(crate) fn inbound(&self) -> &Inbound {
        &self.inbound
    }

    /// The sockets with much in their outboxes.
    pub(crate) fn backlogs(&self) -> &Backlogs {
        &self.backlogs
    }

    pub(crate) fn ledgers(&self) -> &Arc<Ledgers> {
        &self.ledgers
    }

    /// The encodings of messages.
    #[inline]
    pub(crate) fn encodings(&self) -> &Encodings {
        &self.encodings
    }

    /// Sets whether a store numbers the messages of channels with history, before their [terms](Self::set_channel_terms) are
    /// set. With a store, and after one, everything goes that channels have kept.
    pub(crate) fn set_store(&self, has_store: bool, terms: &[ChannelTerms]) {
        if has_store || self.replicas.is_on() {
            *self.terms.lock() = Arc::default();
            self.has_clients.store(false, Ordering::Relaxed);
            if let Some(bounds) = self.core.history_bounds() {
                self.core.set_terms(Vec::new(), bounds);
            }
        }
        let of_store = terms.iter().map(|one| (one.pattern.clone(), one.history));
        self.replicas.set(has_store, of_store.collect());
    }

    /// Sets the terms of channels when the gateway starts. With other terms or bounds than those of an earlier start
    /// everything goes that channels have kept.
    pub(crate) fn set_channel_terms(&self, terms: &[ChannelTerms], limits: &GatewayLimits) {
        let bounds = HistoryBounds {
            bytes: u64::try_from(limits.history_bytes).unwrap_or(u64::MAX),
            channels: limits.history_channels.into(),
        };
        let known = std::mem::replace(&mut *self.terms.lock(), terms.into());
        if *known == *terms && self.core.history_bounds() == Some(bounds) {
            self.set_presence(terms, limits);
            return;
        }
        let has_clients = terms.iter().any(|terms| terms.clients.is_any());
        self.has_clients.store(has_clients, Ordering::Relaxed);
        let of_core = terms.iter().map(|terms| millrace_core::ChannelTerms {
            pattern: terms.pattern.clone(),
            history: terms.history,
        });
        self.core.set_terms(of_core.collect(), bounds);
        self.set_presence(terms, limits);
    }

    /// Whether messages in a channel with these terms may be compressed.
    pub(crate) fn compresses(&self, terms: Option<TermsIndex>) -> bool {
        terms.is_none_or(|index| {
            let all = self.terms.lock();
            all.get(index.get()).is_none_or(|terms| terms.compress)
        })
    }

    /// Makes the uplink, at the first call only: from then on it is told what other nodes have to know.
    pub(crate) fn set_uplink(&self, make: impl FnOnce() -> Arc<dyn Uplink>) {
        self.uplink.get_or_init(make);
    }

    /// The poster for a change of the core by this node.
    pub(crate) fn poster<'p, 'm>(&'p self, dirty: &'p mut ShardSet) -> Poster<'p, 'm> {
        Poster::new(&self.inboxes, dirty, Some(&self.uplink))
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn audience(&self) -> &Audience {
        &self.audience
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.permits
    }

    pub(crate) fn handler_times(&self) -> &Histogram {
        &self.counted.handler_times
    }

    pub(crate) fn epoch(&self) -> Instant {
        self.epoch
    }

    pub(crate) fn liveness_suspended(&self) -> bool {
        self.liveness_suspended.load(Ordering::Relaxed)
    }

    /// The number of stops of listeners in progress.
    pub(crate) fn stops_in_progress(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.stops_in_progress)
    }

    /// Why the gateway should get no clients now; `None`: it may get some.
    pub(crate) fn obstacle(&self) -> Option<&'static str> {
        if self.stops_in_progress.load(Ordering::SeqCst) > 0 || !self.is_running() {
            return Some("stopping");
        }
        if !self.workers.has_active() {
            return Some("no worker");
        }
        let link = self.uplink.get().and_then(|uplink| uplink.stats());
        let is_alone = link.is_some_and(|link| link.state != LinkState::Ready);
        is_alone.then_some("no backplane")
    }

    /// Sets the number of running I/O shards; 0: the gateway is ending or has not started.
    pub(crate) fn set_shards(&self, shards: usize) {
        self.shards.store(shards, Ordering::SeqCst);
    }

    /// The number of running I/O shards.
    pub(crate) fn shards(&self) -> usize {
        self.shards.load(Ordering::SeqCst)
    }

    /// The next shard in turn for a connection.
    pub(crate) fn next_shard(&self) -> ShardIndex {
        let shards = self.shards.load(Ordering::Relaxed).max(1);
        let turn = self.next_shard.fetch_add(1, Ordering::Relaxed) % shards;
        u8::try_from(turn)
            .ok()
            .and_then(ShardIndex::new)
            .unwrap_or_else(|| ShardIndex::new(0).expect("there is a shard 0"))
    }

    /// Adds the counters of a shard that starts.
    pub(crate) fn add_counters(&self, counters: Arc<ShardStats>) {
        self.counted.traffic.lock().running.push(counters);
    }

    /// Every shard has ended: adds up their counters.
    pub(crate) fn sum_counters(&self) {
        let mut traffic = self.counted.traffic.lock();
        let mut sum = traffic.ended;
        for counters in traffic.running.drain(..) {
            sum.add(&counters);
        }
        traffic.ended = sum;
    }

    /// The I/O shards, or the backplane, have caught up: rings the workers that waited for that.
    pub(crate) fn shards_caught_up(&self) {
        for worker in self.workers.all() {
            worker.ring_if_starved();
        }
        self.inboxes.wake_awaiting();
    }

    /// Passes closes that no handler has begun to another worker. Without a worker they wait until the gateway ends,
    /// and are then counted.
    pub(crate) fn inherit(&self, closes: Vec<PendingClose>) {
        self.workers.inherit(closes);
        if !self.is_running() {
            self.count_unhandled_closes(self.workers.drop_orphans());
        }
    }

    /// Counts closes that no worker handles.
    pub(crate) fn count_unhandled_closes(&self, lost: usize) {
        let lost = u64::try_from(lost).unwrap_or(u64::MAX);
        self.counted
            .unhandled_closes
            .fetch_add(lost, Ordering::Relaxed);
    }

    pub(crate) fn count_unannotated(&self, count: u64) {
        self.counted.unannotated.fetch_add(count, Ordering::Relaxed);
        self.report(
            "ERR_MILLRACE_NOT_AN_OBJECT",
            "a text message to a virtual socket with user data is not a JSON object; it was sent unchanged",
        );
    }

    /// Reports an error to the application, each kind at most once a second.
    pub(crate) fn report(&self, code: &'static str, message: &str) {
        self.audience.report(code, message);
    }

    fn worker_of(&self, id: SocketId) -> Option<Arc<Worker>> {
        match self.core.socket(id)? {
            SocketState::Real { worker, .. } => self.workers.find(worker),
            SocketState::Virtual { .. } => None,
        }
    }
}
