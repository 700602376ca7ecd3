//! The RESP codec through its public API.

mod bounds;
mod chunks;
mod refused;
mod seen;
