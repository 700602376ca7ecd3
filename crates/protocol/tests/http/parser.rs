//! Every request that the inspector accepts is also valid for the parser after it, with the same length. A
//! difference between the two would allow request smuggling.

use httparse::{EMPTY_HEADER, Request, Status};
use millrace_protocol::http::{
    Asks, Inspector, InspectorConfig, NextHead, Outcome, head_lines, lists,
};
use proptest::prelude::*;

use crate::seen::inspect;

/// The first head that was passed on, as the other parser sees it: its length, and the length of its body,
/// which is `None` for a chunked one.
fn parsed(bytes: &[u8]) -> (usize, Option<u64>) {
    let mut headers = [EMPTY_HEADER; 100];
    let mut request = Request::new(&mut headers);
    let Status::Complete(size) = request.parse(bytes).unwrap() else {
        panic!("incomplete: {}", bytes.escape_ascii())
    };
    let values = |name: &str| -> Vec<&[u8]> {
        let headers = request.headers.iter();
        let named = headers.filter(|header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value).collect()
    };
    let body = match (
        &values("transfer-encoding")[..],
        &values("content-length")[..],
    ) {
        ([], []) => Some(0),
        ([], [length]) => Some(str::from_utf8(length).unwrap().parse().unwrap()),
        ([coding], []) => {
            assert!(coding.eq_ignore_ascii_case(b"chunked"));
            None
        }
        both => panic!("the body has two lengths: {both:?}"),
    };
    (size, body)
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Za-z-]{1,12}: [ -~\t]{0,20}",
        2 => "(Content-Length|content-length)[ ]?:[ \t]?[0-9]{1,2}[ \t]?",
        2 => "Transfer-Encoding: (chunked|gzip|chunked, chunked|\tchunked )",
        1 => "Host: [a-z:0-9.]{0,8}",
        1 => "[ -~\t\r]{0,20}",
        1 => "(Connection|Expect|Upgrade): (upgrade|100-continue|websocket|close)",
    ]
}

fn head() -> impl Strategy<Value = String> {
    let method = prop_oneof![6 => "(GET|POST|HEAD|CONNECT)", 1 => "[A-Z]{1,5}"];
    let target = prop_oneof![6 => "/[a-z%0-9?{}]{0,8}", 1 => "[ -~]{1,8}"];
    let version = prop_oneof![8 => "HTTP/1\\.[01]", 1 => "[A-Z/0-9.]{6,9}"];
    let end = prop_oneof![12 => Just("\r\n"), 1 => Just("\n")];
    let host = prop_oneof![6 => Just("Host: x\r\n"), 1 => Just("")];
    (
        method,
        target,
        version,
        host,
        prop::collection::vec(line(), 0..4),
        end,
    )
        .prop_map(|(method, target, version, host, lines, end)| {
            let begin = format!("{method} {target} {version}{end}{host}");
            lines
                .into_iter()
                .fold(begin, |head, line| head + &line + "\r\n")
                + "\r\n"
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_parser_accepts_every_accepted_head(head in head(), body in "[0-9a-z\r\n]{0,40}") {
        let stream = format!("{head}{body}");
        let seen = inspect(&InspectorConfig::default(), [stream.as_bytes()]);
        if seen.requests == 0 {
            return Ok(());
        }
        let (size, length) = parsed(&seen.passed);
        if let Some(length) = length {
            let rest = stream.len() - size;
            let whole = usize::try_from(length).unwrap() <= rest;
            prop_assert!(seen.requests > 1 || !whole || !seen.in_body);
            if !whole {
                prop_assert_eq!(seen.passed.len(), stream.len());
                prop_assert!(seen.in_body);
            }
            let end = size + usize::try_from(length).unwrap().min(rest);
            prop_assert!(seen.passed.len() >= end);
        } else {
            prop_assert!(seen.passed.len() >= size);
            prop_assert!(seen.outcome != Outcome::Upgrade || seen.requests > 1);
        }
    }

    /// Requests for an answer or a WebSocket are not parsed a second time, so what is read of one has to be what the parser
    /// reads.
    #[test]
    fn a_request_without_a_body_reads_as_the_parser_reads_it(head in head()) {
        let config = InspectorConfig::default();
        let next = Inspector::new().next_head(head.as_bytes(), &config);
        let (length, asks) = match next {
            NextHead::Whole { length, asks } if asks != Asks::More => (length, asks),
            _ => return Ok(()),
        };
        let head = &head.as_bytes()[..length];
        let mut headers = [EMPTY_HEADER; 100];
        let mut request = Request::new(&mut headers);
        prop_assert_eq!(request.parse(head).unwrap(), Status::Complete(length));
        prop_assert_eq!((request.method, request.version), (Some("GET"), Some(1)));
        let (target, lines) = head_lines::target(head).unwrap();
        prop_assert_eq!(request.path.map(str::as_bytes), Some(target));
        let parsed = request.headers.iter().map(|header| (header.name.as_bytes(), header.value));
        prop_assert_eq!(lines.collect::<Vec<_>>(), parsed.collect::<Vec<_>>());
        let says = |name: &str, token| request.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case(name) && lists(header.value, token)
        });
        match asks {
            Asks::Answer { closes } => prop_assert_eq!(closes, says("connection", b"close")),
            _ => prop_assert!(says("connection", b"upgrade") && says("upgrade", b"websocket")),
        }
    }
}
