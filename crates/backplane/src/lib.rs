//! The link between nodes: a Redis, Valkey or NATS server forwards a node's publications to the other nodes, and the
//! publications of the other nodes and of other programs to this one.
//!
//! A [`Backplane`] is the node's handle, and its [`Task`] runs. Messages and changes of subscriptions go in through the
//! [`Outlet`], which never blocks; messages from others are delivered by the node's [`Local`]. Decisions about sending,
//! subscribing and receiving are made without I/O ([`node`], [`interest`], [`sequence`], [`envelope`]), and so are the
//! protocols ([`wire`]). Channels with history are numbered and kept by a [`store`].
#![forbid(unsafe_code)]

mod backoff;
mod config;
mod connection;
mod control;
mod encoding;
mod envelope;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod gauges;
mod interest;
mod link;
mod link_error;
mod links;
mod local;
mod members;
mod node;
mod outlet;
mod pipe;
mod publish_timeout;
mod sentinel;
mod sequence;
mod servers;
mod signer;
mod silence;
mod source;
pub mod store;
mod task;
mod tls;
mod topic;
mod wire;

pub use crate::config::{
    BackplaneFull, Bounds, Config, Credentials, KeptChannels, Protocol, Sentinel, Server, Tls,
};
pub use crate::control::{Census, MOST_CHANNELS};
pub use crate::gauges::{State, Stats};
pub use crate::local::{Destination, Local, Trouble};
pub use crate::members::{ClusterInfo, Member, Reply};
pub use crate::outlet::Outlet;
pub use crate::publish_timeout::LONGEST_WAIT;
pub use crate::signer::{Signer, SignerError};
pub use crate::task::{Backplane, Task};
pub use crate::tls::TlsError;
pub use crate::topic::Topic;
