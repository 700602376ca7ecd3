//! What passes between I/O shards and workers, as data: the numbers and records of events, the set of handlers, the
//! answers of handlers, and the steps of transfers. Owns no queue.

mod admission;
mod calling;
mod handlers;
mod instruction;
mod kinds;
mod opening;
mod question;
pub(crate) mod record;
mod streaming;
mod transfer;

pub use admission::{Acceptance, Rejection};
pub(crate) use calling::Calling;
pub use handlers::Handlers;
pub(crate) use instruction::{Instruction, Waiting};
pub use kinds::Operation;
pub(crate) use kinds::{Event, RecordKind, Transport, Turn};
pub(crate) use opening::Opening;
pub use question::{Answers, Place, Reply};
pub(crate) use question::{Question, Questions, Untaken};
pub use record::TextPlace;
pub use streaming::StreamId;
pub(crate) use streaming::StreamStep;
pub(crate) use transfer::FIRST_CREDIT;
pub use transfer::{Head, Step, TransferId, Whole};
