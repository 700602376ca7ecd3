//! The addresses of trusted proxies. Pure.

use std::net::{IpAddr, Ipv6Addr};

use hyper::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue};
use millrace_protocol::proxy::forwarded;

/// See the module. Trusts no address by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    ranges: Vec<Range>,
    /// Whether every peer on a unix socket is trusted.
    unix: bool,
}

/// An entry that [`Trusted::parse`] does not understand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an address, a range of addresses, 'loopback', 'private' or 'unix'")]
pub struct TrustError(String);

/// The addresses that begin with these bits; IPv4 addresses are mapped to IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    bits: u128,
    mask: u128,
}

impl Trusted {
    /// Parses addresses, ranges (`10.0.0.0/8`), and the names `loopback`, `private` and `unix`.
    pub fn parse<T: AsRef<str>>(list: impl IntoIterator<Item = T>) -> Result<Self, TrustError> {
        let mut trusted = Self::default();
        for text in list {
            let text = text.as_ref();
            let names: &[&str] = match text {
                "unix" => {
                    trusted.unix = true;
                    continue;
                }
                "loopback" => &["127.0.0.0/8", "::1"],
                "private" => &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
                _ => &[text],
            };
            for name in names {
                let range = Range::parse(name).ok_or_else(|| TrustError(text.to_owned()))?;
                trusted.ranges.push(range);
            }
        }
        Ok(trusted)
    }

    /// Whether a peer is trusted; `None` is a peer on a unix socket.
    pub(crate) fn has(&self, peer: Option<IpAddr>) -> bool {
        match peer {
            None => self.unix,
            Some(address) => self.ranges.iter().any(|range| range.has(address)),
        }
    }

    /// The address of the client: the peer's, or that of the client that a trusted peer forwards for.
    pub(crate) fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.has(peer) {
            return peer;
        }
        let values = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
        let trusts = |address| self.has(Some(address));
        forwarded::client(values(FORWARDED), values(X_FORWARDED_FOR), trusts).or(peer)
    }
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            Some(_) => return None,
        };
        let free = u32::checked_sub(most, length)?;
        let mask = u128::MAX.checked_shl(free).unwrap_or(0);
        Some(Self {
            bits: bits(address) & mask,
            mask,
        })
    }

    fn has(&self, address: IpAddr) -> bool {
        bits(address) & self.mask == self.bits
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => Ipv6Addr::to_bits(v6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(list: &[&str], address: &str) -> bool {
        let trusted = Trusted::parse(list).unwrap();
        trusted.has(Some(address.parse().unwrap()))
    }

    #[test]
    fn ranges_have_their_addresses_and_no_others() {
        assert!(has(&["10.0.0.0/8"], "10.255.0.1"));
        assert!(!has(&["10.0.0.0/8"], "11.0.0.0"));
        assert!(has(&["192.0.2.7"], "192.0.2.7"));
        assert!(!has(&["192.0.2.7"], "192.0.2.6"));
        assert!(has(&["192.0.2.77/24"], "192.0.2.1"));
        assert!(has(&["2001:db8::/32"], "2001:db8:ffff::1"));
        assert!(!has(&["2001:db8::/32"], "2001:db9::"));
        assert!(has(&["0.0.0.0/0"], "203.0.113.1"));
        assert!(!has(&["0.0.0.0/0"], "2001:db8::1"));
        assert!(has(&["::/0"], "2001:db8::1"));
        assert!(has(&["::ffff:192.0.2.0/120"], "192.0.2.9"));
        assert!(has(&["loopback"], "127.8.8.8") && has(&["loopback"], "::1"));
        assert!(has(&["private"], "172.31.0.1") && !has(&["private"], "172.32.0.1"));
        assert!(!has(&[], "127.0.0.1"));
    }

    #[test]
    fn peers_on_a_unix_socket_are_trusted_if_the_list_says_so() {
        assert!(Trusted::parse(["unix"]).unwrap().has(None));
        assert!(!Trusted::parse(["::/0"]).unwrap().has(None));
    }

    #[test]
    fn invalid_ranges_are_refused() {
        for text in [
            "",
            "localhost",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0/8",
            "::/129",
            "[::1]",
            "10.0.0.1:80",
        ] {
            assert_eq!(Trusted::parse([text]), Err(TrustError(text.to_owned())));
        }
    }

    #[test]
    fn requests_through_a_trusted_proxy_are_their_clients() {
        let trusted = Trusted::parse(["loopback"]).unwrap();
        let headers: HeaderMap = [(X_FORWARDED_FOR, "1.1.1.1, 192.0.2.7".parse().unwrap())]
            .into_iter()
            .collect();
        let ip = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        assert_eq!(trusted.client(ip("127.0.0.1"), &headers), ip("192.0.2.7"));
        assert_eq!(trusted.client(ip("192.0.2.1"), &headers), ip("192.0.2.1"));
        assert_eq!(trusted.client(ip("::1"), &HeaderMap::new()), ip("::1"));
        assert_eq!(trusted.client(None, &headers), None);
    }
}
