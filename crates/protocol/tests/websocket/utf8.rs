//! Text is refused as soon as it can no longer become UTF-8 (RFC 6455 §8.1), and not before.

use millrace_protocol::websocket::{DecodeError, Decoder, Opcode};
use proptest::prelude::*;

use crate::seen::{Seen, feed, masked, server};

/// Invalid UTF-8, and the number of bytes that can still be the beginning of valid UTF-8.
const BAD: [(&[u8], usize); 20] = [
    (b"\x80", 0),
    (b"\xbf", 0),
    (b"\xc0\xaf", 0),
    (b"\xc1\xbf", 0),
    (b"\xc3\x28", 1),
    (b"\xc3\xc3", 1),
    (b"\xe0\x80\xaf", 1),
    (b"\xe0\x9f\xbf", 1),
    (b"\xe2\x82\x28", 2),
    (b"\xe2\x28\xa1", 1),
    (b"\xed\xa0\x80", 1),
    (b"\xed\xbf\xbf", 1),
    (b"\xed\xa0\xbd\xed\xb8\x80", 1),
    (b"\xf0\x80\x80\xaf", 1),
    (b"\xf0\x8f\xbf\xbf", 1),
    (b"\xf0\x9f\xa6\x28", 3),
    (b"\xf4\x90\x80\x80", 1),
    (b"\xf5\x80\x80\x80", 0),
    (b"\xf8\x88\x80\x80\x80", 0),
    (b"\xff", 0),
];

/// The text before and after the invalid bytes.
const AROUND: [(&str, &str); 5] = [
    ("", ""),
    ("abc", "def"),
    ("\u{3ba}\u{1f41}\u{3c3}", "\u{1f980}"),
    ("0123456789abcdef", "x"),
    ("\u{20ac}", ""),
];

fn cases() -> impl Iterator<Item = (Vec<u8>, usize)> {
    AROUND.into_iter().flat_map(|(before, after)| {
        BAD.into_iter().map(move |(bad, good)| {
            (
                [before.as_bytes(), bad, after.as_bytes()].concat(),
                before.len() + good,
            )
        })
    })
}

/// Feeds reads until there is an item. Returns the number of that read and the item.
fn first_outcome<'a>(reads: impl IntoIterator<Item = &'a [u8]>) -> Option<(usize, Seen)> {
    let (mut decoder, mut seen) = (Decoder::new(), Vec::new());
    reads.into_iter().enumerate().find_map(|(index, read)| {
        feed(&mut decoder, &server(1 << 20), read, &mut seen);
        seen.pop().map(|outcome| (index, outcome))
    })
}

/// The only acceptable outcome: the error at the index of the invalid byte.
fn refused_at(index: usize) -> (usize, Seen) {
    (index, Seen::Error(DecodeError::InvalidUtf8))
}

#[test]
fn bad_text_is_refused_within_a_frame_that_arrives_byte_by_byte() {
    for (text, at) in cases() {
        let frame = masked(Opcode::Text, true, &text);
        assert_eq!(
            first_outcome(frame.chunks(1)),
            Some(refused_at(6 + at)),
            "{text:x?}"
        );
    }
}

#[test]
fn bad_text_is_refused_within_a_frame_split_anywhere() {
    for (text, at) in cases() {
        let mut frame = masked(Opcode::Text, true, &text);
        frame.truncate(6 + at + 1); // the rest of the announced frame never comes
        for cut in 0..=frame.len() {
            let (first, second) = frame.split_at(cut);
            let index = usize::from(cut < frame.len());
            assert_eq!(
                first_outcome([first, second]),
                Some(refused_at(index)),
                "{text:x?} split at {cut}"
            );
        }
    }
}

#[test]
fn bad_text_is_refused_in_fragments_of_one_byte_with_pings_between() {
    for (text, at) in cases() {
        let fragments: Vec<Vec<u8>> = text
            .iter()
            .enumerate()
            .map(|(index, byte)| {
                let opcode = if index == 0 {
                    Opcode::Text
                } else {
                    Opcode::Continuation
                };
                masked(opcode, false, &[*byte])
            })
            .collect();
        assert_eq!(
            first_outcome(fragments.iter().map(Vec::as_slice)),
            Some(refused_at(at)),
            "{text:x?}"
        );
    }
}

#[test]
fn bad_text_is_refused_in_two_fragments_split_anywhere() {
    for (text, at) in cases() {
        for cut in 0..=text.len() {
            let (first, second) = text.split_at(cut);
            let reads = [
                masked(Opcode::Text, false, first),
                masked(Opcode::Continuation, true, second),
            ];
            let index = usize::from(at >= cut);
            assert_eq!(
                first_outcome(reads.iter().map(Vec::as_slice)),
                Some(refused_at(index)),
                "{text:x?} split at {cut}"
            );
        }
    }
}

#[test]
fn a_message_must_not_end_within_a_character() {
    for text in ["\u{e9}", "\u{20ac}", "\u{1f980}", "abc\u{1f980}"] {
        for missing in 1..text.chars().next_back().map_or(0, char::len_utf8) {
            let cut = &text.as_bytes()[..text.len() - missing];
            assert_eq!(
                first_outcome([&masked(Opcode::Text, true, cut)[..]]),
                Some(refused_at(0))
            );
            let fragments = [
                masked(Opcode::Text, false, cut),
                masked(Opcode::Continuation, true, b""),
            ];
            assert_eq!(
                first_outcome(fragments.iter().map(Vec::as_slice)),
                Some(refused_at(1))
            );
        }
    }
}

#[test]
fn binary_messages_may_have_any_bytes() {
    for (bytes, _) in cases() {
        let frame = masked(Opcode::Binary, true, &bytes);
        assert_eq!(first_outcome([&frame[..]]), Some((0, Seen::binary(&bytes))));
        assert_eq!(
            first_outcome(frame.chunks(1)),
            Some((frame.len() - 1, Seen::binary(&bytes)))
        );
    }
}

proptest! {
    /// Uses the standard library as the reference, with bytes that are often almost UTF-8.
    #[test]
    fn refuses_with_exactly_the_first_invalid_byte(
        text in prop::collection::vec(
            prop::sample::select(vec![b'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5]),
            1..12,
        ),
    ) {
        let spoilt = (1..=text.len()).find(|&end| {
            str::from_utf8(&text[..end]).is_err_and(|error| error.error_len().is_some())
        });
        let frame = masked(Opcode::Text, true, &text);
        let expected = match (spoilt, str::from_utf8(&text)) {
            (Some(end), _) => Some(refused_at(6 + end - 1)),
            (None, Err(_)) => Some(refused_at(frame.len() - 1)),
            (None, Ok(text)) => Some((frame.len() - 1, Seen::text(text))),
        };
        prop_assert_eq!(first_outcome(frame.chunks(1)), expected);
    }
}
