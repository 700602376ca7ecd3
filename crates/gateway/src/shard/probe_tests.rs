//! Tests the contract end to end: a probe session on real sockets, a gateway, and a worker that the test drives.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_core::{Kind, ShardSet, SocketId, Target};

use super::protocol::{Needs, Protocol, Service, Streams};
use crate::config::{GatewayConfig, ListenerConfig};
use crate::doorbell::Doorbell;
use crate::event::{FIRST_CREDIT, Handlers, Step, TransferId, Transport};
use crate::gateway::Gateway;
use crate::hub::Worker;
use crate::listener::Peer;
use crate::net::address::ListenError;
use crate::socket::Session;
use crate::socket::tests::probe::Probe;

/// Only bounds a hang.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of the probe's event and operation.
const PROBE: u32 = 0xffff;

const OPEN: u32 = 1;
const TEXT: u32 = 2;
const CLOSE: u32 = 4;
const PIECE: u32 = 7;
const TURN: u32 = 8;
const EVENT: u32 = 9;

#[derive(Debug)]
struct ProbeProtocol;

#[derive(Debug)]
struct Probes;

impl Protocol for ProbeProtocol {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn needs(&self, _config: &ListenerConfig) -> Needs {
        Needs::default()
    }

    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError> {
        config.options.reader().finish()?;
        Ok(Arc::new(Probes))
    }
}

impl Streams for Probes {
    fn transport(&self) -> Option<Transport> {
        Some(Transport::WebSocket)
    }

    fn session(&self, _socket: SocketId, _peer: &Peer) -> Box<dyn Session> {
        Box::new(Probe::default())
    }
}

struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

/// A record that a worker took.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    kind: u32,
    payload: Vec<u8>,
}

/// One peer, and the worker of its connection.
struct World {
    gateway: Arc<Gateway>,
    worker: Arc<Worker>,
    socket: SocketId,
    peer: BufReader<TcpStream>,
    records: RefCell<Vec<Record>>,
}

impl World {
    fn start(change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let gateway = Gateway::with(|_| vec![Box::new(ProbeProtocol)]);
        let mut config = GatewayConfig {
            io_threads: 1,
            ..GatewayConfig::default()
        };
        config.limits.worker_timeout = Duration::ZERO;
        change(&mut config);
        gateway.start(config, Arc::new(Silent)).unwrap();
        let listener = ListenerConfig {
            address: "127.0.0.1:0".to_owned(),
            protocol: "probe".to_owned(),
            ..ListenerConfig::default()
        };
        let listening = gateway.listen(listener).unwrap();
        let handlers = Handlers::TEXT | Handlers::CLOSE;
        let worker = gateway.add_worker(handlers, Arc::new(Silent));
        worker.activate();
        let stream = TcpStream::connect(&listening.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut world = Self {
            gateway,
            worker,
            socket: SocketId::new(1).unwrap(),
            peer: BufReader::new(stream),
            records: RefCell::default(),
        };
        let open = world.next();
        assert_eq!(open.kind, OPEN);
        let id = u64::from_le_bytes(open.payload[..8].try_into().unwrap());
        world.socket = SocketId::new(id).unwrap();
        assert_eq!(world.line(), "opened");
        world
    }

    fn say(&mut self, text: &str) {
        self.peer.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn half_close(&self) {
        self.peer.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.peer.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Everything that is sent up to the end of the stream, which must not be a reset.
    fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.peer.read_to_string(&mut rest).unwrap();
        rest
    }

    /// Waits for the next record.
    fn next(&self) -> Record {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            self.take();
            let records = &mut *self.records.borrow_mut();
            if !records.is_empty() {
                return records.remove(0);
            }
            assert!(Instant::now() < deadline, "no record arrived");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn take(&self) {
        self.worker.begin_drain();
        while let Some(batch) = self.worker.take() {
            let mut rest = &batch.bytes[..];
            while let Some((word, _)) = rest.split_first_chunk::<4>() {
                let word = u32::from_le_bytes(*word);
                let length = usize::try_from(word >> 8).unwrap();
                let payload = rest[8..8 + length].to_vec();
                let kind = word & 15;
                self.records.borrow_mut().push(Record { kind, payload });
                rest = &rest[8 + length.next_multiple_of(4)..];
            }
            self.worker.finish(batch);
        }
    }

    fn post(&self, post: impl FnOnce(&mut ShardSet)) {
        let mut dirty = ShardSet::default();
        post(&mut dirty);
        self.gateway.wake(&mut dirty);
    }

    fn tell(&self, payload: &str) {
        self.post(|dirty| {
            assert!(
                self.gateway
                    .tell(self.socket, PROBE, b"-", payload.as_bytes(), dirty)
            );
        });
    }

    fn step(&self, id: TransferId, step: Step) {
        self.post(|dirty| self.worker.step(id, step, dirty));
    }

    /// Opens a transfer.
    fn transfer(&mut self) -> TransferId {
        self.say("/open\n");
        let line = self.line();
        let number = line.strip_prefix("transfer ").unwrap();
        TransferId::new(number.parse().unwrap())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.gateway.shutdown();
    }
}

fn text(record: &Record) -> (u32, &str) {
    (record.kind, std::str::from_utf8(&record.payload).unwrap())
}

#[test]
fn messages_events_sends_and_instructions_keep_their_order() {
    let mut world = World::start(|_| {});
    world.say("one\n/event\ntwo\n");
    assert_eq!(text(&world.next()), (TEXT, "one"));
    let event = world.next();
    assert_eq!(event.kind, EVENT);
    assert!(event.payload.ends_with(b"payload"));
    assert_eq!(text(&world.next()), (TEXT, "two"));
    world.post(|dirty| {
        let send = |payload: &[u8], dirty: &mut ShardSet| {
            let target = [Target::Socket(world.socket)];
            world.gateway.send(&target, Kind::Text, payload, &[], dirty);
        };
        send(b"sent", dirty);
        let told = world.gateway.tell(world.socket, PROBE, b"-", b"1", dirty);
        assert!(told);
        send(b"again", dirty);
    });
    let mut seen = [0; 6 + 9 + 7];
    world.peer.read_exact(&mut seen).unwrap();
    assert_eq!(&seen, b"\x81\x04senttold - 1\n\x81\x05again");
}

#[test]
fn deadlines_and_other_threads_wake_a_session_and_replies_keep_their_order() {
    let mut world = World::start(|_| {});
    world.say("/watch\n");
    assert_eq!(world.line(), "posted");
    world.say("/mind\n");
    assert_eq!(world.line(), "silent");
    world.say("/later\n/ping\n");
    assert_eq!(world.line(), "later");
    assert_eq!(world.line(), "resumed");
    assert_eq!(world.line(), "pong");
}

#[test]
fn a_half_closed_peer_is_answered_until_one_side_closes() {
    let mut world = World::start(|_| {});
    world.say("question\n");
    world.half_close();
    assert_eq!(world.line(), "ended");
    assert_eq!(text(&world.next()), (TEXT, "question"));
    world.tell("answer");
    assert_eq!(world.line(), "told - answer");
    world.post(|dirty| {
        assert!(world.gateway.close(world.socket, 4000, "done", dirty));
    });
    assert_eq!(world.rest(), "closed 4000\n");
    assert_eq!(world.next().kind, CLOSE);
}

#[test]
fn a_session_closes_after_its_peer_s_end_once_all_is_answered() {
    let mut world = World::start(|_| {});
    world.say("question\n/leave\n");
    world.half_close();
    assert_eq!(text(&world.next()), (TEXT, "question"));
    assert_eq!(world.rest(), "closed 1000\n");
    assert_eq!(world.next().kind, CLOSE);
}

#[test]
fn a_half_closed_peer_that_vanishes_is_noticed_without_a_write() {
    let mut world = World::start(|_| {});
    world.half_close();
    assert_eq!(world.line(), "ended");
    // closing with unread bytes causes a reset
    world.tell("unread");
    world.peer.get_ref().peek(&mut [0]).unwrap();
    let address = world.peer.get_ref().peer_addr().unwrap();
    world.peer = BufReader::new(TcpStream::connect(address).unwrap());
    while world.next().kind != CLOSE {}
}

#[test]
fn bodies_pass_both_ways_as_fast_as_each_side_takes_them() {
    let mut world = World::start(|_| {});
    let id = world.transfer();
    let piece = FIRST_CREDIT / 2;
    world.say(&format!("/piece {piece}\n").repeat(3));
    world.say("behind\n");
    for _ in 0..2 {
        assert_eq!(world.next().kind, PIECE);
    }
    world.take();
    assert!(world.records.borrow().is_empty(), "the worker has no room");
    world.step(id, Step::Pull(u32::try_from(FIRST_CREDIT).unwrap()));
    assert_eq!(world.next().kind, PIECE);
    assert_eq!(text(&world.next()), (TEXT, "behind"));
    assert_eq!(world.line(), format!("pulled {FIRST_CREDIT}"));
    let body = vec![b'd'; 1 << 20];
    world.step(id, Step::Piece(Box::new(Bytes::from(body.clone()))));
    world.step(id, Step::WantRoom);
    let mut seen = vec![0; body.len()];
    world.peer.read_exact(&mut seen).unwrap();
    assert_eq!(seen, body);
    assert_eq!(world.next().kind, TURN, "the worker has room");
    world.step(id, Step::End);
    assert_eq!(
        world.next().kind,
        TURN,
        "the body to the worker was not complete"
    );
    assert_eq!(world.line(), "End");
}

#[test]
fn a_full_queue_loses_nothing_and_the_end_comes_last() {
    let mut world = World::start(|config| {
        config.limits.worker_queue_events = 4;
        config.limits.unhandled_events = 3;
    });
    for number in 0..200 {
        world.say(&format!("{number}\n"));
    }
    world.half_close();
    for number in 0..200 {
        assert_eq!(text(&world.next()), (TEXT, &*number.to_string()));
    }
    assert_eq!(world.line(), "ended");
}
