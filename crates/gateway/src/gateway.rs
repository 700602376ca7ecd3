//! The gateway: one core, its inboxes, workers and counters, and the I/O shards while it is started.
//! Everything here may be called from any thread and never waits for the network.

mod lifecycle;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use millrace_core::{Core, ShardIndex, ShardSet, SocketId};

use crate::adapter::Adapters;
use crate::backplane::BackplaneHandle;
use crate::config::GatewayConfig;
use crate::frame::{Encodings, Ledger};
use crate::hub::{Poster, Uplink, Worker, Workers};
use crate::inbox::Inboxes;
use crate::listener::ListenerState;
use crate::notice::{Notice, Notices};
use crate::permits::Permits;
use crate::stats::{Histogram, ShardStats, Traffic};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};

pub use lifecycle::{Listening, StartError};

/// See the module.
pub struct Gateway {
    pub(crate) core: Core,
    pub(crate) inboxes: Inboxes,
    pub(crate) ledger: Arc<Ledger>,
    /// Set at most once; whoever it is may be idle.
    pub(crate) uplink: OnceLock<Arc<dyn Uplink>>,
    pub(crate) backplane: BackplaneHandle,
    pub(crate) workers: Workers,
    pub(crate) notices: Notices,
    pub(crate) permits: Arc<Permits>,
    pub(crate) encodings: Encodings,
    pub(crate) adapters: Adapters,
    pub(crate) epoch: Instant,
    pub(crate) state: Mutex<State>,
    /// I/O shards running; 0 while not started.
    pub(crate) shards: AtomicUsize,
    pub(crate) next_shard: AtomicUsize,
    pub(crate) liveness_suspended: AtomicBool,
    pub(crate) unannotated: AtomicU64,
    /// Collected texts whose socket was gone when they were posted: deliveries, dropped by the close.
    pub(crate) texts_too_late: AtomicU64,
    pub(crate) unhandled_closes: AtomicU64,
    pub(crate) handler_times: Histogram,
    pub(crate) errors: AtomicU64,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) config: Option<GatewayConfig>,
    pub(crate) listeners: Vec<Arc<ListenerState>>,
    pub(crate) next_listener: u32,
    pub(crate) next_ticket: u32,
    pub(crate) next_worker: u32,
    pub(crate) shards_left: usize,
    pub(crate) stats: Vec<Arc<ShardStats>>,
    pub(crate) ended: Traffic,
    pub(crate) reported: Vec<(&'static str, Instant)>,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway that is not started: its core works already.
    pub fn new() -> Arc<Self> {
        let mut encodings = Encodings::new();
        let adapters = Adapters::new(&mut encodings);
        Arc::new(Self {
            core: Core::new(),
            inboxes: Inboxes::new(),
            ledger: Arc::new(Ledger::new()),
            uplink: OnceLock::new(),
            backplane: BackplaneHandle::new(),
            workers: Workers::new(),
            notices: Notices::new(),
            permits: Arc::new(Permits::new()),
            encodings,
            adapters,
            epoch: Instant::now(),
            state: Mutex::new(State::default()),
            shards: AtomicUsize::new(0),
            next_shard: AtomicUsize::new(0),
            liveness_suspended: AtomicBool::new(false),
            unannotated: AtomicU64::new(0),
            texts_too_late: AtomicU64::new(0),
            unhandled_closes: AtomicU64::new(0),
            handler_times: Histogram::default(),
            errors: AtomicU64::new(0),
        })
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

    /// Tells the uplink that `make` makes from now on what other nodes have to know; there is one for life.
    pub(crate) fn set_uplink(&self, make: impl FnOnce() -> Arc<dyn Uplink>) {
        self.uplink.get_or_init(make);
    }

    /// The link to other nodes.
    pub(crate) fn backplane(&self) -> &BackplaneHandle {
        &self.backplane
    }

    /// For a change of the core made on this node.
    pub(crate) fn poster<'p, 'm>(&'p self, dirty: &'p mut ShardSet) -> Poster<'p, 'm> {
        Poster::new(&self.inboxes, &self.ledger, dirty, Some(&self.uplink))
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    pub(crate) fn permits(&self) -> &Arc<Permits> {
        &self.permits
    }

    /// The forms in which messages go onto wires.
    pub(crate) fn encodings(&self) -> &Encodings {
        &self.encodings
    }

    /// What adapters keep for the whole gateway.
    pub(crate) fn adapters(&self) -> &Adapters {
        &self.adapters
    }

    pub(crate) fn handler_times(&self) -> &Histogram {
        &self.handler_times
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

    /// An error was reported to the application, by whomever.
    pub fn count_error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
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

    pub(crate) fn worker_of(&self, id: SocketId) -> Option<Arc<Worker>> {
        match self.core.socket(id)? {
            millrace_core::SocketState::Real { worker, .. } => self.workers.find(worker),
            millrace_core::SocketState::Virtual { .. } => None,
        }
    }
}

/// How often one kind of trouble is reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
