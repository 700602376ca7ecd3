//! The readiness loop of a shard: many sockets that are ready at once, input together with the end of the stream, one
//! connection with endless input beside others, and timers of a thread that is never idle.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millrace_gateway::{GatewayConfig, ListenerConfig};
use millrace_protocol::websocket::Opcode;
use support::client::{Client, Received, frame};
use support::manual::eventually;
use support::{ALL, Server, echo, serve};

fn one_thread(listener: ListenerConfig) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    serve(config, listener)
}

#[test]
fn more_sockets_are_ready_than_one_round_takes() {
    let server = one_thread(ListenerConfig::default());
    let _worker = echo(&server.gateway, ALL);
    let mut clients: Vec<_> = (0..700)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    for round in 0..3 {
        for (number, client) in clients.iter_mut().enumerate() {
            client.text(&format!("{round} {number}"));
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let expected = Received::Text(format!("{round} {number}"));
            assert_eq!(client.next(), expected);
        }
    }
    drop(clients);
    assert!(eventually(|| server.gateway.stats().sockets == 0));
    server.stop();
}

#[test]
fn input_that_comes_with_the_end_of_the_stream_is_handled_first() {
    let server = one_thread(ListenerConfig::default());
    let _worker = echo(&server.gateway, ALL);
    for length in [1, 1000, 64 * 1024, 300 * 1024] {
        let mut client = Client::connect(&server.address, b"");
        let text = "x".repeat(length);
        client.text(&text);
        client.stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.next(), Received::Text(text));
    }
    assert!(eventually(|| server.gateway.stats().sockets == 0));
    server.stop();
}

#[test]
fn a_connection_with_endless_input_holds_up_neither_others_nor_timers() {
    let mut listener = ListenerConfig::default();
    listener.limits.ping_interval = Duration::from_millis(100);
    let server = one_thread(listener);
    let worker = echo(&server.gateway, ALL);
    let busy = Client::connect(&server.address, b"");
    let mut other = Client::connect(&server.address, b"");
    worker.opened(2);
    let ends = Arc::new(AtomicBool::new(false));
    let sending = {
        let (mut stream, ends) = (busy.stream.try_clone().unwrap(), Arc::clone(&ends));
        // pongs need neither the worker nor an answer, so that nothing stops them from being read
        let pongs = frame(Opcode::Pong, &[7; 100]).repeat(600);
        std::thread::spawn(move || {
            while !ends.load(Ordering::SeqCst) && stream.write_all(&pongs).is_ok() {}
        })
    };
    for number in 0..50 {
        other.text(&number.to_string());
        let mut received = other.next();
        while matches!(received, Received::Ping(_)) {
            received = other.next();
        }
        assert_eq!(received, Received::Text(number.to_string()));
    }
    // a ping comes from the timers of the same thread
    let mut received = other.next();
    while !matches!(received, Received::Ping(_)) {
        assert_ne!(received, Received::End);
        received = other.next();
    }
    ends.store(true, Ordering::SeqCst);
    busy.stream.shutdown(Shutdown::Both).unwrap();
    sending.join().unwrap();
    server.stop();
}
