//! Low-level sockets, on every Unix: the descriptors that `millrace/sockets` gave out, and the calls on them. A
//! call that blocks waits for at most one slice of time and then returns [`Turn::Waiting`], so that its caller can
//! check whether to continue. Knows nothing about JavaScript.

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
