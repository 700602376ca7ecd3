//! The record of protocol events: the number of the event, the length of its fields, the fields padded to words, and
//! the payload, or the payload's index and length beside the batch.

use super::{SIDECAR, append_header, append_word, pad, word};
use crate::event::kinds::{Event, RecordKind};

/// The length of an EVENT record's payload. The fields are short, because the length of a record has 24 bits.
pub(crate) const fn event_bytes(fields: usize, payload: usize) -> usize {
    WORDS * 4 + fields.next_multiple_of(4) + payload
}

/// Appends an EVENT record with its payload.
pub(crate) fn append_event(
    out: &mut Vec<u8>,
    slot: u32,
    event: Event,
    fields: &[u8],
    payload: &[u8],
) {
    append_head(out, 0, slot, event, fields, payload.len());
    out.extend_from_slice(payload);
    pad(out);
}

/// Appends an EVENT record whose payload is the batch's sidecar number `index`.
pub(crate) fn append_event_beside(
    out: &mut Vec<u8>,
    slot: u32,
    event: Event,
    fields: &[u8],
    (index, length): (u32, u32),
) {
    append_head(out, SIDECAR, slot, event, fields, 8);
    append_word(out, index);
    append_word(out, length);
}

fn append_head(
    out: &mut Vec<u8>,
    flags: u32,
    slot: u32,
    event: Event,
    fields: &[u8],
    payload: usize,
) {
    let length = event_bytes(fields.len(), payload);
    append_header(out, RecordKind::Event, flags, slot, length);
    append_word(out, event.number());
    append_word(out, word(fields.len()));
    out.extend_from_slice(fields);
    pad(out);
}

/// Words of an EVENT record's payload before its fields.
const WORDS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::record::{LENGTH_SHIFT, record_bytes};

    #[test]
    fn an_event_carries_its_fields_and_its_payload() {
        let mut out = Vec::new();
        append_event(&mut out, 7, Event::Probe, b"field", b"payload");
        let length = u32::try_from(event_bytes(5, 7)).unwrap();
        assert_eq!(out[..4], (9 | length << LENGTH_SHIFT).to_le_bytes());
        assert_eq!(out[4..8], 7_u32.to_le_bytes());
        assert_eq!(out[8..12], Event::Probe.number().to_le_bytes());
        assert_eq!(out[12..16], 5_u32.to_le_bytes());
        assert_eq!(&out[16..], b"field\0\0\0payload\0");
        assert_eq!(out.len(), record_bytes(event_bytes(5, 7)));
    }

    #[test]
    fn the_index_of_a_payload_beside_the_batch_follows_the_fields() {
        let mut out = Vec::new();
        append_event_beside(&mut out, 7, Event::Probe, b"abcd", (3, 1 << 20));
        assert_eq!(out[..4], (9 | SIDECAR | 20 << LENGTH_SHIFT).to_le_bytes());
        assert_eq!(&out[16..20], b"abcd");
        assert_eq!(out[20..24], 3_u32.to_le_bytes());
        assert_eq!(out[24..], (1_u32 << 20).to_le_bytes());
        assert_eq!(out.len(), record_bytes(event_bytes(4, 8)));
    }

    #[test]
    fn an_event_may_have_neither_fields_nor_payload() {
        let mut out = Vec::new();
        append_event(&mut out, 0, Event::Probe, b"", b"");
        assert_eq!(out.len(), record_bytes(event_bytes(0, 0)));
        assert_eq!(out[12..], [0; 4]);
    }
}
