//! System calls on sockets that the event loop does not offer: many sends in one call, reads and writes at least cost, the
//! low-level sockets of `millrace/sockets`, and duplicates of connections. Knows no protocol except the syntax of an HTTP
//! request, and nothing about JavaScript. A feature that the operating system lacks is an error or absent here, and the
//! caller works without it.

#[cfg(unix)]
mod defer_accept;
#[cfg(unix)]
mod duplicate;
mod http_request;
#[cfg(unix)]
mod low_level;
#[cfg(unix)]
mod selector;
#[cfg(unix)]
mod send_last;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod send_ring;
#[cfg(target_os = "linux")]
mod stream_calls;

#[cfg(unix)]
pub use defer_accept::defer_accept;
#[cfg(unix)]
pub use duplicate::{Duplicate, duplicate};
pub use http_request::{BadRequest, HttpRequest};
#[cfg(unix)]
pub use low_level::{Fault, Place, Table, Turn, constants, error_text, host_address};
#[cfg(unix)]
pub use selector::Selector;
#[cfg(unix)]
pub use send_last::send_last;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use send_ring::{SendRing, Sent};
#[cfg(target_os = "linux")]
pub use stream_calls::{read_stream, write_stream};
