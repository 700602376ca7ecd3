//! Hosts of URLs, parsed by the URL standard: a host that ends in a number is an IPv4 address in any notation, or
//! invalid. So no text that a resolver would take for an address passes as a name.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host in its normal form, in which hosts are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name: lower case, ASCII, without a dot at its end.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
}

/// The host is invalid. Internationalised names must be given in their DNS form (`xn--…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a host")]
pub struct InvalidHost;

impl Host {
    /// Parses a host as written in a URL. An IPv6 address must be in brackets.
    ///
    /// # Example
    ///
    /// ```
    /// use millrace_protocol::splice::Host;
    ///
    /// assert_eq!(Host::parse("Example.COM.")?, Host::Name("example.com".to_owned()));
    /// assert_eq!(Host::parse("0x7f.1")?, Host::V4([127, 0, 0, 1].into()));
    /// assert!(Host::parse("256.0.0.1").is_err());
    /// # Ok::<(), millrace_protocol::splice::InvalidHost>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, InvalidHost> {
        if let Some(rest) = text.strip_prefix('[') {
            let inner = rest.strip_suffix(']').ok_or(InvalidHost)?;
            return inner.parse().map(Self::V6).map_err(|_| InvalidHost);
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if ends_in_number(name) {
            return ipv4(name).map(Self::V4).ok_or(InvalidHost);
        }
        let is_name = name.len() <= MOST_NAME_BYTES && name.split('.').all(is_label);
        is_name
            .then(|| Self::Name(name.to_ascii_lowercase()))
            .ok_or(InvalidHost)
    }

    /// The address, if the host is an address.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Name(_) => None,
            Self::V4(address) => Some(IpAddr::V4(*address)),
            Self::V6(address) => Some(IpAddr::V6(*address)),
        }
    }

    /// The name, if the host is a name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::V4(_) | Self::V6(_) => None,
        }
    }
}

/// Writes the host as in a URL.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(address) => write!(f, "{address}"),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

/// The limit of RFC 1035 §2.3.4, without the leading length and the root.
const MOST_NAME_BYTES: usize = 253;

/// Whether a label is valid. Underscores are not allowed in host names, but are common in names that are resolved.
fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The check "ends in a number" of the URL standard. Such a host is an IPv4 address or invalid.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_decimal = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal || number(last).is_some()
}

/// Parses one to four numbers. The last one gives all remaining bytes.
fn ipv4(name: &str) -> Option<Ipv4Addr> {
    let mut parts = name.split('.').collect::<Vec<_>>();
    let last = parts.pop()?;
    let missing = 4_usize.checked_sub(parts.len())?;
    let mut address = 0_u64;
    for part in parts {
        let byte = number(part).filter(|byte| *byte <= 255)?;
        address = address << 8 | byte;
    }
    let bits = 8 * u32::try_from(missing).ok()?;
    let last = number(last).filter(|last| last.checked_shr(bits).unwrap_or(0) == 0)?;
    let address = address << bits | last;
    u32::try_from(address).ok().map(Ipv4Addr::from_bits)
}

/// Parses a number: decimal, octal after `0`, hexadecimal after `0x`. Nothing after `0x` means 0.
fn number(part: &str) -> Option<u64> {
    let hexadecimal = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
    let (digits, radix) = match (hexadecimal, part.strip_prefix('0')) {
        (Some(""), _) => return Some(0),
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        (None, _) => (part, 10),
    };
    let are_digits = digits.chars().all(|digit| digit.is_digit(radix));
    if digits.is_empty() || !are_digits {
        return None;
    }
    // an overflowing number is valid here, and too large for an address
    Some(u64::from_str_radix(digits, radix).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(text: &str) -> Option<String> {
        match Host::parse(text) {
            Ok(Host::V4(address)) => Some(address.to_string()),
            Ok(other) => panic!("{text} is {other:?}"),
            Err(InvalidHost) => None,
        }
    }

    #[test]
    fn every_way_to_write_an_ipv4_address_is_that_address() {
        for text in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f.1",
            "0X7F.0.0.1",
            "0x7f000001",
            "0177.0.0.1",
            "0177.1",
            "017700000001",
            "127.0.0.1.",
            "127.0x0.0.01",
            "0x7f.0x.0x.0x1",
            "0000000000000000177.0.0.1",
        ] {
            assert_eq!(v4(text).as_deref(), Some("127.0.0.1"), "{text}");
        }
        for (text, address) in [
            ("0", "0.0.0.0"),
            ("0x", "0.0.0.0"),
            ("1", "0.0.0.1"),
            ("256", "0.0.1.0"),
            ("1.65535", "1.0.255.255"),
            ("1.16777215", "1.255.255.255"),
            ("1.2.65535", "1.2.255.255"),
            ("4294967295", "255.255.255.255"),
            ("0xa9fea9fe", "169.254.169.254"),
        ] {
            assert_eq!(v4(text).as_deref(), Some(address), "{text}");
        }
    }

    #[test]
    fn a_host_that_ends_in_a_number_and_is_no_address_is_invalid() {
        for text in [
            "256.0.0.1",
            "1.2.3.256",
            "1.2.3.4.5",
            "1.2.65536",
            "1.16777216",
            "4294967296",
            "09",
            "1.2.3.08",
            "1..1",
            ".1",
            "example.1",
            "a.b.0x1",
            "0xg.1",
            "foo.0x",
            "1.2.3.4.5.0x0",
            "99999999999999999999999",
            "0xffffffffffffffffffff",
            "1.99999999999999999999999",
        ] {
            assert_eq!(v4(text), None, "{text}");
        }
    }

    #[test]
    fn names_have_one_normal_form() {
        let name = |text: &str| match Host::parse(text) {
            Ok(Host::Name(name)) => Some(name),
            Ok(other) => panic!("{text} is {other:?}"),
            Err(InvalidHost) => None,
        };
        for (text, expected) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("LOCALHOST", "localhost"),
            ("localhost.", "localhost"),
            ("XN--Bcher-KVA.example", "xn--bcher-kva.example"),
            ("a_b-c.1a", "a_b-c.1a"),
            ("0x7g", "0x7g"),
            ("1.2.3.4a", "1.2.3.4a"),
        ] {
            assert_eq!(name(text).as_deref(), Some(expected), "{text}");
            assert_eq!(name(expected).as_deref(), Some(expected));
        }
        let long = "a".repeat(64);
        let longest = ["a".repeat(63).as_str(); 4].join(".");
        for text in [
            "",
            ".",
            "a..b",
            "a..",
            ".a",
            "a b",
            "a\tb",
            "a%31",
            "b\u{fc}cher",
            "a/b",
            "a:b",
            "a@b",
            "a*",
            "\u{ff11}\u{ff12}\u{ff17}.1",
            "a,b",
            "::1",
            &long,
            &longest,
        ] {
            assert_eq!(name(text), None, "{text}");
        }
        assert!(name(&longest[2..]).is_some());
    }

    #[test]
    fn ipv6_addresses_are_in_brackets() {
        for (text, expected) in [
            ("[::1]", "[::1]"),
            ("[0:0::0001]", "[::1]"),
            ("[::FFFF:127.0.0.1]", "[::ffff:127.0.0.1]"),
            ("[::7f00:1]", "[::7f00:1]"),
            ("[2001:DB8::]", "[2001:db8::]"),
        ] {
            let host = Host::parse(text).unwrap();
            assert!(matches!(host, Host::V6(_)));
            assert_eq!(host.to_string(), expected);
        }
        for text in [
            "[]",
            "[::1",
            "::1]",
            "[::1]a",
            "[fe80::1%eth0]",
            "[fe80::1%25eth0]",
            "[127.0.0.1]",
            "[::127.1]",
            "[[::1]]",
            "[1:2:3:4:5:6:7:8:9]",
        ] {
            assert_eq!(Host::parse(text), Err(InvalidHost), "{text}");
        }
    }
}
