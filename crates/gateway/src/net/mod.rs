//! Byte streams below the protocols: bind addresses, streams, TLS, the preamble of a connection (a PROXY protocol
//! header, then the TLS handshake), and special-purpose addresses. Knows no application protocol and no shard.

pub(crate) mod accept_errors;
pub(crate) mod address;
pub(crate) mod address_text;
pub(crate) mod connect;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod pipe;
#[cfg(unix)]
pub(crate) mod polled;
pub(crate) mod preamble;
pub(crate) mod proxy;
pub(crate) mod raw;
pub(crate) mod special_addresses;
pub(crate) mod stream;
pub(crate) mod tls;
#[cfg(unix)]
pub(crate) mod watch;
