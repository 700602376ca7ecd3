//! What is wrong with bytes that are no request, in Redis's words.

use super::inline::UnbalancedQuotes;

/// Why bytes are no request. The connection cannot go on: nobody knows where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A line without an end.
    #[error("Protocol error: too big inline request")]
    InlineTooBig,
    /// A quote that does not close, or does so within a word.
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
    /// The number of arguments has no end.
    #[error("Protocol error: too big mbulk count string")]
    CountTooLong,
    /// The number of arguments is no number, or too large.
    #[error("Protocol error: invalid multibulk length")]
    InvalidCount,
    /// The length of an argument has no end.
    #[error("Protocol error: too big bulk count string")]
    LengthTooLong,
    /// Something else where an argument was expected.
    #[error("Protocol error: expected '$', got '{}'", .0.escape_ascii())]
    NoArgument(u8),
    /// The length of an argument is no number, or too large.
    #[error("Protocol error: invalid bulk length")]
    InvalidLength,
    /// All arguments together are too large. Redis counts them in another way and just closes.
    #[error("Protocol error: too big request")]
    TooBig,
    /// That many arguments before the peer has said who it is.
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedCount,
    /// An argument of that length before the peer has said who it is.
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedLength,
}

impl RequestError {
    /// What the peer is told, without a code: a byte that it sent is in it as it came, also where that is no text.
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
