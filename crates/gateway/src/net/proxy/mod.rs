//! Connections from proxies: which proxies are trusted to name a client's address, and the header of the PROXY
//! protocol.

mod header;
mod trusted;

pub(crate) use header::read;
pub use trusted::{TrustError, Trusted};
