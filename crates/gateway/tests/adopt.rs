//! Connections of another server, which become those of an attached listener.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use millrace_gateway::config::GatewayConfig;
use millrace_gateway::limits::GatewayLimits;
use millrace_gateway::{Adopted, ListenerConfig, SpreadTerms, StopTerms};
use millrace_protocol::websocket::Opcode;
use support::client::{Client, Received, frame, request};
use support::{ALL, SOON, Server, echo, serve};

/// A gateway, and the id of an attached listener.
fn server(limit: u32) -> (Server, u32) {
    server_with(|limits| limits.connections_per_address = limit)
}

fn server_with(change: impl FnOnce(&mut GatewayLimits)) -> (Server, u32) {
    let mut config = GatewayConfig {
        io_threads: 2,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    change(&mut config.limits);
    let server = serve(config, ListenerConfig::default());
    let attached = ListenerConfig {
        attached: true,
        ..ListenerConfig::default()
    };
    let listening = server.gateway.listen(attached).unwrap();
    assert_eq!(listening.address, "");
    (server, listening.id)
}

/// A client, and the other end of its connection as another server has accepted it.
fn accepted() -> (TcpStream, Adopted) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    let (stream, _) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    (client, stream.into())
}

fn answer(mut client: TcpStream) -> String {
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_connection_is_judged_with_the_bytes_that_were_read_and_goes_on() {
    let (server, id) = server(0);
    let _worker = echo(&server.gateway, ALL);
    let (client, stream) = accepted();
    let mut early = request("/").into_bytes();
    early.extend_from_slice(&frame(Opcode::Text, b"early"));
    assert!(server.gateway.adopt(id, stream, early));
    let mut client = Client::upgraded(client);
    assert_eq!(client.next(), Received::Text("early".into()));
    client.text("later");
    assert_eq!(client.next(), Received::Text("later".into()));
    drop(client);
    server.stop();
}

#[test]
fn an_answer_other_than_101_ends_the_connection() {
    let (server, id) = server(0);
    let _worker = echo(&server.gateway, ALL);
    for request in [
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let (client, stream) = accepted();
        assert!(server.gateway.adopt(id, stream, request.into()));
        let answer = answer(client).to_lowercase();
        assert!(answer.starts_with("http/1.1 4"), "{answer}");
        let lines = ["connection: close", "connection: upgrade, close"];
        assert!(lines.iter().any(|line| answer.contains(line)), "{answer}");
    }
    server.stop();
}

#[test]
fn adopted_connections_count_against_limits() {
    let (server, id) = server(1);
    let _worker = echo(&server.gateway, ALL);
    let (client, stream) = accepted();
    assert!(server.gateway.adopt(id, stream, request("/").into()));
    let client = Client::upgraded(client);
    let (late, stream) = accepted();
    assert!(server.gateway.adopt(id, stream, request("/").into()));
    let answer = answer(late);
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let traffic = server.gateway.stats().traffic;
    assert_eq!((traffic.refused_by_address, traffic.opened), (1, 1));
    drop(client);
    server.stop();
}

#[test]
fn adopted_connections_that_come_too_fast_in_all_are_refused() {
    let (server, id) = server_with(|limits| limits.connections_per_second = 1);
    let _worker = echo(&server.gateway, ALL);
    let (client, first) = accepted();
    let (late, second) = accepted();
    assert!(server.gateway.adopt(id, first, request("/").into()));
    assert!(server.gateway.adopt(id, second, request("/").into()));
    let client = Client::upgraded(client);
    let answer = answer(late);
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert_eq!(server.gateway.stats().traffic.refused_by_address, 0);
    drop(client);
    server.stop();
}

#[test]
fn a_listener_takes_connections_while_its_stop_is_spread() {
    let (server, id) = server(0);
    let _worker = echo(&server.gateway, ALL);
    let spread = SpreadTerms {
        time: SOON,
        code: 1012,
    };
    let terms = StopTerms {
        drain: SOON,
        spread: Some(spread),
    };
    let ticket = server.gateway.stop_listeners(&[id], terms);
    let (client, stream) = accepted();
    assert!(server.gateway.adopt(id, stream, request("/").into()));
    let mut client = Client::upgraded(client);
    client.text("hello");
    assert_eq!(client.next(), Received::Text("hello".into()));
    server
        .gateway
        .hasten_stop(ticket, Some(Duration::ZERO), None);
    assert!(matches!(client.next(), Received::Close(Some(1012), _)));
    let (client, stream) = accepted();
    assert!(!server.gateway.adopt(id, stream, request("/").into()));
    assert_eq!(answer(client), "");
    server.stop();
}

#[test]
fn a_listener_that_is_not_attached_or_was_stopped_takes_nothing() {
    let (server, id) = server(0);
    let _worker = echo(&server.gateway, ALL);
    let (client, stream) = accepted();
    assert!(!server.gateway.adopt(server.listener, stream, Vec::new()));
    assert_eq!(answer(client), "");
    server.gateway.stop_listeners(&[id], Duration::ZERO);
    let (client, stream) = accepted();
    assert!(!server.gateway.adopt(id, stream, request("/").into()));
    assert_eq!(answer(client), "");
    server.stop();
}
