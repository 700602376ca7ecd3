//! Bytes that are no request, and the words for them.

use crate::seen::{LIMITS, decode};

#[test]
fn errors_are_in_the_words_of_redis() {
    for (bytes, text) in [
        (&b"*a\r\n"[..], "Protocol error: invalid multibulk length"),
        (b"*\r\n", "Protocol error: invalid multibulk length"),
        (b"*1048577\r\n", "Protocol error: invalid multibulk length"),
        (b"*01\r\n", "Protocol error: invalid multibulk length"),
        (b"*1\r\n!4\r\n", "Protocol error: expected '$', got '!'"),
        (b"*1\r\n\r\n", r"Protocol error: expected '$', got '\r'"),
        (b"*1\r\n$-1\r\n", "Protocol error: invalid bulk length"),
        (b"*1\r\n$\r\n", "Protocol error: invalid bulk length"),
        (b"*1\r\n$4 \r\n", "Protocol error: invalid bulk length"),
        (
            b"get 'a\r\n",
            "Protocol error: unbalanced quotes in request",
        ),
    ] {
        let error = decode(&LIMITS, [bytes]).1.expect("an error");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_byte_is_told_as_it_came_and_shown_as_text() {
    let error = decode(&LIMITS, [&b"*1\r\n\xff\r\n"[..]])
        .1
        .expect("an error");
    assert_eq!(error.text(), b"Protocol error: expected '$', got '\xff'");
    assert_eq!(
        error.to_string(),
        r"Protocol error: expected '$', got '\xff'"
    );
    let error = decode(&LIMITS, [&b"*x\r\n"[..]]).1.expect("an error");
    assert_eq!(error.text(), error.to_string().as_bytes());
}

#[test]
fn what_came_before_is_still_given() {
    let (requests, error, _) = decode(&LIMITS, [&b"PING\r\n*1\r\n$4\r\nPING\r\n*x\r\n"[..]]);
    assert_eq!(requests, [[b"PING".to_vec()], [b"PING".to_vec()]]);
    assert!(error.is_some());
}
