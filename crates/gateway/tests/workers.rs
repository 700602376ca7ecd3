//! Workers that die, and the closes that they leave behind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::sync::Arc;
use std::time::Duration;

use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig, Notice};
use support::client::{Client, Received};
use support::manual::{eventually, manual};
use support::{ALL, Event, Server, serve};

fn server() -> Server {
    let mut config = GatewayConfig {
        io_threads: 2,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    serve(config, ListenerConfig::default())
}

/// Without `handleOpen`, so that connecting needs no answer.
const CLOSING: Handlers = Handlers::TEXT.with(Handlers::BINARY).with(Handlers::CLOSE);

#[test]
fn closes_wait_for_a_worker_that_is_activated_later() {
    let server = server();
    let first = manual(&server.gateway, CLOSING);
    let mut clients: Vec<_> = (0..8)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    first.expect(8);
    first.worker.retire();
    for client in &mut clients {
        assert!(matches!(client.next(), Received::Close(Some(1011), _)));
    }
    let second = manual(&server.gateway, CLOSING);
    let events = second.expect(8);
    assert!(
        events
            .iter()
            .all(|event| matches!(event, Event::Close { code: 1011, .. }))
    );
    assert_eq!(events.len(), 8);
    assert_eq!(server.gateway.stats().unhandled_closes, 0);
}

/// The worker itself handles their closes, because it has their state; the next connection goes to another worker.
#[test]
fn a_leaving_worker_s_connections_close_with_1012_and_it_handles_the_closes() {
    let server = server();
    let first = manual(&server.gateway, CLOSING);
    let mut client = Client::connect(&server.address, b"");
    first.expect(1);
    let second = manual(&server.gateway, CLOSING);
    first.worker.leave();
    assert!(matches!(client.next(), Received::Close(Some(1012), _)));
    assert!(matches!(
        first.expect(1)[..],
        [Event::Close { code: 1012, .. }]
    ));
    assert_eq!(first.worker.connections(), 0);
    let _next = Client::connect(&server.address, b"");
    second.expect(1);
    first.worker.retire();
    assert!(second.take().is_empty());
}

/// A worker without `handleClose` leaves no closes to handle.
#[test]
fn a_worker_without_close_handler_leaves_no_closes() {
    let server = server();
    let silent = CLOSING.without(Handlers::CLOSE);
    let first = manual(&server.gateway, silent);
    let mut client = Client::connect(&server.address, b"");
    first.expect(1);
    first.worker.retire();
    assert!(matches!(client.next(), Received::Close(Some(1011), _)));
    let second = manual(&server.gateway, CLOSING);
    drop(client);
    server.gateway.shutdown();
    server.notice(|notice| *notice == Notice::Stopped);
    assert!(second.take().is_empty());
    assert_eq!(server.gateway.stats().unhandled_closes, 0);
}

#[test]
fn closes_without_a_worker_are_counted_at_the_end() {
    let server = server();
    let only = manual(&server.gateway, CLOSING);
    let mut client = Client::connect(&server.address, b"");
    only.expect(1);
    only.worker.retire();
    assert!(matches!(client.next(), Received::Close(Some(1011), _)));
    server.gateway.shutdown();
    server.notice(|notice| *notice == Notice::Stopped);
    assert_eq!(server.gateway.stats().unhandled_closes, 1);
}

/// Workers are activated and retired on several threads while closes look for one: each close is reported once.
#[test]
fn no_close_is_lost_while_workers_change() {
    let server = server();
    for _ in 0..30 {
        let first = manual(&server.gateway, CLOSING);
        let clients: Vec<_> = (0..4)
            .map(|_| Client::connect(&server.address, b""))
            .collect();
        first.expect(4);
        let heir = manual(&server.gateway, CLOSING);
        let retiring = [Arc::clone(&first.worker), Arc::clone(&heir.worker)]
            .map(|worker| std::thread::spawn(move || worker.retire()));
        let last = manual(&server.gateway, CLOSING);
        for thread in retiring {
            thread.join().unwrap();
        }
        let mut events = Vec::new();
        assert!(
            eventually(|| {
                events.extend(last.take());
                events.len() == 4
            }),
            "events were {events:?}"
        );
        drop(clients);
        last.worker.retire();
    }
    assert_eq!(server.gateway.stats().workers.len(), 0);
}

#[test]
fn a_pending_admission_of_a_dead_worker_is_refused_with_503() {
    let server = server();
    let worker = manual(&server.gateway, ALL);
    let mut stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    worker.worker.retire();
    let answer = support::wire::rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    // a late answer has no effect
    worker.accept(socket);
    assert_eq!(server.gateway.stats().sockets, 0);
}
