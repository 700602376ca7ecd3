//! System calls on sockets that the event loop does not offer. Owns no socket, knows no protocol; what
//! the operating system lacks is an error here, and the caller does without.

#[cfg(target_os = "linux")]
mod send_ring;

#[cfg(target_os = "linux")]
pub use send_ring::{SendRing, Sent};
