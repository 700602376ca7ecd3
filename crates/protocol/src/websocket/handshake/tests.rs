//! Requests that must be accepted, and one request for each reason to refuse.

use super::*;

const KEY_OF_THE_RFC: &[u8] = b"dGhlIHNhbXBsZSBub25jZQ==";

type Line = (&'static str, &'static [u8]);

/// A valid request in which `values` replace the lines of `name`.
fn with(name: &'static str, values: &[&'static [u8]]) -> Result<Offer<'static>, Refusal> {
    let good: [Line; 5] = [
        ("host", b"example.com"),
        ("upgrade", b"websocket"),
        ("connection", b"Upgrade"),
        ("sec-websocket-key", KEY_OF_THE_RFC),
        ("sec-websocket-version", b"13"),
    ];
    let mut lines: Vec<Line> = good.into_iter().filter(|(line, _)| *line != name).collect();
    lines.extend(values.iter().map(|value| (name, *value)));
    check(&RequestHead {
        get: true,
        http_1_1: true,
        headers: lines.leak(),
    })
}

#[test]
fn the_example_of_rfc_6455_section_1_3_is_accepted() {
    let offer = with("origin", &[b"http://example.com"]).unwrap();
    assert_eq!(
        offer,
        Offer {
            key: "dGhlIHNhbXBsZSBub25jZQ==",
            protocols: vec![],
            extensions: vec![]
        }
    );
    assert_eq!(accept_key(offer.key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[test]
fn upgrade_and_connection_are_lists_without_case() {
    assert!(with("upgrade", &[b"WebSocket"]).is_ok());
    assert!(with("upgrade", &[b"h2c", b"foo/1 ,\twebsocket"]).is_ok());
    assert!(with("connection", &[b"keep-alive, Upgrade"]).is_ok());
    assert!(with("connection", &[b"keep-alive", b",, UPGRADE "]).is_ok());
    for value in [&b"websocket/13"[..], b"web socket", b"", b","] {
        assert_eq!(with("upgrade", &[value]), Err(Refusal::NotUpgrade));
    }
    assert_eq!(with("upgrade", &[]), Err(Refusal::NotUpgrade));
    for value in [&b"keep-alive"[..], b"upgraded", b""] {
        assert_eq!(with("connection", &[value]), Err(Refusal::Connection));
    }
    assert_eq!(with("connection", &[]), Err(Refusal::Connection));
}

#[test]
fn names_may_have_any_case() {
    let lines: [(&[u8], &[u8]); 6] = [
        (b"HOST", b"example.com"),
        (b"upgrade", b"websocket"),
        (b"Connection", b"Upgrade"),
        (b"Sec-WebSocket-KEY", KEY_OF_THE_RFC),
        (b"Sec-WebSocket-Version", b"13"),
        (b"SEC-WebSocket-Protocol", b"chat"),
    ];
    let offer = check_get(lines.into_iter()).unwrap();
    assert_eq!(offer.protocols, ["chat"]);
    let repeated = lines.into_iter().chain([lines[0]]);
    assert_eq!(check_get(repeated), Err(Refusal::Host));
}

#[test]
fn other_methods_and_versions_are_refused() {
    let head = RequestHead {
        get: true,
        http_1_1: true,
        headers: &[],
    };
    assert_eq!(
        check(&head),
        Err(Refusal::NotUpgrade),
        "a GET without upgrade"
    );
    assert_eq!(
        check(&RequestHead { get: false, ..head }),
        Err(Refusal::Method)
    );
    let headers: &[(&str, &[u8])] = &[
        ("host", b"a"),
        ("upgrade", b"websocket"),
        ("connection", b"upgrade"),
    ];
    assert_eq!(
        check(&RequestHead {
            http_1_1: false,
            headers,
            ..head
        }),
        Err(Refusal::NotUpgrade)
    );
    for values in [
        &[&b"8"[..]][..],
        &[b"12"],
        &[b"013"],
        &[b"13, 8"],
        &[b""],
        &[b"13", b"13"],
        &[],
    ] {
        assert_eq!(with("sec-websocket-version", values), Err(Refusal::Version));
    }
    assert!(with("sec-websocket-version", &[b" 13\t"]).is_ok());
}

#[test]
fn exactly_one_host_is_required() {
    assert_eq!(with("host", &[]), Err(Refusal::Host));
    assert_eq!(with("host", &[b"a", b"a"]), Err(Refusal::Host));
}

#[test]
fn the_key_is_sixteen_bytes() {
    assert!(
        with("sec-websocket-key", &[b"AQIDBAUGBwgJCgsMDQ4PEC=="]).is_ok(),
        "the example of §4.1 is accepted"
    );
    assert_eq!(
        with("sec-websocket-key", &[b" AAAAAAAAAAAAAAAAAAAAAA== "])
            .unwrap()
            .key
            .len(),
        24
    );
    for key in [
        &b""[..],
        b"AAAAAAAAAAAAAAAAAAAAAA",
        b"AAAAAAAAAAAAAAAAAAAAAA=",
        b"AAAAAAAAAAAAAAAAAAAA",
        b"AAAAAAAAAAAAAAAAAAAAAAA=",
        b"AAAAAAAAAAAAAAAAAAAAAAAA",
        b"AAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        b"AAAAAAAAAA AAAAAAAAAAA==",
        b"AAAAAAAAAAAAAAAAAAAA-_==",
        b"AAAAAAAAAAAAAAAAAAAA\xff\xff==",
        b"AAAAAAAAAAAAAAAAAAAAAA==, AAAAAAAAAAAAAAAAAAAAAA==",
    ] {
        assert_eq!(
            with("sec-websocket-key", &[key]),
            Err(Refusal::Key),
            "{key:?}"
        );
    }
    assert_eq!(with("sec-websocket-key", &[]), Err(Refusal::Key));
    assert_eq!(
        with("sec-websocket-key", &[KEY_OF_THE_RFC, KEY_OF_THE_RFC]),
        Err(Refusal::Key)
    );
}

#[test]
fn subprotocols_are_distinct_tokens_in_order() {
    let offered = |values: &[&'static [u8]]| {
        with("sec-websocket-protocol", values).map(|offer| offer.protocols)
    };
    assert_eq!(offered(&[]), Ok(vec![]));
    assert_eq!(
        offered(&[b"superchat, chat"]),
        Ok(vec!["superchat", "chat"])
    );
    assert_eq!(
        offered(&[b"b,a", b"Chat,chat"]),
        Ok(vec!["b", "a", "Chat", "chat"])
    );
    for values in [
        &[&b"a, b, a"[..]][..],
        &[b"a", b"a"],
        &[b"a b"],
        &[b"a/1"],
        &[b"\xe9"],
        &[b""],
        &[b" , "],
    ] {
        assert_eq!(offered(values), Err(Refusal::Protocol), "{values:?}");
    }
}

#[test]
fn extensions_are_handed_on_raw() {
    let offer = with(
        "sec-websocket-extensions",
        &[b"permessage-deflate; client_max_window_bits", b"x"],
    )
    .unwrap();
    assert_eq!(
        offer.extensions,
        [&b"permessage-deflate; client_max_window_bits"[..], b"x"]
    );
}

#[test]
fn every_refusal_has_its_status() {
    for (refusal, status) in [
        (Refusal::Method, 405),
        (Refusal::NotUpgrade, 426),
        (Refusal::Version, 426),
        (Refusal::Host, 400),
        (Refusal::Connection, 400),
        (Refusal::Key, 400),
        (Refusal::Protocol, 400),
    ] {
        assert_eq!(refusal.status(), status);
    }
}

#[test]
fn tokens_are_recognised() {
    assert!(is_token(b"graphql-ws") && is_token(b"v1.0_~"));
    for bytes in [
        &b""[..],
        b"a b",
        b"a,b",
        b"\"a\"",
        b"a\x7f",
        b"\xe9",
        b"a/b",
        b"{}",
    ] {
        assert!(!is_token(bytes), "{bytes:?}");
    }
}
