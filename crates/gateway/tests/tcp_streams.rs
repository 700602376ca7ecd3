//! Raw TCP as streams for JavaScript code of the protocol: the peer, writes, and closes after them. Servers in
//! JavaScript are tested in `__test__/tcp/server.test.mjs`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::net::{Shutdown, TcpStream};

use millrace_gateway::{Handlers, Options, ShardSet, SocketId};
use support::manual::{Manual, eventually, manual};
use support::tcp::{
    BEYOND_THE_KERNEL, QUIET, close_code, connect, framing, read, server, server_with,
};
use support::wire::rest;
use support::{Event, Server};

/// The numbers of `event/kinds.rs`.
const OPENED: u32 = 18;
const WRITTEN: u32 = 19;
const WRITE: u32 = 11;
const CLOSE: u32 = 12;

fn streams() -> Options {
    framing("none").flag("asStream", true)
}

/// A server whose outboxes hold more for a client than the kernel accepts.
fn roomy() -> Server {
    server_with(
        streams(),
        |limits| limits.outbox_bytes = 4 * BEYOND_THE_KERNEL,
        |_| {},
    )
}

/// Connects; also returns the fields of the first event.
fn enter(server: &Server, worker: &Manual) -> (TcpStream, SocketId, Vec<u8>) {
    let stream = connect(server);
    let events = worker.expect(2);
    let [
        Event::Open { socket, .. },
        Event::Told {
            number: OPENED,
            fields,
            payload,
            ..
        },
    ] = &events[..]
    else {
        panic!("events were {events:?}")
    };
    assert!(payload.is_empty());
    (stream, SocketId::new(*socket).unwrap(), fields.clone())
}

fn tell(server: &Server, socket: SocketId, operation: u32, fields: &[u8], payload: &[u8]) {
    let mut dirty = ShardSet::default();
    let told = server
        .gateway
        .tell(socket, operation, fields, payload, &mut dirty);
    assert!(told);
    server.gateway.wake(&mut dirty);
}

fn is_written(event: &Event) -> bool {
    matches!(event, Event::Told { number: WRITTEN, fields, payload, .. }
        if fields.is_empty() && payload.is_empty())
}

#[test]
fn the_owner_of_a_stream_is_reported_before_its_first_byte() {
    let server = server(streams());
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, _, fields) = enter(&server, &worker);
    let word = |at: usize| u32::from_le_bytes(fields[at..at + 4].try_into().unwrap());
    let port = u32::from(stream.local_addr().unwrap().port());
    assert_eq!((word(4), word(8)), (port, 0));
    assert_eq!(&fields[12..], b"127.0.0.1");
    let (_other, _, of_other) = enter(&server, &worker);
    assert_eq!(
        fields[..4],
        of_other[..4],
        "both streams have the same listener"
    );
    stream.write_all(b"bytes\xff").unwrap();
    assert!(matches!(&worker.expect(1)[0], Event::Binary { data, .. } if data == b"bytes\xff"));
}

#[test]
fn writes_arrive_in_order_and_a_note_reports_when_they_were_sent() {
    let server = roomy();
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket, _) = enter(&server, &worker);
    tell(&server, socket, WRITE, &[], b"one ");
    tell(&server, socket, WRITE, &[1], b"two");
    assert_eq!(read(&mut stream, 7), b"one two");
    assert!(is_written(&worker.expect(1)[0]));
    // nothing waits: a note without bytes is answered at once
    tell(&server, socket, WRITE, &[1], b"");
    assert!(is_written(&worker.expect(1)[0]));

    let much = vec![b'x'; BEYOND_THE_KERNEL];
    for piece in much.chunks(1 << 20) {
        tell(&server, socket, WRITE, &[], piece);
    }
    tell(&server, socket, WRITE, &[1], b"");
    // the client does not read yet: the output waits, and so does the answer
    assert!(eventually(|| {
        server.gateway.stats().traffic.bytes_out > 100_000
    }));
    assert!(worker.take().is_empty());
    assert_eq!(read(&mut stream, much.len()), much);
    assert!(is_written(&worker.expect(1)[0]));
}

#[test]
fn a_close_comes_after_everything_that_was_written() {
    let server = roomy();
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket, _) = enter(&server, &worker);
    let (mut witness, other, _) = enter(&server, &worker);
    let much = vec![b'x'; BEYOND_THE_KERNEL / (1 << 20) * (1 << 20)];
    for piece in much.chunks(1 << 20) {
        tell(&server, socket, WRITE, &[], piece);
    }
    tell(&server, socket, CLOSE, &[], b"");
    tell(&server, socket, WRITE, &[], b"too late");
    // the I/O thread has handled the close once it has handled what came after it
    tell(&server, other, WRITE, &[], b"done");
    assert_eq!(read(&mut witness, 4), b"done");
    // unread input causes no reset, and is ignored
    stream.write_all(b"ignored").unwrap();
    assert_eq!(rest(&mut stream).len(), much.len());
    assert_eq!(close_code(&worker), 1000);
}

#[test]
fn a_close_without_waiting_output_happens_at_once() {
    let server = server(streams());
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket, _) = enter(&server, &worker);
    tell(&server, socket, CLOSE, &[], b"");
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1000);
}

#[test]
fn the_end_of_the_client_leaves_the_stream_open_for_writing() {
    let server = server(streams());
    let worker = manual(&server.gateway, QUIET | Handlers::END);
    let (mut stream, socket, _) = enter(&server, &worker);
    stream.write_all(b"all").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let events = worker.expect(2);
    assert!(matches!(&events[0], Event::Binary { data, .. } if data == b"all"));
    assert!(matches!(&events[1], Event::Told { number: 1, .. }));
    tell(&server, socket, WRITE, &[1], b"answer");
    assert_eq!(read(&mut stream, 6), b"answer");
    assert!(is_written(&worker.expect(1)[0]));
    tell(&server, socket, CLOSE, &[], b"");
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1000);
}

#[test]
fn a_stream_over_its_limit_is_closed_because_nothing_may_be_dropped() {
    let server = server_with(streams(), |limits| limits.outbox_bytes = 256 * 1024, |_| {});
    let worker = manual(&server.gateway, QUIET);
    let (_stalled, socket, _) = enter(&server, &worker);
    let piece = vec![b'x'; 64 * 1024];
    let closed = || server.gateway.stats().traffic.overflow_closes == 1;
    for _ in 0..1000 {
        if closed() {
            break;
        }
        tell(&server, socket, WRITE, &[], &piece);
    }
    assert!(eventually(closed));
}

#[test]
fn other_operations_and_other_listeners_are_not_affected() {
    let server = server(streams());
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket, _) = enter(&server, &worker);
    for operation in [0, 1, 9, 13, u32::MAX] {
        tell(&server, socket, operation, &[1], b"nothing");
    }
    tell(&server, socket, WRITE, &[], b"something");
    assert_eq!(read(&mut stream, 9), b"something");

    let plain = support::tcp::server(framing("none"));
    let worker = manual(&plain.gateway, QUIET);
    let (mut stream, socket) = support::tcp::enter(&plain, &worker);
    tell(&plain, socket, WRITE, &[1], b"nothing");
    tell(&plain, socket, CLOSE, &[], b"");
    support::manual::send_all(&plain.gateway, socket, ["as ever"]);
    assert_eq!(read(&mut stream, 7), b"as ever");
    assert!(worker.take().is_empty());
}
