//! For each rule, a request that breaks it with the error that results, and requests that look similar but
//! are valid.

use millrace_protocol::http::Refusal::{
    BareLineFeed, BodyNotAllowed, BodyTooBig, ChunkEnd, ChunkExtension, ChunkSize, Encoding,
    EncodingUnknown, Expectation, Folded, HeadTooBig, HeaderName, HeaderValue, Host, HostMissing,
    HostRepeated, Length, LengthAndEncoding, LengthMissing, LengthRepeated, MethodSyntax,
    MethodUnknown, NoColon, RequestLine, Target, TargetTooLong, TooManyHeaders, Trailer,
    VersionSyntax, VersionUnknown,
};
use millrace_protocol::http::{InspectorConfig, Outcome, Refusal};

use crate::seen::{inspect, small};

fn outcome(config: &InspectorConfig, bytes: &[u8]) -> Outcome {
    inspect(config, [bytes]).outcome
}

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, refusal: Refusal) {
    let bytes = bytes.as_ref();
    assert_eq!(
        outcome(&small(), bytes),
        Outcome::Refused(refusal),
        "{}",
        bytes.escape_ascii()
    );
}

#[track_caller]
fn passed(bytes: impl AsRef<[u8]>) {
    let bytes = bytes.as_ref();
    let seen = inspect(&small(), [bytes]);
    assert_eq!(
        (seen.outcome, seen.passed.len()),
        (Outcome::More, bytes.len()),
        "{}",
        bytes.escape_ascii()
    );
}

fn get(lines: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: x\r\n{lines}\r\n")
}

fn post(lines: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: x\r\n{lines}\r\n{body}")
}

fn line(line: &str) -> String {
    format!("{line}\r\nHost: x\r\n\r\n")
}

#[test]
fn request_lines_are_checked() {
    for method in [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE",
    ] {
        passed(line(&format!("{method} / HTTP/1.1")));
    }
    passed(line("CONNECT example.com:443 HTTP/1.1"));
    passed(line("OPTIONS * HTTP/1.1"));
    passed(line("GET http://example.com/a HTTP/1.1"));
    passed(line("GET /a?b={c}|d HTTP/1.1"));
    passed(line("GET / HTTP/1.0"));
    passed(format!("\r\n{}", line("GET / HTTP/1.1")));
    refused(line("get / HTTP/1.1"), MethodUnknown);
    refused(line("BREW / HTTP/1.1"), MethodUnknown);
    refused(line("G@T / HTTP/1.1"), MethodSyntax);
    refused(b"\x16\x03\x01\x00\xc8\x01", MethodSyntax);
    refused(format!("\r\n\r\n{}", line("GET / HTTP/1.1")), MethodSyntax);
    for bad in [
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / HTTP/1.1 ",
        " GET / HTTP/1.1",
        "GET /",
        "GET",
    ] {
        let refusal = if bad == "GET" {
            MethodSyntax
        } else {
            RequestLine
        };
        refused(line(bad), refusal);
    }
    for target in [
        "/<a>",
        "/a\"",
        "/a#b",
        "/a\tb",
        "/\u{e9}",
        "/%zz",
        "/%4",
        "/{a}",
        "*",
        "a",
        "ftp://a/",
        "http://",
        "http://a@b/",
    ] {
        refused(line(&format!("GET {target} HTTP/1.1")), Target);
    }
    refused(line("CONNECT / HTTP/1.1"), Target);
    refused(line("CONNECT example.com HTTP/1.1"), Target);
    for version in [
        "HTTP/1",
        "HTTP/11",
        "http/1.1",
        "HTTP/1.1x",
        "HTTP/x.y",
        "HTTP 1.1",
    ] {
        let refusal = if version.contains(' ') {
            RequestLine
        } else {
            VersionSyntax
        };
        refused(line(&format!("GET / {version}")), refusal);
    }
    for version in ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/9.9"] {
        refused(line(&format!("GET / {version}")), VersionUnknown);
    }
}

#[test]
fn header_lines_are_checked() {
    passed(get(
        "a: b\r\nempty:\r\n`!#$%&'*+-.^_|~: x\r\nX:a\tb\r\ny: \u{e9}\r\n",
    ));
    refused("GET / HTTP/1.1\nHost: x\n\n", BareLineFeed);
    refused("GET / HTTP/1.1\r\nHost: x\n\r\n", BareLineFeed);
    refused(get(" folded: x\r\n"), Folded);
    refused(get("a: b\r\n\tc\r\n"), Folded);
    refused(get("nonsense\r\n"), NoColon);
    for name in ["", "a b", "a ", "a\0", "a(", "\u{e9}"] {
        refused(get(&format!("{name}: x\r\n")), HeaderName);
    }
    for value in ["a\0b", "a\rb", "\x1b", "\x7f"] {
        refused(get(&format!("a: {value}\r\n")), HeaderValue);
    }
}

#[test]
fn hosts_are_checked() {
    passed("GET / HTTP/1.0\r\n\r\n");
    passed("GET / HTTP/1.0\r\nHost:\r\n\r\n");
    for host in [
        "x",
        "example.com:8080",
        "[::1]:80",
        "[::1]",
        "127.0.0.1",
        "a_b",
        "x:",
    ] {
        passed(format!("GET / HTTP/1.1\r\nhOST: {host}\r\n\r\n"));
    }
    refused("GET / HTTP/1.1\r\n\r\n", HostMissing);
    refused("GET / HTTP/1.1\r\nHost:  \r\n\r\n", HostMissing);
    refused(get("Host: x\r\n"), HostRepeated);
    refused("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", HostRepeated);
    for host in ["a b", "a/b", "a@b", "a:b", "[::1", "[]", ":80", "a:1:2"] {
        refused(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), Host);
    }
}

#[test]
fn bodies_are_checked() {
    passed(post("Content-Length: 5\r\n", "hello"));
    passed(post("Content-Length: 0\r\n", ""));
    passed(post("", ""));
    passed(post(
        "Content-Length: 100\r\nExpect: 100-Continue\r\n",
        &"x".repeat(100),
    ));
    for length in ["", "-1", "+5", "5 5", "0x5", "5, 5", "five", "5;"] {
        refused(post(&format!("Content-Length: {length}\r\n"), ""), Length);
    }
    refused(
        post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
        LengthRepeated,
    );
    refused(
        post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
        LengthRepeated,
    );
    refused(post("Content-Length: 101\r\n", ""), BodyTooBig);
    refused(
        post("Content-Length: 99999999999999999999999\r\n", ""),
        BodyTooBig,
    );
    refused("POST / HTTP/1.0\r\n\r\n", LengthMissing);
    refused(post("Expect: 100-continue\r\n", ""), LengthMissing);
    refused(get("Expect: wonders\r\n"), Expectation);
    refused(
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        BodyNotAllowed,
    );
}

#[test]
fn encodings_are_checked() {
    passed(post("Transfer-Encoding: Chunked\r\n", "0\r\n\r\n"));
    refused(
        post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", ""),
        LengthAndEncoding,
    );
    refused(
        post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", ""),
        LengthAndEncoding,
    );
    for coding in [
        "gzip",
        "identity",
        "gzip, chunked",
        "chunked, gzip",
        "xchunked",
        "chunked;q=1",
    ] {
        let lines = format!("Transfer-Encoding: {coding}\r\n");
        refused(post(&lines, ""), EncodingUnknown);
    }
    refused(post("Transfer-Encoding:\r\n", ""), Encoding);
    refused(
        post("Transfer-Encoding: chunked, chunked\r\n", ""),
        Encoding,
    );
    refused(
        post(
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "",
        ),
        Encoding,
    );
    refused(
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        Encoding,
    );
}

#[test]
fn chunks_are_checked() {
    let chunked = |body: &str| post("Transfer-Encoding: chunked\r\n", body);
    for body in [
        "0\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "0005;name=\"a value\"\r\nhello\r\n00\r\n\r\n",
        "1\r\na\r\n1;x\r\nb\r\n0\r\nTrailer-Field: x\r\nother: y\r\n\r\n",
        "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
    ] {
        passed(chunked(body));
        passed(format!("{}{}", chunked(body), get("")));
    }
    for body in [
        "\r\n",
        "x\r\n",
        "5 \r\n",
        " 5\r\n",
        "5\n",
        "-5\r\n",
        "0x5\r\n",
        "5\r\r",
        ";\r\n",
        "00000000000000000\r\n",
    ] {
        refused(chunked(body), ChunkSize);
    }
    refused(chunked("5;a\nhello"), ChunkExtension);
    refused(chunked("5;a\0\r\nhello"), ChunkExtension);
    for body in [
        "5\r\nhello0\r\n",
        "5\r\nhelloo\r\n",
        "5\r\nhello\n0\r\n",
        "5\r\nhello\r0",
    ] {
        refused(chunked(body), ChunkEnd);
    }
    refused(chunked("65\r\n"), BodyTooBig);
    let many = "32\r\n".to_owned() + &"x".repeat(50) + "\r\n";
    refused(chunked(&format!("{many}{many}1\r\n")), BodyTooBig);
    refused(chunked("0\r\nContent-Length: 5\r\n\r\n"), Trailer);
    refused(chunked("0\r\nno colon\r\n\r\n"), NoColon);
    refused(chunked("0\r\na: b\n\r\n"), BareLineFeed);
    refused(chunked(&format!("0\r\na: {}", "b".repeat(300))), HeadTooBig);
    refused(
        chunked(&format!("0\r\n{}\r\n", "a: b\r\n".repeat(9))),
        TooManyHeaders,
    );
}

#[test]
fn limits_are_enforced() {
    passed(line(&format!("GET /{} HTTP/1.1", "p".repeat(39))));
    refused(
        line(&format!("GET /{} HTTP/1.1", "p".repeat(40))),
        TargetTooLong,
    );
    refused(format!("GET /{}", "p".repeat(40)), TargetTooLong);
    refused("A".repeat(300), TargetTooLong);
    let filled = |size: usize| {
        let fill = size - get("a: \r\n").len();
        get(&format!("a: {}\r\n", "b".repeat(fill)))
    };
    passed(filled(300));
    refused(filled(301), HeadTooBig);
    refused(&filled(400)[..300], HeadTooBig);
    passed(get(&"a: b\r\n".repeat(7)));
    refused(get(&"a: b\r\n".repeat(8)), TooManyHeaders);
}

#[test]
fn nothing_is_passed_on_after_an_upgrade() {
    let upgrade = get("Upgrade: h2c, WebSocket\r\nConnection: keep-alive, Upgrade\r\n");
    let stream = format!("{upgrade}\u{81}\u{85}frames");
    let seen = inspect(&small(), [stream.as_bytes()]);
    assert_eq!(seen.outcome, Outcome::Upgrade);
    assert_eq!(seen.passed, upgrade.as_bytes());
    for lines in [
        "Upgrade: websocket\r\n",
        "Upgrade: h2c\r\nConnection: upgrade\r\n",
        "Upgrade: websockets\r\nConnection: upgrade\r\n",
    ] {
        passed(format!("{}{}", get(lines), get("")));
    }
    passed("GET / HTTP/1.0\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n");
    passed(post(
        "Upgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 2\r\n",
        "hi",
    ));
}

#[test]
fn bytes_before_an_error_are_passed_on() {
    let first = post("Content-Length: 5\r\n", "hello");
    let seen = inspect(&small(), [format!("{first}GET / HTTP/1.1\n").as_bytes()]);
    assert_eq!(seen.outcome, Outcome::Refused(BareLineFeed));
    assert_eq!(
        (&seen.passed[..], seen.requests, seen.in_body),
        (first.as_bytes(), 1, false)
    );
    let chunked = post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n");
    let seen = inspect(&small(), [format!("{chunked}x").as_bytes()]);
    assert_eq!(
        (&seen.passed[..], seen.requests, seen.in_body),
        (chunked.as_bytes(), 1, true)
    );
}
