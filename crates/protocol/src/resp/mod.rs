//! RESP, the Redis protocol, versions 2 and 3, for a server: decodes requests, encodes replies and messages.
//!
//! What is accepted, what is refused and the texts of errors follow Redis 7.0. Memory is allocated for bytes that
//! were received, never for announced lengths.

mod error;
mod inline;
mod message;
mod number;
mod reply;
mod request;

pub use error::RequestError;
pub use inline::{UnbalancedQuotes, split_line};
pub use message::{append_message, append_pattern_message, append_shard_message};
pub use number::{append_integer, parse_integer};
pub use reply::{Reply, Version};
pub use request::{Decoder, MOST_ARGUMENTS, Request, RequestLimits};
