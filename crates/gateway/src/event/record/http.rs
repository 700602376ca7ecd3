//! The records of requests. A request is named by its id, so the slot word is unused.

use super::{LAST, SIDECAR, TRAILERS, append_header, append_word, pad, word};
use crate::event::kinds::{RecordKind, Turn};

/// The contents of a REQUEST record.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) id: u64,
    pub(crate) version: u32,
    pub(crate) encrypted: bool,
    /// Whether a trusted proxy sent it.
    pub(crate) forwarded: bool,
    /// Whether a body follows in records of its own.
    pub(crate) streams: bool,
    pub(crate) port: u16,
    /// Address, method and target, one after the other, then `name\0value\0…`.
    pub(crate) head: &'a [u8],
    /// The lengths of address, method and target.
    pub(crate) lengths: [usize; 3],
    /// The body, if it arrived with the head.
    pub(crate) body: Option<&'a [u8]>,
}

/// The length of a REQUEST record's payload.
pub(crate) fn asking_bytes(asking: &Asking<'_>) -> usize {
    WORDS * 4 + asking.head.len() + asking.body.map_or(0, <[u8]>::len)
}

/// Appends a REQUEST record.
pub(crate) fn append_asking(out: &mut Vec<u8>, asking: &Asking<'_>) {
    append_header(out, RecordKind::Request, 0, 0, asking_bytes(asking));
    out.extend_from_slice(&asking.id.to_le_bytes());
    let has_body = asking.streams || asking.body.is_some();
    let flags = asking.version
        | u32::from(asking.encrypted) << 2
        | u32::from(has_body) << 3
        | u32::from(asking.streams) << 4
        | u32::from(asking.forwarded) << 5;
    append_word(out, flags | u32::from(asking.port) << 16);
    for length in asking.lengths {
        append_word(out, word(length));
    }
    append_word(out, word(asking.head.len()));
    out.extend_from_slice(asking.head);
    out.extend_from_slice(asking.body.unwrap_or_default());
    pad(out);
}

/// Appends a piece of a request's body.
pub(crate) fn append_piece(out: &mut Vec<u8>, id: u64, piece: &[u8], last: bool) {
    let flags = if last { LAST } else { 0 };
    append_header(out, RecordKind::Piece, flags, 0, 8 + piece.len());
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(piece);
    pad(out);
}

/// Appends a piece of a request's body that is the batch's sidecar number `index`.
pub(crate) fn append_piece_beside(out: &mut Vec<u8>, id: u64, index: u32, last: bool) {
    let flags = SIDECAR | if last { LAST } else { 0 };
    append_header(out, RecordKind::Piece, flags, 0, 12);
    out.extend_from_slice(&id.to_le_bytes());
    append_word(out, index);
}

/// Appends the end of a request's body, with its trailers.
pub(crate) fn append_trailers(out: &mut Vec<u8>, id: u64, trailers: &[u8]) {
    let flags = LAST | TRAILERS;
    append_header(out, RecordKind::Piece, flags, 0, 8 + trailers.len());
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(trailers);
    pad(out);
}

/// Appends a change in the state of a request.
pub(crate) fn append_turn(out: &mut Vec<u8>, id: u64, turn: Turn) {
    append_header(out, RecordKind::Turn, 0, 0, 12);
    out.extend_from_slice(&id.to_le_bytes());
    append_word(out, turn.number());
}

/// Words of a REQUEST record's payload before its texts.
const WORDS: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::record::record_bytes;

    #[test]
    fn a_request_carries_its_texts_and_its_body() {
        let mut out = Vec::new();
        let asking = Asking {
            id: 1 << 40,
            version: 1,
            encrypted: true,
            forwarded: true,
            streams: false,
            port: 80,
            head: b"::1GET/ah\0v\0",
            lengths: [3, 3, 2],
            body: Some(b"body!"),
        };
        append_asking(&mut out, &asking);
        assert_eq!(out.len(), record_bytes(asking_bytes(&asking)));
        assert_eq!(out[8..16], (1u64 << 40).to_le_bytes());
        assert_eq!(out[16..20], (1u32 | 4 | 8 | 32 | 80 << 16).to_le_bytes());
        assert_eq!(out[32..36], 12u32.to_le_bytes());
        assert_eq!(&out[36..53], b"::1GET/ah\0v\0body!");
    }

    #[test]
    fn pieces_and_turns_name_their_request() {
        let mut out = Vec::new();
        append_piece(&mut out, 7, b"abc", true);
        assert_eq!(out[..4], (7 | LAST | 11 << 8).to_le_bytes());
        assert_eq!(out[8..16], 7u64.to_le_bytes());
        assert_eq!(&out[16..], b"abc\0");
        out.clear();
        append_turn(&mut out, 7, Turn::Room);
        assert_eq!(out[8..16], 7u64.to_le_bytes());
        assert_eq!(out[16..], 3u32.to_le_bytes());
    }
}
