//! Wire protocols without I/O: bytes in, values out, and back.
//!
//! Owns the codecs. Never reads a clock, never does I/O, never starts a task, and does not know the
//! core: the adapters of the gateway connect the two.
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

pub mod certificate;
pub mod framing;
pub mod http;
mod json;
pub mod proxy;
pub mod resp;
pub mod sockety;
pub mod splice;
pub mod sse;
pub mod v1;
pub mod websocket;

pub use json::append_string as append_json_string;
