//! A whole shard moved by hand: no thread, no runtime, peers in memory and a clock that the test sets. What every session
//! has to keep is a suite that each passes.

mod conformance;
mod deadlines;
mod inbound;
mod random;
mod resp;
mod stage;
