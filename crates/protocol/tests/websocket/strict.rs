//! Each violation of RFC 6455, with the close code of the answer.

use millrace_protocol::websocket::{DecodeError, Opcode, append_close, append_masked_close};

use crate::seen::{Seen, client, decode, masked, server};

fn error_of(read: &[u8]) -> DecodeError {
    match decode(&server(1000), [read]).0.pop() {
        Some(Seen::Error(error)) => error,
        other => panic!("{read:x?} gave {other:?}"),
    }
}

fn each_gives(cases: &[(Vec<u8>, DecodeError)], code: u16) {
    for (read, expected) in cases {
        let error = error_of(read);
        assert_eq!(error, *expected);
        assert_eq!(error.close_code(), code, "{error}");
        assert!(!error.close_reason().is_empty() && error.close_reason().len() <= 123);
    }
}

#[test]
fn broken_frames_give_1002() {
    let cases = [
        (vec![0x81, 0x01, b'x'], DecodeError::Unmasked),
        (
            vec![0xc1, 0x80, 0, 0, 0, 0],
            DecodeError::ReservedBits(0xc1),
        ),
        (vec![0x84, 0x80, 0, 0, 0, 0], DecodeError::ReservedOpcode(4)),
        (
            masked(Opcode::Ping, false, b""),
            DecodeError::FragmentedControl,
        ),
        (vec![0x89, 0xfe, 0, 126], DecodeError::ControlTooLong(126)),
        (vec![0x82, 0xfe, 0, 125], DecodeError::LengthNotMinimal(125)),
        (
            vec![0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0],
            DecodeError::LengthOverflow(1 << 63),
        ),
    ];
    each_gives(&cases, 1002);
    let from_server = masked(Opcode::Text, true, b"x");
    assert_eq!(
        decode(&client(10), [&from_server[..]]).0,
        [Seen::Error(DecodeError::Masked)]
    );
}

#[test]
fn broken_fragmentation_gives_1002() {
    let begun = masked(Opcode::Text, false, b"x");
    let after = |second: Vec<u8>| [&begun[..], &second].concat();
    let finished = [
        after(masked(Opcode::Continuation, true, b"y")),
        masked(Opcode::Continuation, true, b"z"),
    ];
    let cases = [
        (
            masked(Opcode::Continuation, true, b"x"),
            DecodeError::StrayContinuation,
        ),
        (
            masked(Opcode::Continuation, false, b"x"),
            DecodeError::StrayContinuation,
        ),
        (finished.concat(), DecodeError::StrayContinuation),
        (
            after(masked(Opcode::Binary, true, b"x")),
            DecodeError::InterruptedMessage,
        ),
        (
            after(masked(Opcode::Text, false, b"x")),
            DecodeError::InterruptedMessage,
        ),
    ];
    each_gives(&cases, 1002);
}

#[test]
fn broken_contents_give_their_own_codes() {
    let close = |payload: &[u8]| masked(Opcode::Close, true, payload);
    let truncated = (close(b"\x03"), DecodeError::CloseTruncated);
    each_gives(
        &[
            truncated,
            (close(b"\x03\xee"), DecodeError::CloseCode(1006)),
        ],
        1002,
    );
    let text = (
        masked(Opcode::Text, true, b"\xff"),
        DecodeError::InvalidUtf8,
    );
    each_gives(
        &[text, (close(b"\x03\xe8\xc0\xaf"), DecodeError::CloseReason)],
        1007,
    );
    each_gives(
        &[(
            masked(Opcode::Text, true, &[b'x'; 1001]),
            DecodeError::MessageTooBig(1001),
        )],
        1009,
    );
}

#[test]
fn only_valid_close_codes_are_accepted() {
    for code in 0..=u16::MAX {
        let read = masked(Opcode::Close, true, &code.to_be_bytes());
        let valid = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
        let expected = if valid {
            Seen::Close(Some(code), String::new())
        } else {
            Seen::Error(DecodeError::CloseCode(code))
        };
        assert_eq!(decode(&server(0), [&read[..]]).0, [expected]);
    }
}

#[test]
fn nothing_comes_after_a_close() {
    let mut stream = Vec::new();
    append_masked_close(&mut stream, 1000, "d\u{e9}j\u{e0} vu", [1, 2, 3, 4]);
    stream.extend(masked(Opcode::Text, true, b"late"));
    stream.extend([0xff; 20]);
    let expected = vec![Seen::Close(Some(1000), "d\u{e9}j\u{e0} vu".to_owned())];
    assert_eq!(decode(&server(100), [&stream[..]]).0, expected);
    assert_eq!(decode(&server(100), [&stream[..], &stream]).0, expected);

    let mut empty = Vec::new();
    append_close(&mut empty, 1005, "ignored");
    assert_eq!(
        decode(&client(100), [&empty[..]]).0,
        [Seen::Close(None, String::new())]
    );
}

#[test]
fn nothing_comes_after_an_error() {
    let stream = [&[0x85, 0x80][..], &masked(Opcode::Text, true, b"late")].concat();
    let expected = vec![Seen::Error(DecodeError::ReservedOpcode(5))];
    assert_eq!(
        decode(&server(100), [&stream[..]]),
        (expected.clone(), 0, true)
    );
    assert_eq!(decode(&server(100), stream.chunks(1)), (expected, 0, true));
}

#[test]
fn the_longest_control_frames_are_accepted() {
    let payload: Vec<u8> = (0..125).collect();
    let mut reason = 4999u16.to_be_bytes().to_vec();
    reason.extend([b'r'; 123]);
    let stream = [
        masked(Opcode::Ping, true, &payload),
        masked(Opcode::Pong, true, &payload),
        masked(Opcode::Close, true, &reason),
    ];
    let expected = [
        Seen::Ping(payload.clone()),
        Seen::Pong(payload),
        Seen::Close(Some(4999), "r".repeat(123)),
    ];
    assert_eq!(decode(&server(0), [&stream.concat()[..]]).0, expected);
    assert_eq!(decode(&server(0), stream.concat().chunks(7)).0, expected);
}
