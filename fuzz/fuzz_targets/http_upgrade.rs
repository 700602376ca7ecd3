//! No request head makes the handshake checks panic, and every accepted head conforms to RFC 6455.
#![no_main]

use std::collections::HashSet;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use millrace_protocol::websocket::handshake::{RequestHead, accept_key, check, is_token};

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    get: bool,
    http_1_1: bool,
    /// The lines of a valid request to omit, one bit for each.
    missing: u8,
    lines: Vec<(Name, &'a [u8])>,
}

#[derive(Debug, Clone, Copy, PartialEq, Arbitrary)]
enum Name {
    Host,
    Upgrade,
    Connection,
    Version,
    Key,
    Protocol,
    Extensions,
    Other,
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Upgrade => "upgrade",
            Self::Connection => "connection",
            Self::Version => "sec-websocket-version",
            Self::Key => "sec-websocket-key",
            Self::Protocol => "sec-websocket-protocol",
            Self::Extensions => "sec-websocket-extensions",
            Self::Other => "origin",
        }
    }
}

const GOOD: [(Name, &[u8]); 5] = [
    (Name::Host, b"example.com"),
    (Name::Upgrade, b"websocket"),
    (Name::Connection, b"Upgrade"),
    (Name::Version, b"13"),
    (Name::Key, b"dGhlIHNhbXBsZSBub25jZQ=="),
];

fuzz_target!(|case: Case<'_>| {
    let good = GOOD
        .into_iter()
        .enumerate()
        .filter(|(index, _)| case.missing & (1 << index) == 0);
    let lines: Vec<(Name, &[u8])> = good
        .map(|(_, line)| line)
        .chain(case.lines.iter().copied())
        .collect();
    let headers: Vec<(&str, &[u8])> = lines
        .iter()
        .map(|(name, value)| (name.text(), *value))
        .collect();
    let head = RequestHead {
        get: case.get,
        http_1_1: case.http_1_1,
        headers: &headers,
    };
    let count = |name| lines.iter().filter(|(line, _)| *line == name).count();

    match check(&head) {
        Err(refusal) => {
            assert!(matches!(refusal.status(), 400 | 405 | 426));
            assert!(
                case.missing & 0x1f != 0 || !case.get || !case.http_1_1 || !case.lines.is_empty()
            );
        }
        Ok(offer) => {
            assert!(case.get && case.http_1_1);
            assert_eq!([Name::Host, Name::Version, Name::Key].map(count), [1; 3]);
            assert!(count(Name::Upgrade) > 0 && count(Name::Connection) > 0);
            assert_eq!(offer.key.len(), 24);
            assert_eq!(accept_key(offer.key).len(), 28);
            assert!(offer.protocols.iter().all(|name| is_token(name.as_bytes())));
            assert_eq!(
                offer.protocols.iter().collect::<HashSet<_>>().len(),
                offer.protocols.len()
            );
            assert_eq!(offer.protocols.is_empty(), count(Name::Protocol) == 0);
            assert_eq!(offer.extensions.len(), count(Name::Extensions));
        }
    }
});
