//! Behind a proxy: whose word on a client's address counts, and the header of the PROXY protocol in front of a
//! connection.

mod header;
mod trusted;

pub(crate) use header::read;
pub use trusted::{TrustError, Trusted};
