//! Ports for servers that cannot pick one themselves.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// A free port on loopback. It is outside of the range from which systems assign ports, and no other test of this process
/// gets it.
pub(crate) fn free_port() -> u16 {
    static USED: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(FEW);
    loop {
        let used = USED.fetch_add(1, Ordering::Relaxed);
        let offset = first.wrapping_add(used) % u32::from(HIGHEST - LOWEST);
        let port = LOWEST + u16::try_from(offset).expect("it is less than a port");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

const LOWEST: u16 = 10_000;
const HIGHEST: u16 = 32_000;

/// So many ports lie between those of processes that are started one after the other.
const FEW: u32 = 101;
