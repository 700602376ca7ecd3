//! The wire protocol of the splice multiplexer through its public API.

mod bounds;
mod chunks;
mod roundtrip;

use millrace_protocol::splice::{
    Call, CallError, ClosedName, ConnectParams, GivenError, GivenHeaders, Gone, Incoming, Method,
    ParamsError, Problem, TerminateParams, append_closed, append_connected, append_done,
    append_error, append_warning, decode_call,
};

/// Parses a document that is a valid `connect`.
fn connect(document: &str) -> (i64, ConnectParams) {
    match decode_call(document.as_bytes()) {
        Ok(Incoming::Call(Call {
            id,
            method: Method::Connect(params),
        })) => (id, params),
        other => panic!("{document}: {other:?}"),
    }
}

fn terminate(document: &str) -> (i64, TerminateParams) {
    match decode_call(document.as_bytes()) {
        Ok(Incoming::Call(Call {
            id,
            method: Method::Terminate(params),
        })) => (id, params),
        other => panic!("{document}: {other:?}"),
    }
}

/// The error in the params of a call with the id 7.
fn problem(document: &str) -> ParamsError {
    match decode_call(document.as_bytes()) {
        Err(CallError::Params { id: 7, problem }) => problem,
        other => panic!("{document}: {other:?}"),
    }
}

fn written(append: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = vec![b'x'];
    append(&mut out);
    let message = out.strip_prefix(b"x\xff\xff").expect("it is appended");
    String::from_utf8(message.to_vec()).expect("JSON is UTF-8")
}

#[test]
fn a_connect_has_all_its_params() {
    let (id, params) = connect(
        r#"{"id": 9, "type": "method", "method": "connect", "params": {
            "url": "wss://example.com/a?b", "headers": {"Origin": "https://a", "X-Nothing": ""},
            "subprotocols": ["v2.chat", "chat"], "timeout": 2500, "webSocket": true}}"#,
    );
    assert_eq!((id, &*params.url), (9, "wss://example.com/a?b"));
    let headers = params.headers.iter().collect::<Vec<_>>();
    assert_eq!(headers, [("Origin", "https://a"), ("X-Nothing", "")]);
    assert_eq!(params.headers.get("oRIGIN"), Some("https://a"));
    let subprotocols = params.subprotocols.iter().collect::<Vec<_>>();
    assert_eq!(subprotocols, ["v2.chat", "chat"]);
    assert!(params.subprotocols.contains("chat") && !params.subprotocols.contains("Chat"));
    assert_eq!((params.timeout, params.web_socket), (Some(2500), true));
}

#[test]
fn missing_null_and_unknown_params_are_ignored() {
    let least = ConnectParams {
        url: "ws://a".to_owned(),
        ..ConnectParams::default()
    };
    for document in [
        r#"{"method":"connect","params":{"url":"ws://a"}}"#,
        r#"{"params":{"url":"ws://a"},"method":"connect","type":null,"id":null}"#,
        r#"{"type":"anything","method":"connect","params":{"url":"ws://a","index":[],"x":{"url":1}},"more":[{}]}"#,
        r#"{"method":"connect","params":{"url":"ws://a","headers":null,"subprotocols":null,"timeout":null,"webSocket":null}}"#,
        r#"{"method":"connect","params":{"url":"ws://a","headers":{},"subprotocols":[],"timeout":0,"webSocket":false}}"#,
        r#"{"method":"connect","params":{"url":"ws://a","timeout":-5}}"#,
        r#"{"\u006dethod":"conn\u0065ct","params":{"\u0075rl":"ws:\/\/a"}}"#,
    ] {
        assert_eq!(connect(document), (0, least.clone()), "{document}");
    }
    let nothing = connect(r#"{"method":"connect","params":{}}"#);
    assert_eq!(nothing, (0, ConnectParams::default()), "an empty URL");
}

#[test]
fn the_last_of_several_members_with_one_name_counts() {
    let (id, params) = connect(
        r#"{"id":1,"method":"terminate","params":{"url":"ws://a"},"id":2,"method":"connect",
            "params":{"url":"ws://b","url":"ws://c","headers":{"a":"1","b":"2","A":"3"},"timeout":1,"timeout":2}}"#,
    );
    assert_eq!((id, &*params.url, params.timeout), (2, "ws://c", Some(2)));
    let headers = params.headers.iter().collect::<Vec<_>>();
    assert_eq!(headers, [("b", "2"), ("A", "3")]);
}

#[test]
fn a_terminate_has_an_index_code_and_reason() {
    let (id, params) = terminate(
        r#"{"id":-1,"method":"terminate","params":{"index":3,"code":4001,"reason":"caf\u00e9"}}"#,
    );
    let expected = TerminateParams {
        index: Some(3),
        code: Some(4001),
        reason: "caf\u{e9}".to_owned(),
    };
    assert_eq!((id, params), (-1, expected));
    for (index, expected) in [
        ("0", Some(0)),
        ("-0", Some(0)),
        ("65534", Some(65_534)),
        ("65535", None),
        ("65536", None),
        ("-1", None),
        ("-9223372036854775808", None),
        ("9223372036854775807", None),
    ] {
        let document =
            format!(r#"{{"method":"disconnect","params":{{"index":{index},"code":0}}}}"#);
        let (_, params) = terminate(&document);
        assert_eq!((params.index, params.code), (expected, None), "{index}");
        assert_eq!(params.reason, "");
    }
}

#[test]
fn ids_are_exact_integers() {
    for id in [0, 1, -1, 9_007_199_254_740_993, i64::MAX, i64::MIN] {
        let document = format!(r#"{{"id":{id},"method":"resolve"}}"#);
        let call = Call {
            id,
            method: Method::Unknown,
        };
        assert_eq!(decode_call(document.as_bytes()), Ok(Incoming::Call(call)));
    }
    for id in [
        "1.5",
        "1.0",
        "1e2",
        "9223372036854775808",
        "\"1\"",
        "true",
        "[]",
        "{}",
    ] {
        let document = format!(r#"{{"id":{id},"method":"connect","params":{{"url":"ws://a"}}}}"#);
        let seen = decode_call(document.as_bytes());
        assert_eq!(seen, Err(CallError::Unparsable), "{id}");
    }
}

#[test]
fn replies_and_unknown_methods_are_distinguished() {
    for document in [
        r#"{"id":1,"type":"reply","result":{"index":0}}"#,
        r#"{"type":"reply"}"#,
        r#"{"id":1,"type":"reply","method":"connect","params":7}"#,
    ] {
        assert_eq!(decode_call(document.as_bytes()), Ok(Incoming::Reply));
    }
    for document in [
        r"{}",
        r#"{"method":""}"#,
        r#"{"method":"Connect","params":7}"#,
        r#"{"method":"warn","type":"Reply"}"#,
        r#"{"type":"method","method":null}"#,
    ] {
        let call = Call {
            id: 0,
            method: Method::Unknown,
        };
        assert_eq!(decode_call(document.as_bytes()), Ok(Incoming::Call(call)));
    }
}

#[test]
fn an_invalid_call_has_no_id_for_a_reply() {
    for document in [
        "",
        "null",
        "[]",
        "1",
        "\"connect\"",
        "{",
        r#"{"id":1"#,
        r#"{"id":1,}"#,
        r#"{"id":1} {}"#,
        r#"{"id":1,"type":2}"#,
        r#"{"id":1,"method":["connect"]}"#,
        r"{'id':1}",
    ] {
        let seen = decode_call(document.as_bytes());
        assert_eq!(seen, Err(CallError::Unparsable), "{document}");
    }
    let broken = decode_call(b"{\"id\":1,\"method\":\"\xff\"}");
    assert_eq!(broken, Err(CallError::Unparsable));
}

#[test]
fn invalid_params_are_reported() {
    let of = |method: &str, params: &str| {
        problem(&format!(
            r#"{{"params":{params},"method":"{method}","id":7}}"#
        ))
    };
    for params in ["null", "[]", "1", "\"ws://a\""] {
        assert_eq!(of("connect", params), ParamsError::NoObject);
        assert_eq!(of("terminate", params), ParamsError::NoObject);
    }
    assert_eq!(
        problem(r#"{"id":7,"method":"connect"}"#),
        ParamsError::NoObject
    );
    for (field, value) in [
        ("url", "1"),
        ("url", "[\"ws://a\"]"),
        ("headers", "[]"),
        ("headers", "{\"a\":1}"),
        ("headers", "{\"a\":null}"),
        ("subprotocols", "\"chat\""),
        ("subprotocols", "[1]"),
        ("subprotocols", "[null]"),
        ("timeout", "\"1\""),
        ("timeout", "1.5"),
        ("webSocket", "1"),
    ] {
        let wrong = of("connect", &format!(r#"{{"{field}":{value}}}"#));
        assert!(
            matches!(wrong, ParamsError::Field(name, _) if name == field),
            "{field} {value}: {wrong}"
        );
    }
    for (field, params) in [
        ("index", "{}"),
        ("index", r#"{"index":"0"}"#),
        ("index", r#"{"index":0.5}"#),
        ("index", r#"{"index":9223372036854775808}"#),
        ("code", r#"{"index":0,"code":1006}"#),
        ("code", r#"{"index":0,"code":999}"#),
        ("code", r#"{"index":0,"code":5000}"#),
        ("code", r#"{"index":0,"code":-1}"#),
        ("code", r#"{"index":0,"code":"1000"}"#),
        ("reason", r#"{"index":0,"reason":1}"#),
    ] {
        let wrong = of("terminate", params);
        assert!(
            matches!(wrong, ParamsError::Field(name, _) if name == field),
            "{params}: {wrong}"
        );
    }
}

#[test]
fn headers_that_would_change_the_handshake_are_refused() {
    let given = |name: &str, value: &str| GivenHeaders::default().set(name, value);
    for name in [
        "Host",
        "host",
        "Connection",
        "UPGRADE",
        "Content-Length",
        "Transfer-Encoding",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Expect",
        "Proxy-Connection",
        "proxy-authorization",
        "HTTP2-Settings",
        "Sec-WebSocket-Key",
        "sec-websocket-version",
        "Sec-WebSocket-Protocol",
        "Sec-WebSocket-Extensions",
        "sec-websocket-",
    ] {
        assert_eq!(given(name, "a"), Err(GivenError::Reserved), "{name}");
    }
    for name in [
        "", " ", "a b", "a:", "a\r\n", "\u{e9}", "a\0", "(a)", "host ",
    ] {
        assert_eq!(given(name, "a"), Err(GivenError::HeaderName), "{name:?}");
    }
    for value in ["a\r\nHost: b", "\n", "a\r", "\0", "a\x7f", "a\x1b", "\r"] {
        assert_eq!(given("a", value), Err(GivenError::HeaderValue), "{value:?}");
    }
    let mut headers = GivenHeaders::default();
    for (name, value) in [
        ("Origin", "https://a"),
        ("User-Agent", "b"),
        ("Cookie", "c=d"),
        ("Authorization", " \te f \t"),
        ("X-\u{7e}", "a\tb \u{e9}\u{1f600}"),
    ] {
        headers.set(name, value).unwrap();
    }
    assert_eq!(headers.get("authorization"), Some("e f"));
    let refused = problem(
        r#"{"id":7,"method":"connect","params":{"url":"ws://a","headers":{"a":"b\r\nc: d"}}}"#,
    );
    assert_eq!(refused, ParamsError::Given(GivenError::HeaderValue));
    assert_eq!(
        refused.to_string(),
        "params.headers must not have control characters"
    );
}

#[test]
fn subprotocols_are_distinct_tokens() {
    let of = |list: &str| {
        problem(&format!(
            r#"{{"id":7,"method":"connect","params":{{"subprotocols":{list}}}}}"#
        ))
    };
    for list in [
        r#"[""]"#,
        r#"["a b"]"#,
        r#"["a,b"]"#,
        r#"["a\r\nb"]"#,
        r#"["\u00e9"]"#,
    ] {
        assert_eq!(of(list), ParamsError::Given(GivenError::Subprotocol));
    }
    let twice = ParamsError::Given(GivenError::Repeated);
    assert_eq!(of(r#"["a","b","a"]"#), twice);
}

#[test]
fn problems_have_the_numbers_and_texts_of_wsplice() {
    let codes = Problem::ALL.map(Problem::code);
    assert_eq!(codes, [4000, 4001, 4002, 4003, 4004, 4005, 4006, 4007]);
    let about_the_url = Problem::ALL.map(|one| one.path().is_some());
    assert_eq!(about_the_url[..5], [false; 5]);
    assert_eq!(about_the_url[5..], [true; 3]);
    let text = Problem::HostNotAllowed.text();
    assert_eq!(text, "You are not allowed to connect to that hostname");
}

#[test]
fn messages_are_json_after_the_control_index() {
    let reply = written(|out| append_connected(i64::MIN, 65_534, Some("a\"b"), out));
    let id = i64::MIN;
    assert_eq!(
        reply,
        format!(r#"{{"id":{id},"type":"reply","result":{{"index":65534,"protocol":"a\"b"}}}}"#)
    );
    let reply = written(|out| append_connected(1, 0, None, out));
    assert_eq!(reply, r#"{"id":1,"type":"reply","result":{"index":0}}"#);
    let reply = written(|out| append_done(2, out));
    assert_eq!(reply, r#"{"id":2,"type":"reply","result":{}}"#);
    let problem = Problem::UnknownMethod;
    let reply = written(|out| append_error(3, problem, problem.text(), out));
    assert_eq!(
        reply,
        r#"{"id":3,"type":"reply","error":{"code":4003,"message":"Unknown method name"}}"#
    );
    let event = written(|out| append_warning(Problem::InvalidUrl, "\u{1}\n", out));
    assert_eq!(
        event,
        r#"{"id":0,"type":"method","method":"warn","params":{"code":4005,"message":"\u0001\n"}}"#
    );
    let gone = Gone {
        index: 1,
        code: 1001,
        reason: "\u{e9}\\",
        unclean: true,
    };
    let event = written(|out| append_closed(ClosedName::OnSocketClosed, gone, out));
    let params = "{\"index\":1,\"code\":1001,\"reason\":\"\u{e9}\\\\\",\"message\":\"\u{e9}\\\\\",\"clean\":false}";
    assert_eq!(
        event,
        format!(r#"{{"id":0,"type":"method","method":"onSocketClosed","params":{params}}}"#)
    );
    let names = [ClosedName::OnSocketDisconnect, ClosedName::OnSocketClosed];
    assert_eq!(
        names.map(|name| ClosedName::parse(name.text())),
        names.map(Some)
    );
}
