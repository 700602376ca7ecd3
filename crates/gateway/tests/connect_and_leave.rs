//! Clients that repeatedly connect and leave at once: what they leave behind is bounded.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Read;
use std::time::Duration;

use millrace_gateway::limits::GatewayLimits;
use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig, Worker};
use support::client::Client;
use support::manual::{eventually, eventually_within, manual};
use support::wire::rest;
use support::{ALL, Event, Server, serve};

fn server(limits: impl FnOnce(&mut GatewayLimits)) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    limits(&mut config.limits);
    serve(config, ListenerConfig::default())
}

fn connections(server: &Server, count: usize) -> bool {
    eventually(|| server.gateway.stats().connections == count)
}

/// Otherwise a client that connects and leaves in a loop could open any number of sockets.
#[test]
fn a_client_that_leaves_during_handle_open_keeps_its_permit_until_the_handler_ends() {
    let server = server(|limits| limits.connections = 2);
    let worker = manual(&server.gateway, ALL);
    let left: Vec<_> = (0..2)
        .map(|_| {
            let stream = Client::connect_pending(&server.address);
            let socket = worker.opened();
            drop(stream);
            socket
        })
        .collect();
    let third = Client::connect_pending(&server.address);
    let mut early = Vec::new();
    let is_in = || {
        early.extend(worker.take());
        !early.is_empty()
    };
    assert!(!eventually_within(Duration::from_millis(300), is_in));
    worker.refuse(left[0]);
    let socket = worker.opened();
    worker.accept(socket);
    let mut client = Client::upgraded(third);
    worker.accept(left[1]);
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { code: 1006, .. }]));
    assert!(connections(&server, 1), "its close was delivered");
    client.text("in");
    assert!(matches!(worker.expect(1)[..], [Event::Text { .. }]));
}

#[test]
fn an_open_that_no_queue_has_room_for_is_a_503() {
    let server = server(|limits| limits.worker_queue_bytes = 4096);
    let worker = manual(&server.gateway, ALL);
    let mut waiting = Vec::new();
    loop {
        let mut stream = Client::connect_pending(&server.address);
        stream.set_nonblocking(true).unwrap();
        let asked = waiting.len() + 1;
        let told = || queued(&server, &worker.worker).0 == asked;
        let mut answered = false;
        assert!(eventually(|| {
            answered = stream.peek(&mut [0]).is_ok();
            answered || told()
        }));
        stream.set_nonblocking(false).unwrap();
        if answered {
            let answer = rest(&mut stream);
            assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
            break;
        }
        waiting.push(stream);
        assert!(waiting.len() < 100, "the queue has no limit");
    }
    // a worker with room is preferred, and room is freed again
    let other = manual(&server.gateway, ALL);
    let more: Vec<_> = (0..2)
        .map(|_| {
            let stream = Client::connect_pending(&server.address);
            (stream, other.opened())
        })
        .collect();
    assert_eq!(worker.expect(waiting.len()).len(), waiting.len());
    drop((waiting, more));
}

#[test]
fn connecting_and_leaving_in_a_loop_grows_nothing() {
    let server = server(|limits| limits.worker_queue_bytes = 4096);
    let handlers = ALL.without(Handlers::OPEN);
    let worker = manual(&server.gateway, handlers);
    let mut came = 0;
    loop {
        let stream = Client::connect_pending(&server.address);
        let mut head = [0; 12];
        (&stream).read_exact(&mut head).unwrap();
        if &head == b"HTTP/1.1 503" {
            break;
        }
        assert_eq!(&head, b"HTTP/1.1 101");
        came += 1;
        assert!(came < 200, "the queue has no limit");
        drop(stream);
        assert!(connections(&server, 0));
    }
    let (_, bytes) = queued(&server, &worker.worker);
    assert!((4096..5000).contains(&bytes), "{bytes}");
    // no opened connection is lost
    let events = worker.expect(2 * came);
    let is_close = |event: &&Event| matches!(event, Event::Close { .. });
    assert_eq!(events.iter().filter(is_close).count(), came);
    let client = Client::connect(&server.address, b"");
    drop(client);
}

/// The events and bytes that wait for a worker.
fn queued(server: &Server, worker: &Worker) -> (usize, usize) {
    let stats = server.gateway.stats();
    let mut all = stats.workers.iter();
    let stats = all.find(|stats| stats.id == worker.id()).unwrap();
    (stats.queued_events, stats.queued_bytes)
}
