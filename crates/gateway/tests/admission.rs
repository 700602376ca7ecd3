//! From the first byte of a request to the answer of `handleOpen`: which clients are admitted, and what happens to
//! those that leave, stall or send invalid requests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use millrace_gateway::limits::GatewayLimits;
use millrace_gateway::{GatewayConfig, ListenerConfig, ShardSet, Worker};
use support::client::{Client, Received, request};
use support::manual::{eventually, eventually_within, manual, send_all};
use support::wire::{exchange, rest};
use support::{ALL, Event, FIRST_REQUEST, SOON, Server, echo, serve_as_given};

fn server(
    gateway: impl FnOnce(&mut GatewayLimits),
    listener: impl FnOnce(&mut ListenerConfig),
) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    gateway(&mut config.limits);
    let mut listening = ListenerConfig::default();
    let soon = SOON.as_millis().try_into().unwrap();
    listening.set_limit(FIRST_REQUEST, soon).unwrap();
    listener(&mut listening);
    serve_as_given(config, listening)
}

fn connections(server: &Server, count: usize) -> bool {
    eventually(|| server.gateway.stats().connections == count)
}

/// The number of connections pinned to the worker.
fn pinned(server: &Server, worker: &Worker) -> u64 {
    let stats = server.gateway.stats();
    let mut all = stats.workers.iter();
    all.find(|stats| stats.id == worker.id())
        .unwrap()
        .connections
}

#[test]
fn a_client_that_leaves_before_its_acceptance_is_closed_once() {
    let server = server(|_| {}, |_| {});
    let worker = manual(&server.gateway, ALL);
    let stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    drop(stream);
    worker.accept(socket);
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { code: 1006, .. }]));
    assert_eq!(server.gateway.stats().sockets, 0);
    assert!(connections(&server, 0));
    worker.accept(socket);
    server.gateway.shutdown();
    server.notice(|notice| *notice == millrace_gateway::Notice::Stopped);
    assert!(worker.take().is_empty());
    assert_eq!(pinned(&server, &worker.worker), 0);
}

#[test]
fn a_client_that_leaves_before_its_refusal_has_no_close() {
    let server = server(|_| {}, |_| {});
    let worker = manual(&server.gateway, ALL);
    let stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    drop(stream);
    worker.refuse(socket);
    assert!(eventually(|| server.gateway.stats().sockets == 0));
    assert!(connections(&server, 0));
    assert!(worker.take().is_empty());
    assert_eq!(pinned(&server, &worker.worker), 0);
}

#[test]
fn a_refusal_is_an_http_answer_and_drops_what_was_sent() {
    let server = server(|_| {}, |_| {});
    let worker = manual(&server.gateway, ALL);
    let mut stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    send_all(&server.gateway, socket, ["never seen"]);
    worker.refuse(socket);
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nConnection rejected"), "{answer}");
    assert!(connections(&server, 0));
    assert!(worker.take().is_empty());
    let traffic = server.gateway.stats().traffic;
    assert_eq!((traffic.refused, traffic.dropped_by_close), (1, 0));
}

#[test]
fn closing_a_socket_that_waits_for_its_answer_refuses_it() {
    let server = server(|_| {}, |_| {});
    let worker = manual(&server.gateway, ALL);
    let mut stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    let mut dirty = ShardSet::default();
    assert!(server.gateway.close(socket, 4000, "", &mut dirty));
    server.gateway.wake(&mut dirty);
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    worker.accept(socket);
    assert!(connections(&server, 0));
    assert!(worker.take().is_empty());
}

/// After an acceptance and a close at once the client gets the 101, then what was sent, then the close.
#[test]
fn a_socket_closed_right_after_its_acceptance_gets_all_that_was_sent() {
    let server = server(|_| {}, |_| {});
    let worker = manual(&server.gateway, ALL);
    let stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    let mut dirty = ShardSet::default();
    send_all(&server.gateway, socket, ["one", "two"]);
    let acceptance = millrace_gateway::Acceptance::default();
    worker.worker.accept_open(socket, acceptance, &mut dirty);
    server.gateway.close(socket, 4000, "bye", &mut dirty);
    server.gateway.wake(&mut dirty);
    let mut client = Client::upgraded(stream);
    assert_eq!(client.next(), Received::Text("one".into()));
    assert_eq!(client.next(), Received::Text("two".into()));
    assert_eq!(client.next(), Received::Close(Some(4000), "bye".into()));
    drop(client);
    assert!(connections(&server, 0));
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { code: 4000, .. }]));
}

#[test]
fn an_acceptance_with_an_invalid_header_is_a_500_and_a_close() {
    let server = server(|_| {}, |_| {});
    let worker = manual(&server.gateway, ALL);
    for (name, value) in [("a b", "x"), ("a", "x\r\ny: z"), ("Upgrade", "x")] {
        let mut stream = Client::connect_pending(&server.address);
        let socket = worker.opened();
        let mut dirty = ShardSet::default();
        let acceptance = millrace_gateway::Acceptance {
            headers: vec![(name.into(), value.into())],
            ..millrace_gateway::Acceptance::default()
        };
        worker.worker.accept_open(socket, acceptance, &mut dirty);
        server.gateway.wake(&mut dirty);
        let answer = rest(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        let events = worker.expect(1);
        assert!(matches!(events[..], [Event::Close { code: 1006, .. }]));
    }
    assert!(connections(&server, 0));
}

#[test]
fn no_answer_in_time_is_a_504_and_the_late_acceptance_a_close() {
    let server = server(
        |_| {},
        |listener| listener.limits.handshake_timeout = Duration::from_secs(4),
    );
    let worker = manual(&server.gateway, ALL);
    let mut stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    worker.accept(socket);
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { code: 1006, .. }]));
}

#[test]
fn a_slow_handshake_is_closed() {
    let server = server(
        |_| {},
        |listener| listener.limits.handshake_timeout = Duration::from_secs(2),
    );
    let _worker = manual(&server.gateway, ALL);
    let (begun, mut silent, mut slow) = loop {
        let begun = Instant::now();
        let silent = TcpStream::connect(&server.address).unwrap();
        let mut slow = TcpStream::connect(&server.address).unwrap();
        slow.write_all(&request("/").as_bytes()[..60]).unwrap();
        // unless this thread was so late that nothing arrived in time
        if begun.elapsed() < Duration::from_secs(1) {
            break (begun, silent, slow);
        }
    };
    for stream in [&mut silent, &mut slow] {
        stream.set_read_timeout(Some(SOON)).unwrap();
    }
    assert_eq!(rest(&mut silent), "");
    assert!(rest(&mut slow).starts_with("HTTP/1.1 408 "));
    // not because of the default timeout
    assert!(begun.elapsed() < Duration::from_secs(9));
    assert!(connections(&server, 0));
}

#[test]
fn connections_over_the_limit_of_an_address_are_refused_and_closed_soon() {
    let server = server(
        |limits| limits.connections_per_address = 2,
        |listener| {
            listener.limits.handshake_timeout = Duration::MAX;
            listener.set_limit(FIRST_REQUEST, 4_000).unwrap();
        },
    );
    let _worker = echo(&server.gateway, ALL);
    let first = Client::connect(&server.address, b"");
    let second = Client::connect(&server.address, b"");
    let answer = exchange(&server.address, request("/").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    // a silent client is not kept for the whole handshake timeout
    let mut silent = TcpStream::connect(&server.address).unwrap();
    silent.set_read_timeout(Some(SOON)).unwrap();
    assert_eq!(rest(&mut silent), "");
    assert!(connections(&server, 2));
    drop((first, silent));
    assert!(connections(&server, 1));
    let third = Client::connect(&server.address, b"");
    drop((second, third));
}

#[test]
fn accepting_waits_while_every_permit_is_taken() {
    let server = server(|limits| limits.connections = 2, |_| {});
    let _worker = echo(&server.gateway, ALL);
    let first = Client::connect(&server.address, b"");
    let _second = Client::connect(&server.address, b"");
    let waiting = Client::connect_pending(&server.address);
    let more = || server.gateway.stats().connections > 2;
    assert!(!eventually_within(Duration::from_millis(200), more));
    drop(first);
    let mut third = Client::upgraded(waiting);
    third.text("in");
    assert_eq!(third.next(), Received::Text("in".into()));
}

/// Some clients accept only `upgrade` in this header.
#[test]
fn the_connection_header_is_upgrade_in_a_101_and_close_in_refusals() {
    let server = server(|_| {}, |_| {});
    let _worker = echo(&server.gateway, ALL);
    let mut stream = Client::connect_pending(&server.address);
    let mut head = vec![0; 1000];
    let count = stream.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..count]).to_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("\r\nconnection: upgrade\r\n"), "{head}");
    let old = request("/").replace("Version: 13", "Version: 8");
    let got = exchange(&server.address, old.as_bytes());
    assert!(got.starts_with("HTTP/1.1 426 "), "{got}");
    assert!(got.to_lowercase().contains("close\r\n"), "{got}");
}

#[test]
fn invalid_heads_get_an_answer_and_leave_nothing() {
    let server = server(|_| {}, |_| {});
    let _worker = echo(&server.gateway, ALL);
    let good = request("/");
    let with = |extra: &str| good.replace("Host:", &format!("{extra}\r\nHost:"));
    let long = "x".repeat(20_000);
    let many = (0..300)
        .map(|n| format!("h{n}: 1"))
        .collect::<Vec<_>>()
        .join("\r\n");
    let heads = [
        ("HTTP/1.1 400", good.replace("GET", "\u{1}")),
        ("HTTP/1.1 405", good.replace("GET", "POST")),
        ("HTTP/1.1 431", with(&format!("x: {long}"))),
        ("HTTP/1.1 431", with(&many)),
        ("HTTP/1.1 4", request(&format!("/{long}"))),
        ("HTTP/1.1 426", good.replace("Version: 13", "Version: 8")),
        (
            "HTTP/1.1 4",
            good.replace("dGhlIHNhbXBsZSBub25jZQ==", "short"),
        ),
        ("HTTP/1.1 505", good.replace("HTTP/1.1", "HTTP/3.7")),
        (
            "HTTP/1.1 400",
            with("transfer-encoding: chunked\r\ncontent-length: 5"),
        ),
        (
            "HTTP/1.1 400",
            with("content-length: 5\r\ncontent-length: 6"),
        ),
    ];
    for (answer, head) in heads {
        let shown = &head[..head.len().min(200)];
        let got = exchange(&server.address, head.as_bytes());
        assert!(got.starts_with(answer), "{shown:?} got {got:?}");
        assert!(!got.contains(" 101 "), "{shown:?} got {got:?}");
    }
    assert!(connections(&server, 0));
    // bytes that a proxy takes for a body must not become frames here
    for extra in ["content-length: 5", "transfer-encoding: chunked"] {
        let head = with(extra) + "5\r\nhello\r\n0\r\n\r\n";
        let got = exchange(&server.address, head.as_bytes());
        assert!(got.starts_with("HTTP/1.1 400 "), "{extra:?} got {got:?}");
    }
    assert!(connections(&server, 0));
    assert!(eventually(|| server.gateway.stats().sockets == 0));
    let mut client = Client::connect(&server.address, b"");
    client.text("alive");
    assert_eq!(client.next(), Received::Text("alive".into()));
}

/// Sends a request on a new connection and waits for the beginning of the answer.
#[cfg(target_os = "linux")]
fn answered(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    stream.read_exact(&mut [0; 8]).unwrap();
    stream
}

#[cfg(target_os = "linux")]
#[test]
fn in_a_rush_a_silent_connection_waits_for_a_second() {
    let server = server(|_| {}, |_| {});
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "no rush was noticed");
        let silent = TcpStream::connect(&server.address).unwrap();
        let open: Vec<_> = (0..100).map(|_| answered(&server)).collect();
        // the kernel accepts in order
        let silent_too = TcpStream::connect(&server.address).unwrap();
        let other = answered(&server);
        if server.gateway.stats().connections == open.len() + 2 {
            assert!(connections(&server, open.len() + 3), "it is accepted, too");
            break;
        }
        drop((silent, silent_too, open, other));
        assert!(connections(&server, 0));
    }
}
