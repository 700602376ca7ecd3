//! The whole server: everything that runs for a message from the first byte read to the last one written, with
//! tokio and hyper and the client's own reads and writes, without the kernel.
//!
//! The worker's doorbell drains at once, on the I/O shard's thread: where two threads wake each other, it is
//! chance which of them is already asleep, and what that costs. The client on the main thread only reads and
//! writes. So every run goes through the same steps.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use millrace_core::{Kind, ShardSet, SocketId, Target};
use millrace_gateway::{
    Acceptance, Batch, Doorbell, Gateway, GatewayConfig, Handlers, ListenerConfig, Sidecar, Worker,
};
use millrace_protocol::websocket::{Opcode, append_close, append_frame, append_part};

use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("server/echo-text-64", 500, |count| echo(count, 64, 1)),
    case("server/echo-text-64-pipelined-16", 100, |count| {
        echo(count, 64, 16);
    }),
    case("server/echo-text-16-kib", 100, |count| {
        echo(count, 16_384, 1);
    }),
    case("server/answer-and-publish-to-10", 200, room),
    case("server/publish-to-200", 50, publish),
    case("server/connect-subscribe-and-close", 300, connect),
];

/// What the application does with a text message.
type Handle = fn(&Gateway, SocketId, &[u8], &mut ShardSet);

const CHANNEL: &[u8] = b"room:12345";

fn answer(gateway: &Gateway, socket: SocketId, text: &[u8], dirty: &mut ShardSet) {
    gateway.send(&[Target::Socket(socket)], Kind::Text, text, &[], dirty);
}

fn broadcast(gateway: &Gateway, _: SocketId, text: &[u8], dirty: &mut ShardSet) {
    gateway.send(&[Target::Channel(CHANNEL)], Kind::Text, text, &[], dirty);
}

fn answer_and_broadcast(gateway: &Gateway, id: SocketId, text: &[u8], dirty: &mut ShardSet) {
    answer(gateway, id, text, dirty);
    broadcast(gateway, id, text, dirty);
}

fn echo(count: u64, length: usize, pipeline: usize) {
    let mut client = connected(start(answer));
    let payload = vec![b'p'; length];
    let request = masked(&payload).repeat(pipeline);
    let expected = plain(&payload).repeat(pipeline);
    let mut reply = expected.clone();
    for _ in 0..count {
        client.write_all(&request).expect("the server reads");
        client.read_exact(&mut reply).expect("the server answers");
    }
    assert!(reply == expected);
}

/// One of ten sends; it gets an answer, and all ten get a publication.
fn room(count: u64) {
    let address = start(answer_and_broadcast);
    let mut clients: Vec<_> = (0..10).map(|_| connected(address)).collect();
    let (request, mut frame) = (masked(&[b'p'; 64]), plain(&[b'p'; 64]));
    for turn in 0..count {
        let sender = usize::try_from(turn % 10).expect("below 10");
        clients[sender]
            .write_all(&request)
            .expect("the server reads");
        clients[sender].read_exact(&mut frame).expect("an answer");
        for client in &mut clients {
            client.read_exact(&mut frame).expect("a publication");
        }
    }
}

fn publish(count: u64) {
    let address = start(broadcast);
    let mut clients: Vec<_> = (0..200).map(|_| connected(address)).collect();
    let (request, mut frame) = (masked(&[b'p'; 64]), plain(&[b'p'; 64]));
    for _ in 0..count {
        clients[199].write_all(&request).expect("the server reads");
        for client in &mut clients {
            client.read_exact(&mut frame).expect("a publication");
        }
    }
}

fn connect(count: u64) {
    let address = start(answer);
    let mut goodbye = Vec::new();
    let code = 1000_u16.to_be_bytes();
    append_part(&mut goodbye, Opcode::Close, true, Some(KEY), &code);
    let mut expected = Vec::new();
    append_close(&mut expected, 1000, "");
    let mut answer = Vec::new();
    for _ in 0..count {
        let mut client = connected(address);
        client.write_all(&goodbye).expect("the server reads");
        answer.clear();
        client.read_to_end(&mut answer).expect("the server closes");
    }
    assert!(answer == expected);
}

/// A gateway with one I/O shard, one listener and a worker, for the rest of the process.
fn start(handle: Handle) -> SocketAddr {
    let gateway = Gateway::new();
    let config = GatewayConfig {
        io_threads: 1,
        // not every kernel and container has it, and the counts must not depend on that
        io_uring: false,
        ..GatewayConfig::default()
    };
    let worker = Arc::new(InPlace {
        gateway: Arc::clone(&gateway),
        worker: OnceLock::new(),
        sockets: Mutex::default(),
        handle,
    });
    let (bell, door): (Arc<InPlace>, Arc<InPlace>) = (Arc::clone(&worker), Arc::clone(&worker));
    gateway.start(config, bell).expect("a first start");
    let handlers = Handlers {
        open: true,
        text: true,
        close: true,
        ..Handlers::default()
    };
    worker
        .worker
        .get_or_init(|| gateway.add_worker(handlers, door))
        .activate();
    let mut listener = ListenerConfig {
        address: "127.0.0.1:0".to_owned(),
        ..ListenerConfig::default()
    };
    // when the next ping is due depends on how fast this runs, and so would the memory that the timers take
    listener.limits.ping_interval = Duration::ZERO;
    let listening = gateway.listen(listener).expect("loopback is there");
    listening.address.parse().expect("an address with its port")
}

/// A worker that drains wherever its bell is rung.
struct InPlace {
    gateway: Arc<Gateway>,
    worker: OnceLock<Arc<Worker>>,
    /// The sockets by the worker's slot.
    sockets: Mutex<Vec<Option<SocketId>>>,
    handle: Handle,
}

impl InPlace {
    fn handle(&self, worker: &Worker, batch: &Batch, dirty: &mut ShardSet) {
        let mut sockets = self.sockets.lock().expect("nobody panics");
        for record in records(&batch.bytes, &batch.sidecars) {
            match record.kind {
                OPEN => {
                    let socket = socket_of(record.payload).expect("an OPEN names its socket");
                    if sockets.len() <= record.slot {
                        sockets.resize(record.slot + 1, None);
                    }
                    sockets[record.slot] = Some(socket);
                    let who = [Target::Socket(socket)];
                    self.gateway.subscribe(&who, CHANNEL, 1, dirty);
                    worker.accept_open(socket, Acceptance::default(), dirty);
                }
                CLOSE => {
                    let socket = socket_of(record.payload).expect("a CLOSE names its socket");
                    assert!(worker.claim_close(socket));
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
        while let Some(batch) = worker.take() {
            self.handle(worker, &batch, &mut dirty);
            worker.finish(batch);
        }
        self.gateway.wake(&mut dirty);
    }
}

/// A client whose handshake is done.
fn connected(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("TCP has it");
    stream.write_all(REQUEST).expect("the server reads");
    let (mut answer, mut length) = ([0; 1024], 0);
    while !answer[..length].ends_with(b"\r\n\r\n") {
        length += stream.read(&mut answer[length..]).expect("an answer");
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    stream
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
    let eight = payload.get(..8)?;
    SocketId::new(u64::from_le_bytes(eight.try_into().ok()?))
}

fn masked(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    append_part(&mut frame, Opcode::Text, true, Some(KEY), payload);
    frame
}

fn plain(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    append_frame(&mut frame, Opcode::Text, payload);
    frame
}

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

const REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// Kinds and flags of records.
const OPEN: u32 = 1;
const CLOSE: u32 = 4;
const SIDECAR: u32 = 1 << 5;
