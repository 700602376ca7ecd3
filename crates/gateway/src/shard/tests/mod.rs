//! Drives a whole shard: no thread, no runtime, peers in memory, and a clock that the test sets. Every session has to
//! pass the conformance suite.

mod compression;
mod conformance;
mod deadlines;
mod gaps;
mod history;
mod inbound;
mod opening;
mod random;
mod readers;
mod relays;
mod resp;
mod splice;
mod splice_random;
mod store_steps;
mod turns;
mod v1;
mod v1_both;
mod v1_calls;

use crate::event::Handlers;
use crate::limits::GatewayLimits;
use crate::shard::stage::{Actor, Stage};
use crate::socket::connection::Phase;

impl Stage {
    fn new(limits: impl FnOnce(&mut GatewayLimits)) -> Self {
        Self::handling(Handlers::NONE, limits)
    }
}

impl Actor {
    fn is_open(&self) -> bool {
        matches!(self.connection.io.borrow().phase, Phase::Open)
    }
}
