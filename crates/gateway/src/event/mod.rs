//! What passes between I/O shards and workers, as data: records of events, which handlers there are, and what they answer.
//! Owns no queue.

mod admission;
mod handlers;
mod opening;
pub(crate) mod record;
mod reply;

pub use admission::{Acceptance, Rejection};
pub use handlers::Handlers;
pub(crate) use opening::{Opening, Transport};
pub use reply::{AnswerHead, HeadError, Reply};
