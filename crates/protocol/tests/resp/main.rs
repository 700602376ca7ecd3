//! The RESP codec as its users see it.

mod bounds;
mod chunks;
mod refused;
mod seen;
