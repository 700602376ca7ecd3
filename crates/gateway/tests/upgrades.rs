//! Requests for a WebSocket are answered byte for byte alike with and without hyper, and the worker is told the same. An
//! empty line in front of a request hands it to hyper.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock};

use millrace_gateway::{
    Acceptance, Doorbell, Gateway, GatewayConfig, ListenerConfig, Rejection, ShardSet, SocketId,
    Worker,
};
use millrace_protocol::websocket::Opcode;
use proptest::prelude::*;
use support::client::frame;
use support::{ALL, SOON, Server, serve};

/// The answer of `handleOpen`.
#[derive(Clone, Debug)]
enum Decision {
    Accept {
        protocol: Option<&'static str>,
        headers: Vec<(&'static str, &'static str)>,
    },
    Refuse(u16),
}

/// A worker that decides on the thread that rings its bell, and keeps what it was told.
struct Judge {
    gateway: Arc<Gateway>,
    worker: OnceLock<Arc<Worker>>,
    decision: Mutex<Decision>,
    told: Mutex<Vec<Vec<u8>>>,
}

impl Judge {
    fn on(server: &Server) -> Arc<Self> {
        let judge = Arc::new(Self {
            gateway: Arc::clone(&server.gateway),
            worker: OnceLock::new(),
            decision: Mutex::new(Decision::Refuse(403)),
            told: Mutex::default(),
        });
        let door: Arc<Self> = Arc::clone(&judge);
        let worker = server.gateway.add_worker(ALL, door);
        judge.worker.get_or_init(|| worker).activate();
        judge
    }

    fn decide(&self, socket: SocketId, dirty: &mut ShardSet) {
        let worker = self.worker.get().unwrap();
        match self.decision.lock().unwrap().clone() {
            Decision::Accept { protocol, headers } => {
                let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
                let acceptance = Acceptance {
                    protocol: protocol.map(str::to_owned),
                    headers: headers.into_iter().map(own).collect(),
                    ..Acceptance::default()
                };
                worker.accept_open(socket, acceptance, dirty);
            }
            Decision::Refuse(status) => {
                let rejection = Rejection {
                    status,
                    headers: vec![("X-Reason".to_owned(), "none".to_owned())],
                    body: "no".into(),
                };
                worker.refuse_open(socket, rejection, dirty);
            }
        }
    }

    /// The answer to a request, without the date, and what the worker was told of it, without its id and port.
    fn answer(&self, address: &str, request: &[u8]) -> (String, Vec<Vec<u8>>) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer: String = answer.into_iter().map(char::from).collect();
        let is_date = |line: &&str| line.starts_with("date: ") && line.ends_with(" GMT");
        let lines = answer.split("\r\n").filter(|line| !is_date(line));
        let answer = lines.collect::<Vec<_>>().join("\r\n");
        (answer, std::mem::take(&mut *self.told.lock().unwrap()))
    }
}

impl Doorbell for Judge {
    fn ring(&self) {
        let worker = self.worker.get().unwrap();
        worker.begin_drain();
        let mut dirty = ShardSet::default();
        while let Some(batch) = worker.take() {
            let mut rest = &batch.bytes[..];
            while let Some(head) = rest.first_chunk() {
                let head = u32::from_le_bytes(*head);
                let length = usize::try_from(head >> 8).unwrap();
                let record = &rest[8..8 + length];
                rest = &rest[8 + length.next_multiple_of(4)..];
                let id = record.first_chunk().map(|id| u64::from_le_bytes(*id));
                let socket = id.and_then(SocketId::new);
                match head & 15 {
                    OPEN => {
                        let told = [&record[8..10], &record[12..]].concat();
                        self.told.lock().unwrap().push(told);
                        self.decide(socket.unwrap(), &mut dirty);
                    }
                    CLOSE => assert!(worker.claim_close(socket.unwrap())),
                    _ => {}
                }
            }
            worker.finish(batch);
        }
        self.gateway.wake(&mut dirty);
    }
}

/// Kinds of records.
const OPEN: u32 = 1;
const CLOSE: u32 = 4;

type Line = (&'static str, &'static str);

/// The lines of a handshake: valid in most cases.
fn of_the_handshake(
    name: &'static str,
    good: &[&'static str],
    bad: &[&'static str],
) -> BoxedStrategy<Vec<Line>> {
    let one = |values: &[&'static str]| prop::sample::select(values.to_vec());
    let good = one(good).prop_map(move |value| vec![(name, value)]);
    let bad = prop::collection::vec(one(bad), 0..3)
        .prop_map(move |values| values.into_iter().map(|value| (name, value)).collect());
    prop_oneof![20 => good, 1 => bad].boxed()
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let others = prop::sample::select(vec![
        ("Cookie", "a=b"),
        ("cookie", "c=d; e"),
        ("Origin", "http://a.example"),
        ("Origin", "http://evil.example"),
        ("X-Other", ""),
        ("x-other", "\u{e9}"),
        ("X-OTHER", "y\tz"),
        ("Sec-WebSocket-Protocol", "chat, superchat"),
        ("Sec-WebSocket-Protocol", "chat,,v1"),
        ("Sec-WebSocket-Protocol", ","),
        ("Sec-WebSocket-Protocol", "a b"),
        ("Sec-WebSocket-Extensions", "permessage-deflate; x=y"),
        ("Forwarded", "for=1.2.3.4"),
        ("X-Forwarded-For", "1.2.3.4"),
        ("Content-Length", "0"),
        ("Connection", "close"),
        ("Upgrade", "h2c"),
    ]);
    let parts = (
        of_the_handshake("Host", &["a.example", "A.example:80"], &["b", "a b"]),
        of_the_handshake(
            "Upgrade",
            &["websocket", "h2c, WebSocket"],
            &["websockets", "h2c"],
        ),
        of_the_handshake(
            "connection",
            &["Upgrade", "keep-alive, upgrade"],
            &["keep-alive", "upgraded"],
        ),
        of_the_handshake(
            "SEC-WEBSOCKET-VERSION",
            &["13", " 13\t"],
            &["8", "13", "013"],
        ),
        of_the_handshake(
            "Sec-WebSocket-Key",
            &["dGhlIHNhbXBsZSBub25jZQ==", " AQIDBAUGBwgJCgsMDQ4PEC== "],
            &["dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ==", "x"],
        ),
        prop::collection::vec(others, 0..5),
    );
    parts
        .prop_map(|(a, b, c, d, e, f)| [a, b, c, d, e, f].concat())
        .prop_shuffle()
}

fn decision() -> impl Strategy<Value = Decision> {
    let headers = prop::sample::select(vec![
        ("Set-Cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("X-Some", "thing"),
        ("Upgrade", "x"),
        ("Date", "today"),
        ("bad name", "x"),
    ]);
    let headers = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(headers, 1..4)];
    let protocol = prop::sample::select(vec![None, None, Some("chat"), Some("v1"), Some("none")]);
    let accept =
        (protocol, headers).prop_map(|(protocol, headers)| Decision::Accept { protocol, headers });
    prop_oneof![4 => accept, 1 => prop::sample::select(vec![401, 403, 302]).prop_map(Decision::Refuse)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn the_answer_is_the_same_with_and_without_hyper(
        requests in prop::collection::vec(
            (
                prop::sample::select(vec!["GET / HTTP/1.1", "GET /a/b?c=%20d HTTP/1.1", "GET //x? HTTP/1.1", "GET /elsewhere HTTP/1.1"]),
                lines(),
                decision(),
                any::<bool>(),
            ),
            1..12,
        ),
        origins in any::<bool>(),
        paths in any::<bool>(),
    ) {
        let config = GatewayConfig { io_threads: 1, ..GatewayConfig::default() };
        let mut listener = ListenerConfig::default();
        if origins {
            listener.options = listener.options.list("origins", ["http://a.example"]);
        }
        if paths {
            listener.options = listener.options.list("websocketPaths", ["/", "/a/b", "//x"]);
        }
        let server = serve(config, listener);
        let judge = Judge::on(&server);
        for (line, lines, decision, early) in requests {
            *judge.decision.lock().unwrap() = decision;
            let mut request = format!("{line}\r\n").into_bytes();
            for (name, value) in lines {
                request.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
            request.extend_from_slice(b"\r\n");
            // ends a WebSocket, and is no second request
            let end = frame(Opcode::Close, &[3, 232]);
            let text = frame(Opcode::Text, b"early");
            let behind = if early { [text, end].concat() } else { end };
            let direct = [&request[..], &behind].concat();
            let by_hyper = [b"\r\n", &direct[..]].concat();
            let (direct, told) = judge.answer(&server.address, &direct);
            let (expected, told_then) = judge.answer(&server.address, &by_hyper);
            prop_assert!(direct.starts_with("HTTP/1.1 "), "{direct}");
            prop_assert_eq!(direct, expected, "{}", String::from_utf8_lossy(&request));
            prop_assert_eq!(told, told_then, "{}", String::from_utf8_lossy(&request));
        }
        server.gateway.shutdown();
    }
}
