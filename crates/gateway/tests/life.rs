//! A connection's whole life, with a gateway without JavaScript.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::time::Duration;

use millrace_gateway::config::GatewayConfig;
use millrace_gateway::{Kind, ListenerConfig, Notice, ShardSet, Target};
use millrace_protocol::websocket::{self, Opcode};
use support::client::{Client, Received, frame};
use support::{ALL, Event, SOON, echo, serve};

fn config(io_threads: usize) -> GatewayConfig {
    let mut config = GatewayConfig {
        io_threads,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config
}

#[test]
fn messages_are_echoed_including_those_right_behind_the_handshake() {
    let server = serve(config(2), ListenerConfig::default());
    let _worker = echo(&server.gateway, ALL);
    let mut client = Client::connect(&server.address, &frame(Opcode::Text, b"early"));
    assert_eq!(client.next(), Received::Text("early".into()));
    for number in 0..100 {
        client.text(&format!("message {number}"));
    }
    for number in 0..100 {
        assert_eq!(client.next(), Received::Text(format!("message {number}")));
    }
    client.send(&frame(Opcode::Binary, &vec![7; 100_000]));
    assert_eq!(client.next(), Received::Binary(vec![7; 100_000]));
    drop(client);
    server.stop();
}

#[test]
fn a_close_is_echoed_and_reported_once() {
    let server = serve(config(1), ListenerConfig::default());
    let worker = echo(&server.gateway, ALL);
    let mut client = Client::connect(&server.address, b"");
    let mut close = Vec::new();
    websocket::append_masked_close(&mut close, 4321, "bye", [1, 2, 3, 4]);
    client.send(&close);
    assert_eq!(client.next(), Received::Close(Some(4321), String::new()));
    assert_eq!(client.next(), Received::End);
    worker.until(|events| {
        events
            .iter()
            .any(|event| matches!(event, Event::Close { code: 4321, .. }))
    });
    drop(client);
    server.stop();
    let closes = worker
        .events
        .lock()
        .unwrap()
        .iter()
        .filter(|event| matches!(event, Event::Close { .. }))
        .count();
    assert_eq!(closes, 1);
}

#[test]
fn a_lost_connection_is_reported_as_1006() {
    let server = serve(config(1), ListenerConfig::default());
    let worker = echo(&server.gateway, ALL);
    drop(Client::connect(&server.address, b""));
    worker.until(|events| {
        events
            .iter()
            .any(|event| matches!(event, Event::Close { code: 1006, .. }))
    });
    server.stop();
    assert_eq!(server.gateway.stats().connections, 0);
}

#[test]
fn a_broadcast_reaches_every_shard_in_one_order() {
    let server = serve(config(3), ListenerConfig::default());
    let worker = echo(&server.gateway, ALL);
    let mut clients: Vec<_> = (0..9)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    let who: Vec<_> = worker.opened(9).into_iter().map(Target::Socket).collect();
    let mut dirty = ShardSet::default();
    let subscribed = server.gateway.subscribe(&who, b"room", 1, &mut dirty);
    assert_eq!(subscribed.unwrap().len(), 9);
    let publishers: Vec<_> = (0..4)
        .map(|publisher| {
            let gateway = std::sync::Arc::clone(&server.gateway);
            std::thread::spawn(move || {
                for number in 0..200 {
                    let mut dirty = ShardSet::default();
                    let text = format!("{publisher}:{number}");
                    assert_eq!(
                        gateway.send(
                            &[Target::Channel(b"room")],
                            Kind::Text,
                            text.as_bytes(),
                            &[],
                            &mut dirty
                        ),
                        9
                    );
                    gateway.wake(&mut dirty);
                }
            })
        })
        .collect();
    for publisher in publishers {
        publisher.join().unwrap();
    }
    let orders: Vec<Vec<Received>> = clients
        .iter_mut()
        .map(|client| (0..800).map(|_| client.next()).collect())
        .collect();
    drop(clients);
    assert!(orders.windows(2).all(|pair| pair[0] == pair[1]));
    server.stop();
}

#[test]
fn stopping_closes_with_1001() {
    let mut config = config(2);
    config.limits.close_timeout = SOON;
    let server = serve(config, ListenerConfig::default());
    let worker = echo(&server.gateway, ALL);
    let mut client = Client::connect(&server.address, b"");
    let ticket = server.gateway.stop_listeners(&[server.listener], SOON);
    assert_eq!(client.next(), Received::Close(Some(1001), String::new()));
    let mut close = Vec::new();
    websocket::append_masked_close(&mut close, 1001, "", [0; 4]);
    client.send(&close);
    assert_eq!(client.next(), Received::End);
    drop(client);
    let stopped = server.notice(|notice| matches!(notice, Notice::ListenersStopped { .. }));
    assert_eq!(stopped, Notice::ListenersStopped { ticket, cut: 0 });
    worker.until(|events| {
        events
            .iter()
            .any(|event| matches!(event, Event::Close { code: 1001, .. }))
    });
}

#[test]
fn a_dead_workers_connections_get_1011_and_their_closes_go_to_another() {
    let server = serve(config(2), ListenerConfig::default());
    let first = echo(&server.gateway, ALL);
    let mut client = Client::connect(&server.address, b"");
    first.opened(1);
    let second = echo(&server.gateway, ALL);
    first.worker.retire();
    assert_eq!(
        client.next(),
        Received::Close(Some(1011), "Server worker is down".into())
    );
    second.until(|events| {
        events
            .iter()
            .any(|event| matches!(event, Event::Close { code: 1011, .. }))
    });
    drop(client);
    server.stop();
}

#[test]
fn a_silent_worker_is_retired() {
    let mut config = config(1);
    config.limits.worker_timeout = Duration::from_millis(200);
    let server = serve(config, ListenerConfig::default());
    let bell = std::sync::Arc::new(support::Bell::default());
    let worker = server.gateway.add_worker(ALL, bell);
    worker.activate();
    let notice = server.notice(|notice| matches!(notice, Notice::WorkerUnresponsive { .. }));
    assert!(matches!(notice, Notice::WorkerUnresponsive { worker: 1, ms } if ms >= 200));
    assert!(worker.is_retired());
    server.stop();
}

#[test]
fn a_worker_that_stops_answering_while_it_leaves_is_retired() {
    let mut config = config(1);
    config.limits.worker_timeout = Duration::from_millis(200);
    let server = serve(config, ListenerConfig::default());
    let bell = std::sync::Arc::new(support::Bell::default());
    let worker = server.gateway.add_worker(ALL, bell);
    worker.activate();
    worker.leave();
    assert!(server.gateway.active_workers().is_empty());
    let notice = server.notice(|notice| matches!(notice, Notice::WorkerUnresponsive { .. }));
    assert!(matches!(
        notice,
        Notice::WorkerUnresponsive { worker: 1, .. }
    ));
    assert!(worker.is_retired());
    server.stop();
}
