//! What was read from a store of histories, as bytes on their way to the thread that has asked. Pure.

use millrace_backplane::store::StoredPast;
use millrace_core::{Epoch, Kept, Kind, Number, Past, Position, SocketId};

use crate::frame::KeptMessage;

/// The epoch and the offset of the newest message; then each message: its offset, its time, its publisher's node and socket,
/// its kind, the length of its payload, and the payload. Numbers are little-endian.
pub(super) fn encode(past: &StoredPast) -> Vec<u8> {
    let payloads = past
        .entries
        .iter()
        .map(|entry| entry.payload.len() + HEAD_BYTES);
    let mut bytes = Vec::with_capacity(16 + payloads.sum::<usize>());
    put(
        &mut bytes,
        [past.position.epoch.get(), past.position.offset],
    );
    for entry in &past.entries {
        let (node, socket) = entry.from.unwrap_or_default();
        put(&mut bytes, [entry.offset, entry.unix_ms, node, socket]);
        bytes.push(u8::from(entry.kind == Kind::Text));
        let length = u64::try_from(entry.payload.len()).unwrap_or(u64::MAX);
        put(&mut bytes, [length]);
        bytes.extend_from_slice(&entry.payload);
    }
    bytes
}

/// Reads what [`encode`] wrote; `None` for anything else.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Past<KeptMessage>> {
    let [epoch, offset] = take(&mut bytes)?;
    let epoch = Epoch::new(epoch);
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let [offset, unix_ms, node, socket] = take(&mut bytes)?;
        let (&is_text, rest) = bytes.split_first()?;
        bytes = rest;
        let [length] = take(&mut bytes)?;
        let (payload, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        bytes = rest;
        let kind = if is_text == 1 {
            Kind::Text
        } else {
            Kind::Binary
        };
        messages.push(Kept {
            number: Number {
                position: Position { epoch, offset },
                unix_ms,
                from: SocketId::new(socket),
            },
            message: KeptMessage::of_node(node, (kind, payload), true),
        });
    }
    let position = Position { epoch, offset };
    Some(Past { position, messages })
}

fn put<const N: usize>(bytes: &mut Vec<u8>, numbers: [u64; N]) {
    bytes.extend_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let (first, rest) = bytes.split_first_chunk()?;
        (*number, *bytes) = (u64::from_le_bytes(*first), rest);
    }
    Some(numbers)
}

/// The bytes of a message beside its payload.
const HEAD_BYTES: usize = 5 * 8 + 1;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use millrace_backplane::store::Entry;

    use super::*;

    #[test]
    fn a_past_is_read_as_it_was_written() {
        let entry = |offset, kind, from, payload: &'static [u8]| Entry {
            offset,
            unix_ms: 7,
            kind,
            payload: Bytes::from_static(payload),
            from,
            mark: 9,
        };
        let position = Position {
            epoch: Epoch::new(5),
            offset: 12,
        };
        let entries = vec![
            entry(11, Kind::Text, Some((3, 4)), b"hello"),
            entry(12, Kind::Binary, None, b""),
        ];
        let bytes = encode(&StoredPast { position, entries });
        let past = decode(&bytes).unwrap();
        assert_eq!((past.position, past.messages.len()), (position, 2));
        let shown: Vec<_> = past
            .messages
            .iter()
            .map(|kept| {
                let (number, message) = (kept.number, &kept.message);
                let from = number.from.map(|socket| (message.node(), socket.get()));
                (
                    number.position.offset,
                    from,
                    message.kind(),
                    message.payload().to_vec(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (11, Some((3, 4)), Kind::Text, b"hello".to_vec()),
                (12, None, Kind::Binary, Vec::new())
            ]
        );
        for end in 0..bytes.len() {
            let is_cut = decode(&bytes[..end]).is_none_or(|past| past.messages.len() < 2);
            assert!(is_cut, "{end}");
        }
    }
}
