//! What RSV1 means on a connection: nothing, so that it is refused, or that a message is compressed (RFC 7692 §6).
//!
//! Decided by type, so that a connection without compression has no instruction for it.

use super::error::DecodeError;
use super::item::Item;

/// What a decoder does about RSV1.
pub(super) trait Rsv1 {
    /// Whether the first frame of a message may have it.
    const IS_ALLOWED: bool;

    /// Notes whether the message that is finished next is compressed.
    fn note(&mut self, compressed: bool);

    /// Takes a finished message, or another item, and returns what the caller gets.
    fn finish<'s, 'a: 's>(self, item: Item<'a>) -> Result<Item<'s>, DecodeError>
    where
        Self: 's;
}

/// No extension is negotiated.
pub(super) struct Refused;

impl Rsv1 for Refused {
    const IS_ALLOWED: bool = false;

    #[inline]
    fn note(&mut self, _: bool) {}

    #[inline]
    fn finish<'s, 'a: 's>(self, item: Item<'a>) -> Result<Item<'s>, DecodeError> {
        Ok(item)
    }
}

/// The most bytes of a compressed message whose text has at most `message_bytes`: the bound of zlib for data that cannot
/// be compressed, whatever its settings.
#[inline]
pub(super) const fn most_compressed(message_bytes: usize) -> usize {
    message_bytes.saturating_add(message_bytes / 8 + 64)
}
