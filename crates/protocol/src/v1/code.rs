//! Why an operation failed.

/// The code of an `err` that the server sends by itself. Handlers may send any other of up to
/// [`SHORT_BYTES`](super::SHORT_BYTES).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The message is malformed, or makes no sense now.
    Bad,
    /// The client may not do that.
    Denied,
    /// A limit is met.
    Limit,
    /// There is no such thing.
    NotFound,
    /// The outcome is not known in time.
    Timeout,
    /// It went wrong on the server.
    Failed,
}

impl Code {
    /// The code on the wire.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::NotFound => "not_found",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
        }
    }
}
