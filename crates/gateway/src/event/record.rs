//! The layout of event records, as JavaScript decodes them. Bytes only: knows no queue. The numbers in them are those of
//! [`kinds`](super::kinds).
//!
//! A record is two native-endian `u32` words and a payload padded to a multiple of four:
//! word 0 is `kind | ascii << 4 | sidecar << 5 | length << 8`, word 1 the worker's slot. Records of requests are
//! in [`http`], those of protocols' events in [`protocol`].

mod http;
mod protocol;

use millrace_core::{SocketId, Token};

use super::kinds::{Flag, RecordKind};
use super::opening::Opening;
pub(crate) use http::{
    Asking, append_asking, append_piece, append_piece_beside, append_trailers, append_turn,
    asking_bytes,
};
pub(crate) use protocol::{append_event, append_event_beside, event_bytes};

/// Word 0 and 1 of every record, in bytes.
pub(crate) const HEADER_BYTES: usize = 8;

/// The slot of a record whose connection belonged to another worker.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// Replaces the length of a token that does not exist.
const NO_TOKEN: u32 = u32::MAX;

/// Set in the length of a token that is a value serialised by JavaScript.
const TOKEN_IS_VALUE: u32 = 1 << 31;

/// The longest token that a CLOSE record carries.
const TOKEN_BYTES: usize = 8 * 1024 * 1024;

const ASCII: u32 = Flag::Ascii.number();
const LAST: u32 = Flag::Last.number();
const SIDECAR: u32 = Flag::Sidecar.number();
const TRAILERS: u32 = Flag::Trailers.number();
const KIND_MASK: u32 = 0xf;
const LENGTH_SHIFT: u32 = 8;

/// The contents of a CLOSE record.
#[derive(Debug)]
pub(crate) struct Closing<'a> {
    pub(crate) socket: SocketId,
    pub(crate) code: u16,
    pub(crate) token: Option<&'a Token>,
    pub(crate) reason: &'a str,
}

/// Where the text of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPlace<'a> {
    /// In the record itself.
    Inline(&'a [u8]),
    /// The sidecar of the batch with this index.
    Beside(u32),
}

/// The text of the record that begins at this word; `None`: there is no record with a text.
pub(crate) fn text_at(records: &[u8], word: usize) -> Option<TextPlace<'_>> {
    let record = records.get(word.checked_mul(4)?..)?;
    let head = first_word(record)?;
    if head & KIND_MASK != RecordKind::Text.number() {
        return None;
    }
    let length = usize::try_from(head >> LENGTH_SHIFT).ok()?;
    let payload = record.get(HEADER_BYTES..)?.get(..length)?;
    if head & SIDECAR == 0 {
        Some(TextPlace::Inline(payload))
    } else {
        first_word(payload).map(TextPlace::Beside)
    }
}

fn first_word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_le_bytes)
}

/// The bytes of a record with this payload.
pub(crate) const fn record_bytes(payload: usize) -> usize {
    HEADER_BYTES + payload.next_multiple_of(4)
}

/// Appends a text or binary record with its payload.
pub(crate) fn append_message(
    out: &mut Vec<u8>,
    kind: RecordKind,
    slot: u32,
    ascii: bool,
    payload: &[u8],
) {
    let flags = if ascii { ASCII } else { 0 };
    append_header(out, kind, flags, slot, payload.len());
    out.extend_from_slice(payload);
    pad(out);
}

/// Appends a text or binary record whose payload is the batch's sidecar number `index`.
pub(crate) fn append_sidecar(
    out: &mut Vec<u8>,
    kind: RecordKind,
    slot: u32,
    ascii: bool,
    (index, length): (u32, u32),
) {
    let flags = SIDECAR | if ascii { ASCII } else { 0 };
    append_header(out, kind, flags, slot, 8);
    append_word(out, index);
    append_word(out, length);
}

/// Appends a record without payload.
pub(crate) fn append_empty(out: &mut Vec<u8>, kind: RecordKind, slot: u32) {
    append_header(out, kind, 0, slot, 0);
}

/// Appends an OPEN record.
pub(crate) fn append_open(out: &mut Vec<u8>, slot: u32, opening: &Opening<'_>) {
    let length = opening.payload_bytes();
    append_header(out, RecordKind::Open, 0, slot, length);
    append_socket(out, opening.socket);
    append_word(out, opening.flags());
    for part in opening.parts() {
        append_word(out, word(part.len()));
    }
    for part in opening.parts() {
        out.extend_from_slice(part);
    }
    pad(out);
}

/// Appends a CLOSE record.
pub(crate) fn append_close(out: &mut Vec<u8>, slot: u32, closing: &Closing<'_>) {
    // the length of a record has 24 bits; a record without its token is still a close
    let fits = |token: &&Token| token.bytes.len() <= TOKEN_BYTES;
    let known = closing.token.filter(fits);
    let token = known.map_or(&[][..], |token| &token.bytes);
    append_header(
        out,
        RecordKind::Close,
        0,
        slot,
        5 * 4 + token.len() + closing.reason.len(),
    );
    append_socket(out, closing.socket);
    append_word(out, u32::from(closing.code));
    append_word(out, known.map_or(NO_TOKEN, token_word));
    append_word(out, word(closing.reason.len()));
    out.extend_from_slice(token);
    out.extend_from_slice(closing.reason.as_bytes());
    pad(out);
}

fn token_word(token: &Token) -> u32 {
    let kind = if token.is_value { TOKEN_IS_VALUE } else { 0 };
    word(token.bytes.len()) | kind
}

fn append_header(out: &mut Vec<u8>, kind: RecordKind, flags: u32, slot: u32, length: usize) {
    let first = u64::from(kind.number() | flags) | u64::from(word(length)) << LENGTH_SHIFT;
    // one eight-byte store for both words; the low word comes first on the little-endian machines that we build for
    out.extend_from_slice(&(first & u64::from(u32::MAX) | u64::from(slot) << 32).to_le_bytes());
}

fn append_socket(out: &mut Vec<u8>, socket: SocketId) {
    out.extend_from_slice(&socket.get().to_le_bytes());
}

fn append_word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Inline payloads are limited by the request head, tokens and `SIDECAR_BYTES`, all far below 2^24.
fn word(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::event::Transport;

    #[test]
    fn a_message_is_padded_to_words() {
        let mut out = Vec::new();
        append_message(&mut out, RecordKind::Text, 7, true, b"hello");
        assert_eq!(out.len(), record_bytes(5));
        assert_eq!(out[..4], (2u32 | ASCII | 5 << 8).to_le_bytes());
        assert_eq!(out[4..8], 7u32.to_le_bytes());
        assert_eq!(&out[8..], b"hello\0\0\0");
    }

    #[test]
    fn a_text_is_found_by_its_place() {
        let mut out = Vec::new();
        append_message(&mut out, RecordKind::Text, 7, true, b"hello");
        append_message(&mut out, RecordKind::Binary, 7, false, b"bytes");
        append_sidecar(&mut out, RecordKind::Text, 7, true, (3, 9000));
        assert_eq!(text_at(&out, 0), Some(TextPlace::Inline(b"hello")));
        assert_eq!(text_at(&out, 4), None);
        assert_eq!(text_at(&out, 8), Some(TextPlace::Beside(3)));
        // no record begins there, or its end is missing
        assert_eq!((text_at(&out, 12), text_at(&out, usize::MAX)), (None, None));
        assert_eq!(text_at(&out[..12], 0), None);
    }

    #[test]
    fn a_close_without_a_token_has_a_mark_instead_of_its_length() {
        let mut out = Vec::new();
        let socket = SocketId::new(5).unwrap();
        append_close(
            &mut out,
            NO_SLOT,
            &Closing {
                socket,
                code: 1006,
                token: None,
                reason: "x",
            },
        );
        assert_eq!(out[8..16], 5u64.to_le_bytes());
        assert_eq!(out[16..20], 1006u32.to_le_bytes());
        assert_eq!(out[20..24], u32::MAX.to_le_bytes());
        assert_eq!(out[24..28], 1u32.to_le_bytes());
        assert_eq!(&out[28..], b"x\0\0\0");
    }

    #[test]
    fn a_close_distinguishes_a_value_from_bytes() {
        for (is_value, length) in [(false, 3), (true, 3 | 1 << 31)] {
            let mut out = Vec::new();
            let token = Token {
                bytes: Bytes::from_static(b"abc"),
                is_value,
            };
            append_close(
                &mut out,
                NO_SLOT,
                &Closing {
                    socket: SocketId::new(5).unwrap(),
                    code: 1006,
                    token: Some(&token),
                    reason: "",
                },
            );
            assert_eq!(out[20..24], u32::to_le_bytes(length));
            assert_eq!(&out[28..], b"abc\0");
        }
    }

    #[test]
    fn a_close_with_a_token_that_is_too_long_leaves_it_out() {
        for length in [TOKEN_BYTES, TOKEN_BYTES + 1, 1 << 24] {
            let mut out = Vec::new();
            let token = Token::from(Bytes::from(vec![7; length]));
            append_close(
                &mut out,
                NO_SLOT,
                &Closing {
                    socket: SocketId::new(5).unwrap(),
                    code: 1006,
                    token: Some(&token),
                    reason: "",
                },
            );
            let announced = u32::from_le_bytes(out[..4].try_into().unwrap()) >> LENGTH_SHIFT;
            assert_eq!(out.len(), record_bytes(usize::try_from(announced).unwrap()));
        }
    }

    #[test]
    fn an_open_record_carries_its_texts() {
        let mut out = Vec::new();
        let socket = SocketId::new(1 << 40).unwrap();
        append_open(
            &mut out,
            3,
            &Opening {
                transport: Transport::WebSocket,
                encrypted: false,
                port: 0,
                socket,
                answer: true,
                address: "::1",
                target: "/a",
                headers: b"h\0v\0",
                subject: b"CN\0c\0",
                certificate: b"der",
            },
        );
        assert_eq!(out[8..16], (1u64 << 40).to_le_bytes());
        assert_eq!(out[16..20], 1u32.to_le_bytes());
        assert_eq!(&out[40..57], b"::1/ah\0v\0CN\0c\0der");
        assert_eq!(out.len() % 4, 0);
    }
}
