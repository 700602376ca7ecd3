//! The application behind the cases of the whole server: a worker without JavaScript.
//!
//! Its doorbell drains at once, on the I/O shard's thread. With two threads that wake each other, chance decides which
//! one is asleep and what a wake-up costs. On one thread every run takes the same steps.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use millrace_core::{ShardSet, SocketId, Target};
use millrace_gateway::config::ChannelTerms;
use millrace_gateway::{
    Acceptance, AnswerHead, Batch, Doorbell, Gateway, GatewayConfig, Handlers, ListenerConfig,
    Sidecar, TransferId, Worker,
};

/// What the application does with a text message.
pub(crate) type Handle = fn(&Gateway, SocketId, &[u8], &mut ShardSet);

/// The channel that every accepted socket joins.
pub(crate) const CHANNEL: &[u8] = b"room:12345";

/// A gateway with a worker. It runs until the process ends.
pub(crate) struct Server(Arc<Gateway>);

impl Server {
    /// With one I/O shard.
    pub(crate) fn start(handle: Handle) -> Self {
        Self::on(1, handle)
    }

    /// With this many I/O shards.
    pub(crate) fn on(shards: usize, handle: Handle) -> Self {
        Self::with(shards, Vec::new(), handle)
    }

    /// With this many I/O shards, and with terms of channels.
    pub(crate) fn with(shards: usize, channels: Vec<ChannelTerms>, handle: Handle) -> Self {
        let gateway = Gateway::new();
        let config = GatewayConfig {
            io_threads: shards,
            channels,
            // not every kernel or container has io_uring, and the counts must not depend on it
            io_uring: false,
            ..GatewayConfig::default()
        };
        let worker = Arc::new(InPlace {
            gateway: Arc::clone(&gateway),
            worker: OnceLock::new(),
            sockets: Mutex::default(),
            handle,
            head: AnswerHead::parse(200, HEADERS, 2, false).expect("it can be sent"),
        });
        let (bell, door): (Arc<InPlace>, Arc<InPlace>) = (Arc::clone(&worker), Arc::clone(&worker));
        gateway.start(config, bell).expect("a first start");
        let handlers = Handlers::OPEN | Handlers::TEXT | Handlers::CLOSE | Handlers::REQUEST;
        worker
            .worker
            .get_or_init(|| gateway.add_worker(handlers, door))
            .activate();
        Self(gateway)
    }

    /// Listens on loopback.
    pub(crate) fn listen(&self, config: ListenerConfig) -> SocketAddr {
        let mut listener = ListenerConfig {
            address: "127.0.0.1:0".to_owned(),
            ..config
        };
        // the time of the next ping depends on how fast this runs, and so would the memory that the timers take
        listener.limits.ping_interval = Duration::ZERO;
        let listening = self.0.listen(listener).expect("listening on loopback");
        listening.address.parse().expect("an address with its port")
    }
}

/// A worker that drains on the thread that rings its bell.
struct InPlace {
    gateway: Arc<Gateway>,
    worker: OnceLock<Arc<Worker>>,
    /// The sockets by their slot in the worker. Locked during a drain, because several shards may ring.
    sockets: Mutex<Vec<Option<SocketId>>>,
    handle: Handle,
    /// The head of its answer to every request.
    head: AnswerHead,
}

impl InPlace {
    fn handle(
        &self,
        worker: &Worker,
        batch: &Batch,
        sockets: &mut Vec<Option<SocketId>>,
        dirty: &mut ShardSet,
    ) {
        for record in records(&batch.bytes, &batch.sidecars) {
            match record.kind {
                OPEN => {
                    let socket = socket_of(record.payload).expect("an OPEN names its socket");
                    if sockets.len() <= record.slot {
                        sockets.resize(record.slot + 1, None);
                    }
                    sockets[record.slot] = Some(socket);
                    let who = [Target::Socket(socket)];
                    let subscribed = self.gateway.subscribe(&who, CHANNEL, 1, dirty);
                    subscribed.expect("there is room");
                    worker.accept_open(socket, Acceptance::default(), dirty);
                }
                CLOSE => {
                    let socket = socket_of(record.payload).expect("a CLOSE names its socket");
                    assert!(worker.claim_close(socket));
                }
                REQUEST => {
                    let request = number_of(record.payload).expect("a REQUEST names itself");
                    let answer = self.head.clone().whole(Bytes::from_static(ANSWER));
                    worker.step(TransferId::new(request), answer, dirty);
                }
                _ => {
                    let socket = sockets[record.slot].expect("it is open");
                    (self.handle)(&self.gateway, socket, record.payload, dirty);
                }
            }
        }
    }
}

impl Doorbell for InPlace {
    fn ring(&self) {
        let Some(worker) = self.worker.get() else {
            return;
        };
        worker.begin_drain();
        let mut dirty = ShardSet::default();
        let mut sockets = self.sockets.lock().expect("no thread panicked");
        while let Some(batch) = worker.take() {
            self.handle(worker, &batch, &mut sockets, &mut dirty);
            worker.finish(batch);
        }
        drop(sockets);
        self.gateway.wake(&mut dirty);
    }
}

struct Record<'a> {
    kind: u32,
    slot: usize,
    payload: &'a [u8],
}

fn records<'a>(bytes: &'a [u8], sidecars: &'a [Sidecar]) -> impl Iterator<Item = Record<'a>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (head, slot) = (word(bytes, at)?, word(bytes, at + 4)?);
        let start = at + 8;
        let length = usize::try_from(head >> 8).ok()?;
        at = start + length.next_multiple_of(4);
        let inside = bytes.get(start..start + length)?;
        let payload = if head & SIDECAR == 0 {
            inside
        } else {
            let index = usize::try_from(word(inside, 0)?).ok()?;
            sidecars.get(index)?.payload()
        };
        Some(Record {
            kind: head & 15,
            slot: usize::try_from(slot).ok()?,
            payload,
        })
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

fn socket_of(payload: &[u8]) -> Option<SocketId> {
    SocketId::new(number_of(payload)?)
}

fn number_of(payload: &[u8]) -> Option<u64> {
    let eight = payload.get(..8)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// The headers of an answer, as an application writes them.
const HEADERS: &str = "content-type\0application/json";

/// The body of an answer.
const ANSWER: &[u8] = b"{\"name\":\"room:12345\",\"members\":10,\"open\":true}\n";

/// Kinds and flags of records.
const OPEN: u32 = 1;
const CLOSE: u32 = 4;
const REQUEST: u32 = 6;
const SIDECAR: u32 = 1 << 5;
