//! A turn that writes to many connections at once, of which some read little, read nothing or are leaving: each
//! remaining client gets everything in order, with and without `io_uring`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::time::Duration;

use millrace_gateway::{GatewayConfig, Kind, ListenerConfig, ShardSet, Target};
use support::client::{Client, Received};
use support::manual::eventually;
use support::wire::narrow_client;
use support::{ALL, echo, serve};

const READERS: usize = 8;
const STALLED: usize = 4;
const LEAVING: usize = 6;
const ROUNDS: usize = 30;
const PER_ROUND: usize = 100;

/// All messages together are more than the kernel accepts for a client that does not read.
const LENGTH: usize = 2000;

fn expect_numbers(client: &mut Client, numbers: std::ops::Range<usize>) {
    for number in numbers {
        assert_eq!(client.next(), Received::Text(format!("{number:0LENGTH$}")));
    }
}

fn run(io_uring: bool) {
    let mut config = GatewayConfig {
        io_threads: 1,
        io_uring,
        ..GatewayConfig::default()
    };
    config.limits.outbox_bytes = 64 << 20;
    config.limits.outbox_frames = 1 << 20;
    config.limits.worker_timeout = Duration::ZERO;
    let server = serve(config, ListenerConfig::default());
    let worker = echo(&server.gateway, ALL);
    let mut readers: Vec<_> = (0..READERS)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    let mut stalled: Vec<_> = (0..STALLED)
        .map(|_| narrow_client(&server.address))
        .collect();
    let mut leaving: Vec<_> = (0..LEAVING)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    let mut dirty = ShardSet::default();
    for socket in worker.opened(READERS + STALLED + LEAVING) {
        let who = [Target::Socket(socket)];
        let subscribed = server.gateway.subscribe(&who, b"all", 1, &mut dirty);
        subscribed.unwrap();
    }
    for round in 0..ROUNDS {
        let numbers = round * PER_ROUND..(round + 1) * PER_ROUND;
        for number in numbers.clone() {
            let text = format!("{number:0LENGTH$}");
            server.gateway.send(
                &[Target::Channel(b"all")],
                Kind::Text,
                text.as_bytes(),
                &[],
                &mut dirty,
            );
            // some publications have a turn of their own, the others share one
            if number % 3 == 0 {
                server.gateway.wake(&mut dirty);
            }
        }
        server.gateway.wake(&mut dirty);
        // this client leaves while its output is being written
        drop(leaving.pop());
        for reader in &mut readers {
            expect_numbers(reader, numbers.clone());
        }
    }
    assert!(
        server.gateway.stats().outbox_bytes > 0,
        "no client was behind, so no write was partial"
    );
    for late in &mut stalled {
        expect_numbers(late, 0..ROUNDS * PER_ROUND);
    }
    assert!(eventually(
        || server.gateway.stats().sockets == READERS + STALLED
    ));
    drop((readers, stalled));
    server.stop();
    assert_eq!(server.gateway.stats().outbox_bytes, 0);
}

#[test]
fn with_io_uring_if_the_kernel_has_it() {
    run(true);
}

#[test]
fn without_io_uring() {
    run(false);
}
