//! Limits on what clients send, and on how long they may be silent.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::time::{Duration, Instant};

use millrace_gateway::limits::{GatewayLimits, ListenerLimits};
use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig, SocketId};
use millrace_protocol::websocket::Opcode;
use support::client::{Client, Received, frame};
use support::manual::{Manual, eventually, eventually_within, manual, send_all};
use support::{Event, Server, echo, serve};

/// Without `handleOpen`, so that connecting needs no answer.
const QUIET: Handlers = Handlers::TEXT.with(Handlers::BINARY).with(Handlers::CLOSE);

fn server(
    gateway: impl FnOnce(&mut GatewayLimits),
    listener: impl FnOnce(&mut ListenerLimits),
) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    gateway(&mut config.limits);
    let mut listening = ListenerConfig::default();
    listener(&mut listening.limits);
    serve(config, listening)
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn texts(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| match event {
        Event::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

fn connect(server: &Server, worker: &Manual) -> (Client, SocketId) {
    let client = Client::connect(&server.address, b"");
    (client, worker.opened())
}

/// A worker that does nothing stops its clients from sending, but not from receiving, and loses nothing.
#[test]
fn a_client_ahead_of_its_worker_is_not_read_and_still_receives() {
    let server = server(|limits| limits.unhandled_events = 4, |_| {});
    let worker = manual(&server.gateway, QUIET);
    let (mut client, socket) = connect(&server, &worker);
    for number in 0..100 {
        client.text(&number.to_string());
    }
    assert!(eventually(
        || server.gateway.stats().traffic.messages_in == 4
    ));
    for number in 0..1000 {
        send_all(&server.gateway, socket, [number.to_string().as_str()]);
    }
    for number in 0..1000 {
        assert_eq!(client.next(), Received::Text(number.to_string()));
    }
    assert_eq!(server.gateway.stats().traffic.messages_in, 4);
    let mut seen = Vec::new();
    while seen.len() < 100 {
        seen.extend(texts(&worker.expect(1)));
    }
    let expected: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(seen, expected);
}

/// A server that awaited the delivery of messages inline would never answer here.
#[test]
fn pings_are_answered_while_the_worker_is_busy() {
    let server = server(|_| {}, |_| {});
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _socket) = connect(&server, &worker);
    for number in 0..10 {
        client.text("work");
        client.send(&frame(Opcode::Ping, &[number; 125]));
        assert_eq!(client.next(), Received::Pong(vec![number; 125]));
    }
    assert_eq!(texts(&worker.expect(10)).len(), 10);
}

#[test]
fn a_workers_queue_is_bounded_over_all_its_clients() {
    let server = server(|limits| limits.worker_queue_events = 10, |_| {});
    let worker = manual(&server.gateway, QUIET);
    let mut clients: Vec<_> = (0..40).map(|_| connect(&server, &worker).0).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.text(&number.to_string());
        client.text(&(100 + number).to_string());
    }
    assert!(eventually(
        || server.gateway.stats().traffic.messages_in >= 10
    ));
    let more = || server.gateway.stats().traffic.messages_in > 10;
    assert!(!eventually_within(ms(200), more), "the limit is 10");
    let mut seen = Vec::new();
    while seen.len() < 80 {
        seen.extend(texts(&worker.expect(1)));
    }
    let mut numbers: Vec<usize> = seen.iter().map(|text| text.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq((0..40).chain(100..140)));
}

#[test]
fn a_workers_queue_is_bounded_in_bytes() {
    let server = server(|limits| limits.worker_queue_bytes = 100_000, |_| {});
    let worker = manual(&server.gateway, QUIET);
    let mut clients: Vec<_> = (0..10).map(|_| connect(&server, &worker).0).collect();
    for client in &mut clients {
        client.send(&frame(Opcode::Binary, &vec![0; 60_000]));
    }
    let queued = || server.gateway.stats().workers[0].queued_bytes;
    assert!(eventually(|| queued() > 100_000));
    assert!(!eventually_within(ms(200), || queued() > 200_000));
    let mut seen = 0;
    while seen < 10 {
        seen += worker.expect(1).len();
    }
}

#[test]
fn a_message_rate_slows_the_reading() {
    let server = server(|_| {}, |limits| limits.messages_per_second = 20);
    let _worker = echo(&server.gateway, QUIET_ECHO);
    let mut client = Client::connect(&server.address, b"");
    let begun = Instant::now();
    for number in 0..30 {
        client.text(&number.to_string());
    }
    for number in 0..30 {
        assert_eq!(client.next(), Received::Text(number.to_string()));
    }
    let took = begun.elapsed();
    assert!(took >= ms(400), "the last ten take half a second: {took:?}");
}

const QUIET_ECHO: Handlers = QUIET.with(Handlers::OPEN);

#[test]
fn a_silent_client_is_pinged_and_then_cut() {
    let server = server(
        |_| {},
        |limits| {
            limits.ping_interval = ms(100);
            limits.pong_timeout = ms(4000);
        },
    );
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _) = connect(&server, &worker);
    for _ in 0..3 {
        assert_eq!(client.next(), Received::Ping(Vec::new()));
        client.send(&frame(Opcode::Pong, b""));
    }
    assert_eq!(client.next(), Received::Ping(Vec::new()));
    assert_eq!(client.next(), Received::End);
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { code: 1006, .. }]));
    assert_eq!(server.gateway.stats().traffic.ping_timeouts, 1);
}

/// At a kilobyte in twenty milliseconds, a frame of this length takes much longer than a pong may.
const LONG: usize = 600_000;

/// A pong cannot be sent inside a frame: a peer whose long frame arrives is alive, one that sends single bytes is not.
#[test]
fn a_long_frame_may_take_longer_than_a_pong() {
    let server = server(
        |_| {},
        |limits| {
            limits.ping_interval = ms(100);
            limits.pong_timeout = ms(4000);
        },
    );
    let worker = manual(&server.gateway, QUIET);
    let (mut honest, _) = connect(&server, &worker);
    let (mut dribbling, _) = connect(&server, &worker);
    let message = frame(Opcode::Binary, &vec![7; LONG]);
    let mut alone = message.chunks(1);
    let cut = || server.gateway.stats().traffic.ping_timeouts == 1;
    for part in message.chunks(1000) {
        honest.send(part);
        if !cut() {
            // the connection may be cut meanwhile
            let _cut = dribbling.stream.write_all(alone.next().unwrap());
            std::thread::sleep(ms(20));
        }
    }
    assert!(cut());
    let events = worker.expect(2);
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Binary { data, .. } if data.len() == LONG))
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Close { code: 1006, .. }))
    );
}

#[test]
fn an_unfinished_message_has_a_deadline() {
    let server = server(|_| {}, |limits| limits.message_deadline = ms(200));
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _) = connect(&server, &worker);
    let message = frame(Opcode::Binary, &[7; 100]);
    client.send(&message[..50]);
    let reason = "Message took too long".to_owned();
    assert_eq!(client.next(), Received::Close(Some(1008), reason));
    assert_eq!(client.next(), Received::End);
}

#[test]
fn an_idle_connection_is_closed_with_1000_and_a_busy_one_is_not() {
    let server = server(|_| {}, |limits| limits.idle_timeout = ms(4000));
    let worker = manual(&server.gateway, QUIET);
    let (mut idle, _) = connect(&server, &worker);
    let (mut busy, _) = connect(&server, &worker);
    let idle = std::thread::spawn(move || idle.next());
    while !idle.is_finished() {
        std::thread::sleep(ms(50));
        busy.text("here");
        worker.take();
    }
    let reason = "Idle timeout".to_owned();
    let closed = Received::Close(Some(1000), reason);
    assert_eq!(idle.join().unwrap(), closed);
    busy.send(&frame(Opcode::Ping, b"still here"));
    assert_eq!(busy.next(), Received::Pong(b"still here".to_vec()));
    assert_eq!(busy.next(), closed);
}

/// While a client is not read, it cannot answer pings, so it is not closed.
#[test]
fn the_pong_deadline_is_paused_while_nothing_is_read() {
    let server = server(
        |limits| limits.unhandled_events = 1,
        |limits| {
            limits.ping_interval = ms(50);
            limits.pong_timeout = ms(3000);
        },
    );
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _) = connect(&server, &worker);
    client.text("one");
    client.text("two");
    // its event stays in the queue, or the other client would be read again
    let silent = Client::connect(&server.address, b"");
    assert!(eventually(
        || server.gateway.stats().traffic.ping_timeouts == 1
    ));
    drop(silent);
    assert!(eventually(|| server.gateway.stats().connections == 1));
    let mut seen = Vec::new();
    while texts(&seen).len() < 2 {
        seen.extend(worker.expect(1));
    }
    assert_eq!(texts(&seen), ["one", "two"]);
}

#[test]
fn limits_of_zero_do_not_block() {
    let server = server(
        |limits| {
            limits.unhandled_events = 0;
            limits.unhandled_bytes = 0;
            limits.worker_queue_events = 0;
            limits.worker_queue_bytes = 0;
            limits.outbox_bytes = 0;
            limits.outbox_frames = 0;
            limits.shard_inbox_bytes = 0;
            limits.outbox_read_pause_bytes = 0;
            limits.close_timeout = Duration::MAX;
            limits.write_timeout = Duration::MAX;
        },
        |limits| {
            limits.message_deadline = Duration::MAX;
            limits.idle_timeout = Duration::MAX;
            limits.pong_timeout = Duration::MAX;
            limits.handshake_timeout = Duration::MAX;
        },
    );
    let _worker = echo(&server.gateway, QUIET_ECHO);
    let mut client = Client::connect(&server.address, b"");
    for number in 0..20 {
        client.text(&number.to_string());
        assert_eq!(client.next(), Received::Text(number.to_string()));
    }
}
