//! What passes between I/O shards and workers, as data: records of events, which handlers there are, and what they answer.
//! Owns no queue.

mod admission;
mod handlers;
pub(crate) mod record;
mod reply;

pub use admission::{Acceptance, Rejection};
pub use handlers::Handlers;
pub use reply::{AnswerHead, HeadError, Reply};
