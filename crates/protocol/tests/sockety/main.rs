//! The Sockety codec through its public API: decoding, however the bytes are split, and encoding.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accepted;
mod bounds;
mod captured;
mod chunks;
mod mixed;
mod page;
mod refused;
mod roundtrip;
mod seen;
mod sender;
mod uncopied;
mod vectors;
mod wide;
