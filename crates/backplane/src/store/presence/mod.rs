//! The members of channels with presence on all nodes, by Redis, Valkey or NATS: each node writes its own there, and reads
//! those of the others in the channels that it follows.
//!
//! An [`Attendance`] is the node's handle, and its [`AttendanceTask`] runs on the backplane's thread, with links of its own.
//! A node writes by a *session*, whose life is one lease ([`lease`]). In each channel a session has its members, of which it
//! is the only writer, and the number of its last change. A change names the one before it, so a node that missed one knows
//! that, and reads this session's members once more ([`follow`]). How this is kept is up to a [`Register`](register::Register):
//! in hashes with an index and a sorted set of sessions ([`redis`]), or in logs and a stream of sessions ([`nats`]).

mod follow;
mod handle;
mod lease;
mod message;
mod nats;
mod own;
mod redis;
mod register;
mod roll;
mod scripts;
mod session;
mod shared;
mod task;
mod worker;

pub use handle::Attendance;
pub use roll::{AttendanceStats, Pending, Presence, Roll, Seat, SharedPresence};
pub use task::AttendanceTask;
