//! Encodes values: appends frames to a buffer.
//!
//! Never splits a message and never chooses a masking key: randomness is an argument.

use super::close;
use super::head;
use super::mask::{self, Key};
use super::opcode::Opcode;

/// The head of an unmasked, unfragmented frame and its length in bytes: 2, 4 or 10. `compressed` sets
/// RSV1 (RFC 7692).
#[inline]
pub fn header(opcode: Opcode, len: usize, compressed: bool) -> ([u8; 10], usize) {
    let first = 0x80 | if compressed { 0x40 } else { 0 } | opcode.bits();
    if let (Ok(short), true) = (u8::try_from(len), len < 126) {
        return ([first, short, 0, 0, 0, 0, 0, 0, 0, 0], 2);
    }
    if let Ok(medium) = u16::try_from(len) {
        let [a, b] = medium.to_be_bytes();
        return ([first, 126, a, b, 0, 0, 0, 0, 0, 0], 4);
    }
    let long = u64::try_from(len).expect("usize has at most 64 bits");
    let mut head = [first, 127, 0, 0, 0, 0, 0, 0, 0, 0];
    let [_, _, length @ ..] = &mut head;
    *length = long.to_be_bytes();
    (head, 10)
}

/// Appends an unmasked, unfragmented frame, as servers send it. A control frame's payload must not exceed
/// 125 bytes.
#[inline]
pub fn append_frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    debug_assert!(
        !opcode.is_control() || payload.len() <= CONTROL_BYTES,
        "control frame over 125 bytes"
    );
    let (head, size) = header(opcode, payload.len(), false);
    let (head, _) = head.split_at(size);
    out.reserve(size + payload.len());
    out.extend_from_slice(head);
    out.extend_from_slice(payload);
}

/// Appends any frame: a fragment that is not the last if `fin` is false, masked if there is a `key`. Every
/// frame of a client must be masked. For the client role and for tests.
pub fn append_part(out: &mut Vec<u8>, opcode: Opcode, fin: bool, key: Option<Key>, payload: &[u8]) {
    append_head(out, (opcode, fin), key, payload.len());
    mask::append(out, payload, key.unwrap_or_default());
}

/// Appends the head of such a frame, and reserves capacity for its payload of `length` bytes.
#[inline]
pub(super) fn append_head(
    out: &mut Vec<u8>,
    (opcode, fin): (Opcode, bool),
    key: Option<Key>,
    length: usize,
) {
    let (mut head, size) = header(opcode, length, false);
    let [first, second, ..] = &mut head;
    if !fin {
        *first &= 0x7f;
    }
    if key.is_some() {
        *second |= 0x80;
    }
    let (head, _) = head.split_at(size);
    out.reserve(head::LONGEST.saturating_add(length));
    out.extend_from_slice(head);
    if let Some(key) = key {
        out.extend_from_slice(&key);
    }
}

/// Appends a close frame. The reason is truncated to 123 bytes, between characters. A code that must not
/// be on the wire, such as 1005 for "none", makes the close frame empty.
pub fn append_close(out: &mut Vec<u8>, code: u16, reason: &str) {
    append_close_part(out, code, reason, None);
}

/// Does the same as [`append_close`] with a masked frame, for the client role.
pub fn append_masked_close(out: &mut Vec<u8>, code: u16, reason: &str, key: Key) {
    append_close_part(out, code, reason, Some(key));
}

fn append_close_part(out: &mut Vec<u8>, code: u16, reason: &str, key: Option<Key>) {
    let mut payload = [0; CONTROL_BYTES];
    let mut length = 0;
    if close::is_valid_on_wire(code) {
        let parts = code.to_be_bytes().into_iter().chain(cut(reason).bytes());
        for (to, from) in payload.iter_mut().zip(parts) {
            *to = from;
            length += 1;
        }
    }
    let (payload, _) = payload.split_at(length);
    append_part(out, Opcode::Close, true, key, payload);
}

/// The longest beginning of `reason` that fits after a code and ends between characters.
fn cut(reason: &str) -> &str {
    let most = reason.len().min(CONTROL_BYTES - 2);
    (0..=most)
        .rev()
        .find_map(|end| reason.get(..end))
        .unwrap_or_default()
}

/// The most bytes in the payload of a control frame (RFC 6455 §5.5).
const CONTROL_BYTES: usize = 125;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_take_the_shortest_form() {
        for (len, expected) in [
            (0, &[0x81, 0][..]),
            (125, &[0x81, 125]),
            (126, &[0x81, 126, 0, 126]),
            (65_535, &[0x81, 126, 255, 255]),
            (65_536, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let (head, size) = header(Opcode::Text, len, false);
            assert_eq!(&head[..size], expected);
        }
        assert_eq!(header(Opcode::Binary, 1, true).0[0], 0xc2);
        assert_eq!(header(Opcode::Pong, 1, false).0[0], 0x8a);
    }

    #[test]
    fn frames_equal_the_examples_of_rfc_6455_section_5_7() {
        let mut out = Vec::new();
        append_frame(&mut out, Opcode::Text, b"Hello");
        assert_eq!(out, [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
        out.clear();
        append_part(
            &mut out,
            Opcode::Text,
            true,
            Some([0x37, 0xfa, 0x21, 0x3d]),
            b"Hello",
        );
        assert_eq!(
            out,
            [
                0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58
            ]
        );
        out.clear();
        append_part(&mut out, Opcode::Text, false, None, b"Hel");
        append_part(&mut out, Opcode::Continuation, true, None, b"lo");
        assert_eq!(out, [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f]);
    }

    #[test]
    fn close_reasons_are_truncated_between_characters() {
        for (reason, kept) in [
            ("bye".to_owned(), 3),
            ("x".repeat(123), 123),
            ("x".repeat(124), 123),
            (format!("{}\u{e9}", "x".repeat(121)), 123),
            (format!("{}\u{e9}", "x".repeat(122)), 122),
            (format!("{}\u{1f980}", "x".repeat(120)), 120),
        ] {
            let mut out = Vec::new();
            append_close(&mut out, 1000, &reason);
            assert_eq!(
                out[..4],
                [0x88, u8::try_from(kept).unwrap() + 2, 0x03, 0xe8]
            );
            assert_eq!(&out[4..], &reason.as_bytes()[..kept]);
        }
    }

    #[test]
    fn codes_that_must_not_be_sent_give_an_empty_close() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
            let mut out = Vec::new();
            append_close(&mut out, code, "reason");
            assert_eq!(out, [0x88, 0], "{code}");
        }
    }
}
