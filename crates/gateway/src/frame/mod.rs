//! Outgoing messages: their contents, the frames that recipients share, and the memory that these take.

mod block;
mod charge;
mod compressed;
mod definition;
mod encoding;
mod frames;
mod headed;
mod keep;
mod late;
mod late_reply;
mod lead;
mod ledger;
mod message;
mod publication;
mod shared;

pub(crate) use block::{Block, Blocks};
pub(crate) use charge::Charge;
pub(crate) use compressed::{Compressed, CompressionTerms};
pub(crate) use definition::{EncodingDef, WordedDef};
pub(crate) use encoding::{Encoding, Encodings};
pub(crate) use frames::Frames;
pub(crate) use headed::HeadedDef;
pub use keep::KeptMessage;
pub(crate) use late::{Late, Outcome};
pub(crate) use late_reply::LateReply;
pub use lead::HEAD_ROOM;
pub(crate) use ledger::{Ledger, Ledgers};
pub(crate) use message::{Message, Origin, Via};
pub(crate) use publication::Publication;
pub use shared::SharedBytes;
pub(crate) use shared::{Frame, FrameIdentity};
