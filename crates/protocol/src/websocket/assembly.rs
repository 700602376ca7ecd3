//! An unfinished message: fragments, or one frame that is read in several pieces.
//!
//! Owns the growth of its memory and the early check of text. Never allocates for bytes that were only
//! announced.

use super::error::DecodeError;
use super::item::{Item, Payload};
use super::opcode::Kind;

/// The bytes of an unfinished message, unmasked.
#[derive(Debug)]
pub(super) struct Assembly {
    kind: Kind,
    /// Whether the bytes are compressed.
    pub(super) compressed: bool,
    /// Whether it must be UTF-8.
    is_checked: bool,
    ascii: bool,
    bytes: Vec<u8>,
    /// How many of `bytes` are complete UTF-8 characters. Up to three more bytes may be the beginning of
    /// one.
    validated: usize,
    /// How much the frames so far count towards `message_bytes`, by their announced lengths.
    pub(super) charged: usize,
}

impl Assembly {
    pub(super) fn new(kind: Kind, compressed: bool, checks_text: bool) -> Self {
        let is_text = kind == Kind::Text;
        Self {
            kind,
            compressed,
            is_checked: is_text && !compressed && checks_text,
            ascii: is_text && checks_text,
            bytes: Vec::new(),
            validated: 0,
            charged: 0,
        }
    }

    /// Appends received bytes. `awaited` more bytes are announced. `bound` is the longest that the whole
    /// message can become if other frames may follow, otherwise 0.
    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        ascii: bool,
        awaited: usize,
        bound: usize,
    ) -> Result<(), DecodeError> {
        self.reserve(chunk.len(), awaited, bound);
        self.bytes.extend_from_slice(chunk);
        if self.is_checked {
            self.validate(chunk.len(), ascii)?;
        }
        Ok(())
    }

    /// Doubles the capacity, so that appending stays cheap, but never beyond what the message can need.
    fn reserve(&mut self, arrived: usize, awaited: usize, bound: usize) {
        let (length, capacity) = (self.bytes.len(), self.bytes.capacity());
        let least = length.saturating_add(arrived);
        if least > capacity {
            let most = bound.max(least.saturating_add(awaited));
            let wanted = capacity.saturating_mul(2).min(most).max(least);
            self.bytes.reserve_exact(wanted - length);
        }
    }

    /// Checks the bytes after `validated`, of which the last `arrived` are new.
    fn validate(&mut self, arrived: usize, ascii: bool) -> Result<(), DecodeError> {
        let pending = self.bytes.get(self.validated..).unwrap_or_default();
        if ascii && pending.len() == arrived {
            self.validated = self.bytes.len();
            return Ok(());
        }
        self.ascii = false; // the new bytes, or the character that older ones began, are not ASCII
        match simdutf8::compat::from_utf8(pending) {
            Ok(_) => self.validated = self.bytes.len(),
            Err(error) if error.error_len().is_none() => self.validated += error.valid_up_to(),
            Err(_) => return Err(DecodeError::InvalidUtf8),
        }
        Ok(())
    }

    /// Returns the message after its last byte.
    pub(super) fn finish(self) -> Result<Item<'static>, DecodeError> {
        if self.is_checked && self.validated < self.bytes.len() {
            return Err(DecodeError::InvalidUtf8);
        }
        Ok(Item::Message {
            kind: self.kind,
            ascii: self.ascii,
            payload: Payload::Owned(self.bytes),
        })
    }

    /// Takes out the bytes so far, except a character that is incomplete. A compressed message has no parts.
    pub(super) fn take_part(&mut self) -> Option<(Kind, Vec<u8>)> {
        let whole = if self.is_checked {
            self.validated
        } else {
            self.bytes.len()
        };
        if whole == 0 || self.compressed {
            return None;
        }
        let rest = self.bytes.split_off(whole);
        self.validated = 0;
        Some((self.kind, std::mem::replace(&mut self.bytes, rest)))
    }

    /// The number of bytes received.
    pub(super) fn received(&self) -> usize {
        self.bytes.len()
    }

    /// The memory held, in bytes.
    pub(super) fn held(&self) -> usize {
        self.bytes.capacity()
    }
}

/// A message that was one frame and lies wholly in the input. Text must be UTF-8 if `is_checked`, unless it is compressed
/// and checked later.
#[inline]
pub(super) fn whole(
    kind: Kind,
    (compressed, is_checked): (bool, bool),
    ascii: bool,
    bytes: &[u8],
) -> Result<Item<'_>, DecodeError> {
    let text = kind == Kind::Text;
    let is_checked = text && !compressed && is_checked;
    if is_checked && !ascii && simdutf8::basic::from_utf8(bytes).is_err() {
        return Err(DecodeError::InvalidUtf8);
    }
    Ok(Item::Message {
        kind,
        ascii: ascii && is_checked,
        payload: Payload::Borrowed(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_what_arrived() {
        let bound = 16 << 20;
        let mut assembly = Assembly::new(Kind::Binary, false, true);
        let chunk = [7; 1000];
        for received in (1000..=1_000_000).step_by(1000) {
            assembly
                .push(&chunk, false, bound - received, bound)
                .unwrap();
            assert_eq!(assembly.received(), received);
            assert!(
                assembly.held() <= 2 * received,
                "{} held for {received}",
                assembly.held()
            );
        }
    }

    #[test]
    fn the_last_growth_stops_at_what_is_needed() {
        let mut assembly = Assembly::new(Kind::Binary, false, true);
        assembly.push(&[1; 600], false, 400, 0).unwrap();
        assert_eq!(assembly.held(), 600);
        assembly.push(&[1; 1], false, 399, 0).unwrap();
        assert_eq!(
            assembly.held(),
            1000,
            "doubling 600 would exceed the whole frame"
        );
        let Item::Message {
            payload: Payload::Owned(bytes),
            ..
        } = assembly.finish().unwrap()
        else {
            panic!("an assembled message is owned");
        };
        assert_eq!(bytes.len(), 601);
    }

    #[test]
    fn ascii_means_every_chunk() {
        for (chunks, expected) in [
            (["ab", "cd"], true),
            (["a\u{e9}", "cd"], false),
            (["ab", "\u{20ac}"], false),
        ] {
            let mut assembly = Assembly::new(Kind::Text, false, true);
            for chunk in chunks {
                assembly
                    .push(chunk.as_bytes(), chunk.is_ascii(), 0, 100)
                    .unwrap();
            }
            assert!(
                matches!(assembly.finish(), Ok(Item::Message { ascii, .. }) if ascii == expected)
            );
        }
    }
    #[test]
    fn no_byte_is_checked_twice() {
        let mut assembly = Assembly::new(Kind::Text, false, true);
        for chunk in "\u{1f980}".repeat(100).as_bytes().chunks(3) {
            assembly.push(chunk, false, 0, 0).unwrap();
            assert!(assembly.bytes.len() - assembly.validated <= 3);
        }
        assert_eq!(assembly.validated, 400);
    }
}
