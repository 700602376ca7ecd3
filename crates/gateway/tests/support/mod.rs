//! A gateway and a worker in Rust, for tests of the whole gateway; the other files have its clients.

pub(crate) mod client;
pub(crate) mod manual;
pub(crate) mod sockety;
pub(crate) mod tcp;
pub(crate) mod wire;

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use millrace_gateway::{
    Acceptance, Doorbell, Gateway, GatewayConfig, Handlers, Kind, ListenerConfig, Notice, ShardSet,
    Sidecar, SocketId, Target, Worker,
};

/// The timeout for something that should happen at once. Only bounds a hang: on a busy machine a thread may not run for
/// seconds.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The limit of HTTP for the silence of a client before its first request.
pub(crate) const FIRST_REQUEST: &str = "firstRequestTimeoutMs";

/// A doorbell that wakes a waiting thread.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// The bell as the gateway's interface.
    pub(crate) fn door(bell: &Arc<Self>) -> Arc<dyn Doorbell> {
        let bell: Arc<Self> = Arc::clone(bell);
        bell
    }

    /// Waits for the next ring; false if it does not come.
    pub(crate) fn wait(&self) -> bool {
        let guard = self.rung.lock().unwrap();
        let (mut guard, timeout) = self
            .changed
            .wait_timeout_while(guard, SOON, |rung| !*rung)
            .unwrap();
        *guard = false;
        !timeout.timed_out()
    }
}

impl Doorbell for Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

/// An event that a worker got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Open {
        socket: u64,
        slot: u32,
        answer: bool,
    },
    Text {
        slot: u32,
        text: String,
    },
    Binary {
        slot: u32,
        data: Vec<u8>,
    },
    Close {
        socket: u64,
        slot: u32,
        code: u32,
        reason: String,
    },
    Drain {
        slot: u32,
    },
    /// An event of a protocol: its number, its fields and its payload.
    Told {
        slot: u32,
        number: u32,
        fields: Vec<u8>,
        payload: Vec<u8>,
    },
    /// A piece of a transfer's body.
    Piece {
        id: u64,
        data: Vec<u8>,
        last: bool,
    },
    /// A change in the state of a transfer.
    Turn {
        id: u64,
        turn: u32,
    },
}

/// Decodes a batch like JavaScript.
pub(crate) fn decode(bytes: &[u8], sidecars: &[Sidecar]) -> Vec<Event> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut events = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (head, slot) = (word(at), word(at + 4));
        let length = length_of(head);
        let start = at + 8;
        let socket = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let payload = if head & 1 << 5 == 0 || matches!(head & 15, 7 | 9) {
            bytes[start..start + length].to_vec()
        } else {
            sidecars[usize::try_from(word(start)).unwrap()]
                .payload()
                .to_vec()
        };
        events.push(match head & 15 {
            1 => Event::Open {
                socket: socket(start),
                slot,
                answer: word(start + 8) & 1 == 1,
            },
            2 => Event::Text {
                slot,
                text: String::from_utf8(payload).unwrap(),
            },
            3 => Event::Binary {
                slot,
                data: payload,
            },
            4 => Event::Close {
                socket: socket(start),
                slot,
                code: word(start + 8),
                reason: reason_of(&bytes[start + 12..start + length]),
            },
            5 => Event::Drain { slot },
            7 => Event::Piece {
                id: socket(start),
                data: if head & 1 << 5 == 0 {
                    payload[8..].to_vec()
                } else {
                    let index = usize::try_from(word(start + 8)).unwrap();
                    sidecars[index].payload().to_vec()
                },
                last: head & 1 << 4 != 0,
            },
            8 => Event::Turn {
                id: socket(start),
                turn: word(start + 8),
            },
            9 => told(slot, &bytes[start..start + length], head, sidecars),
            other => panic!("record kind {other}"),
        });
        at = start + length.next_multiple_of(4);
    }
    events
}

fn told(slot: u32, record: &[u8], head: u32, sidecars: &[Sidecar]) -> Event {
    let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
    let (fields, behind) = record[8..].split_at(usize::try_from(word(4)).unwrap());
    let behind = &behind[fields.len().next_multiple_of(4) - fields.len()..];
    Event::Told {
        slot,
        number: word(0),
        fields: fields.to_vec(),
        payload: if head & 1 << 5 == 0 {
            behind.to_vec()
        } else {
            let index = u32::from_le_bytes(*behind.first_chunk().unwrap());
            sidecars[usize::try_from(index).unwrap()].payload().to_vec()
        },
    }
}

/// The reason behind the token.
fn reason_of(rest: &[u8]) -> String {
    let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
    let token = match word(0) {
        u32::MAX => 0,
        length => usize::try_from(length).unwrap(),
    };
    let reason = &rest[8 + token..];
    assert_eq!(reason.len(), usize::try_from(word(4)).unwrap());
    String::from_utf8(reason.to_vec()).unwrap()
}

/// Bytes of a record's payload.
fn length_of(head: u32) -> usize {
    usize::try_from(head >> 8).unwrap()
}

/// A started gateway with one listener.
pub(crate) struct Server {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) address: String,
    pub(crate) listener: u32,
    pub(crate) notices: Arc<Bell>,
}

/// Starts a gateway. Its clients may be silent as long as the handshake timeout allows.
pub(crate) fn serve(config: GatewayConfig, mut listener: ListenerConfig) -> Server {
    if listener.protocol == "http" {
        let soon = SOON.as_millis().try_into().unwrap();
        listener.set_limit(FIRST_REQUEST, soon).unwrap();
    }
    serve_as_given(config, listener)
}

/// Starts a gateway whose clients may be silent only as long as the listener's limit allows.
pub(crate) fn serve_as_given(config: GatewayConfig, listener: ListenerConfig) -> Server {
    let gateway = Gateway::new();
    let notices = Arc::new(Bell::default());
    gateway.start(config, Bell::door(&notices)).unwrap();
    let listening = gateway
        .listen(ListenerConfig {
            address: "127.0.0.1:0".into(),
            ..listener
        })
        .unwrap();
    Server {
        gateway,
        address: listening.address,
        listener: listening.id,
        notices,
    }
}

impl Server {
    /// Waits for a notice that matches.
    pub(crate) fn notice(&self, matches: impl Fn(&Notice) -> bool) -> Notice {
        loop {
            if let Some(notice) = self.gateway.take_notices().into_iter().find(&matches) {
                return notice;
            }
            assert!(self.notices.wait(), "no such notice");
        }
    }

    /// Stops and ends the gateway like JavaScript.
    pub(crate) fn stop(&self) {
        let ticket = self
            .gateway
            .stop_listeners(&[self.listener], Duration::from_secs(5));
        self.notice(|notice| matches!(notice, Notice::ListenersStopped { ticket: seen, .. } if *seen == ticket));
        self.gateway.shutdown();
        self.notice(|notice| matches!(notice, Notice::Stopped));
    }
}

/// A worker that echoes every message, accepts every connection, and stores its events.
pub(crate) struct Echo {
    pub(crate) worker: Arc<Worker>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) changed: Arc<Condvar>,
}

pub(crate) const ALL: Handlers = Handlers::OPEN
    .with(Handlers::TEXT)
    .with(Handlers::BINARY)
    .with(Handlers::CLOSE)
    .with(Handlers::DRAIN)
    .with(Handlers::SOCKETY_MESSAGE);

pub(crate) fn echo(gateway: &Arc<Gateway>, handlers: Handlers) -> Echo {
    let bell = Arc::new(Bell::default());
    let worker = gateway.add_worker(handlers, Bell::door(&bell));
    let events = Arc::new(Mutex::new(Vec::new()));
    let changed = Arc::new(Condvar::new());
    let (thread_gateway, thread_worker) = (Arc::clone(gateway), Arc::clone(&worker));
    let (thread_events, thread_changed) = (Arc::clone(&events), Arc::clone(&changed));
    std::thread::spawn(move || {
        let (gateway, worker) = (thread_gateway, thread_worker);
        let mut sockets: Vec<Option<SocketId>> = Vec::new();
        while !worker.is_retired() {
            if !bell.wait() {
                continue;
            }
            worker.begin_drain();
            let mut dirty = ShardSet::default();
            while let Some(batch) = worker.take() {
                for event in decode(&batch.bytes, &batch.sidecars) {
                    react(&gateway, &worker, &mut sockets, &event, &mut dirty);
                    thread_events.lock().unwrap().push(event);
                }
                worker.finish(batch);
            }
            thread_changed.notify_all();
            gateway.wake(&mut dirty);
        }
    });
    worker.activate();
    Echo {
        worker,
        events,
        changed,
    }
}

fn react(
    gateway: &Gateway,
    worker: &Worker,
    sockets: &mut Vec<Option<SocketId>>,
    event: &Event,
    dirty: &mut ShardSet,
) {
    let index = |slot: &u32| usize::try_from(*slot).unwrap();
    match event {
        Event::Open {
            socket,
            slot,
            answer,
        } => {
            let socket = SocketId::new(*socket).unwrap();
            if sockets.len() <= index(slot) {
                sockets.resize(index(slot) + 1, None);
            }
            sockets[index(slot)] = Some(socket);
            if *answer {
                worker.accept_open(socket, Acceptance::default(), dirty);
            }
        }
        Event::Text { slot, text } => {
            let socket = sockets[index(slot)].unwrap();
            gateway.send(
                &[Target::Socket(socket)],
                Kind::Text,
                text.as_bytes(),
                &[],
                dirty,
            );
        }
        Event::Binary { slot, data } => {
            let socket = sockets[index(slot)].unwrap();
            gateway.send(&[Target::Socket(socket)], Kind::Binary, data, &[], dirty);
        }
        Event::Close { socket, .. } => assert!(worker.claim_close(SocketId::new(*socket).unwrap())),
        Event::Drain { .. } | Event::Told { .. } | Event::Piece { .. } | Event::Turn { .. } => {}
    }
}

impl Echo {
    /// Waits until the events satisfy the condition.
    pub(crate) fn until(&self, condition: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let guard = self.events.lock().unwrap();
        let (guard, timeout) = self
            .changed
            .wait_timeout_while(guard, SOON, |events| !condition(events))
            .unwrap();
        assert!(!timeout.timed_out(), "events were {guard:?}");
        guard.clone()
    }

    /// The socket ids opened so far.
    pub(crate) fn opened(&self, count: usize) -> Vec<SocketId> {
        let is_open = |event: &Event| matches!(event, Event::Open { .. });
        let events =
            self.until(|events| events.iter().filter(|event| is_open(event)).count() >= count);
        events
            .iter()
            .filter_map(|event| match event {
                Event::Open { socket, .. } => SocketId::new(*socket),
                _ => None,
            })
            .collect()
    }
}
