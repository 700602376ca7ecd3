//! Why a request is refused, and the status of the response. Contains none of the peer's bytes.

/// What is wrong with a request. Every error ends the connection, because the beginning of the next request
/// is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Not three parts with one blank between them.
    #[error(
        "the request line must be a method, a target and a version with one blank between them"
    )]
    RequestLine,
    /// The method is not a token.
    #[error("the method is not a token")]
    MethodSyntax,
    /// The method is a token but not one of [`METHODS`](super::METHODS).
    #[error("the method is not known")]
    MethodUnknown,
    /// A character that RFC 3986 does not allow, an invalid escape, or a form that does not fit the method.
    #[error("the request target is not valid")]
    Target,
    /// The target is longer than `target_bytes`, or than the head may be.
    #[error("the request target is too long")]
    TargetTooLong,
    /// Not `HTTP/` and two digits with a point between them.
    #[error("the HTTP version is not valid")]
    VersionSyntax,
    /// Neither 1.0 nor 1.1.
    #[error("the HTTP version must be 1.0 or 1.1")]
    VersionUnknown,
    /// A line ends with LF without CR.
    #[error("lines must end with CRLF")]
    BareLineFeed,
    /// A line continues the one before (obs-fold), or the first header line begins with a blank.
    #[error("a header line must not begin with a blank")]
    Folded,
    /// A header line without a colon.
    #[error("a header line must have a colon")]
    NoColon,
    /// A header's name is not a token. A blank before the colon is an error, too.
    #[error("a header name is not valid")]
    HeaderName,
    /// NUL, CR or another control character in a header's value.
    #[error("a header value must not have control characters")]
    HeaderValue,
    /// HTTP/1.1 without `Host`, or with an empty one.
    #[error("the Host header is missing")]
    HostMissing,
    /// More than one `Host`.
    #[error("there must be one Host header")]
    HostRepeated,
    /// `Host` is not a host with or without a port.
    #[error("the Host header is not valid")]
    Host,
    /// `Content-Length` is not a number.
    #[error("the Content-Length header is not valid")]
    Length,
    /// More than one `Content-Length`, equal or not.
    #[error("there must be one Content-Length header")]
    LengthRepeated,
    /// Both `Content-Length` and `Transfer-Encoding`, which give one body two ends.
    #[error("Content-Length and Transfer-Encoding exclude each other")]
    LengthAndEncoding,
    /// A body was announced without its length.
    #[error("the Content-Length header is missing")]
    LengthMissing,
    /// `Transfer-Encoding` in HTTP/1.0, empty, or with `chunked` twice.
    #[error("the Transfer-Encoding header is not valid")]
    Encoding,
    /// A transfer coding other than chunked.
    #[error("the only transfer coding is chunked")]
    EncodingUnknown,
    /// A body, though the method has none.
    #[error("this method has no body")]
    BodyNotAllowed,
    /// The body exceeds `body_bytes`.
    #[error("the body is too large")]
    BodyTooBig,
    /// The size of a chunk is not a hexadecimal number.
    #[error("a chunk's size is not valid")]
    ChunkSize,
    /// A chunk's extension has control characters, or there are too many extensions.
    #[error("a chunk's extension is not valid")]
    ChunkExtension,
    /// A chunk does not end with CRLF.
    #[error("a chunk must end with CRLF")]
    ChunkEnd,
    /// A trailer that would change how the message is read.
    #[error("this header is not allowed in a trailer")]
    Trailer,
    /// An expectation other than 100-continue.
    #[error("the only expectation is 100-continue")]
    Expectation,
    /// The head exceeds `head_bytes`.
    #[error("the request head is too large")]
    HeadTooBig,
    /// There are more headers than `headers`.
    #[error("there are too many headers")]
    TooManyHeaders,
    /// The peer stopped sending within the request. The reader of the connection finds this, not the
    /// inspector.
    #[error("the request is incomplete")]
    Incomplete,
    /// The head exceeded its deadline. The timer's owner finds this, not the inspector.
    #[error("the request head did not come in time")]
    HeadTooSlow,
    /// The body exceeded its deadline. The timer's owner finds this, not the inspector.
    #[error("the request body did not come in time")]
    BodyTooSlow,
}

impl Refusal {
    /// The HTTP status to answer with.
    pub const fn status(self) -> u16 {
        match self {
            Self::HeadTooSlow | Self::BodyTooSlow => 408,
            Self::LengthMissing => 411,
            Self::BodyTooBig => 413,
            Self::TargetTooLong => 414,
            Self::Expectation => 417,
            Self::HeadTooBig | Self::TooManyHeaders => 431,
            Self::MethodUnknown | Self::EncodingUnknown => 501,
            Self::VersionUnknown => 505,
            _ => 400,
        }
    }
}
