//! The limits, and that announced lengths allocate nothing.

use std::borrow::Cow;

use millrace_protocol::framing::{DecodeError, Decoder, Framing, Width, append_length};

use crate::decode;

const LARGE: usize = 16 << 20;

fn feed(decoder: &mut Decoder, mut piece: &[u8], bound: usize) {
    assert_eq!(decoder.next(&mut piece, bound), Ok(None));
}

#[test]
fn an_announced_length_holds_no_memory() {
    let mut decoder = Decoder::new(Framing::Length(Width::Four));
    feed(&mut decoder, &(16u32 << 20).to_be_bytes(), LARGE);
    assert_eq!((decoder.unfinished(), decoder.held_bytes()), (Some(4), 0));
    let mut received = 0;
    for more in [1, 1, 1, 50, 51, 1000, 10_000] {
        feed(&mut decoder, &vec![b'x'; more], LARGE);
        received += more;
        assert_eq!(decoder.unfinished(), Some(4 + received));
        let held = decoder.held_bytes();
        assert!(
            held <= 2 * received,
            "{held} bytes are held for {received} received ones"
        );
    }
}

#[test]
fn a_message_over_the_limit_is_refused_with_its_length() {
    let seen = |width, bound, stream: &[u8]| decode(Framing::Length(width), bound, [stream]).1;
    for length in [101, 1 << 31, u32::MAX] {
        let refused = Err(DecodeError::MessageTooBig(length));
        assert_eq!(seen(Width::Four, 100, &length.to_be_bytes()), refused);
    }
    let refused = |length| Err(DecodeError::MessageTooBig(length));
    assert_eq!(seen(Width::Two, 100, b"\0\x65"), refused(101));
    assert_eq!(seen(Width::One, 100, b"\x65"), refused(101));
    assert_eq!(DecodeError::MessageTooBig(101).close_code(), 1009);
}

#[test]
fn the_limit_is_inclusive_and_excludes_the_framing() {
    for bound in [1, 100, 255] {
        let payload = vec![7; bound];
        let mut stream = Vec::new();
        append_length(Width::One, &payload, &mut stream).unwrap();
        let framing = Framing::Length(Width::One);
        assert_eq!(decode(framing, bound, [&stream[..]]).0, [&payload[..]]);
        for end in [&b"\n"[..], b"\r\n"] {
            let stream = [&payload, end].concat();
            assert_eq!(
                decode(Framing::Line, bound, [&stream[..]]).0,
                [&payload[..]]
            );
            assert_eq!(
                decode(Framing::Line, bound, stream.chunks(1)).0,
                [&payload[..]]
            );
        }
    }
}

#[test]
fn a_line_without_an_end_is_refused_before_it_is_kept() {
    let mut decoder = Decoder::new(Framing::Line);
    let (mut received, bound) = (0, 10_000);
    for piece in [1, 10, 100, 1000, 8000] {
        let before = decoder.held_bytes();
        feed(&mut decoder, &vec![b'x'; piece], bound);
        received += piece;
        let held = decoder.held_bytes();
        assert!(
            held <= 2 * received && held <= bound + 1,
            "{before}, {held}"
        );
    }
    let mut input = &[b'x'; 1000][..];
    let refused = Err(DecodeError::LineTooLong(bound));
    assert_eq!(decoder.next(&mut input, bound), refused);
    assert_eq!((decoder.held_bytes(), decoder.unfinished()), (0, None));
    assert_eq!(DecodeError::LineTooLong(bound).close_code(), 1009);
}

#[test]
fn a_line_one_byte_too_long_is_refused_however_it_is_split() {
    for end in [&b"\n"[..], b"\r\n", b"\r\r\n", b""] {
        let stream = [&[b'x'; 101][..], end].concat();
        let refused = (vec![], Err(DecodeError::LineTooLong(100)));
        for step in [1, 50, 100, 101, 102, 200] {
            assert_eq!(decode(Framing::Line, 100, stream.chunks(step)), refused);
        }
    }
}

#[test]
fn a_message_in_pieces_is_returned_without_a_copy_or_spare_capacity() {
    let mut stream = Vec::new();
    append_length(Width::Four, &vec![3; 1_000_000], &mut stream).unwrap();
    let mut decoder = Decoder::new(Framing::Length(Width::Four));
    let mut taken = None;
    for piece in stream.chunks(16 * 1024) {
        let mut input = piece;
        while let Some(message) = decoder.next(&mut input, LARGE).unwrap() {
            let Cow::Owned(bytes) = message else {
                panic!("a message in pieces is owned");
            };
            taken = Some(bytes);
        }
    }
    let bytes = taken.unwrap();
    assert_eq!((bytes.len(), bytes.capacity()), (1_000_000, 1_000_000));
    assert_eq!(decoder.held_bytes(), 0);
}
