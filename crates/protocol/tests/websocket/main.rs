//! The WebSocket codec through its public API, however the bytes are split.

mod bounds;
mod chunks;
mod deflate;
mod roundtrip;
mod seen;
mod strict;
mod utf8;
