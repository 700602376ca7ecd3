//! The WebSocket codec through its public API: bytes in, items out, however the bytes are cut.

mod bounds;
mod chunks;
mod roundtrip;
mod seen;
mod strict;
mod utf8;
