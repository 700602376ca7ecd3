//! RESP, the Redis protocol, versions 2 and 3, as a server speaks it: requests in, replies and messages out.
//!
//! What is taken, what is refused and in which words is as in Redis 7.0. Memory is claimed for bytes that came, never
//! for lengths that were announced.

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
