//! Random messages, written in random pieces to a server whose answers do not fit into the kernel's buffers, and every
//! way in which a peer ends a connection: each message is answered once, in order, and the close comes last.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use millrace_gateway::{GatewayConfig, ListenerConfig};
use millrace_protocol::websocket::{self, Opcode};
use proptest::prelude::*;
use support::client::{Received, frame};
use support::manual::eventually;
use support::wire::narrow_client;
use support::{ALL, Event, SOON, echo, serve};

#[derive(Clone, Copy, Debug)]
enum End {
    Close,
    CloseAndSilence,
    Mistake,
    /// The peer ends its side of the stream.
    Silence,
}

#[derive(Clone, Debug)]
struct Life {
    messages: Vec<usize>,
    /// Lengths of the writes, repeated in a cycle.
    pieces: Vec<usize>,
    end: End,
}

fn life() -> impl Strategy<Value = Life> {
    let length = prop_oneof![6 => 0..200_usize, 3 => 200..20_000_usize, 1 => 20_000..200_000_usize];
    let piece = prop_oneof![1 => 1..20_usize, 3 => 20..5000_usize, 3 => 5000..300_000_usize];
    let ends = vec![End::Close, End::CloseAndSilence, End::Mistake, End::Silence];
    (
        prop::collection::vec(length, 0..120),
        prop::collection::vec(piece, 1..10),
        prop::sample::select(ends),
    )
        .prop_map(|(messages, pieces, end)| Life {
            messages,
            pieces,
            end,
        })
}

fn payload(number: usize, length: usize) -> Vec<u8> {
    let mut payload = number.to_le_bytes().to_vec();
    payload.resize(length + size_of::<usize>(), 0x5a);
    payload
}

/// Writes everything that the peer sends, in a thread of its own, because the server stops reading while its output is
/// not read.
fn sender(mut stream: TcpStream, life: Life) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        for (number, length) in life.messages.iter().enumerate() {
            bytes.extend(frame(Opcode::Binary, &payload(number, *length)));
        }
        match life.end {
            End::Close | End::CloseAndSilence => {
                websocket::append_masked_close(&mut bytes, 4000, "", [1, 2, 3, 4]);
            }
            End::Mistake => bytes.extend([0x83, 0x80, 1, 2, 3, 4]),
            End::Silence => {}
        }
        let mut rest = &bytes[..];
        for length in life.pieces.iter().cycle() {
            let (piece, more) = rest.split_at(rest.len().min(*length));
            stream.write_all(piece).unwrap();
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
        if matches!(life.end, End::CloseAndSilence | End::Silence) {
            stream.shutdown(Shutdown::Write).unwrap();
        }
    })
}

#[test]
fn every_message_before_an_end_is_answered_wherever_it_is_cut() {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config.limits.write_timeout = Duration::MAX;
    config.limits.close_timeout = SOON;
    let server = serve(config, ListenerConfig::default());
    let worker = echo(&server.gateway, ALL);
    let mut runner = prop::test_runner::TestRunner::new(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        max_shrink_iters: 64,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&life(), |life| {
        let mut client = narrow_client(&server.address);
        let sending = sender(client.stream.try_clone().unwrap(), life.clone());
        for (number, length) in life.messages.iter().enumerate() {
            let next = client.next();
            let expected = Received::Binary(payload(number, *length));
            prop_assert!(next == expected, "message {number} of {length} bytes");
        }
        let code = match life.end {
            End::Close | End::CloseAndSilence => Some(4000),
            End::Mistake => Some(1002),
            End::Silence => None,
        };
        if code.is_some() {
            let next = client.next();
            prop_assert!(matches!(next, Received::Close(seen, _) if seen == code));
        }
        prop_assert_eq!(client.next(), Received::End);
        sending.join().unwrap();
        Ok(())
    });
    outcome.unwrap();
    assert!(eventually(|| server.gateway.stats().connections == 0));
    let events = worker.until(|events| {
        let opened = |event: &&Event| matches!(event, Event::Open { .. });
        let closed = |event: &&Event| matches!(event, Event::Close { .. });
        events.iter().filter(opened).count() == events.iter().filter(closed).count()
    });
    let ends = events.iter().filter_map(|event| match event {
        Event::Close { code, .. } => Some(*code),
        _ => None,
    });
    assert!(
        ends.into_iter()
            .all(|code| [4000, 1002, 1006].contains(&code))
    );
    let stats = server.gateway.stats();
    assert_eq!((stats.outbox_bytes, stats.traffic.dropped_by_close), (0, 0));
}
