//! What passes between I/O shards and workers, as data: records of events, which handlers there are, what they answer, and the steps of
//! transfers.
//! Owns no queue.

mod admission;
mod handlers;
mod opening;
pub(crate) mod record;
mod transfer;

pub use admission::{Acceptance, Rejection};
pub use handlers::Handlers;
pub(crate) use opening::{Opening, Transport};
pub use transfer::{Head, Step, TransferId, Whole};
