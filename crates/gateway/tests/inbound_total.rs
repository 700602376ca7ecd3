//! The total of messages that are being received is limited: the largest ones make room for the others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::sync::{Arc, Barrier};
use std::thread;

use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig};
use millrace_protocol::websocket::{Opcode, append_part};
use support::client::{Client, Received, frame};
use support::manual::eventually;
use support::{ALL, Server, echo, serve};

const KIB: usize = 1024;
const TOTAL: usize = 1024 * KIB;

/// The most bytes of one read: a message of 64 KiB with its head.
const READ: usize = 65 * KIB;

/// The total may exceed its limit by an eighth, and by the bytes of one read.
const MOST: usize = TOTAL + TOTAL / 8 + READ;

const TRY_AGAIN_LATER: u16 = 1013;

const QUIET: Handlers = ALL.without(Handlers::OPEN);

fn server(io_threads: usize) -> Server {
    let mut config = GatewayConfig {
        io_threads,
        ..GatewayConfig::default()
    };
    config.limits.inbound_total_bytes = TOTAL;
    serve(config, ListenerConfig::default())
}

fn inbound(server: &Server) -> (usize, u64) {
    let stats = server.gateway.stats();
    (stats.inbound_bytes, stats.traffic.inbound_closes)
}

/// Many clients begin messages that do not fit into the limit together.
fn flood(io_threads: usize) {
    const CLIENTS: usize = 40;
    let server = server(io_threads);
    let _worker = echo(&server.gateway, QUIET);
    let settled = Arc::new(Barrier::new(CLIENTS + 1));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    let clients = clients.into_iter().map(|mut client| {
        let settled = Arc::clone(&settled);
        thread::spawn(move || {
            let message = frame(Opcode::Binary, &vec![7; 512 * KIB]);
            let half = message.len() - 256 * KIB;
            // the connection may be closed meanwhile
            let _cut = client.stream.write_all(&message[..half]);
            settled.wait();
            let _cut = client.stream.write_all(&message[half..]);
            client.next()
        })
    });
    let clients: Vec<_> = clients.collect();
    let mut most = 0;
    assert!(eventually(|| {
        let (bytes, closes) = inbound(&server);
        most = most.max(bytes);
        let left = CLIENTS - usize::try_from(closes).unwrap();
        bytes <= TOTAL && bytes == left * 256 * KIB
    }));
    assert!(most <= MOST + (io_threads - 1) * READ, "{most}");
    settled.wait();
    let ends: Vec<_> = clients
        .into_iter()
        .map(|client| client.join().unwrap())
        .collect();
    let reason = "Too much is being received".to_owned();
    let given_up = Received::Close(Some(TRY_AGAIN_LATER), reason);
    let (given_up, others): (Vec<_>, Vec<_>) = ends.into_iter().partition(|end| *end == given_up);
    let (_, closes) = inbound(&server);
    assert_eq!(given_up.len(), usize::try_from(closes).unwrap());
    assert!(!others.is_empty());
    for end in others {
        assert_eq!(end, Received::Binary(vec![7; 512 * KIB]));
    }
    assert!(eventually(|| inbound(&server).0 == 0));
}

#[test]
fn partial_messages_have_a_total() {
    flood(1);
}

#[test]
fn partial_messages_of_all_threads_have_one_total() {
    flood(2);
}

/// The connection with the largest message makes room, on any shard and even if it is silent; others are read as
/// before.
#[test]
fn the_largest_partial_message_makes_room_for_small_ones() {
    let server = server(2);
    let _worker = echo(&server.gateway, QUIET);
    let mut hoarder = Client::connect(&server.address, b"");
    hoarder.send(&frame(Opcode::Binary, &vec![7; TOTAL])[..900 * KIB]);
    assert!(eventually(|| inbound(&server).0 > 899 * KIB));
    let message = frame(Opcode::Binary, &vec![7; 60 * KIB]);
    let (begin, end) = message.split_at(50 * KIB);
    let mut small: Vec<_> = (0..4)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    for client in &mut small {
        client.send(begin);
    }
    let reason = "Too much is being received".to_owned();
    assert_eq!(
        hoarder.next(),
        Received::Close(Some(TRY_AGAIN_LATER), reason)
    );
    assert_eq!(hoarder.next(), Received::End);
    for client in &mut small {
        client.send(end);
        assert_eq!(client.next(), Received::Binary(vec![7; 60 * KIB]));
    }
    assert_eq!(inbound(&server), (0, 1));
}

/// Wherever in a message a connection ends, no byte of the message stays counted.
#[test]
fn a_connection_that_ends_within_a_message_leaves_nothing() {
    let server = server(2);
    let worker = echo(&server.gateway, ALL);
    let payload = vec![7; 10 * KIB];
    let mut message = Vec::new();
    append_part(&mut message, Opcode::Binary, false, Some([1; 4]), &payload);
    let begun = &message.clone()[..];
    append_part(
        &mut message,
        Opcode::Continuation,
        true,
        Some([1; 4]),
        &payload,
    );
    let mut clients = Vec::new();
    for _ in 0..8 {
        let mut client = Client::connect(&server.address, b"");
        client.send(begun);
        clients.push(client);
    }
    assert!(eventually(|| inbound(&server).0 > 8 * 9 * KIB));
    let sockets = worker.opened(8);
    let mut dirty = millrace_gateway::ShardSet::default();
    for socket in &sockets[..2] {
        // by the application, whose close waits for the peer's
        server.gateway.close(*socket, 4000, "enough", &mut dirty);
    }
    server.gateway.wake(&mut dirty);
    // by invalid input, and by the end of the stream
    clients[2].send(&frame(Opcode::Text, b"within a message"));
    drop(clients.split_off(4));
    clients[3].send(&message[begun.len()..]);
    assert_eq!(clients[3].next(), Received::Binary(vec![7; 20 * KIB]));
    drop(clients);
    assert!(eventually(|| server.gateway.stats().connections == 0));
    assert_eq!(inbound(&server), (0, 0));
}
