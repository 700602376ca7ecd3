//! The index at the beginning of each message. Owns its first byte until the second comes.

/// The index of the control channel.
pub const CONTROL: u16 = 0xffff;
/// The highest index that a target can have.
pub const MAX_INDEX: u16 = CONTROL - 1;

/// Whether a message that begins with this index can be text, because the two bytes are valid UTF-8. The text after the
/// index does not change that, because no text begins within a character.
///
/// This is true for indices of two bytes below 0x80 (0 to 127, 256 to 383, …) and for those that are one character of
/// two bytes: a high byte of 0xC2 to 0xDF with a low byte of 0x80 to 0xBF. A text message with any other index is
/// relayed as a binary message.
///
/// # Example
///
/// ```
/// use millrace_protocol::splice::is_text_index;
///
/// assert!(is_text_index(127) && is_text_index(256) && is_text_index(0xc3a9));
/// assert!(!is_text_index(128) && !is_text_index(0x8000) && !is_text_index(0xc100));
/// ```
pub const fn is_text_index(index: u16) -> bool {
    let [high, low] = index.to_be_bytes();
    is_ascii_index(index) || matches!((high, low), (0xc2..=0xdf, 0x80..=0xbf))
}

/// Whether both bytes of an index are below 0x80, which holds for 16,384 indices. A client whose API distinguishes only
/// text and bytes, such as a browser, can send and receive text with such an index, as two characters before the text.
pub const fn is_ascii_index(index: u16) -> bool {
    index & 0x8080 == 0
}

/// Reads the index at the beginning of a message. The two bytes may come separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prefix {
    high: Option<u8>,
}

impl Prefix {
    /// Makes a reader for a new message.
    pub const fn new() -> Self {
        Self { high: None }
    }

    /// Takes the missing bytes from `input`. `None` means that all input was consumed and more is needed. After an
    /// index is returned, the reader is ready for the next message.
    #[inline]
    pub fn take(&mut self, input: &mut &[u8]) -> Option<u16> {
        let high = match self.high.take() {
            Some(high) => high,
            None => take_byte(input)?,
        };
        let Some(low) = take_byte(input) else {
            self.high = Some(high);
            return None;
        };
        Some(u16::from_be_bytes([high, low]))
    }

    /// Whether one of the two bytes was received.
    pub const fn is_begun(&self) -> bool {
        self.high.is_some()
    }
}

fn take_byte(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_text_if_its_bytes_are_utf8_before_any_text() {
        for index in 0..=u16::MAX {
            let text = ["", "a", "\u{e9}", "\u{20ac}", "\u{1f600}"];
            let valid = text.map(|text| {
                let whole = [&index.to_be_bytes()[..], text.as_bytes()].concat();
                std::str::from_utf8(&whole).is_ok()
            });
            assert_eq!(valid, [is_text_index(index); 5], "{index:#x}");
            assert_eq!(is_ascii_index(index), index.to_be_bytes().is_ascii());
        }
        assert_eq!((0..=u16::MAX).filter(|i| is_text_index(*i)).count(), 18_304);
        assert_eq!(
            (0..=u16::MAX).filter(|i| is_ascii_index(*i)).count(),
            16_384
        );
    }

    #[test]
    fn the_two_bytes_may_come_separately_and_with_empty_input_between() {
        let mut prefix = Prefix::new();
        for index in [0, 1, 0x0180, 0x8001, MAX_INDEX, CONTROL] {
            let [high, low] = index.to_be_bytes();
            assert_eq!(prefix.take(&mut &[high, low, 7][..]), Some(index));
            let mut first = &[high][..];
            assert_eq!((prefix.take(&mut first), first), (None, &[][..]));
            assert!(prefix.is_begun());
            assert_eq!(prefix.take(&mut &[][..]), None);
            let mut second = &[low, 7][..];
            assert_eq!((prefix.take(&mut second), second), (Some(index), &[7][..]));
            assert!(!prefix.is_begun());
        }
    }
}
