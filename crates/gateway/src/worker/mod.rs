//! A worker's queue of events and its batches. Knows no gateway and rings no doorbell.

mod delays;
pub(crate) mod queue;
mod sidecar;

pub(crate) use delays::LoopDelays;
pub use queue::Batch;
pub use sidecar::{AsciiText, Sidecar};
