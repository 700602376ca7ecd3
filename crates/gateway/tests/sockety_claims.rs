//! Announced sizes take no memory of a gateway; only the bytes that peers send do. The test is alone in its process,
//! because it measures the size of the process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;

use support::Event;
use support::manual::manual;
use support::sockety::{Client, server};
use support::tcp::QUIET;

/// The head of a message with 17 MiB of data, and of one with a file of that size; the header of a packet with all of
/// it; and the first bytes.
const BEGUN: [&[u8]; 2] = [
    b"\x20\x19\xc0................\x01d\x00\x00\x10\x01\x00\x00\xec\x00\x00\x10\x01aaaa",
    b"\x20\x23\x18................\x01f\x01\x00\x00\x10\x01\x0c\x00\x00\x10\x01\x00\x00\x03big\
      \xcc\x00\x00\x10\x01aaaa",
];
const PEERS: usize = 100;

#[test]
fn announced_sizes_take_no_memory() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let before = memory();
    let mut clients = Vec::new();
    for wire in BEGUN {
        for _ in 0..PEERS {
            let mut client = Client::connect(&server);
            client.stream.write_all(wire).unwrap();
            clients.push(client);
        }
    }
    let mut pieces = 0;
    while pieces < clients.len() {
        for event in worker.expect(1) {
            if let Event::Piece { data, last, .. } = event {
                assert_eq!((&*data, last), (&b"aaaa"[..], false));
                pieces += 1;
            }
        }
    }
    assert_eq!(server.gateway.stats().connections, clients.len());
    let grown = memory().saturating_sub(before);
    assert!(grown < 256 << 20, "{grown} bytes for 3400 MiB announced");
}

/// The bytes of address space of this process.
fn memory() -> u64 {
    let sizes = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = sizes.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = size.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() * 1024
}
