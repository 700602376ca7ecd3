//! The inspector of HTTP requests through its public API: what it accepts and refuses, however the bytes are
//! split.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod as_node;
mod chunks;
mod first;
mod parser;
mod refused;
mod seen;
mod simple;
