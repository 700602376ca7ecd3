//! The store of channels with history, on NATS with JetStream. A stream of the server belongs to each of the application's
//! terms, and a subject of it to each channel.
//!
//! A record is accepted only if it names the newest one of its channel, which gives numbers without a hole; the server tells
//! what it has kept on another subject, to which nodes subscribe. What was missed is read back from the newest record.
//!
//! The link, the API and the making of streams are those of the members of several nodes, too.

pub(super) mod answers;
pub(super) mod api;
mod channel;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzzing;
pub(super) mod json;
pub(super) mod link;
pub(super) mod names;
mod record;
#[cfg(test)]
pub(super) mod responder;
pub(super) mod setup;
pub(super) mod wire;
mod work;
mod worker;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzzing::feed;
pub(super) use worker::Worker;
