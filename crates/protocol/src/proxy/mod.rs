//! What a proxy says about the client that it forwards: the PROXY protocol, versions 1 and 2, before the client's
//! bytes, and `Forwarded` or `X-Forwarded-For` in a request. Which proxies are trusted is an argument.

pub mod forwarded;
mod v1;
mod v2;

use std::net::SocketAddr;

/// A header of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its length in bytes. The bytes after it are the client's.
    pub length: usize,
    /// Where the client connects from.
    pub source: Source,
}

/// Where a connection comes from, as the proxy reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A client's address.
    Client(SocketAddr),
    /// A client whose address the proxy does not report.
    Unknown,
    /// The proxy itself, which checks whether this server is alive.
    Proxy,
}

/// Why bytes are not a valid header. The connection must end, because the beginning of the client's bytes is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes begin with the signature of neither version.
    #[error("no PROXY protocol header")]
    Absent,
    /// A part of the header is invalid.
    #[error("malformed PROXY protocol header: {0}")]
    Malformed(&'static str),
    /// The header exceeds the limit.
    #[error("PROXY protocol header of more than {LONGEST} bytes")]
    TooLong,
}

/// Parses the header at the beginning of `bytes`. `None` means that more bytes are needed, at most [`LONGEST`] in
/// total.
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

/// The longest header that is accepted. It is much longer than any address, because version 2 allows further fields.
pub const LONGEST: usize = 4096;

/// Whether the bytes begin with a signature or may be the beginning of one.
fn begins(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(byte, sign)| byte == sign)
}
