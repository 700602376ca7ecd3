//! The limits of a request.

/// The limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InspectorConfig {
    /// The most bytes of a request line with its headers, and of a chunked body's trailers.
    pub head_bytes: usize,
    /// The most header lines, and the most trailers.
    pub headers: usize,
    /// The most bytes of a request's target.
    pub target_bytes: usize,
    /// The most bytes of a request's body.
    pub body_bytes: u64,
    /// Whether to accept the methods, targets and expectations of `node:http`, too. The listener of Node decodes the
    /// target, answers an invalid escape and answers `Expect` itself. The rules for the end of a message stay as
    /// strict.
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
