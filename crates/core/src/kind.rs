//! What sort of message it is. Owns the distinction only.

/// What a message is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Bytes.
    Binary,
}
