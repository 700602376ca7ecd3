//! The members of channels with presence on all nodes, by Redis or Valkey: each node writes its own there, and reads those of
//! the others in the channels that it follows.
//!
//! An [`Attendance`] is the node's handle, and its [`AttendanceTask`] runs on the backplane's thread, with links of its own.
//! A node writes by a *session*, whose life is one lease. In each channel a session has a hash with its members, of which it
//! is the only writer, and its place in an index with the number of its last change. A change names the one before it, so a
//! node that missed one knows that, and reads this session's members once more ([`follow`]). Who is alive is in one sorted
//! set ([`lease`]).

mod follow;
mod handle;
mod lease;
mod message;
mod own;
mod roll;
mod scripts;
mod session;
mod shared;
mod task;
mod worker;

pub use handle::{Attendance, AttendanceStats};
pub use roll::{Pending, Presence, Roll, Seat, SharedPresence};
pub use task::AttendanceTask;
