//! The store of channels with history, on Redis, Valkey or NATS: it gives each message its number, keeps the last ones, and tells
//! them all nodes in one order.
//!
//! A [`Store`] is the node's handle, and its [`StoreTask`] runs on the backplane's thread. One script per publication
//! (`publish.lua`) assigns the number, appends the message to a stream and publishes it. Which message is the next one of a
//! followed channel, and what must be read because it was missed, is decided without I/O ([`follow`]). The server is
//! reached through the client library `redis`, on one link or on one to each master of a cluster ([`links`]). On NATS the
//! same is done by [`jetstream`].

mod driver;
mod feed;
mod follow;
mod handle;
mod jetstream;
mod link;
mod links;
mod names;
mod page;
mod presence;
mod publication;
mod remembered;
mod requests;
mod scripts;
mod shared;
mod stats;
mod task;
mod worker;

pub use feed::{
    Append, Appended, Done, Entry, Feed, History, Range, SharedHistory, StoreError, StoredPast,
};
pub use handle::{Store, StoreSetupError};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use jetstream::feed as feed_jetstream;
pub use presence::{
    Attendance, AttendanceStats, AttendanceTask, Pending, Presence, Roll, Seat, SharedPresence,
};
pub use stats::StoreStats;
pub use task::StoreTask;
