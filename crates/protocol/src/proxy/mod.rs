//! What a proxy in front says of the client it forwards: the PROXY protocol, versions 1 and 2, in front of the bytes,
//! and `Forwarded` or `X-Forwarded-For` in a request. Whom to believe is an argument.

pub mod forwarded;
mod v1;
mod v2;

use std::net::SocketAddr;

/// A header of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its bytes; what follows is the client's.
    pub length: usize,
    /// Where the client connects from.
    pub source: Source,
}

/// Where a connection comes from, by the word of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A client's address.
    Client(SocketAddr),
    /// A client without an address that could be told.
    Unknown,
    /// The proxy itself, to see whether we live.
    Proxy,
}

/// Why bytes are no header. The connection cannot go on: nobody knows where the client's bytes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// They begin like neither version.
    #[error("no PROXY protocol header")]
    Absent,
    /// A part of it is not as the protocol has it.
    #[error("malformed PROXY protocol header: {0}")]
    Malformed(&'static str),
    /// It is longer than this reader takes.
    #[error("PROXY protocol header of more than {LONGEST} bytes")]
    TooLong,
}

/// Reads the header that `bytes` begin with; `None`: more bytes are needed, at most [`LONGEST`] altogether.
///
/// # Example
///
/// ```
/// use millrace_protocol::proxy::{Source, parse};
///
/// let header = parse(b"PROXY TCP4 192.0.2.7 192.0.2.1 5000 443\r\nGET /").unwrap().unwrap();
/// assert_eq!(header.source, Source::Client("192.0.2.7:5000".parse().unwrap()));
/// assert_eq!(header.length, 41);
/// ```
pub fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
    if begins(bytes, v1::SIGNATURE) {
        v1::parse(bytes)
    } else if begins(bytes, v2::SIGNATURE) {
        v2::parse(bytes)
    } else {
        Err(HeaderError::Absent)
    }
}

/// The longest header taken: much longer than any address, with room for what version 2 may add to it.
pub const LONGEST: usize = 4096;

/// Whether the bytes are a signature or may become one.
fn begins(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(byte, sign)| byte == sign)
}
