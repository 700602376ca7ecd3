//! Simple requests are answered byte for byte alike with and without hyper, and the worker is told the same. An empty
//! line in front of a request hands it to hyper. A client that sends many requests without waiting holds up no other.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answerer;
#[expect(dead_code, reason = "each test file uses its part of the support")]
#[path = "../support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use answerer::{Answerer, Decision, Line};
use millrace_gateway::{GatewayConfig, ListenerConfig, Options};
use proptest::prelude::*;
use support::{SOON, Server, serve};

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let one = prop::sample::select(vec![
        ("Cookie", "a=b"),
        ("Accept", "text/html"),
        ("X-Other", ""),
        ("x-latin", "\u{e9}"),
        ("X-TAB", "y\tz"),
        ("Connection", "keep-alive"),
        ("connection", "x-some, keep-alive"),
        ("TE", "trailers"),
        ("If-None-Match", "*"),
        ("Forwarded", "for=1.2.3.4"),
        ("X-Forwarded-For", "1.2.3.4"),
        ("Content-Type", "text/plain"),
        ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
    ]);
    prop::collection::btree_set(one, 0..5).prop_map(|lines| lines.into_iter().collect())
}

fn decision() -> impl Strategy<Value = Decision> {
    let headers = prop::sample::select(vec![
        ("Set-Cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("X-Some", "thing"),
        ("Date", "Tue, 15 Nov 1994 08:12:31 GMT"),
        ("date", "today"),
        ("Connection", "close"),
        ("Connection", "keep-alive"),
        ("Keep-Alive", "timeout=1"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("Upgrade", "h2c"),
        ("Server", "other"),
        (":reason", "So"),
    ]);
    let status = prop::sample::select(vec![
        200, 200, 200, 201, 204, 205, 206, 301, 304, 404, 500, 599,
    ]);
    let length = prop::sample::select(vec![0, 1, 5, 20_000, 300_000]);
    prop_oneof![
        8 => (status, prop::collection::vec(headers, 0..4), length.clone())
            .prop_map(|(status, mut headers, length)| {
                // hyper joins two into one line
                let is_connection = |line: &Line| line.0 == "Connection";
                let first = headers.iter().position(is_connection);
                let mut place = 0..headers.len();
                headers.retain(|line| place.next() == first || !is_connection(line));
                Decision::Whole(status, headers, length)
            }),
        1 => length.prop_map(Decision::InPieces),
        1 => Just(Decision::Abort),
    ]
}

fn one_thread(listener: ListenerConfig) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    serve(config, listener)
}

/// A folder with a file, which belongs to one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("millrace-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("file.txt"), "the content").unwrap();
        Self(path)
    }

    fn listener(&self) -> ListenerConfig {
        let directory = Options::new().text("directory", self.0.to_str().unwrap());
        let mut listener = ListenerConfig::default();
        listener.options = listener
            .options
            .list("static", [directory])
            .text("stats", "/stats");
        listener
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_answers_are_the_same_with_and_without_hyper(
        connections in prop::collection::vec(
            (
                prop::collection::vec(
                    (prop::sample::select(vec!["/", "/a/b?c=%20d", "//x?", "/?{|}^`", "/file.txt", "/none.txt"]), lines()),
                    1..5,
                ),
                decision(),
                any::<bool>(),
            ),
            1..8,
        ),
        files in any::<bool>(),
    ) {
        let folder = Folder::new("simple");
        let server = one_thread(if files { folder.listener() } else { ListenerConfig::default() });
        let worker = Answerer::on(&server);
        for (requests, decision, closes) in connections {
            *worker.decision.lock().unwrap() = decision;
            let last = requests.len() - 1;
            let bytes = |before: &[u8]| {
                let mut bytes = Vec::new();
                for (number, (target, lines)) in requests.iter().enumerate() {
                    bytes.extend_from_slice(before);
                    bytes.extend_from_slice(format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n").as_bytes());
                    for (name, value) in lines {
                        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
                    }
                    if closes && number == last {
                        bytes.extend_from_slice(b"Connection: x, Close\r\n");
                    }
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes
            };
            let (direct, told) = worker.answers(&server.address, &bytes(b""));
            let (expected, told_then) = worker.answers(&server.address, &bytes(b"\r\n"));
            prop_assert!(direct.starts_with("HTTP/1.1 "), "{direct}");
            prop_assert_eq!(direct, expected, "{}", String::from_utf8_lossy(&bytes(b"")));
            prop_assert_eq!(told, told_then, "{}", String::from_utf8_lossy(&bytes(b"")));
        }
        server.gateway.shutdown();
    }
}

/// Requests of all kinds on one connection. An empty line in front of each has hyper answer it.
fn mixed() -> impl Strategy<Value = Vec<(&'static str, bool)>> {
    let request = prop::sample::select(vec![
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /file.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /file.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=1-3\r\n\r\n",
        "GET /none.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /file.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST /file.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
    ]);
    prop::collection::vec((request, any::<bool>()), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_connection_goes_to_hyper_and_comes_back(
        connections in prop::collection::vec((mixed(), decision()), 1..6),
    ) {
        let folder = Folder::new("mixed");
        let server = one_thread(folder.listener());
        let worker = Answerer::on(&server);
        for (requests, decision) in connections {
            *worker.decision.lock().unwrap() = decision;
            let bytes = |all: bool| {
                let line = |by_hyper| if by_hyper || all { "\r\n" } else { "" };
                let requests = requests.iter().map(|(request, by_hyper)| [line(*by_hyper), request].concat());
                requests.collect::<String>().into_bytes()
            };
            let (mixed, told) = worker.answers(&server.address, &bytes(false));
            let (expected, told_then) = worker.answers(&server.address, &bytes(true));
            prop_assert_eq!(mixed, expected, "{}", String::from_utf8_lossy(&bytes(false)));
            prop_assert_eq!(told, told_then, "{}", String::from_utf8_lossy(&bytes(false)));
        }
        server.gateway.shutdown();
    }
}

#[test]
fn a_simple_request_needs_no_hyper_after_one_that_did() {
    let folder = Folder::new("back");
    let server = one_thread(folder.listener());
    let worker = Answerer::on(&server);
    let mut client = connect(&server);
    // hyper groups headers of one name
    let telling = "GET /told HTTP/1.1\r\nHost: x\r\nA: 1\r\nB: 2\r\nA: 3\r\n\r\n";
    let in_order = b"a\x001\0b\x002\0a\x003";
    for before in [
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "GET /none.txt HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /stats HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /file.txt HTTP/1.1\r\nHost: x\r\nRange: bytes=0-0\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        client.write_all(before.as_bytes()).unwrap();
        body(&mut client);
        // the first look at the disk may have to wait
        get(&mut client, "/told");
        worker.sent.lock().unwrap().clear();
        client.write_all(telling.as_bytes()).unwrap();
        assert_eq!(body(&mut client), "xxxxx");
        let sent = std::mem::take(&mut *worker.sent.lock().unwrap());
        let is_in_order = sent.windows(in_order.len()).any(|part| part == in_order);
        assert!(
            is_in_order,
            "behind {before:?}: {}",
            String::from_utf8_lossy(&sent)
        );
    }
    server.stop();
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Reads one answer, and returns its body.
fn body(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

fn get(stream: &mut TcpStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    body(stream)
}

#[test]
fn many_requests_at_once_hold_up_no_other_connection() {
    const MANY: u64 = 900;
    let folder = Folder::new("pipelined");
    let server = one_thread(folder.listener());
    let worker = Answerer::on(&server);
    let [mut busy, mut other, mut blocking] = [(); 3].map(|()| connect(&server));
    assert_eq!(get(&mut busy, "/file.txt"), "the content");
    get(&mut other, "/stats");
    assert_eq!(get(&mut blocking, "/x"), "xxxxx");
    worker.gate.shut();
    blocking
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    worker.gate.await_thread();
    // all of this is there when the thread of the server goes on
    let request = "GET /file.txt HTTP/1.1\r\nHost: x\r\n\r\n";
    busy.write_all(request.repeat(usize::try_from(MANY).unwrap()).as_bytes())
        .unwrap();
    other
        .write_all(b"GET /stats HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    worker.gate.open();
    let stats = body(&mut other);
    let (_, requests) = stats.split_once("\"requests\":").unwrap();
    let answered: String = requests
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let answered: u64 = answered.parse().unwrap();
    assert!(answered < MANY / 2, "{answered} came first");
    for _ in 0..MANY {
        assert_eq!(body(&mut busy), "the content");
    }
    server.stop();
}
