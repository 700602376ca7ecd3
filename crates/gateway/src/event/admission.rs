//! The answers of `handleOpen`.

use bytes::Bytes;
use millrace_core::Token;

/// The answer of `handleOpen` that accepts the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acceptance {
    /// The subprotocol to select.
    pub protocol: Option<String>,
    /// The socket's first token.
    pub token: Option<Token>,
    /// Headers added to the 101 answer.
    pub headers: Vec<(String, String)>,
    /// What the connection counts for in the limits by key, such as its user; 1 to 256 bytes.
    pub limit_key: Option<Box<str>>,
    /// Whether what is sent to it is never compressed, from now on and whatever was agreed on.
    pub uncompressed: bool,
}

impl Acceptance {
    /// Whether it contains nothing that needs an HTTP answer.
    pub(crate) fn is_plain(&self) -> bool {
        self.protocol.is_none() && self.headers.is_empty()
    }
}

/// The answer of `handleOpen` that rejects the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// HTTP status, 400 to 599.
    pub status: u16,
    /// Headers of the answer.
    pub headers: Vec<(String, String)>,
    /// Body of the answer.
    pub body: Bytes,
}
