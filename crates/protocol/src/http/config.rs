//! The bounds that requests are judged by.

/// The bounds of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InspectorConfig {
    /// Bytes of a request line with its headers; also of a chunked body's trailers.
    pub head_bytes: usize,
    /// Header lines, and trailers.
    pub headers: usize,
    /// Bytes of a request's target.
    pub target_bytes: usize,
    /// Bytes of a request's body.
    pub body_bytes: u64,
    /// Whether the methods and targets of `node:http` pass, too: what is behind decodes a target itself, and answers a
    /// broken escape in its own words. Where a message ends is judged as strictly.
    pub as_node: bool,
}

impl Default for InspectorConfig {
    fn default() -> Self {
        Self {
            head_bytes: 16 * 1024,
            headers: 100,
            target_bytes: 8 * 1024,
            body_bytes: 16 * 1024 * 1024,
            as_node: false,
        }
    }
}
