//! An input split at every position yields the same items.

use millrace_protocol::websocket::{DecoderConfig, Opcode};
use proptest::prelude::*;

use crate::seen::{decode, masked, server};

/// Valid and invalid streams that together cover every path through the decoder.
fn streams() -> Vec<Vec<u8>> {
    use Opcode::{Binary, Close, Continuation, Ping, Pong, Text};
    let long: Vec<u8> = (0..300u16).map(|i| i.to_le_bytes()[0]).collect();
    let stream = |frames: &[(Opcode, bool, &[u8])]| {
        let frames = frames
            .iter()
            .map(|(opcode, fin, payload)| masked(*opcode, *fin, payload));
        frames.collect::<Vec<_>>().concat()
    };
    let then =
        |frames: &[(Opcode, bool, &[u8])], raw: &[u8]| [stream(frames), raw.to_vec()].concat();
    let euro = "5 \u{20ac} \u{1f980}".as_bytes();
    vec![
        stream(&[
            (Text, true, b"hello"),
            (Binary, true, b""),
            (Text, true, euro),
            (Close, true, b"\x03\xe8bye"),
        ]),
        stream(&[
            (Binary, true, &long),
            (Ping, true, b"a"),
            (Pong, true, b""),
            (Text, true, b""),
        ]),
        stream(&[
            (Text, false, &euro[..4]),
            (Ping, true, b"between"),
            (Continuation, false, &euro[4..7]),
            (Continuation, false, b""),
            (Pong, true, b"again"),
            (Continuation, true, &euro[7..]),
            (Binary, false, b""),
            (Continuation, true, b""),
            (Close, true, b""),
            (Text, true, b"never seen"),
        ]),
        stream(&[
            (Text, true, b"ok"),
            (Text, true, b"\xc3\x28"),
            (Text, true, b"never seen"),
        ]),
        stream(&[
            (Text, false, b"\xf0\x9f"),
            (Ping, true, b"p"),
            (Continuation, true, b"\xa6"),
        ]),
        stream(&[(Text, false, b"a"), (Text, true, b"b")]),
        stream(&[(Ping, true, b"1"), (Continuation, true, b"b")]),
        stream(&[(Binary, false, b"a"), (Close, true, b"\x03")]),
        stream(&[(Close, true, b"\x03\xed"), (Ping, true, b"")]),
        stream(&[(Close, true, b"\x03\xe8\xff")]),
        then(&[(Text, true, b"x")], &[0x81, 0x05, b'h']),
        then(
            &[(Text, true, b"x")],
            &[0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4],
        ),
        then(
            &[(Binary, false, &long)],
            &[0x80, 0xfe, 0x02, 0xbd, 1, 2, 3, 4],
        ),
        then(&[(Text, true, b"x")], &[0x82, 0xfe, 0, 5, 1, 2, 3, 4]),
        then(&[(Text, true, b"x")], &[0x89, 0xfe, 0, 5, 1, 2, 3, 4]),
        then(&[(Text, true, b"x")], &[0x93, 0x80]),
        then(
            &[(Text, true, b"unfinished next")],
            &masked(Text, true, b"unfinished")[..9],
        ),
        then(&[], &masked(Ping, true, b"unfinished")[..9]),
    ]
}

#[test]
fn split_once_at_every_position() {
    for stream in streams() {
        let whole = decode(&server(1000), [&stream[..]]);
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(
                decode(&server(1000), [first, second]),
                whole,
                "{stream:x?} split at {cut}"
            );
        }
    }
}

#[test]
fn split_twice_at_every_pair_of_positions() {
    for stream in streams().into_iter().filter(|stream| stream.len() < 100) {
        let whole = decode(&server(1000), [&stream[..]]);
        for (second, first) in
            (0..=stream.len()).flat_map(|second| (0..=second).map(move |first| (second, first)))
        {
            let reads = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(
                decode(&server(1000), reads),
                whole,
                "{stream:x?} split at {first} and {second}"
            );
        }
    }
}

#[test]
fn in_pieces_of_every_size() {
    for stream in streams() {
        let whole = decode(&server(1000), [&stream[..]]);
        for stride in 1..=17 {
            assert_eq!(
                decode(&server(1000), stream.chunks(stride)),
                whole,
                "{stream:x?} in {stride}s"
            );
        }
    }
}

/// Frames that are mostly almost valid, so that they are not refused by their first byte.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let opcode = prop::sample::select(vec![0u8, 1, 2, 8, 9, 10, 3]);
    let frame = (
        opcode,
        prop::bool::weighted(0.7),
        prop::collection::vec(any::<u8>(), 0..40),
        0..60u8,
    );
    let frame = frame.prop_map(|(opcode, fin, payload, slip)| {
        let known = Opcode::from_bits(opcode).unwrap_or(Opcode::Text);
        let ascii: Vec<u8> = payload.iter().map(|byte| byte & 0x7f).collect();
        let mut frame = masked(
            known,
            fin || opcode > 7,
            if slip < 40 { &ascii } else { &payload },
        );
        if slip == 0 {
            frame[0] ^= opcode << 4;
        }
        frame
    });
    prop::collection::vec(frame, 0..8).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn random_streams_in_random_reads(
        stream in noise(),
        message_bytes in 0usize..200,
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let config = DecoderConfig { control_burst: 3, ..server(message_bytes) };
        let whole = decode(&config, [&stream[..]]);
        cuts.sort_by_key(|cut| cut.index(stream.len() + 1));
        let mut reads = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts {
            let taken = stream.len() - rest.len();
            let (read, after) = rest.split_at(cut.index(stream.len() + 1) - taken);
            reads.push(read);
            rest = after;
        }
        reads.push(rest);
        prop_assert_eq!(decode(&config, reads), whole);
    }
}
