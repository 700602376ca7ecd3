//! A request's head as the application sees it, and the check of its origin. Pure.

use std::net::IpAddr;

use hyper::header::{COOKIE, HOST, HeaderMap, HeaderValue, ORIGIN};
use smallvec::SmallVec;

use super::super::options::Origins;
use super::super::simple::SimpleRequest;
use super::super::{Asked, Exchange};

/// The head of a request that may become a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head<'r> {
    Parsed(&'r Asked),
    /// GET of a path, as it was sent. No trusted proxy has sent it.
    Split {
        target: &'r str,
        lines: &'r [Line<'r>],
    },
}

/// A header: its name, in any case, and its value.
pub(crate) type Line<'r> = (&'r [u8], &'r [u8]);

/// Splits a head into its lines; `None`: there are too many to compare each with the others.
pub(crate) fn split<'r>(request: &SimpleRequest<'r>) -> Option<SmallVec<[Line<'r>; USUAL_LINES]>> {
    let mut lines = SmallVec::new();
    for line in request.headers() {
        if lines.len() == MOST_LINES {
            return None;
        }
        lines.push(line);
    }
    Some(lines)
}

/// The values of all headers with this name.
fn values<'l, 'r>(
    lines: &'l [Line<'r>],
    name: &'l [u8],
) -> impl Iterator<Item = &'r [u8]> + use<'l, 'r> {
    let named = lines
        .iter()
        .filter(move |(known, _)| known.eq_ignore_ascii_case(name));
    named.map(|(_, value)| *value)
}

impl Head<'_> {
    /// Path and query.
    pub(super) fn target(&self) -> &str {
        match self {
            Self::Parsed(asked) => asked
                .uri()
                .path_and_query()
                .map_or("/", |target| target.as_str()),
            Self::Split { target, .. } => target,
        }
    }

    /// Address and port of the client.
    pub(super) fn client(&self, exchange: &Exchange) -> (Option<IpAddr>, u16) {
        match self {
            Self::Parsed(asked) => (
                exchange.client_address(asked.headers()),
                exchange.client_port(asked.headers()),
            ),
            Self::Split { .. } => (exchange.client.address, exchange.client.port),
        }
    }

    /// Headers as `name\0value\0…`: names are in lower case, repeated headers are joined, and values that are not
    /// visible ASCII are left out.
    pub(super) fn block(&self) -> Vec<u8> {
        match self {
            Self::Parsed(asked) => block_of(asked.headers()),
            Self::Split { lines, .. } => block_of_lines(lines),
        }
    }

    /// Whether a request from this origin may connect. Requests without `Origin` come from no browser and are allowed.
    pub(super) fn origin_allowed(&self, origins: &Origins) -> bool {
        match self {
            _ if *origins == Origins::Any => true,
            Self::Parsed(asked) => {
                let values = |name| {
                    asked
                        .headers()
                        .get_all(name)
                        .iter()
                        .map(HeaderValue::as_bytes)
                };
                origin_allowed(origins, values(ORIGIN), values(HOST).next())
            }
            Self::Split { lines, .. } => {
                let host = values(lines, b"host").next();
                origin_allowed(origins, values(lines, b"origin"), host)
            }
        }
    }
}

fn block_of(headers: &HeaderMap) -> Vec<u8> {
    let mut block = Vec::with_capacity(headers.len() * HEADER_BYTES);
    for name in headers.keys() {
        let values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
        append(name.as_str().as_bytes(), name == COOKIE, values, &mut block);
    }
    block
}

fn block_of_lines(lines: &[Line<'_>]) -> Vec<u8> {
    let mut block = Vec::with_capacity(lines.len() * HEADER_BYTES);
    let mut rest = lines;
    while let Some(((name, value), later)) = rest.split_first() {
        let before = lines.len() - rest.len();
        rest = later;
        let is_same = |line: &&Line<'_>| line.0.eq_ignore_ascii_case(name);
        if lines.iter().take(before).any(|line| is_same(&line)) {
            continue;
        }
        let more = later.iter().filter(is_same).map(|(_, value)| *value);
        let values = std::iter::once(*value).chain(more);
        let is_cookie = name.eq_ignore_ascii_case(b"cookie");
        append(name, is_cookie, values, &mut block);
    }
    block
}

/// Appends a header with its readable values, if it has any.
fn append<'v>(
    name: &[u8],
    is_cookie: bool,
    values: impl Iterator<Item = &'v [u8]>,
    block: &mut Vec<u8>,
) {
    let separator: &[u8] = if is_cookie { b"; " } else { b", " };
    let start = block.len();
    block.extend_from_slice(name);
    if let Some(name) = block.get_mut(start..) {
        name.make_ascii_lowercase();
    }
    block.push(0);
    let mut first = true;
    for value in values.filter(|value| is_readable(value)) {
        if !first {
            block.extend_from_slice(separator);
        }
        first = false;
        block.extend_from_slice(value);
    }
    if first {
        block.truncate(start);
    } else {
        block.push(0);
    }
}

/// Whether a value is visible ASCII. Has no branches, so that the compiler can vectorise it.
fn is_readable(value: &[u8]) -> bool {
    let is_bad = |byte: u8| !matches!(byte, b' '..=b'~') && byte != b'\t';
    !value.iter().fold(false, |bad, &byte| bad | is_bad(byte))
}

fn readable(value: &[u8]) -> Option<&str> {
    str::from_utf8(value).ok().filter(|_| is_readable(value))
}

fn origin_allowed<'v>(
    origins: &Origins,
    mut sent: impl Iterator<Item = &'v [u8]>,
    host: Option<&[u8]>,
) -> bool {
    let Some(origin) = sent.next() else {
        return true;
    };
    let (Some(origin), None) = (readable(origin), sent.next()) else {
        return false;
    };
    match origins {
        Origins::Any => true,
        Origins::List(list) => list
            .iter()
            .any(|allowed| allowed.trim_end_matches('/').eq_ignore_ascii_case(origin)),
        Origins::SameHost => host
            .and_then(readable)
            .is_some_and(|host| same_host(origin, host)),
    }
}

/// Compares host and port; a missing port is the default of the scheme.
fn same_host(origin: &str, host: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    let default = if scheme.eq_ignore_ascii_case("https") {
        "443"
    } else {
        "80"
    };
    let (origin_host, origin_port) = split_port(authority, default);
    let (host, port) = split_port(host, default);
    origin_host.eq_ignore_ascii_case(host) && origin_port == port
}

fn split_port<'a>(authority: &'a str, default: &'a str) -> (&'a str, &'a str) {
    match authority.rsplit_once(':') {
        Some((host, port))
            if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (host, port)
        }
        _ => (authority, default),
    }
}

/// The usual size of a header.
const HEADER_BYTES: usize = 32;

/// Header lines that need no memory of their own.
const USUAL_LINES: usize = 24;

/// The most header lines that are compared with each other.
const MOST_LINES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn headers(list: &[Line<'_>]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            map.append(
                HeaderName::from_bytes(name).unwrap(),
                HeaderValue::from_bytes(value).unwrap(),
            );
        }
        map
    }

    /// The block for these headers, which is the same for both kinds of heads.
    fn block(list: &[Line<'_>]) -> String {
        let block = block_of(&headers(list));
        assert_eq!(block_of_lines(list), block);
        String::from_utf8(block).unwrap()
    }

    #[test]
    fn repeated_headers_are_joined_and_unreadable_values_left_out() {
        let block = block(&[
            (b"A", b"1"),
            (b"Cookie", b"x=1"),
            (b"a", b"2"),
            (b"cookie", b"y=2"),
            (b"bad", b"\xff"),
            (b"Half", b"\xff"),
            (b"half", b""),
            (b"HALF", b"z\t"),
        ]);
        let parts: Vec<_> = block.split_terminator('\0').collect();
        assert_eq!(parts, ["a", "1, 2", "cookie", "x=1; y=2", "half", ", z\t"]);
    }

    #[test]
    fn a_head_with_too_many_lines_is_not_split() {
        let read = |count: usize| {
            let head = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(count));
            let request = SimpleRequest::read(head.as_bytes()).unwrap();
            split(&request).map(|lines| lines.len())
        };
        assert_eq!(read(0), Some(0));
        assert_eq!(read(MOST_LINES), Some(MOST_LINES));
        assert_eq!(read(MOST_LINES + 1), None);
    }

    #[test]
    fn origins_are_checked() {
        let allowed = |origins: &Origins, sent: &[&[u8]], host: &[u8]| {
            origin_allowed(origins, sent.iter().copied(), Some(host))
        };
        let same = |origin: &str, host: &str| {
            allowed(&Origins::SameHost, &[origin.as_bytes()], host.as_bytes())
        };
        assert!(same("http://a.example", "a.example"));
        assert!(same("http://A.example", "a.example:80"));
        assert!(same("https://a.example:443", "a.example"));
        assert!(same("http://[::1]:3000", "[::1]:3000"));
        assert!(!same("http://a.example", "a.example:3000"));
        assert!(!same("http://b.example", "a.example"));
        assert!(!same("http://a.example.evil", "a.example"));
        assert!(!same("null", "a.example"));
        let list = Origins::List(vec!["https://app.example".into()]);
        let listed = |sent: &[&[u8]]| allowed(&list, sent, b"x");
        assert!(listed(&[b"https://APP.example"]));
        assert!(!listed(&[b"https://app.example:8443"]));
        assert!(!listed(&[b"https://app.example", b"https://x"]));
        assert!(!listed(&[b"https://app.example\xff"]));
        assert!(listed(&[]));
        assert!(allowed(&Origins::Any, &[b"null"], b"x"));
    }
}
