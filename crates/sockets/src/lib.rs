//! Sockets and the wake-up of event loops, below what the libraries for them offer: many sends in one call, reads and writes
//! at least cost, the low-level sockets of `millrace/sockets`, duplicates of connections, and signals of libuv's event loop.
//! Knows no protocol except the syntax of an HTTP request, and nothing about JavaScript. A feature that the operating system
//! or the program lacks is an error or absent here, and the caller works without it.

#[cfg(unix)]
mod defer_accept;
#[cfg(unix)]
mod duplicate;
mod http_request;
#[cfg(unix)]
mod loop_signal;
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
pub use loop_signal::{Libuv, LoopSignal};
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
