//! The end of a connection: complete messages before it are handled, and what handlers send at once arrives before the
//! close.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::net::Shutdown;
use std::time::Duration;

use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig, ShardSet, SocketId};
use millrace_protocol::websocket::{self, Opcode};
use support::client::{Client, Received, frame};
use support::manual::{Manual, eventually, eventually_within, manual, send_all};
use support::wire::narrow_client;
use support::{ALL, Event, SOON, Server, echo, serve};

/// Without `handleOpen`, so that connecting needs no answer.
const QUIET: Handlers = Handlers::TEXT.with(Handlers::CLOSE);

/// Longer than a client waits for anything.
const LONG: Duration = Duration::from_secs(600);

fn server(close_timeout: Duration) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config.limits.write_timeout = Duration::MAX;
    config.limits.close_timeout = close_timeout;
    config.limits.outbox_bytes = 64 << 20;
    serve(config, ListenerConfig::default())
}

fn texts(count: usize) -> Vec<u8> {
    let frames = (0..count).flat_map(|number| frame(Opcode::Text, number.to_string().as_bytes()));
    frames.collect()
}

fn close_frame(code: u16) -> Vec<u8> {
    let mut close = Vec::new();
    websocket::append_masked_close(&mut close, code, "", [1, 2, 3, 4]);
    close
}

/// A frame with an unknown opcode.
fn mistake() -> Vec<u8> {
    vec![0x83, 0x80, 1, 2, 3, 4]
}

fn expect_texts(client: &mut Client, count: usize) {
    for number in 0..count {
        assert_eq!(client.next(), Received::Text(number.to_string()));
    }
}

fn expect_close(client: &mut Client, code: u16) {
    let next = client.next();
    assert!(
        matches!(next, Received::Close(Some(seen), _) if seen == code),
        "{next:?}"
    );
    assert_eq!(client.next(), Received::End);
}

/// Connects a client; the worker's later events are those of its connection.
fn connect(server: &Server, worker: &Manual) -> (Client, SocketId) {
    let client = Client::connect(&server.address, b"");
    (client, worker.opened())
}

fn is_close(event: &Event, code: u32) -> bool {
    matches!(event, Event::Close { code: seen, .. } if *seen == code)
}

fn close(server: &Server, socket: SocketId, code: u16) {
    let mut dirty = ShardSet::default();
    server.gateway.close(socket, code, "", &mut dirty);
    server.gateway.wake(&mut dirty);
}

#[test]
fn a_hundred_messages_before_a_close_are_answered_before_the_close_frame() {
    let server = server(SOON);
    let worker = echo(&server.gateway, ALL);
    for _ in 0..20 {
        let mut client = Client::connect(&server.address, b"");
        client.send(&[texts(100), close_frame(4321)].concat());
        expect_texts(&mut client, 100);
        expect_close(&mut client, 4321);
    }
    let told =
        worker.until(|events| events.iter().filter(|event| is_close(event, 4321)).count() == 20);
    let dropped = server.gateway.stats().traffic.dropped_by_close;
    assert_eq!(
        dropped,
        0,
        "deliveries of {} events were dropped",
        told.len()
    );
}

#[test]
fn a_message_before_invalid_input_in_the_same_segment_is_answered() {
    let server = server(SOON);
    let _worker = echo(&server.gateway, ALL);
    for count in [1, 100] {
        let mut client = Client::connect(&server.address, b"");
        client.send(&[texts(count), mistake()].concat());
        expect_texts(&mut client, count);
        expect_close(&mut client, 1002);
    }
}

#[test]
fn messages_before_the_end_of_the_stream_are_answered() {
    let server = server(SOON);
    let worker = echo(&server.gateway, ALL);
    let mut client = Client::connect(&server.address, b"");
    client.send(&texts(100));
    client.stream.shutdown(Shutdown::Write).unwrap();
    expect_texts(&mut client, 100);
    assert_eq!(client.next(), Received::End);
    worker.until(|events| events.last().is_some_and(|event| is_close(event, 1006)));
}

/// A message without a handler closes a connection, too.
#[test]
fn a_message_before_one_without_a_handler_is_answered() {
    let server = server(SOON);
    let handlers = ALL.without(Handlers::BINARY);
    let _worker = echo(&server.gateway, handlers);
    let mut client = Client::connect(&server.address, b"");
    client.send(&[texts(1), frame(Opcode::Binary, b"1")].concat());
    expect_texts(&mut client, 1);
    let reason = "Server worker has no handler".to_owned();
    assert_eq!(client.next(), Received::Close(Some(1011), reason));
    // the client's close is still read
    client.send(&close_frame(1011));
    assert_eq!(client.next(), Received::End);
}

#[test]
fn a_close_right_behind_a_message_without_a_handler_is_read() {
    let server = server(LONG);
    let handlers = ALL.without(Handlers::BINARY);
    let _worker = echo(&server.gateway, handlers);
    let mut client = Client::connect(&server.address, b"");
    client.send(&[frame(Opcode::Binary, b"1"), close_frame(1000)].concat());
    let reason = "Server worker has no handler".to_owned();
    assert_eq!(client.next(), Received::Close(Some(1011), reason));
    assert_eq!(client.next(), Received::End);
}

#[test]
fn the_close_waits_for_events_that_are_held_behind_a_promise() {
    let server = server(SOON);
    let worker = manual(&server.gateway, QUIET);
    let (mut client, socket) = connect(&server, &worker);
    client.send(&[texts(2), close_frame(1000)].concat());
    let mut dirty = ShardSet::default();
    let mut batch = None;
    assert!(eventually(|| {
        batch = worker.worker.take();
        batch.is_some()
    }));
    worker.worker.hold(socket, 2, 2, &mut dirty);
    worker.worker.finish(batch.unwrap());
    server.gateway.wake(&mut dirty);
    let gone = || server.gateway.stats().sockets == 0;
    assert!(!eventually_within(Duration::from_millis(200), gone));
    for number in ["0", "1"] {
        send_all(&server.gateway, socket, [number]);
        worker.worker.release(socket, 1, 1, &mut dirty);
        server.gateway.wake(&mut dirty);
    }
    expect_texts(&mut client, 2);
    expect_close(&mut client, 1000);
    assert!(is_close(&worker.expect(1)[0], 1000));
}

#[test]
fn the_end_waits_for_handlers_at_most_for_the_close_timeout() {
    let server = server(Duration::from_millis(300));
    let worker = manual(&server.gateway, QUIET);
    for end in [close_frame(1000), mistake()] {
        let (mut client, _) = connect(&server, &worker);
        client.send(&[texts(1), end].concat());
        assert!(matches!(
            client.next(),
            Received::Close(Some(1000 | 1002), _)
        ));
        // delivered messages are handled, and the close follows them
        let events = worker.expect(2);
        assert!(
            matches!(events[..], [Event::Text { .. }, Event::Close { .. }]),
            "{events:?}"
        );
    }
    let (mut client, _) = connect(&server, &worker);
    client.send(&texts(1));
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.next(), Received::End);
    let events = worker.expect(2);
    assert!(is_close(&events[1], 1006), "{events:?}");
}

#[test]
fn a_close_by_the_application_during_the_last_message_wins() {
    let server = server(SOON);
    let worker = manual(&server.gateway, QUIET);
    for end in [close_frame(1000), mistake()] {
        let (mut client, socket) = connect(&server, &worker);
        client.send(&[texts(1), end].concat());
        assert!(eventually(|| server.gateway.stats().workers[0]
            .queued_events
            >= 1));
        send_all(&server.gateway, socket, ["0"]);
        close(&server, socket, 4000);
        expect_texts(&mut client, 1);
        expect_close(&mut client, 4000);
        let events = worker.expect(2);
        assert!(is_close(&events[1], 4000), "{events:?}");
    }
}

#[test]
fn the_end_of_a_worker_ends_the_connections_that_wait_for_it() {
    let server = server(SOON);
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _) = connect(&server, &worker);
    client.send(&[texts(1), close_frame(1000)].concat());
    assert!(eventually(|| server.gateway.stats().workers[0]
        .queued_events
        == 1));
    worker.worker.retire();
    expect_close(&mut client, 1011);
    assert!(eventually(|| server.gateway.stats().connections == 0));
}

#[test]
fn input_after_a_close_is_ignored() {
    let server = server(SOON);
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _) = connect(&server, &worker);
    client.send(&[texts(1), close_frame(1000), texts(3)].concat());
    assert!(eventually(|| server.gateway.stats().workers[0]
        .queued_events
        == 1));
    client.send(&texts(1000));
    client.stream.shutdown(Shutdown::Write).unwrap();
    let events = worker.expect(2);
    assert!(
        matches!(events[..], [Event::Text { .. }, Event::Close { .. }]),
        "{events:?}"
    );
    expect_close(&mut client, 1000);
}

/// Also for a client that has ended its side of the stream and reads slowly.
#[test]
fn a_long_answer_to_the_last_message_arrives_completely() {
    for ends in [true, false] {
        let server = server(SOON);
        let worker = manual(&server.gateway, QUIET);
        let mut client = narrow_client(&server.address);
        let socket = worker.opened();
        client.send(&texts(1));
        if !ends {
            client.send(&close_frame(1000));
        }
        client.stream.shutdown(Shutdown::Write).unwrap();
        let mut batch = None;
        assert!(eventually(|| {
            batch = worker.worker.take();
            batch.is_some()
        }));
        let long = "x".repeat(10_000);
        for _ in 0..1500 {
            send_all(&server.gateway, socket, [long.as_str()]);
        }
        worker.worker.finish(batch.unwrap());
        assert!(is_close(
            &worker.expect(1)[0],
            if ends { 1006 } else { 1000 }
        ));
        for _ in 0..1500 {
            assert_eq!(client.next(), Received::Text(long.clone()));
        }
        if ends {
            assert_eq!(client.next(), Received::End);
        } else {
            expect_close(&mut client, 1000);
        }
    }
}
