//! Errors in the bytes of requests, with the texts of Redis.

use super::inline::UnbalancedQuotes;

/// Why bytes are not a valid request. The connection must end, because the beginning of the next request is
/// unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A line has no end within its limit.
    #[error("Protocol error: too big inline request")]
    InlineTooBig,
    /// A quote is not closed, or closes within a word.
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
    /// The number of arguments has no line end within its limit.
    #[error("Protocol error: too big mbulk count string")]
    CountTooLong,
    /// The number of arguments is invalid or too large.
    #[error("Protocol error: invalid multibulk length")]
    InvalidCount,
    /// The length of an argument has no line end within its limit.
    #[error("Protocol error: too big bulk count string")]
    LengthTooLong,
    /// Another byte than `$` where an argument should begin.
    #[error("Protocol error: expected '$', got '{}'", .0.escape_ascii())]
    NoArgument(u8),
    /// The length of an argument is invalid or too large.
    #[error("Protocol error: invalid bulk length")]
    InvalidLength,
    /// All arguments together are too large. Redis computes this size in another way, and closes without an
    /// error.
    #[error("Protocol error: too big request")]
    TooBig,
    /// More arguments than an unauthenticated client may send.
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedCount,
    /// A longer argument than an unauthenticated client may send.
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedLength,
}

impl RequestError {
    /// The text for the peer, without an error code. It contains a byte of the peer's unchanged, which may be
    /// invalid text.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        match self {
            Self::NoArgument(byte) => {
                [&b"Protocol error: expected '$', got '"[..], &[*byte], b"'"].concat()
            }
            other => other.to_string().into_bytes(),
        }
    }
}

impl From<UnbalancedQuotes> for RequestError {
    fn from(_: UnbalancedQuotes) -> Self {
        Self::UnbalancedQuotes
    }
}
