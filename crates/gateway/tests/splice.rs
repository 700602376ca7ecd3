//! Sessions of splice from the first byte of their request: who does not come in reaches no target, whatever it says behind its
//! request.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig, Options, Rejection, ShardSet};
use millrace_protocol::websocket::Opcode;
use support::client::{Client, Received, frame, request};
use support::manual::{Manual, eventually, manual};
use support::wire::{exchange, rest};
use support::{Event, SOON, Server, serve_as_given};

const JUDGES: Handlers = Handlers::OPEN.with(Handlers::CLOSE);

fn server() -> Server {
    let config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    let listener = ListenerConfig {
        protocol: "splice".into(),
        options: Options::new()
            .list("allowedHostnames", ["127.0.0.1"])
            .text("origins", "same-host"),
        ..ListenerConfig::default()
    };
    serve_as_given(config, listener)
}

/// A target that nobody may have reached when a test ends.
struct Watched(TcpListener);

impl Watched {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    /// What a client says that wants a connection to it.
    fn call(&self) -> Vec<u8> {
        let url = format!("ws://{}/", self.0.local_addr().unwrap());
        let call =
            format!(r#"{{"id":1,"type":"method","method":"connect","params":{{"url":"{url}"}}}}"#);
        frame(Opcode::Binary, &[&[0xff, 0xff], call.as_bytes()].concat())
    }

    fn is_reached(&self) -> bool {
        eventually(|| self.0.accept().is_ok())
    }

    fn assert_alone(&self) {
        let error = self.0.accept().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
}

/// Asks, and calls right behind its request.
fn hasty(server: &Server, target: &Watched) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let bytes = [request("/any?path").into_bytes(), target.call()].concat();
    stream.write_all(&bytes).unwrap();
    stream
}

/// Nobody is there any more, and nobody was told of anything else.
fn assert_nothing_left(server: &Server, worker: &Manual) {
    assert!(eventually(|| server.gateway.stats().connections == 0));
    let stats = server.gateway.stats();
    assert_eq!((stats.sockets, stats.traffic.panics), (0, 0));
    assert_eq!(worker.take(), []);
}

#[test]
fn a_session_that_is_refused_gets_the_answer_and_reaches_nobody() {
    let (server, target) = (server(), Watched::new());
    let worker = manual(&server.gateway, JUDGES);
    let mut stream = hasty(&server, &target);
    let socket = worker.opened();
    let rejection = Rejection {
        status: 401,
        headers: vec![("www-authenticate".into(), "Bearer".into())],
        body: "log in first".into(),
    };
    let mut dirty = ShardSet::default();
    worker.worker.refuse_open(socket, rejection, &mut dirty);
    server.gateway.wake(&mut dirty);
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(answer.contains("www-authenticate: Bearer\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nlog in first"), "{answer}");
    assert_nothing_left(&server, &worker);
    target.assert_alone();
    assert_eq!(server.gateway.stats().traffic.refused, 1);
}

#[test]
fn a_session_that_leaves_before_it_is_accepted_reaches_nobody() {
    let (server, target) = (server(), Watched::new());
    let worker = manual(&server.gateway, JUDGES);
    let stream = hasty(&server, &target);
    let socket = worker.opened();
    drop(stream);
    worker.accept(socket);
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { .. }]), "{events:?}");
    assert_nothing_left(&server, &worker);
    target.assert_alone();
}

#[test]
fn a_session_reaches_its_target_not_before_it_is_accepted() {
    let (server, target) = (server(), Watched::new());
    let worker = manual(&server.gateway, JUDGES);
    let stream = hasty(&server, &target);
    let socket = worker.opened();
    target.assert_alone();
    worker.accept(socket);
    let client = Client::upgraded(stream);
    assert!(target.is_reached());
    drop(client);
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { code: 1006, .. }]));
    assert_nothing_left(&server, &worker);
}

#[test]
fn what_is_no_opening_handshake_of_a_session_is_answered_and_ends() {
    let (server, target) = (server(), Watched::new());
    let worker = manual(&server.gateway, JUDGES);
    let good = request("/");
    let without = |line: &str| {
        assert!(good.contains(line), "{line}");
        good.replace(line, "")
    };
    let with = |line: &str| good.replace("\r\n\r\n", &format!("\r\n{line}\r\n\r\n"));
    for (asked, status) in [
        (good.replace("GET", "POST"), 405),
        (
            good.replace("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 8"),
            426,
        ),
        (without("Upgrade: websocket\r\n"), 400),
        (
            without("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
            400,
        ),
        (with("Origin: https://evil.example"), 403),
    ] {
        // what follows is no request, which ends the connection
        let bytes = [asked.clone().into_bytes(), target.call()].concat();
        let answer = exchange(&server.address, &bytes);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{asked}{answer}"
        );
    }
    assert_nothing_left(&server, &worker);
    target.assert_alone();
    let stream = Client::connect_pending(&server.address);
    worker.accept(worker.opened());
    let mut client = Client::upgraded(stream);
    client.send(&frame(Opcode::Binary, b"\0"));
    assert!(matches!(client.next(), Received::Binary(said) if said.starts_with(b"\xff\xff")));
}
