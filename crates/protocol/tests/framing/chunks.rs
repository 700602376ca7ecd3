//! An input split at every position yields the same messages, and encoded messages decode to
//! themselves.

use millrace_protocol::framing::{Framing, Width};
use proptest::prelude::*;

use crate::{Seen, WIDTHS, decode, encode};

const BOUND: usize = 40;

/// Valid and invalid streams that together cover every path through the decoder.
fn streams() -> Vec<(Framing, Vec<u8>)> {
    let length = Framing::Length;
    let long = |count: usize| "x".repeat(count);
    vec![
        (
            Framing::Line,
            b"one\ntwo\r\n\n\r\nthr\ree\r\r\nfour".to_vec(),
        ),
        (
            Framing::Line,
            format!("{}\n{0}\r\n{0}\r", long(BOUND)).into(),
        ),
        (Framing::Line, format!("a\n{}\nb\n", long(BOUND + 1)).into()),
        (Framing::Line, format!("a\n{}\r\r\nb\n", long(BOUND)).into()),
        (Framing::Line, format!("{}\r\r", long(BOUND)).into()),
        (length(Width::One), b"\x03one\x00\x05three\x02c".to_vec()),
        (length(Width::One), b"\x03one\x29two".to_vec()),
        (length(Width::Two), b"\0\x03one\0\0\0\x05three\0".to_vec()),
        (length(Width::Two), b"\0\x01a\x01\0".to_vec()),
        (
            length(Width::Four),
            b"\0\0\0\x03one\0\0\0\0\0\0\0\x01a".to_vec(),
        ),
        (length(Width::Four), b"\0\0\0\x01a\xff\xff\xff\xff".to_vec()),
    ]
}

#[test]
fn split_once_at_every_position() {
    for (framing, stream) in streams() {
        let whole = decode(framing, BOUND, [&stream[..]]);
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let shown = stream.escape_ascii();
            assert_eq!(
                decode(framing, BOUND, [first, second]),
                whole,
                "{shown} at {cut}"
            );
        }
        assert_eq!(decode(framing, BOUND, stream.chunks(1)), whole);
    }
}

#[test]
fn the_streams_contain_the_expected_messages() {
    let found: Vec<_> = streams()
        .iter()
        .map(|(framing, stream)| decode(*framing, BOUND, [&stream[..]]))
        .map(|(messages, end)| (messages.len(), end.is_ok()))
        .collect();
    let expected = [
        (5, true),
        (2, true),
        (1, false),
        (1, false),
        (0, false),
        (3, false),
        (1, false),
        (3, false),
        (1, false),
        (3, true),
        (1, false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_unframed_stream_is_unchanged() {
    let stream: Vec<u8> = (0..=255).collect();
    for step in [1, 7, BOUND, 100, 256] {
        let (chunks, end) = decode(Framing::None, BOUND, stream.chunks(step));
        assert!(
            chunks
                .iter()
                .all(|chunk| (1..=BOUND).contains(&chunk.len()))
        );
        assert_eq!((chunks.concat(), end), (stream.clone(), Ok(None)));
    }
}

fn pieces<'a>(stream: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
    ends.extend([0, stream.len()]);
    ends.sort_unstable();
    ends.windows(2)
        .map(|pair| &stream[pair[0]..pair[1]])
        .collect()
}

fn framed() -> impl Strategy<Value = Framing> {
    prop_oneof![
        Just(Framing::Line),
        prop::sample::select(&WIDTHS[..]).prop_map(Framing::Length),
    ]
}

/// The messages that a receiver of these gets.
fn arrives(framing: Framing, messages: Vec<Vec<u8>>) -> Seen {
    let blank = |byte: u8| match byte {
        b'\r' | b'\n' if framing == Framing::Line => b' ',
        byte => byte,
    };
    let messages = messages.into_iter();
    let messages = messages.map(|message| message.into_iter().map(blank).collect());
    (messages.collect(), Ok(None))
}

proptest! {
    #[test]
    fn encoded_messages_decode_however_they_are_split(
        framing in framed(),
        messages in prop::collection::vec(
            prop::collection::vec(prop_oneof![
                3 => any::<u8>(),
                1 => prop::sample::select(b"\r\n".to_vec()),
            ], 0..=BOUND), 0..8),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let stream = encode(framing, &messages);
        let seen = decode(framing, BOUND, pieces(&stream, &cuts));
        prop_assert_eq!(seen, arrives(framing, messages));
    }

    #[test]
    fn any_bytes_yield_the_same_however_they_are_split(
        framing in framed(),
        stream in prop::collection::vec(
            prop_oneof![
                4 => prop::sample::select(b"\r\n\0\x01\x02\x03ab".to_vec()),
                1 => any::<u8>(),
            ], 0..160),
        bound in 1..BOUND,
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let whole = decode(framing, bound, [&stream[..]]);
        prop_assert!(whole.0.iter().all(|message| message.len() <= bound));
        prop_assert_eq!(decode(framing, bound, pieces(&stream, &cuts)), whole);
    }
}
