//! Invalid requests, and the texts of the errors.

use crate::seen::{LIMITS, decode};

#[test]
fn errors_have_the_texts_of_redis() {
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
fn an_unexpected_byte_is_sent_unchanged_and_displayed_escaped() {
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
fn requests_before_an_error_are_returned() {
    let (requests, error, _) = decode(&LIMITS, [&b"PING\r\n*1\r\n$4\r\nPING\r\n*x\r\n"[..]]);
    assert_eq!(requests, [[b"PING".to_vec()], [b"PING".to_vec()]]);
    assert!(error.is_some());
}
