//! The lead: the encoding whose frame is a header in front of the unchanged payload, so that the frame and the payload
//! of a publication are one buffer. It is the encoding of unmasked, uncompressed WebSocket frames (RFC 6455 §5.2). It
//! is called directly because every broadcast uses it; other encodings are registered by their protocols.

use millrace_core::Kind;
use millrace_protocol::websocket::{self, Opcode};

use super::definition::EncodingDef;

/// Bytes reserved in front of a payload, so that it can become a frame in place.
pub const HEAD_ROOM: usize = 10;

pub(super) const DEF: EncodingDef = EncodingDef {
    name: "websocket",
    names_channel: false,
    most_payload: usize::MAX,
    around: HEAD_ROOM,
    append: |message, out| append_message(message.kind, message.payload, out),
};

/// Appends a message as one frame.
#[inline]
pub(super) fn append_message(kind: Kind, payload: &[u8], out: &mut Vec<u8>) {
    websocket::append_frame(out, opcode(kind), payload);
}

/// Writes the header of one frame in front of the payload, which begins at `payload_start` and takes the rest of
/// `bytes`; returns the index at which the frame begins.
pub(super) fn put_header(kind: Kind, bytes: &mut [u8], payload_start: usize) -> usize {
    let (before, payload) = bytes.split_at_mut(payload_start);
    let (head, size) = websocket::header(opcode(kind), payload.len(), false);
    let start = before.len().saturating_sub(size);
    if let ([.., one, two], 2, [first, second, ..]) = (&mut *before, size, head) {
        // the head of a short message, without a loop
        (*one, *two) = (first, second);
        return start;
    }
    for (to, from) in before.iter_mut().skip(start).zip(head) {
        *to = from;
    }
    start
}

/// Inserts the header of a frame with a payload of this many bytes at `start`.
pub(super) fn put_header_at(out: &mut Vec<u8>, start: usize, (kind, length): (Kind, usize)) {
    let (head, size) = websocket::header(opcode(kind), length, false);
    let head = head.get(..size).unwrap_or_default();
    out.splice(start..start, head.iter().copied());
}

fn opcode(kind: Kind) -> Opcode {
    match kind {
        Kind::Text => Opcode::Text,
        Kind::Binary => Opcode::Binary,
    }
}
