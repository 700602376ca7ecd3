//! A masked message equals an unmasked copy, however many bytes were taken off and whichever key it gets.

use super::*;
use crate::websocket::{Decoder, Role, append_part};

const FRESH: Key = [0x5a, 0x00, 0xff, 0x81];

fn unchecked() -> DecoderConfig {
    DecoderConfig {
        checks_text: false,
        ..DecoderConfig::default()
    }
}

/// A payload whose bytes are not all ASCII.
fn payload(length: usize) -> Vec<u8> {
    (0..=255u8)
        .map(|byte| byte.wrapping_mul(37))
        .cycle()
        .take(length)
        .collect()
}

/// Decodes a message of one frame in one read and passes it to a function.
fn handed_out<R>(
    (config, kind, key): (&DecoderConfig, Kind, Option<Key>),
    payload: &[u8],
    look: impl FnOnce(Masked<'_>) -> R,
) -> R {
    let mut read = Vec::new();
    append_part(&mut read, kind.into(), true, key, payload);
    let (mut decoder, mut input) = (Decoder::new(), Input::new(&mut read));
    let item = decoder.next_masked(&mut input, config, 0);
    let Ok(Some(Item::Message {
        kind: found,
        ascii: _,
        payload,
    })) = item
    else {
        panic!("{item:?}");
    };
    assert_eq!(found, kind);
    look(payload)
}

/// Takes `COUNT` bytes off and compares the remaining ones with an unmasked copy.
fn take_off<const COUNT: usize>(length: usize, key: Key) {
    let whole = payload(length);
    handed_out(
        (&unchecked(), Kind::Binary, Some(key)),
        &whole,
        |mut masked| {
            let Some(taken) = masked.take::<COUNT>() else {
                assert!(length < COUNT);
                return assert_eq!(masked.unmask(), whole);
            };
            let (start, rest) = whole.split_at(COUNT);
            assert_eq!(taken, start);
            assert_eq!(
                (masked.len(), masked.is_empty()),
                (rest.len(), rest.is_empty())
            );
            for key in [None, Some(FRESH), Some([0; 4])] {
                let (mut frame, mut expected) = (b"x".to_vec(), b"x".to_vec());
                masked.append_frame(&mut frame, Opcode::Binary, key);
                append_part(&mut expected, Opcode::Binary, true, key, rest);
                assert_eq!(frame, expected, "{COUNT} of {length} bytes");
            }
            assert_eq!(masked.unmask(), rest, "{COUNT} of {length} bytes");
            assert_eq!(masked.unmask(), rest, "unmasking twice has no effect");
            let mut plain = Vec::new();
            masked.append_to(&mut plain, None);
            assert_eq!(plain, rest);
        },
    );
}

#[test]
fn any_number_of_bytes_may_be_taken_off() {
    for key in [
        [1, 2, 3, 4],
        [0; 4],
        [255, 0, 0, 7],
        FRESH,
        [9, 0x80, 9, 0x80],
    ] {
        for length in (0..90).chain([126, 1000, 65_536]) {
            take_off::<0>(length, key);
            take_off::<1>(length, key);
            take_off::<2>(length, key);
            take_off::<3>(length, key);
            take_off::<4>(length, key);
            take_off::<7>(length, key);
        }
    }
}

#[test]
fn bytes_may_be_taken_off_in_several_calls() {
    handed_out(
        (&unchecked(), Kind::Binary, Some(FRESH)),
        b"abcdefgh",
        |mut masked| {
            assert_eq!(masked.take(), Some(*b"a"));
            assert_eq!(masked.take(), Some(*b"bc"));
            assert_eq!(masked.take::<6>(), None);
            assert_eq!(masked.take(), Some(*b"def"));
            assert_eq!(masked.unmask(), b"gh");
            assert_eq!(masked.take(), Some(*b"g"));
            assert_eq!(masked.unmask(), b"h");
        },
    );
}

#[test]
fn a_whole_message_stays_masked() {
    for kind in [Kind::Text, Kind::Binary] {
        handed_out(
            (&unchecked(), kind, Some(FRESH)),
            b"\xffmessage",
            |masked| {
                assert!(matches!(masked.bytes, Bytes::Lent(_)));
                assert_eq!(masked.key, FRESH);
            },
        );
    }
    let from_server = DecoderConfig {
        role: Role::Client,
        ..DecoderConfig::default()
    };
    handed_out((&from_server, Kind::Binary, None), b"message", |masked| {
        assert!(matches!(masked.bytes, Bytes::Lent(_)));
        assert_eq!((masked.key, masked.rest()), (PLAIN, &b"message"[..]));
    });
}

#[test]
fn invalid_text_is_refused_if_text_is_checked() {
    let config = DecoderConfig::default();
    handed_out(
        (&config, Kind::Text, Some(FRESH)),
        b"caf\xc3\xa9",
        |masked| {
            assert_eq!((masked.key, masked.rest()), (PLAIN, &b"caf\xc3\xa9"[..]));
        },
    );
    let mut read = Vec::new();
    append_part(&mut read, Opcode::Text, true, Some(FRESH), b"caf\xc3");
    let (mut decoder, mut input) = (Decoder::new(), Input::new(&mut read));
    assert!(decoder.next_masked(&mut input, &config, 0).is_err());
    assert!(matches!(
        decoder.next_masked(&mut input, &config, 0),
        Ok(None)
    ));
}

#[test]
fn calls_of_next_and_next_masked_may_alternate_within_a_message() {
    let (mut decoder, config) = (Decoder::new(), unchecked());
    let mut read = Vec::new();
    append_part(
        &mut read,
        Opcode::Binary,
        false,
        Some([1, 2, 3, 4]),
        b"\x00\x05",
    );
    append_part(&mut read, Opcode::Ping, true, Some(FRESH), b"ping");
    append_part(&mut read, Opcode::Continuation, true, Some(FRESH), b"rest");
    append_part(&mut read, Opcode::Binary, true, Some(FRESH), b"whole");
    let mut seen = Vec::new();
    for piece in read.chunks_mut(5) {
        let mut input = Input::new(piece);
        while let Some(item) = decoder.next_masked(&mut input, &config, 0).unwrap() {
            match item {
                Item::Message { mut payload, .. } => {
                    let taken = payload.take::<2>().unwrap();
                    seen.push([&taken, payload.unmask()].concat());
                }
                Item::Ping(payload) => seen.push(payload.to_vec()),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(seen, [&b"ping"[..], b"\x00\x05rest", b"whole"]);
}
