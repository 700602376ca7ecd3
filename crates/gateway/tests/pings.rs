//! Pings that an application sends and gets, and connections that it cuts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::time::Duration;

use millrace_gateway::config::GatewayConfig;
use millrace_gateway::{Handlers, ListenerConfig, ShardSet, SocketId};
use millrace_protocol::websocket::Opcode;
use support::client::{Client, Received, frame};
use support::{ALL, Event, Server, echo, serve};

fn server() -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    serve(config, ListenerConfig::default())
}

#[test]
fn pings_and_pongs_reach_a_worker_with_handlers_in_order_with_messages() {
    let server = server();
    let handlers = ALL.with(Handlers::PING).with(Handlers::PONG);
    let worker = echo(&server.gateway, handlers);
    let mut client = Client::connect(&server.address, b"");
    let frames = [
        frame(Opcode::Ping, b"ping"),
        frame(Opcode::Pong, b""),
        frame(Opcode::Pong, b"pong"),
        frame(Opcode::Text, b"text"),
    ];
    client.send(&frames.concat());
    assert_eq!(client.next(), Received::Pong(b"ping".to_vec()));
    assert_eq!(client.next(), Received::Text("text".into()));
    let events = worker.until(|events| {
        let is_text = |event: &Event| matches!(event, Event::Text { .. });
        events.iter().any(is_text)
    });
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Told { payload, .. } => Some(payload.as_slice()),
            Event::Text { text, .. } => Some(text.as_bytes()),
            _ => None,
        })
        .collect();
    assert_eq!(told, [&b"ping"[..], b"pong", b"text"]);
    drop(client);
    server.stop();
}

#[test]
fn without_handlers_pings_are_only_answered() {
    let server = server();
    let worker = echo(&server.gateway, ALL);
    let mut client = Client::connect(&server.address, b"");
    let frames = [
        frame(Opcode::Ping, b"ping"),
        frame(Opcode::Pong, b"pong"),
        frame(Opcode::Text, b"text"),
    ];
    client.send(&frames.concat());
    assert_eq!(client.next(), Received::Pong(b"ping".to_vec()));
    assert_eq!(client.next(), Received::Text("text".into()));
    let events = worker.until(|events| !events.is_empty());
    let is_told = |event: &Event| matches!(event, Event::Told { .. });
    assert!(!events.iter().any(is_told));
    drop(client);
    server.stop();
}

#[test]
fn a_ping_is_sent_and_a_terminated_connection_ends_without_a_close() {
    let server = server();
    let worker = echo(&server.gateway, ALL);
    let mut client = Client::connect(&server.address, b"");
    let [socket] = worker.opened(1).try_into().unwrap();
    let mut dirty = ShardSet::default();
    assert!(server.gateway.ping(socket, b"data", &mut dirty));
    assert!(server.gateway.ping(socket, b"", &mut dirty));
    server.gateway.wake(&mut dirty);
    assert_eq!(client.next(), Received::Ping(b"data".to_vec()));
    assert_eq!(client.next(), Received::Ping(Vec::new()));
    assert!(server.gateway.close(socket, 1000, "", &mut dirty));
    assert!(server.gateway.terminate(socket, &mut dirty));
    server.gateway.wake(&mut dirty);
    let mut last = client.next();
    if last != Received::End {
        // the close was sent before the end
        assert_eq!(last, Received::Close(Some(1000), String::new()));
        last = client.next();
    }
    assert_eq!(last, Received::End, "without waiting for the peer's close");
    worker.until(|events| {
        let is_close = |event: &Event| matches!(event, Event::Close { .. });
        events.iter().any(is_close)
    });
    let mut second = Client::connect(&server.address, b"");
    let [_, other] = worker.opened(2).try_into().unwrap();
    assert!(server.gateway.terminate(other, &mut dirty));
    server.gateway.wake(&mut dirty);
    assert_eq!(second.next(), Received::End);
    worker.until(|events| {
        let is_close = |event: &Event| matches!(event, Event::Close { code: 1006, .. });
        events.iter().any(is_close)
    });
    assert!(!server.gateway.ping(socket, b"", &mut dirty), "it is gone");
    let unknown = SocketId::new(1 << 40).unwrap();
    assert!(!server.gateway.ping(unknown, b"", &mut dirty));
    server.stop();
}
