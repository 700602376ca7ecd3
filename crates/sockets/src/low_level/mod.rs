//! Sockets by hand, on every Unix: the descriptors that `millrace/sockets` gave out, and the calls on them. A call
//! that blocks waits for one slice of time at most and says that it still waits, so that whoever called can see
//! whether it is still wanted. Knows nothing of JavaScript.

mod address;
mod calls;
mod connect;
mod constants;
#[cfg(target_os = "linux")]
mod epoll;
mod fault;
mod host;
mod options;
mod table;
mod transfer;
mod wait;

pub use address::Place;
pub use constants::constants;
pub use fault::{Fault, error_text};
pub use host::host_address;
pub use table::Table;
pub use wait::Turn;
