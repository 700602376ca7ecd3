//! The link between nodes: a node's publications go out over a Redis, Valkey or NATS server, and those of the other
//! nodes, and of whoever else publishes there, come in.
//!
//! A [`Backplane`] is what its node holds, and its [`Task`] is what runs. Messages and changes of interest go in
//! through the [`Outlet`], which never blocks; what comes from others leaves through the node's [`Local`]. What is
//! sent, asked and believed is decided without I/O ([`node`], [`interest`], [`sequence`], [`envelope`]), and so are the
//! protocols ([`wire`]).
#![forbid(unsafe_code)]

mod backoff;
mod config;
mod control;
mod envelope;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod gauges;
mod interest;
mod link;
mod links;
mod local;
mod members;
mod node;
mod outlet;
mod publish_timeout;
mod sequence;
mod source;
mod task;
mod tls;
mod topic;
mod wire;

pub use crate::config::{BackplaneFull, Bounds, Config, Credentials, Protocol, Server, Tls};
pub use crate::control::{Census, MOST_CHANNELS};
pub use crate::gauges::{State, Stats};
pub use crate::local::{Destination, Local, Trouble};
pub use crate::members::{ClusterInfo, Member, Reply};
pub use crate::outlet::Outlet;
pub use crate::publish_timeout::LONGEST_WAIT;
pub use crate::task::{Backplane, Task};
pub use crate::tls::TlsError;
pub use crate::topic::Topic;
