//! Requests that ask only for an answer or a WebSocket are recognised, and nothing else is; heads are inspected one by
//! one.

use millrace_protocol::http::{Asks, Inspector, InspectorConfig, NextHead, Refusal};

fn next(bytes: &[u8]) -> NextHead {
    Inspector::new().next_head(bytes, &InspectorConfig::default())
}

fn asks(head: &str) -> Asks {
    match next(head.as_bytes()) {
        NextHead::Whole { length, asks } => {
            assert_eq!(length, head.len(), "{head:?}");
            asks
        }
        other => panic!("{head:?}: {other:?}"),
    }
}

#[test]
fn a_get_of_a_path_is_simple() {
    for (head, closes) in [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", false),
        (
            "GET /a?b HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\nConnection: Keep-Alive\r\n\r\n",
            false,
        ),
        (
            "GET /a HTTP/1.1\r\nConnection: te, Close\r\nHost: x\r\n\r\n",
            true,
        ),
    ] {
        assert_eq!(asks(head), Asks::Answer { closes }, "{head:?}");
    }
}

#[test]
fn what_asks_for_more_is_not_simple() {
    for head in [
        "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
    ] {
        assert_eq!(asks(head), Asks::More, "{head:?}");
    }
}

#[test]
fn a_get_of_a_path_may_ask_for_a_web_socket() {
    let head = |line: &str, more: &str| {
        format!(
            "{line}\r\nHost: x\r\n{more}Upgrade: h2c, WebSocket\r\nConnection: te, Upgrade\r\n\r\n"
        )
    };
    for more in ["", "Connection: keep-alive\r\n", "Cookie: a=b\r\n"] {
        let head = head("GET /a?b HTTP/1.1", more);
        assert_eq!(asks(&head), Asks::WebSocket, "{head:?}");
    }
    for (line, more) in [
        ("POST / HTTP/1.1", ""),
        ("GET / HTTP/1.0", ""),
        ("GET http://x/ HTTP/1.1", ""),
        ("\r\nGET / HTTP/1.1", ""),
        ("GET / HTTP/1.1", "Connection: close\r\n"),
        ("GET / HTTP/1.1", "Content-Length: 0\r\n"),
        ("GET / HTTP/1.1", "Content-Length: 1\r\n"),
        ("GET / HTTP/1.1", "Transfer-Encoding: chunked\r\n"),
        (
            "GET / HTTP/1.1",
            "Content-Length: 0\r\nExpect: 100-continue\r\n",
        ),
    ] {
        let head = head(line, more);
        assert_eq!(asks(&head), Asks::More, "{head:?}");
    }
}

#[test]
fn heads_are_found_wherever_the_input_is_split() {
    let first = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    let both = [&first[..], b"GET /b HTTP/1.1\r\n\r\n"].concat();
    let config = InspectorConfig::default();
    for cut in 0..first.len() {
        let mut inspector = Inspector::new();
        let begun = inspector.next_head(&both[..cut], &config);
        assert_eq!(begun, NextHead::Unfinished, "{cut}");
        assert_eq!(inspector.requests(), 0);
        let whole = NextHead::Whole {
            length: first.len(),
            asks: Asks::Answer { closes: false },
        };
        assert_eq!(inspector.next_head(&both, &config), whole, "{cut}");
        assert_eq!(inspector.requests(), 1);
        // what follows was not looked at, and is invalid
        let refused = NextHead::Refused(Refusal::HostMissing);
        let rest = &both[first.len()..];
        assert_eq!(inspector.next_head(rest, &config), refused);
        assert_eq!(inspector.next_head(rest, &config), refused);
    }
}

#[test]
fn the_next_head_waits_for_the_end_of_a_body() {
    let mut inspector = Inspector::new();
    let config = InspectorConfig::default();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n";
    let whole = NextHead::Whole {
        length: head.len(),
        asks: Asks::More,
    };
    assert_eq!(inspector.next_head(head, &config), whole);
    assert_eq!(inspector.next_head(b"x", &config), NextHead::NotYet);
    assert_eq!(inspector.inspect(b"x", &config).passed, 1);
    assert_eq!(inspector.next_head(b"G", &config), NextHead::Unfinished);
}
