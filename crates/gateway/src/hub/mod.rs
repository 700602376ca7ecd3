//! What all threads share, and every call that may come from any of them: none waits for the network.

mod inbound;
mod liveness;
mod messaging;
mod outgoing;
mod poster;
mod state;
mod subscribing;
mod telling;
mod transfers;
mod uplink;
mod worker;
mod workers;

pub(crate) use inbound::Inbound;
pub(crate) use liveness::watch;
pub use messaging::{Forwardable, unix_ms};
#[cfg(test)]
pub(crate) use outgoing::Outgoing;
pub(crate) use poster::Poster;
pub use state::Hub;
pub use subscribing::SubscribeError;
pub(crate) use uplink::Uplink;
pub use worker::{TOKEN_WORDS, TokenWords, Worker};
pub(crate) use workers::Workers;
