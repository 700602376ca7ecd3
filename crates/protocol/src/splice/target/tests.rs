//! URLs that are parsed and URLs that are refused.

use super::*;

#[test]
fn urls_have_one_normal_form() {
    for (url, expected) in [
        ("ws://example.com", "ws://example.com/"),
        ("WSS://Example.COM:443/Path", "wss://example.com/Path"),
        ("ws://example.com:443/", "ws://example.com:443/"),
        ("ws://example.com:/", "ws://example.com/"),
        ("ws://example.com:0080/", "ws://example.com/"),
        ("ws://example.com?a=b?c", "ws://example.com/?a=b?c"),
        ("ws://example.com./a", "ws://example.com/a"),
        ("ws://127.0.0.1@example.com/", "ws://example.com/"),
        ("ws://a:b@c@example.com:81/", "ws://example.com:81/"),
        ("ws://@example.com/", "ws://example.com/"),
        (
            "ws://example.com/@127.0.0.1:1",
            "ws://example.com/@127.0.0.1:1",
        ),
        (
            "ws://example.com?@127.0.0.1",
            "ws://example.com/?@127.0.0.1",
        ),
        ("ws://127.1:9/", "ws://127.0.0.1:9/"),
        ("ws://2130706433", "ws://127.0.0.1/"),
        ("wss://[0::1]:444/", "wss://[::1]:444/"),
        ("wss://u:p@[::1]", "wss://[::1]/"),
        (
            "ws://a/b c\"<>`{}^'|",
            "ws://a/b%20c%22%3C%3E%60%7B%7D%5E'|",
        ),
        (
            "ws://a/?b c\"<>`{}^'|\\",
            "ws://a/?b%20c%22%3C%3E`{}^%27|\\",
        ),
        ("ws://a/%0d%0A%zz/../b//", "ws://a/%0d%0A%zz/../b//"),
        ("ws://a/\u{e9}?\u{20ac}", "ws://a/%C3%A9?%E2%82%AC"),
    ] {
        let target = Target::parse(url).unwrap_or_else(|_| panic!("{url}"));
        assert_eq!(target.to_string(), expected, "{url}");
        assert_eq!(Target::parse(expected).as_ref(), Ok(&target), "{url}");
    }
}

#[test]
fn other_urls_than_those_of_websockets_are_refused() {
    for url in [
        "",
        "ws",
        "ws:",
        "ws:/",
        "ws://",
        "ws:///",
        "ws:///a",
        "ws:////a",
        "ws:example.com",
        "ws:/example.com",
        "//example.com",
        "example.com",
        "http://example.com",
        "https://example.com",
        "ftp://example.com",
        "wsx://example.com",
        " ws://a",
        "ws ://a",
        "ws://a/#",
        "ws://a#b",
        "ws://a/?b#c",
        "ws://a:65536",
        "ws://a:0",
        "ws://a:-1",
        "ws://a:+80",
        "ws://a:8 0",
        "ws://a:b",
        "ws://a::80",
        "ws://a:80:80",
        "ws://a:80@",
        "ws://@",
        "ws://:80",
        "ws://a b/",
        "ws://a\\b",
        "ws:\\\\a",
        "ws://a/\\b",
        "ws://a\\@b",
        "ws://a/\r\nHost: b",
        "ws://a/\n",
        "ws://a\t/",
        "ws://a/\0",
        "ws://a/?\u{7f}",
        "ws://%61/",
        "ws://b\u{fc}cher/",
        "ws://[::1",
        "ws://::1/",
        "ws://[::1]80",
        "ws://[::1]a:80",
        "ws://a[::1]",
        "ws://[fe80::1%251]/",
        "ws://256.256.256.256/",
        "ws://1.2.3.4.5/",
        "ws://\u{3002}/",
        "ws://127.0.0.1\u{3002}com",
    ] {
        assert_eq!(Target::parse(url), Err(InvalidUrl), "{url:?}");
    }
}

#[test]
fn a_target_has_the_parts_that_a_handshake_needs() {
    let target = Target::parse("wss://user@[::1]:8443/a?b").unwrap();
    assert!(target.is_secure());
    assert_eq!(target.port(), 8443);
    assert_eq!(target.path(), "/a?b");
    assert_eq!(target.authority(), "[::1]:8443");
    assert_eq!(
        target.host().address(),
        Some(std::net::Ipv6Addr::LOCALHOST.into())
    );
    assert_eq!(target.host().name(), None);
    let target = Target::parse("wss://a").unwrap();
    assert_eq!(
        (target.host().name(), target.host().address()),
        (Some("a"), None)
    );
    assert_eq!((target.authority(), target.path()), ("a".to_owned(), "/"));
}

#[test]
fn the_length_of_a_url_is_bounded() {
    let url = |bytes: usize| format!("ws://a/{}", "\u{e9}".repeat((bytes - 7) / 2));
    let target = Target::parse(&url(MAX_URL_BYTES - 1)).unwrap();
    assert!(target.path().len() <= 3 * MAX_URL_BYTES);
    assert_eq!(Target::parse(&url(MAX_URL_BYTES + 1)), Err(InvalidUrl));
}

#[test]
fn targets_within_the_gateway_are_parsed() {
    for (url, path) in [
        ("millrace:/", "/"),
        ("MILLRACE:/chat?room=a b", "/chat?room=a%20b"),
        ("millrace:/a/../b", "/a/../b"),
    ] {
        assert_eq!(local_target(url), Some(Ok(path.to_owned())), "{url}");
    }
    for url in [
        "millrace:",
        "millrace:a",
        "millrace://a",
        "millrace:/a#",
        "millrace:/a\r\n",
        "millrace:/a\\b",
        "millrace:?a",
    ] {
        assert_eq!(local_target(url), Some(Err(InvalidUrl)), "{url}");
    }
    for url in ["", "/", "ws:/a", "millrace", " millrace:/"] {
        assert_eq!(local_target(url), None, "{url}");
    }
}
