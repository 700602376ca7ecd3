//! Tests splice sessions with their targets, all in memory: what they guarantee beyond other sessions. Also owns the
//! scene of the random tests, hence over 400 lines.

use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use millrace_protocol::websocket::handshake::accept_key;
use millrace_protocol::websocket::{
    Decoder, DecoderConfig, Input, Item, Kind, Opcode, Role, append_part, close,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::config::ListenerConfig;
use crate::limits::GatewayLimits;
use crate::net::stream::Stream;
use crate::shard::stage::{Actor, Arriving, Stage};

/// A session, its client and its targets.
pub(super) struct Scene {
    pub(super) stage: Stage,
    pub(super) client: Rc<Actor>,
    arriving: Arriving,
    pub(super) targets: Vec<Target>,
    pub(super) heard: Wire,
}

/// What one side has received.
pub(super) struct Wire {
    config: DecoderConfig,
    decoder: Decoder,
    bytes: Vec<u8>,
    pub(super) messages: Vec<(Kind, Vec<u8>)>,
    /// The code of the received close frame, 1005 if it had none.
    pub(super) closed: Option<u16>,
}

/// The other end of a target. Its path contains the id of the call and its way of answering: `/7/accept`.
pub(super) struct Target {
    /// `None` after it has vanished.
    stream: Option<Stream>,
    /// The id of the call that asked for it.
    pub(super) call: i64,
    /// Whether its handshake is complete.
    pub(super) is_open: bool,
    pub(super) reads: bool,
    to_gateway: Vec<u8>,
    sends: Sends,
    pub(super) got: Wire,
    /// Whether the gateway has ended the stream.
    pub(super) has_ended: bool,
}

/// What a target sends.
#[derive(PartialEq)]
enum Sends {
    Frames,
    /// Bytes that may end within a frame, so that its answer to a close becomes payload of that frame.
    Bytes,
}

/// Runs a scene.
pub(super) fn play(scene: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    tokio::task::LocalSet::new().block_on(&runtime.unwrap(), scene);
}

/// The result of a future if it is ready at once.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

const KEY: [u8; 4] = [1, 2, 3, 4];

/// A message in this many frames, as sent by clients (`masked`) or targets.
pub(super) fn message(kind: Kind, payload: &[u8], frames: usize, masked: bool) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), payload);
    let key = masked.then_some(KEY);
    let mut opcode = match kind {
        Kind::Text => Opcode::Text,
        Kind::Binary => Opcode::Binary,
    };
    for left in (0..frames).rev() {
        let (first, behind) = rest.split_at(rest.len() / (left + 1));
        append_part(&mut out, opcode, left == 0, key, first);
        (opcode, rest) = (Opcode::Continuation, behind);
    }
    out
}

/// A message of the client on the control channel.
pub(super) fn control(document: &str) -> Vec<u8> {
    to(0xffff, document.as_bytes())
}

/// A message of the client to a target.
pub(super) fn to(index: u16, payload: &[u8]) -> Vec<u8> {
    let whole = [&index.to_be_bytes()[..], payload].concat();
    message(Kind::Binary, &whole, 1, true)
}

pub(super) fn connect(id: i64, url: &str) -> Vec<u8> {
    let params = format!(r#"{{"url":"{url}"}}"#);
    control(&format!(
        r#"{{"id":{id},"method":"connect","params":{params}}}"#
    ))
}

impl Wire {
    fn new(role: Role) -> Self {
        Self {
            config: DecoderConfig {
                role,
                ..DecoderConfig::default()
            },
            decoder: Decoder::new(),
            bytes: Vec::new(),
            messages: Vec::new(),
            closed: None,
        }
    }

    /// Asserts that everything the gateway has sent so far is valid.
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let length = self.bytes.len();
        let mut input = Input::new(&mut self.bytes);
        while let Some(item) = self.decoder.next(&mut input, &self.config, 0).unwrap() {
            match item {
                Item::Message { kind, payload, .. } => {
                    self.messages.push((kind, payload.to_vec()));
                }
                Item::Close { code, .. } => self.closed = code.or(Some(close::NO_STATUS)),
                Item::Ping(_) | Item::Pong(_) => {}
            }
        }
        let taken = length - input.remaining().len();
        self.bytes.drain(..taken);
    }

    /// The control messages that were received.
    pub(super) fn told(&self) -> Vec<&str> {
        let told = self.messages.iter();
        let told = told.filter_map(|(_, bytes)| bytes.strip_prefix(&[0xff, 0xff]));
        told.map(|document| str::from_utf8(document).unwrap())
            .collect()
    }
}

impl Target {
    fn new(stream: Stream) -> Self {
        Self {
            stream: Some(stream),
            call: 0,
            is_open: false,
            reads: true,
            to_gateway: Vec::new(),
            sends: Sends::Frames,
            got: Wire::new(Role::Server),
            has_ended: false,
        }
    }

    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.to_gateway.extend_from_slice(bytes);
    }

    /// Sends bytes that need not be whole frames.
    pub(super) fn say_raw(&mut self, bytes: &[u8]) {
        self.sends = Sends::Bytes;
        self.say(bytes);
    }

    fn is_gone(&self) -> bool {
        self.stream.is_none() || self.has_ended
    }

    pub(super) fn vanish(&mut self) {
        self.stream = None;
        self.is_open = false;
    }

    /// Writes and reads what it can. Returns whether that was something.
    fn step(&mut self) -> bool {
        let mut moved = false;
        while let Some(stream) = self.stream.as_mut().filter(|_| !self.to_gateway.is_empty()) {
            match now(stream.write(&self.to_gateway)) {
                None => break,
                Some(Ok(count)) => drop(self.to_gateway.drain(..count)),
                // the gateway does not read any more
                Some(Err(_)) => self.to_gateway.clear(),
            }
            moved = true;
        }
        let mut came = Vec::new();
        while let Some(stream) = self.stream.as_mut().filter(|_| self.reads) {
            let before = came.len();
            match now(stream.read_buf(&mut came)) {
                Some(Ok(0) | Err(_)) => {
                    moved |= !self.has_ended;
                    self.has_ended = true;
                    break;
                }
                Some(Ok(_)) => assert!(came.len() > before),
                None => break,
            }
        }
        moved |= !came.is_empty();
        if self.is_open {
            let was_closed = self.got.closed.is_some();
            self.got.take(&came);
            if let Some(code) = self.got.closed.filter(|_| !was_closed) {
                let code = code.to_be_bytes();
                let is_said = code != close::NO_STATUS.to_be_bytes();
                let code = if is_said { &code[..] } else { &[] };
                append_part(&mut self.to_gateway, Opcode::Close, true, None, code);
            }
        } else if !came.is_empty() {
            self.shake_hands(&came);
        }
        moved
    }

    fn shake_hands(&mut self, request: &[u8]) {
        // the request is shorter than the buffer between both ends
        let request = str::from_utf8(request).unwrap();
        let behind = |name: &str| {
            let (_, value) = request.split_once(name).unwrap();
            value.split(['\r', ' ']).next().unwrap()
        };
        let mut path = behind("GET /").split('/');
        self.call = path.next().unwrap().parse().unwrap();
        match path.next() {
            Some("accept") => {
                let key = accept_key(behind("Sec-WebSocket-Key: "));
                self.say(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n");
                self.say(b"Upgrade: websocket\r\nSec-WebSocket-Accept: ");
                self.say(format!("{key}\r\n\r\n").as_bytes());
                self.is_open = true;
            }
            Some("refuse") => self.say(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
            Some("vanish") => self.vanish(),
            _ => {}
        }
    }
}

impl Scene {
    pub(super) fn new(limits: &[(&str, u64)], gateway: impl FnOnce(&mut GatewayLimits)) -> Self {
        let stage = Stage::new(gateway);
        let mut config = ListenerConfig::default();
        for (name, value) in limits {
            config.set_limit(name, *value).unwrap();
        }
        let (client, arriving) = stage.open_splice(&config);
        client.read_all();
        Self {
            stage,
            client,
            arriving,
            targets: Vec::new(),
            heard: Wire::new(Role::Client),
        }
    }

    /// The client sends bytes.
    pub(super) fn say(&self, bytes: &[u8]) {
        self.client.peer.borrow_mut().feed(bytes);
    }

    /// Runs all sides until there is nothing left to do.
    pub(super) async fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..MOST_ROUNDS {
            let mut moved = self.stage.run();
            // dialled connections have tasks of their own
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            while let Ok(stream) = self.arriving.try_recv() {
                self.targets.push(Target::new(stream));
                moved = true;
            }
            for target in &mut self.targets {
                moved |= target.step();
            }
            let came = self.client.got();
            moved |= !came.is_empty();
            self.heard.take(&came);
            quiet = if moved { 0 } else { quiet + 1 };
            if quiet == QUIET_ROUNDS {
                return;
            }
        }
        panic!("the scene never comes to rest");
    }

    /// Connects to one more target, which accepts. Its index is the id of its call less 1.
    async fn connected(&mut self) -> usize {
        let number = self.targets.len();
        let call = i64::try_from(number).unwrap() + 1;
        self.say(&connect(call, &format!("millrace:/{call}/accept")));
        self.settle().await;
        assert!(self.targets[number].is_open);
        let reply = format!(r#"{{"id":{call},"type":"reply","result":{{"index":{number}}}}}"#);
        assert_eq!(self.heard.told().last(), Some(&&*reply));
        number
    }

    /// Makes the client vanish, and asserts that nothing of it and its targets is left.
    pub(super) async fn end(mut self) {
        self.client.peer.borrow_mut().vanish();
        for target in &mut self.targets {
            target.reads = true;
        }
        self.settle().await;
        assert!(self.client.is_done());
        for target in &self.targets {
            assert!(
                target.is_gone() || target.sends == Sends::Bytes,
                "the target of call {} is left",
                target.call
            );
        }
        // targets that do not answer a close are waited for
        self.stage.pass(6_000);
        self.settle().await;
        assert!(self.targets.iter().all(Target::is_gone));
        assert_eq!(self.stage.hub.stats().traffic.panics, 0);
        self.stage.assert_nothing_left();
    }
}

const MOST_ROUNDS: usize = 20_000;
const QUIET_ROUNDS: usize = 4;

/// Invalid input of the client closes its session with a code, and its targets with 1001.
#[test]
fn invalid_input_of_the_client_closes_its_session_and_its_targets() {
    let long = "x".repeat(301);
    for (said, code) in [
        (control(&long), 1009),
        (to(0, &[0; 5_001]), 1009),
        (message(Kind::Binary, b"\0\0x", 1, false), 1002),
        (vec![0xf2, 0x80, 0, 0, 0, 0], 1002),
        (vec![0x80, 0x80, 0, 0, 0, 0], 1002),
        (vec![0x8b, 0x80, 0, 0, 0, 0], 1002),
    ] {
        play(async {
            let limits = [("controlBytes", 300), ("messageBytes", 5_000)];
            let mut scene = Scene::new(&limits, |_| {});
            scene.connected().await;
            scene.connected().await;
            scene.say(&said);
            scene.settle().await;
            assert_eq!(scene.heard.closed, Some(code), "{said:?}");
            for target in &scene.targets {
                assert_eq!(target.got.closed, Some(1001));
                assert!(target.got.messages.is_empty());
            }
            scene.end().await;
        });
    }
}

/// Messages exactly within the limits are relayed.
#[test]
fn messages_within_the_limits_are_relayed() {
    play(async {
        let limits = [("controlBytes", 300), ("messageBytes", 5_000)];
        let mut scene = Scene::new(&limits, |_| {});
        scene.connected().await;
        let call = r#"{"id":9,"method":"hello"}"#;
        scene.say(&control(&format!("{call:<300}")));
        scene.say(&to(0, &[7; 5_000]));
        scene.settle().await;
        assert_eq!(scene.heard.closed, None);
        assert_eq!(
            scene.targets[0].got.messages,
            [(Kind::Binary, vec![7; 5_000])]
        );
        assert!(
            scene.heard.told()[1].starts_with(r#"{"id":9,"type":"reply","error":{"code":4003,"#)
        );
        scene.end().await;
    });
}

#[test]
fn the_targets_of_a_client_are_limited() {
    play(async {
        let mut scene = Scene::new(&[("targetsPerSession", 2)], |_| {});
        scene.connected().await;
        scene.connected().await;
        scene.say(&connect(3, "millrace:/3/accept"));
        scene.settle().await;
        let told = scene.heard.told();
        assert!(told[2].starts_with(r#"{"id":3,"type":"reply","error":{"code":4007,"#));
        assert_eq!(scene.targets.len(), 2);
        scene.end().await;
    });
}

/// A target whose unfinished frame takes in its answer to the close is waited for until the time of a close is over.
#[test]
fn a_target_that_never_answers_a_close_is_waited_for() {
    play(async {
        let mut scene = Scene::new(&[], |_| {});
        scene.connected().await;
        scene.connected().await;
        // the payload of four bytes will be the answer
        scene.targets[1].say_raw(&[0x82, 4]);
        scene.settle().await;
        scene.client.peer.borrow_mut().vanish();
        scene.settle().await;
        let closes = scene.targets.iter().map(|target| target.got.closed);
        assert!(closes.eq([Some(1001), Some(1001)]));
        assert!(scene.targets[0].is_gone());
        assert!(!scene.targets[1].is_gone());
        scene.end().await;
    });
}

/// A close frame of the client is answered, and closes its targets with the same code.
#[test]
fn a_client_that_closes_closes_its_targets() {
    play(async {
        let mut scene = Scene::new(&[], |_| {});
        scene.connected().await;
        let mut close = Vec::new();
        append_part(
            &mut close,
            Opcode::Close,
            true,
            Some(KEY),
            &4321_u16.to_be_bytes(),
        );
        scene.say(&close);
        scene.settle().await;
        assert_eq!(scene.heard.closed, Some(4321));
        assert_eq!(scene.targets[0].got.closed, Some(4321));
        scene.end().await;
    });
}

/// A client that sends many calls with answers, but reads nothing, is not read.
#[test]
fn a_client_that_does_not_read_is_not_read() {
    play(async {
        let mut scene = Scene::new(&[], |limits| limits.outbox_read_pause_bytes = 5_000);
        let number = scene.connected().await;
        scene.client.peer.borrow_mut().room = 0;
        let short = message(Kind::Binary, b"\0", 1, true);
        let all = 300_000;
        scene.say(&short.repeat(all));
        for _ in 0..100 {
            let said = message(Kind::Binary, &[1; 10_000], 1, false);
            scene.targets[number].say(&said);
        }
        scene.settle().await;
        let unread = scene.client.peer.borrow().unread();
        assert!(
            unread > short.len() * all * 9 / 10,
            "{unread} bytes are not read"
        );
        assert!(scene.targets[number].to_gateway.len() > 900_000);
        let held = scene.stage.hub.ledgers().held();
        // a chunk that the kernel did not take, and what was written after it before the next check
        assert!(held < 200 << 10, "{held} bytes wait for it");
        scene.client.read_all();
        scene.settle().await;
        let warned = scene.heard.told().len() - 1;
        assert_eq!(warned, all, "each call is answered");
        assert_eq!(scene.heard.messages.len(), 1 + all + 100);
        scene.end().await;
    });
}
