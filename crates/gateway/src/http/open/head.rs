//! A request's head as the application sees it, and the check of its origin. Pure.

use hyper::header::{COOKIE, HOST, HeaderMap, ORIGIN};

use super::super::options::Origins;

/// Headers as `name\0value\0…`: names are in lower case, repeated headers are joined, and values that are not visible
/// ASCII are left out.
pub(super) fn header_block(headers: &HeaderMap) -> Vec<u8> {
    let mut block = Vec::with_capacity(headers.len() * 32);
    for name in headers.keys() {
        let separator: &[u8] = if name == COOKIE { b"; " } else { b", " };
        let start = block.len();
        block.extend_from_slice(name.as_str().as_bytes());
        block.push(0);
        let mut first = true;
        for value in headers
            .get_all(name)
            .iter()
            .filter(|value| value.to_str().is_ok())
        {
            if !first {
                block.extend_from_slice(separator);
            }
            first = false;
            block.extend_from_slice(value.as_bytes());
        }
        if first {
            block.truncate(start);
        } else {
            block.push(0);
        }
    }
    block
}

/// Whether a request from this origin may connect. Requests without `Origin` come from no browser and are allowed.
pub(super) fn origin_allowed(origins: &Origins, headers: &HeaderMap) -> bool {
    if *origins == Origins::Any {
        return true;
    }
    let mut sent = headers.get_all(ORIGIN).iter();
    let Some(origin) = sent.next() else {
        return true;
    };
    let (Ok(origin), None) = (origin.to_str(), sent.next()) else {
        return false;
    };
    match origins {
        Origins::Any => true,
        Origins::List(list) => list
            .iter()
            .any(|allowed| allowed.trim_end_matches('/').eq_ignore_ascii_case(origin)),
        Origins::SameHost => headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
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

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn headers(list: &[(&'static str, &[u8])]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_bytes(value).unwrap(),
            );
        }
        map
    }

    #[test]
    fn repeated_headers_are_joined_and_unreadable_values_left_out() {
        let map = headers(&[
            ("a", b"1"),
            ("cookie", b"x=1"),
            ("a", b"2"),
            ("cookie", b"y=2"),
            ("bad", b"\xff"),
        ]);
        let block = String::from_utf8(header_block(&map)).unwrap();
        let mut parts: Vec<_> = block.split_terminator('\0').collect();
        assert_eq!(parts.len(), 4);
        parts.sort_unstable();
        assert_eq!(parts, ["1, 2", "a", "cookie", "x=1; y=2"]);
    }

    #[test]
    fn origins_are_checked() {
        let of = |origin: &[u8], host: &[u8]| headers(&[("origin", origin), ("host", host)]);
        let same = |origin: &str, host: &str| {
            origin_allowed(&Origins::SameHost, &of(origin.as_bytes(), host.as_bytes()))
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
        assert!(origin_allowed(&list, &of(b"https://APP.example", b"x")));
        assert!(!origin_allowed(
            &list,
            &of(b"https://app.example:8443", b"x")
        ));
        assert!(!origin_allowed(
            &list,
            &headers(&[("origin", b"https://app.example"), ("origin", b"https://x")])
        ));
        assert!(origin_allowed(&list, &headers(&[])));
        assert!(origin_allowed(&Origins::Any, &of(b"null", b"x")));
    }
}
