//! The PROXY protocol through its public API: headers that the specification allows, however they are split, and
//! headers that it does not allow.

use std::net::SocketAddr;

use millrace_protocol::proxy::{Header, HeaderError, LONGEST, Source, parse};
use proptest::prelude::*;

/// A header of version 1.
fn v1(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    let (from_port, to_port) = (source.port(), destination.port());
    format!("PROXY {family} {from} {to} {from_port} {to_port}\r\n").into_bytes()
}

/// A header of version 2 with `more` after the addresses.
fn v2(source: SocketAddr, destination: SocketAddr, more: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let family = match (source, destination) {
        (SocketAddr::V4(source), SocketAddr::V4(destination)) => {
            body.extend(source.ip().octets());
            body.extend(destination.ip().octets());
            0x11
        }
        (SocketAddr::V6(source), SocketAddr::V6(destination)) => {
            body.extend(source.ip().octets());
            body.extend(destination.ip().octets());
            0x21
        }
        _ => panic!("both addresses have the same family"),
    };
    body.extend(source.port().to_be_bytes());
    body.extend(destination.port().to_be_bytes());
    body.extend(more);
    raw(0x21, family, &body)
}

fn raw(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([command, family]);
    bytes.extend(
        u16::try_from(body.len())
            .expect("the body is short")
            .to_be_bytes(),
    );
    bytes.extend(body);
    bytes
}

/// Two addresses of one family.
fn pairs() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = any::<([u8; 4], u16, [u8; 4], u16)>()
        .prop_map(|(a, b, c, d)| (SocketAddr::from((a, b)), SocketAddr::from((c, d))));
    let v6 = any::<([u8; 16], u16, [u8; 16], u16)>()
        .prop_map(|(a, b, c, d)| (SocketAddr::from((a, b)), SocketAddr::from((c, d))));
    prop_oneof![v4, v6]
}

/// Checks that every beginning of the header needs more bytes, and that bytes after the header change nothing.
fn is_read(bytes: &[u8], source: Source) {
    for end in 0..bytes.len() {
        assert_eq!(parse(&bytes[..end]), Ok(None), "{end} of {bytes:?}");
    }
    let length = bytes.len();
    let whole = Ok(Some(Header { length, source }));
    assert_eq!(parse(bytes), whole);
    assert_eq!(parse(&[bytes, b"\r\nPROXY "].concat()), whole);
}

proptest! {
    #[test]
    fn headers_of_proxies_are_parsed(
        (source, destination) in pairs(),
        more in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        is_read(&v1(source, destination), Source::Client(source));
        is_read(&v2(source, destination, &more), Source::Client(source));
    }

    #[test]
    fn the_number_of_bytes_waited_for_is_bounded(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for signature in [&b""[..], b"PROXY ", b"PROXY TCP4 ", b"\r\n\r\n\0\r\nQUIT\n", b"\r\n\r\n\0\r\nQUIT\n\x21\x11"] {
            let mut whole = [signature, &bytes].concat();
            match parse(&whole) {
                Ok(Some(header)) => prop_assert!(header.length <= whole.len()),
                Ok(None) => {
                    whole.resize(LONGEST, 0);
                    prop_assert!(!matches!(parse(&whole), Ok(None)));
                }
                Err(_) => {
                    // more bytes cannot make it valid
                    whole.extend_from_slice(b"\r\n");
                    prop_assert!(parse(&whole).is_err());
                }
            }
        }
    }
}

#[test]
fn a_header_need_not_name_a_client() {
    is_read(b"PROXY UNKNOWN\r\n", Source::Unknown);
    is_read(b"PROXY UNKNOWN ffff::1 whatever 1 2\r\n", Source::Unknown);
    is_read(&raw(0x21, 0x00, b""), Source::Unknown);
    is_read(&raw(0x21, 0x31, &[0; 216]), Source::Unknown);
    is_read(&raw(0x20, 0x00, b""), Source::Proxy);
    is_read(&raw(0x20, 0x11, &[7; 12]), Source::Proxy);
}

#[test]
fn the_longest_line_is_parsed() {
    let address = ["ffff"; 8].join(":");
    let line = format!("PROXY TCP6 {address} {address} 65535 65535\r\n");
    let source = format!("[{address}]:65535").parse().unwrap();
    is_read(line.as_bytes(), Source::Client(source));
    let padded = format!("PROXY UNKNOWN {}\r\n", "x".repeat(107 - 16));
    is_read(padded.as_bytes(), Source::Unknown);
}

#[test]
fn invalid_headers_are_refused() {
    for line in [
        "PROXY TCP4 192.0.2.7 192.0.2.1 5000\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 5000 443 x\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 5000 443 \r\n",
        "PROXY TCP4  192.0.2.7 192.0.2.1 5000 443\r\n",
        "PROXY TCP4 192.0.2.07 192.0.2.1 5000 443\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 05000 443\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 +5000 443\r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 5000 65536\r\n",
        "PROXY TCP4 2001:db8::1 2001:db8::2 5000 443\r\n",
        "PROXY TCP6 192.0.2.7 192.0.2.1 5000 443\r\n",
        "PROXY TCP6 [2001:db8::1] [2001:db8::2] 5000 443\r\n",
        "PROXY tcp4 192.0.2.7 192.0.2.1 5000 443\r\n",
        "PROXY UDP4 192.0.2.7 192.0.2.1 5000 443\r\n",
        "PROXY \r\n",
        "PROXY TCP4 192.0.2.7 192.0.2.1 5000 443\n\r\n",
    ] {
        let outcome = parse(line.as_bytes());
        assert!(matches!(outcome, Err(HeaderError::Malformed(_))), "{line}");
    }
    let endless = format!("PROXY UNKNOWN {}", "x".repeat(200));
    assert!(matches!(
        parse(endless.as_bytes()),
        Err(HeaderError::Malformed(_))
    ));
    for absent in [
        "GET / HTTP/1.1\r\n",
        "proxy TCP4 ",
        "PROXYTCP4",
        "\r\n\r\nGET",
    ] {
        assert_eq!(
            parse(absent.as_bytes()),
            Err(HeaderError::Absent),
            "{absent}"
        );
    }
    for bad in [
        raw(0x11, 0x11, &[0; 12]),
        raw(0x22, 0x11, &[0; 12]),
        raw(0x21, 0x12, &[0; 12]),
        raw(0x21, 0x41, &[0; 12]),
        raw(0x21, 0x11, &[0; 11]),
        raw(0x21, 0x21, &[0; 35]),
        raw(0x21, 0x31, &[0; 215]),
    ] {
        let outcome = parse(&bad);
        assert!(matches!(outcome, Err(HeaderError::Malformed(_))), "{bad:?}");
    }
    assert_eq!(
        parse(&raw(0x21, 0x11, &[0; 5000])),
        Err(HeaderError::TooLong)
    );
}
