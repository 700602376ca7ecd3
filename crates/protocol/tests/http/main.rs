//! The inspector of HTTP requests through its public API: what it passes, what it refuses, however the bytes
//! are cut.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod as_node;
mod chunks;
mod first;
mod parser;
mod refused;
mod seen;
