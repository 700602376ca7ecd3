//! System calls on sockets that the event loop does not offer. Owns no socket, knows no protocol; what
//! the operating system lacks is an error here, and the caller does without.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod send_ring;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use send_ring::{SendRing, Sent};
