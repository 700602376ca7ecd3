//! The stamp in every message: its sender and its number, so that loss, repetition and reordering
//! are detected. For example `e00042.0000001234`, followed by padding up to the size of the
//! message.

use crate::dialect::Dialect;
use crate::frame::{DIGITS, Template, read_digits, write_digits};

/// Bytes of a stamp; the smallest payload that can carry one.
pub const STAMP: usize = NUMBER_AT + DIGITS;

/// Where the number begins in a stamp.
pub const NUMBER_AT: usize = 1 + SENDER_DIGITS + 1;

const SENDER_DIGITS: usize = 5;

/// A payload of `size` bytes with the stamp of `sender` and number zero. `letter` is the first byte
/// and selects what a server's handler does.
pub fn payload(letter: u8, sender: usize, size: usize) -> Vec<u8> {
    let mut bytes = vec![letter];
    let mut digits = [0; SENDER_DIGITS];
    write_digits(u32::try_from(sender).unwrap_or(u32::MAX), &mut digits);
    bytes.extend_from_slice(&digits);
    bytes.push(b'.');
    bytes.extend_from_slice(&[b'0'; DIGITS]);
    let filler = (b'a'..=b'z').cycle().take(size.saturating_sub(STAMP));
    bytes.extend(filler);
    bytes
}

/// Text like the list of an application, of `size` bytes: keys that repeat, values that do not.
pub fn json(size: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + 100);
    let mut random = 1_u32;
    let mut next = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random >> 8
    };
    while text.len() < size {
        let (user, name, price) = (next(), next(), next() % 100_000);
        let open = next() % 2 == 0;
        let row = format!(
            r#"{{"id":{user},"name":"user-{name:x}","price":{price},"open":{open},"tags":["a","b"]}},"#
        );
        text.extend_from_slice(row.as_bytes());
    }
    text.truncate(size);
    text
}

/// A masked frame of such a payload in a dialect, whose number must still be set.
pub fn template(dialect: Dialect, letter: u8, sender: usize, size: usize) -> Template {
    let (text, at) = dialect.wrap(&payload(letter, sender, size));
    Template::new(&text, at + NUMBER_AT, mask(sender))
}

/// Parses the sender and the number of a stamp; `None` if it is invalid.
#[inline]
pub fn read(stamp: &[u8]) -> Option<(usize, u32)> {
    let sender = read_digits(stamp.get(1..=SENDER_DIGITS)?)?;
    let number = read_digits(stamp.get(NUMBER_AT..STAMP)?)?;
    Some((usize::try_from(sender).ok()?, number))
}

/// The masking key of a connection: fixed, different for each, never zero.
pub fn mask(id: usize) -> [u8; 4] {
    let id = u32::try_from(id).unwrap_or(0);
    (id.wrapping_mul(0x9e37_79b9) | 0x0101_0101).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_back() {
        let bytes = payload(b'e', 42, 64);
        assert_eq!(bytes.len(), 64);
        assert_eq!(read(&bytes), Some((42, 0)));
        assert_eq!(read(b"e00042.00000x1234"), None);
        assert_eq!(read(b"short"), None);
    }
}
