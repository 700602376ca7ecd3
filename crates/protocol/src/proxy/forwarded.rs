//! `X-Forwarded-For` and `Forwarded` (RFC 7239). Each proxy adds the address from which it got the request, so only
//! what trusted proxies added counts. The list is read from the right, up to the first address that is not trusted.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Returns the client's address for a request from a trusted proxy. `forwarded` and `x_forwarded_for` are the values
/// of these headers in their order; `None` if they name no client. A client cannot choose the result by what it
/// writes into these headers.
pub fn client<'a>(
    forwarded: impl Iterator<Item = &'a [u8]>,
    x_forwarded_for: impl Iterator<Item = &'a [u8]>,
    trusts: impl Fn(IpAddr) -> bool,
) -> Option<IpAddr> {
    let standard: Vec<Option<IpAddr>> = forwarded.flat_map(elements).map(for_of).collect();
    let usual: Vec<Option<IpAddr>> = x_forwarded_for
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(|element| address(element.trim_ascii()))
        .collect();
    let nearest = |hops| nearest(hops, &trusts);
    match (standard.is_empty(), usual.is_empty()) {
        (true, _) => nearest(&usual),
        (_, true) => nearest(&standard),
        // a proxy writes one of the two headers and may pass the client's other one on unchanged
        (false, false) => nearest(&usual).filter(|one| nearest(&standard) == Some(*one)),
    }
}

/// Returns the address next to the trusted ones.
fn nearest(hops: &[Option<IpAddr>], trusts: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
    let mut known = None;
    for hop in hops.iter().rev() {
        // an element without an address hides the client behind it
        let Some(address) = *hop else { break };
        known = Some(address);
        if !trusts(address) {
            break;
        }
    }
    known
}

/// Splits a `Forwarded` value into its elements. Commas in quotes do not separate elements. An unclosed quote of the
/// client would swallow what the proxy adds, so such a value counts as one element without an address.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = if is_closed(value) { value } else { b"" };
    parts(whole, b',')
}

/// Splits at those separators that are not in a quoted string.
fn parts(bytes: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let mut quotes = Quotes::default();
        let end = bytes
            .iter()
            .position(|&byte| !quotes.hide(byte) && byte == separator);
        rest = end.and_then(|end| bytes.get(end + 1..));
        bytes.get(..end.unwrap_or(bytes.len()))
    })
}

fn is_closed(bytes: &[u8]) -> bool {
    let mut quotes = Quotes::default();
    for &byte in bytes {
        quotes.hide(byte);
    }
    !quotes.open
}

/// Tracks where quoted strings begin and end.
#[derive(Default)]
struct Quotes {
    open: bool,
    escaped: bool,
}

impl Quotes {
    /// Reads the next byte. Returns whether it is in a quoted string.
    fn hide(&mut self, byte: u8) -> bool {
        let inside = self.open;
        if self.escaped {
            self.escaped = false;
        } else if inside && byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.open = !inside;
        }
        inside
    }
}

/// Parses the address in an element's `for=`.
fn for_of(element: &[u8]) -> Option<IpAddr> {
    let value = parts(element, b';').find_map(|pair| {
        let (name, value) = pair.trim_ascii().split_at_checked(b"for=".len())?;
        name.eq_ignore_ascii_case(b"for=").then_some(value)
    })?;
    let unquoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    address(unquoted.unwrap_or(value))
}

/// Parses `192.0.2.7`, `192.0.2.7:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let found = text
        .parse::<IpAddr>()
        .ok()
        .or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    let found = found.or_else(|| {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    });
    found.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The client's address with 10.0.0.0/8 trusted, or an empty string.
    fn of(forwarded: &[&str], usual: &[&str]) -> String {
        let bytes = |list: &[&str]| {
            list.iter()
                .map(|text| text.as_bytes().to_vec())
                .collect::<Vec<_>>()
        };
        let (forwarded, usual) = (bytes(forwarded), bytes(usual));
        let found = client(
            forwarded.iter().map(Vec::as_slice),
            usual.iter().map(Vec::as_slice),
            |address| matches!(address, IpAddr::V4(v4) if v4.octets()[0] == 10),
        );
        found.map(|address| address.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_rightmost_untrusted_address_counts() {
        for (list, client) in [
            (&["192.0.2.7"][..], "192.0.2.7"),
            (&["1.1.1.1, 192.0.2.7"], "192.0.2.7"),
            (&["1.1.1.1, 192.0.2.7 ,10.0.0.2"], "192.0.2.7"),
            (&["1.1.1.1", "192.0.2.7", "10.0.0.2"], "192.0.2.7"),
            (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            (&["192.0.2.7:4711"], "192.0.2.7"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["::ffff:192.0.2.7"], "192.0.2.7"),
            (&[], ""),
        ] {
            assert_eq!(of(&[], list), client, "{list:?}");
        }
    }

    #[test]
    fn an_element_without_an_address_ends_the_search() {
        for list in [
            "1.1.1.1, unknown",
            "1.1.1.1,",
            "1.1.1.1, 300.1.1.1",
            "\u{fc}",
        ] {
            assert_eq!(of(&[], &[list]), "", "{list}");
        }
        assert_eq!(of(&[], &["1.1.1.1, unknown, 10.0.0.2"]), "10.0.0.2");
    }

    #[test]
    fn forwarded_follows_its_grammar() {
        for (value, client) in [
            ("for=192.0.2.7", "192.0.2.7"),
            ("For=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            (
                "for=1.1.1.1, for=192.0.2.7;proto=https;by=10.0.0.1",
                "192.0.2.7",
            ),
            ("proto=https ; for=192.0.2.7", "192.0.2.7"),
            ("for=192.0.2.7;by=\"a,for=1.1.1.1\"", "192.0.2.7"),
            ("for=192.0.2.7, for=10.0.0.2", "192.0.2.7"),
            ("for=\"_hidden\", for=10.0.0.2", "10.0.0.2"),
            ("for=unknown", ""),
            ("for=\"192.0.2.7", ""),
            // an unclosed quote that the client sent, and what two kinds of proxies may add
            ("for=1.1.1.1;by=\", for=192.0.2.7", ""),
            ("for=1.1.1.1;by=\", for=\"192.0.2.7\";by=\"10.0.0.1\"", ""),
            ("for=1.1.1.1;by=\"\\\", for=\"192.0.2.7\"", ""),
            ("by=1.1.1.1", ""),
            ("", ""),
        ] {
            assert_eq!(of(&[value], &[]), client, "{value}");
        }
    }

    #[test]
    fn a_header_that_the_proxy_did_not_write_is_ignored() {
        assert_eq!(of(&["for=1.1.1.1"], &["192.0.2.7"]), "");
        assert_eq!(of(&["for=192.0.2.7"], &["192.0.2.7"]), "192.0.2.7");
    }
}
