//! Whether a message is text or binary. Owns the distinction only.

/// What a message consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Bytes.
    Binary,
}
