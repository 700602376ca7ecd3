//! The limits, and that announced sizes allocate nothing.

use millrace_protocol::splice::{
    Call, CallError, ConnectParams, GivenError, GivenHeaders, Incoming, MAX_URL_BYTES, Method,
    ParamsError, Subprotocols, Target, decode_call,
};

use crate::{connect, problem, terminate};

/// The memory that params hold, without the struct itself.
fn held(params: &ConnectParams) -> usize {
    let headers = params.headers.iter().map(|(a, b)| a.len() + b.len() + 48);
    let subprotocols = params.subprotocols.iter().map(|name| name.len() + 24);
    params.url.capacity() + headers.sum::<usize>() + subprotocols.sum::<usize>()
}

#[test]
fn params_hold_at_most_the_bytes_received_and_their_limits() {
    for (headers, length) in [(0, 0), (1, 10), (64, 200), (10, 1600)] {
        let header = |at: usize| format!(r#""h{at:02}":"{}""#, "x".repeat(length));
        let headers = (0..headers).map(header).collect::<Vec<_>>().join(",");
        let url = "\\u0061".repeat(1000);
        let document =
            format!(r#"{{"method":"connect","params":{{"url":"{url}","headers":{{{headers}}}}}}}"#);
        let (_, params) = connect(&document);
        assert_eq!(params.url.len(), 1000);
        let held = held(&params);
        assert!(held <= 8 * document.len(), "{held} of {}", document.len());
        assert!(held <= 6 * MAX_URL_BYTES + (16 << 10) + 64 * 48, "{held}");
    }
}

#[test]
fn the_length_of_urls_and_reasons_is_bounded() {
    let url = |bytes: usize| {
        format!(
            r#"{{"id":7,"method":"connect","params":{{"url":"{}"}}}}"#,
            "a".repeat(bytes)
        )
    };
    assert_eq!(connect(&url(MAX_URL_BYTES)).1.url.len(), MAX_URL_BYTES);
    let too_long = ParamsError::Field("url", "shorter");
    assert_eq!(problem(&url(MAX_URL_BYTES + 1)), too_long);
    assert_eq!(problem(&url(1 << 20)), too_long);
    let escaped = url(0).replace("\"\"", &format!("\"{}\"", "\\u0061".repeat(MAX_URL_BYTES)));
    assert_eq!(connect(&escaped).1.url.len(), MAX_URL_BYTES);

    let reason = |text: &str| {
        format!(r#"{{"id":7,"method":"terminate","params":{{"index":0,"reason":"{text}"}}}}"#)
    };
    assert_eq!(terminate(&reason(&"a".repeat(123))).1.reason.len(), 123);
    let too_long = ParamsError::Field("reason", "shorter");
    assert_eq!(problem(&reason(&"a".repeat(124))), too_long);
    assert_eq!(problem(&reason(&"\u{e9}".repeat(62))), too_long);
    assert_eq!(terminate(&reason(&"\u{e9}".repeat(61))).1.reason.len(), 122);
}

#[test]
fn headers_are_bounded_in_number_and_bytes() {
    let mut headers = GivenHeaders::default();
    for at in 0..64 {
        headers.set(&format!("h{at}"), "x").unwrap();
    }
    assert_eq!(headers.set("one-more", ""), Err(GivenError::TooManyHeaders));
    headers.set("H63", "in the place of one").unwrap();
    assert_eq!(headers.iter().len(), 64);

    let mut headers = GivenHeaders::default();
    let longest = "x".repeat(16 * 1024 - 1);
    headers.set("a", &longest).unwrap();
    assert_eq!(headers.set("b", ""), Err(GivenError::TooManyHeaders));
    let longer = longest.clone() + "x";
    assert_eq!(headers.set("a", &longer), Err(GivenError::TooManyHeaders));
    assert_eq!(
        headers.get("a"),
        Some(&*longest),
        "a refused header changes nothing"
    );
    headers.set("A", "short").unwrap();
    headers.set("b", &"x".repeat(16 * 1024 - 7)).unwrap();

    for headers in [
        (0..65)
            .map(|at| format!(r#""h{at}":"""#))
            .collect::<Vec<_>>(),
        vec![format!(r#""a":"{}""#, "x".repeat(16 << 10))],
        vec![format!(r#""a":"{}""#, "x".repeat(1 << 20))],
        vec![format!(r#""{}":"""#, "x".repeat(1 << 20))],
    ] {
        let headers = headers.join(",");
        let document =
            format!(r#"{{"id":7,"method":"connect","params":{{"headers":{{{headers}}}}}}}"#);
        let refused = ParamsError::Given(GivenError::TooManyHeaders);
        assert_eq!(problem(&document), refused);
    }
}

#[test]
fn subprotocols_are_bounded_in_number_and_bytes() {
    let mut subprotocols = Subprotocols::default();
    for at in 0..64 {
        subprotocols.add(&format!("p{at}")).unwrap();
    }
    let refused = Err(GivenError::TooManySubprotocols);
    assert_eq!(subprotocols.add("one-more"), refused);
    let mut subprotocols = Subprotocols::default();
    subprotocols.add(&"x".repeat(16 << 10)).unwrap();
    assert_eq!(subprotocols.add("y"), refused);
    let document = format!(
        r#"{{"id":7,"method":"connect","params":{{"subprotocols":["{}"]}}}}"#,
        "x".repeat(1 << 20)
    );
    let refused = ParamsError::Given(GivenError::TooManySubprotocols);
    assert_eq!(problem(&document), refused);
}

#[test]
fn a_large_document_without_values_holds_no_memory() {
    let unknown = Call {
        id: 1,
        method: Method::Unknown,
    };
    let rest = "[0,\"\\u0061\",{}],".repeat(300_000);
    let document = format!(r#"{{"x":[{rest}0],"id":1}}"#);
    assert!(document.len() > 4 << 20);
    let seen = decode_call(document.as_bytes());
    assert_eq!(seen, Ok(Incoming::Call(unknown)));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| {
        let document = format!(
            r#"{{"x":{}{},"method":"x"}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        );
        decode_call(document.as_bytes())
    };
    assert!(nested(31).is_ok());
    assert_eq!(nested(32), Err(CallError::Unparsable));
    assert_eq!(nested(1_000_000), Err(CallError::Unparsable));
}

#[test]
fn a_path_is_at_most_three_times_as_long_as_its_url() {
    let url = format!("ws://a/{}", "\u{20ac}".repeat(2000));
    let target = Target::parse(&url).unwrap();
    assert_eq!(target.path().len(), 1 + 3 * 3 * 2000);
}
