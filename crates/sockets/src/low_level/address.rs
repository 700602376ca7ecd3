//! Addresses as text, in the address family of their descriptor.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use socket2::SockAddr;

use super::fault::Fault;
use super::host::interface_number;

/// The address families that have a text form here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
    Unix,
}

/// An address as text. For a unix socket it is the path, empty if there is none, and port 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The address without brackets. An IPv6 address has its zone, if there is one.
    pub address: String,
    /// The port; 0 if the family has no ports.
    pub port: u16,
}

impl Family {
    /// The family for the system's number of a domain.
    pub(super) fn of(domain: i32) -> Option<Self> {
        match domain {
            libc::AF_INET => Some(Self::V4),
            libc::AF_INET6 => Some(Self::V6),
            libc::AF_UNIX => Some(Self::Unix),
            _ => None,
        }
    }

    /// An address to bind to. An empty text means all interfaces.
    pub(super) fn own(self, address: &str, port: u16) -> Result<SockAddr, Fault> {
        match self {
            Self::V4 if address.is_empty() => Ok(v4(Ipv4Addr::UNSPECIFIED, port)),
            Self::V6 if address.is_empty() => Ok(v6(Ipv6Addr::UNSPECIFIED, port, 0)),
            _ => self.other(address, port),
        }
    }

    /// The address of a peer.
    pub(super) fn other(self, address: &str, port: u16) -> Result<SockAddr, Fault> {
        if address.is_empty() || address.contains('\0') {
            return Err(Fault::Address);
        }
        match self {
            Self::V4 => address
                .parse()
                .map(|ip| v4(ip, port))
                .map_err(|_| Fault::Address),
            Self::V6 => {
                let (ip, zone) = address
                    .split_once('%')
                    .map_or((address, None), |(ip, zone)| (ip, Some(zone)));
                let ip = ip.parse().map_err(|_| Fault::Address)?;
                let zone = zone.map_or(Some(0), zone_number).ok_or(Fault::Address)?;
                Ok(v6(ip, port, zone))
            }
            Self::Unix => SockAddr::unix(address).map_err(|_| Fault::Address),
        }
    }
}

fn v4(ip: Ipv4Addr, port: u16) -> SockAddr {
    SocketAddrV4::new(ip, port).into()
}

fn v6(ip: Ipv6Addr, port: u16, zone: u32) -> SockAddr {
    SocketAddrV6::new(ip, port, 0, zone).into()
}

/// The index of an interface, given as a number or a name.
fn zone_number(zone: &str) -> Option<u32> {
    if zone.bytes().all(|byte| byte.is_ascii_digit()) {
        return zone.parse().ok();
    }
    interface_number(zone)
}

impl Place {
    pub(super) fn of(address: &SockAddr) -> Self {
        match address.as_socket() {
            Some(SocketAddr::V4(v4)) => Self {
                address: v4.ip().to_string(),
                port: v4.port(),
            },
            Some(SocketAddr::V6(v6)) => {
                let zone = v6.scope_id();
                let zone = if zone == 0 {
                    String::new()
                } else {
                    format!("%{zone}")
                };
                Self {
                    address: format!("{}{zone}", v6.ip()),
                    port: v6.port(),
                }
            }
            None => Self {
                address: path_of(address),
                port: 0,
            },
        }
    }
}

fn path_of(address: &SockAddr) -> String {
    let path = address.as_pathname();
    path.map(|path| path.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(family: Family, address: &str) -> Option<String> {
        let parsed = family.own(address, 8).ok()?;
        let place = Place::of(&parsed);
        Some(format!("{} {}", place.address, place.port))
    }

    #[test]
    fn addresses_are_parsed_and_written() {
        for (family, address, expected) in [
            (Family::V4, "127.0.0.1", "127.0.0.1 8"),
            (Family::V4, "", "0.0.0.0 8"),
            (Family::V6, "", ":: 8"),
            (Family::V6, "::1", "::1 8"),
            (Family::V6, "0:0::1", "::1 8"),
            (Family::V6, "fe80::1%7", "fe80::1%7 8"),
            (Family::V6, "::ffff:1.2.3.4", "::ffff:1.2.3.4 8"),
            (Family::Unix, "/tmp/a b", "/tmp/a b 0"),
        ] {
            assert_eq!(
                shown(family, address).as_deref(),
                Some(expected),
                "{address}"
            );
        }
    }

    #[test]
    fn abbreviations_blanks_zeros_and_other_families_are_refused() {
        for address in [
            "127.1",
            "0x7f.0.0.1",
            "127.0.0.01",
            " 127.0.0.1",
            "127.0.0.1 ",
            "127.0.0.1\0",
            "127.0.0.1:80",
            "localhost",
            "::1",
            "2130706433",
            "256.0.0.1",
        ] {
            assert_eq!(shown(Family::V4, address), None, "{address}");
        }
        for address in [
            "127.0.0.1",
            "[::1]",
            "::1 ",
            "::1\0",
            "fe80::1%",
            "fe80::1%nobody",
            "1::2::3",
        ] {
            assert_eq!(shown(Family::V6, address), None, "{address}");
        }
        let long = "x".repeat(200);
        for address in ["", "/tmp/a\0b", "\0name", long.as_str()] {
            assert_eq!(shown(Family::Unix, address), None, "{address}");
        }
        assert!(Family::V4.other("", 8).is_err());
    }
}
