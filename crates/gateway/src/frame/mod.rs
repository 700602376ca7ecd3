//! Messages on their way out: what they are, the frames that recipients share, and the memory that these hold.

mod ledger;
mod message;
mod publication;
mod shared;

pub(crate) use ledger::Ledger;
pub(crate) use message::{Message, Origin, Via};
pub use publication::HEAD_ROOM;
pub(crate) use publication::Publication;
pub(crate) use shared::Frame;
