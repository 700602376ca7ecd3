//! The framing codec through its public API.

mod bounds;
mod chunks;

use std::borrow::Cow;

use millrace_protocol::framing::{
    DecodeError, Decoder, Framing, Width, append_length, append_line,
};

const WIDTHS: [Width; 3] = [Width::One, Width::Two, Width::Four];

/// The messages in order, the result of the end, and the line that the end of the stream completes.
type Seen = (Vec<Vec<u8>>, Result<Option<Vec<u8>>, DecodeError>);

/// Feeds pieces to a new decoder until it fails or the stream ends.
fn decode<'a>(
    framing: Framing,
    message_bytes: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Seen {
    let (mut decoder, mut messages) = (Decoder::new(framing), Vec::new());
    for piece in pieces {
        let mut input = piece;
        loop {
            match decoder.next(&mut input, message_bytes) {
                Ok(Some(message)) => messages.push(message.into_owned()),
                Ok(None) => break,
                Err(error) => {
                    nothing_follows(&mut decoder, message_bytes);
                    return (messages, Err(error));
                }
            }
        }
        assert!(input.is_empty(), "`None` means that all was consumed");
        let held = decoder.held_bytes();
        match decoder.unfinished() {
            Some(bytes) => assert!(
                held <= 2 * bytes,
                "{held} bytes are held for {bytes} received ones"
            ),
            None => assert_eq!(held, 0, "an idle decoder holds nothing"),
        }
    }
    (messages, decoder.finish())
}

fn nothing_follows(decoder: &mut Decoder, message_bytes: usize) {
    assert_eq!((decoder.unfinished(), decoder.held_bytes()), (None, 0));
    let mut input = &b"\x00\x01more\n"[..];
    assert_eq!(decoder.next(&mut input, message_bytes), Ok(None));
    assert!(input.is_empty());
    assert_eq!(decoder.finish(), Ok(None));
}

/// Encodes all these messages.
fn encode(framing: Framing, messages: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        let message = message.as_ref();
        match framing {
            Framing::Line => append_line(message, &mut out),
            Framing::Length(width) => {
                append_length(width, message, &mut out).expect("the tests use payloads that fit");
            }
            Framing::None => out.extend_from_slice(message),
        }
    }
    out
}

#[test]
fn lines_end_with_lf_and_lose_one_cr() {
    let seen = |stream: &[u8]| decode(Framing::Line, 100, [stream]);
    let messages = |stream| seen(stream).0;
    assert_eq!(messages(b"a\nb\r\n"), [b"a", b"b"]);
    assert_eq!(messages(b"\n\r\n"), [b"", b""], "empty lines are messages");
    assert_eq!(messages(b"a\r\r\n\rb\n"), [&b"a\r"[..], b"\rb"]);
    assert_eq!(
        seen(b"a\nb"),
        (vec![b"a".to_vec()], Ok(Some(b"b".to_vec())))
    );
    assert_eq!(seen(b"a\r"), (vec![], Ok(Some(b"a".to_vec()))));
    assert_eq!(seen(b"a\n").1, Ok(None));
    assert_eq!(seen(b"").1, Ok(None));
}

#[test]
fn a_payload_cannot_add_a_line() {
    let sent = ["a\r\nQUIT", "\n\n", "b\r", "\u{e9}"];
    let stream = encode(Framing::Line, &sent);
    assert_eq!(stream, "a  QUIT\n  \nb \n\u{e9}\n".as_bytes());
    assert_eq!(decode(Framing::Line, 100, [&stream[..]]).0.len(), 4);
}

#[test]
fn lengths_are_big_endian_and_exclude_themselves() {
    let mut out = Vec::new();
    for width in WIDTHS {
        append_length(width, b"ab", &mut out).unwrap();
        append_length(width, b"", &mut out).unwrap();
    }
    assert_eq!(out, b"\x02ab\0\0\x02ab\0\0\0\0\0\x02ab\0\0\0\0");
    let two = Framing::Length(Width::Two);
    let seen = decode(two, 1000, [&[&b"\x01\x02"[..], &[7; 258]].concat()[..]]);
    assert_eq!(seen, (vec![vec![7; 258]], Ok(None)));
}

#[test]
fn a_payload_longer_than_its_length_field_can_express_is_not_appended() {
    for (width, most) in [(Width::One, 255), (Width::Two, 65_535)] {
        assert_eq!(usize::try_from(width.most_payload()), Ok(most));
        let mut out = Vec::new();
        append_length(width, &vec![1; most], &mut out).unwrap();
        assert_eq!(out.len(), most + usize::from(width.bytes()));
        let before = out.clone();
        let error = append_length(width, &vec![1; most + 1], &mut out).unwrap_err();
        assert_eq!((error.0, out), (most + 1, before));
    }
    assert_eq!(Width::Four.most_payload(), u32::MAX);
}

#[test]
fn a_truncated_message_is_reported_at_the_end() {
    for (stream, bytes) in [(&b"\0"[..], 1), (b"\0\x02", 2), (b"\0\x02a", 3)] {
        let seen = decode(Framing::Length(Width::Two), 100, [stream]);
        assert_eq!(seen, (vec![], Err(DecodeError::Truncated(bytes))));
        assert_eq!(DecodeError::Truncated(bytes).close_code(), 1006);
    }
}

#[test]
fn a_message_wholly_in_the_input_is_borrowed() {
    let is_borrowed = |framing, before: &[u8], stream: &[u8]| {
        let mut decoder = Decoder::new(framing);
        let mut input = before;
        assert_eq!(decoder.next(&mut input, 100), Ok(None));
        let mut input = stream;
        let message = decoder.next(&mut input, 100).unwrap();
        matches!(message.unwrap(), Cow::Borrowed(_))
    };
    let two = Framing::Length(Width::Two);
    assert!(is_borrowed(Framing::Line, b"", b"line\r\n"));
    assert!(!is_borrowed(Framing::Line, b"li", b"ne\r\n"));
    assert!(is_borrowed(two, b"", b"\0\x02ab"));
    assert!(
        is_borrowed(two, b"\0", b"\x02ab"),
        "the length came in an earlier input"
    );
    assert!(!is_borrowed(two, b"\0\x02a", b"b"));
    assert!(is_borrowed(Framing::None, b"", b"ab"));
}
