//! Bytes of Sockety through a whole gateway: what its worker is told of them, wherever they are cut or end, how their
//! connection closes, and that no other connection is affected.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accepted;
mod account;
mod captured;
mod refused;
#[expect(dead_code, reason = "the decoder's own tests use the rest")]
#[path = "../../../protocol/tests/sockety/seen.rs"]
mod seen;
mod stand;
#[expect(dead_code, reason = "each test file uses its part of the support")]
#[path = "../support/mod.rs"]
mod support;
#[expect(dead_code, reason = "the decoder's own tests use the rest")]
#[path = "../../../protocol/tests/sockety/vectors.rs"]
mod vectors;
