//! Malformed messages: every kind of them is `bad`, with the id if that can be read.

use millrace_protocol::v1::{HEADER_BYTES, Id};

use crate::problem;

#[test]
fn what_is_no_object_in_json_is_bad() {
    for message in [
        &b""[..],
        b"\n",
        b"hello",
        b"\n{\"t\":\"ping\"}",
        b"null",
        b"[]",
        b"\"ping\"",
        b"{\"t\":\"ping\"",
        b"{\"t\":\"ping\"}}",
        b"{\"t\":\n\"ping\"}",
        b"{'t':'ping'}",
        b"{\"t\":\"ping\",\"x\":\"\xff\"}",
        b"\xef\xbb\xbf{\"t\":\"ping\"}",
    ] {
        let bad = problem(message);
        assert_eq!(
            (bad.id, bad.reason),
            (None, "the header is not an object in JSON")
        );
    }
    let deep = format!(
        "{{\"t\":\"ping\",\"x\":{}1{}}}",
        "[".repeat(40),
        "]".repeat(40)
    );
    assert_eq!(problem(deep.as_bytes()).id, None);
}

#[test]
fn a_long_header_is_bad_and_not_read() {
    let ping = |length: usize, behind: &str| {
        let header = format!("{{\"t\":\"ping\",\"x\":\"{}\"}}", "x".repeat(length - 19));
        assert_eq!(header.len(), length);
        header + behind
    };
    for behind in ["", "\n", "\npayload"] {
        let longest = ping(HEADER_BYTES, behind);
        assert!(
            millrace_protocol::v1::decode(longest.as_bytes()).is_ok(),
            "{behind}"
        );
        let bad = ping(HEADER_BYTES + 1, behind);
        assert_eq!(problem(bad.as_bytes()).reason, "the header is too long");
    }
}

#[test]
fn a_field_of_the_wrong_kind_is_bad_and_the_id_is_told() {
    let fields = r#""id":7,"c":"a","m":"b","code":"c","info":1"#;
    for (kind, wrong) in [
        ("sub", r#""c":1"#),
        ("sub", r#""c":"\ud800""#),
        ("sub", r#""c":"\udc00\ud800""#),
        ("sub", r#""c":null"#),
        ("sub", r#""cb":"YQ==""#),
        ("unsub", r#""c":null,"cb":"YQ""#),
        ("unsub", r#""c":null,"cb":"YQ==\n""#),
        ("unsub", r#""c":null,"cb":"Y Q==""#),
        ("unsub", r#""c":null,"cb":"-_==""#),
        ("unsub", r#""c":null,"cb":1"#),
        ("sub", r#""since":1"#),
        ("sub", r#""since":{}"#),
        ("sub", r#""since":{"e":"a"}"#),
        ("sub", r#""since":{"e":1,"o":1}"#),
        ("sub", r#""since":{"e":"a","o":"1"}"#),
        ("sub", r#""since":{"e":"a","o":1.5}"#),
        ("sub", r#""since":{"e":"a","o":-1}"#),
        ("sub", r#""since":{"e":"a","o":1e3}"#),
        ("sub", r#""since":{"e":"a","o":9007199254740992}"#),
        ("sub", r#""since":{"e":"a","o":1},"last":1"#),
        ("sub", r#""last":1.5"#),
        ("sub", r#""last":"1""#),
        ("pub", r#""key":1"#),
        (
            "pub",
            r#""key":"0123456789012345678901234567890123456789012345678901234567890123x""#,
        ),
        ("call", r#""m":1"#),
        ("call", r#""m":null"#),
        ("hist", r#""limit":0.5"#),
        ("hist", r#""limit":-1"#),
        ("hist", r#""limit":"1""#),
        ("hist", r#""reverse":1"#),
        ("pres", r#""after":1"#),
        ("pres", r#""limit":{}"#),
        ("info", r#""info":null"#),
        ("info", r#""info":"\ud800""#),
        ("sub", r#""info":{"\udc00":1}"#),
        ("sub", r#""info":[{"name":["a","\udc00\ud800"]}]"#),
        ("err", r#""code":1"#),
        ("err", r#""code":null"#),
        ("err", r#""reason":1"#),
        ("subscribe", r#""x":1"#),
        ("", r#""x":1"#),
    ] {
        let message = format!(r#"{{"t":"{kind}",{fields},{wrong}}}"#);
        assert_eq!(
            problem(message.as_bytes()).id,
            Some(Id::Number(7)),
            "{message}"
        );
    }
    for message in [
        r#"{"id":7}"#,
        r#"{"t":1,"id":7}"#,
        r#"{"t":["ping"],"id":7}"#,
    ] {
        assert_eq!(
            problem(message.as_bytes()).id,
            Some(Id::Number(7)),
            "{message}"
        );
    }
}

#[test]
fn an_id_is_a_whole_number_or_a_short_text() {
    let long = format!("\"{}\"", "\u{e9}".repeat(33));
    for id in [
        "1.5",
        "1.0",
        "1e2",
        "-1",
        "-0",
        "9007199254740992",
        "18446744073709551616",
        "true",
        "[]",
        "{}",
        r#""\ud800""#,
        &long,
        "null",
    ] {
        for kind in ["sub", "unsub", "call", "hist", "pres", "info", "ok", "err"] {
            let message =
                format!(r#"{{"t":"{kind}","id":{id},"c":"a","m":"b","info":1,"code":"c"}}"#);
            assert_eq!(problem(message.as_bytes()).id, None, "{message}");
        }
    }
    let message = r#"{"t":"pub","id":1.5,"c":"a"}"#;
    assert_eq!(problem(message.as_bytes()).id, None);
}
