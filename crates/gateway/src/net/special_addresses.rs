//! Addresses that are not ordinary hosts on the internet: those of IANA's special-purpose registries that are not
//! globally reachable, multicast addresses, and IPv6 addresses that contain such an IPv4 address. Only classifies;
//! resolves and dials nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to this host, to a private network, or to no host. A server that dials on behalf of
/// untrusted clients must not dial it. An IPv6 address that contains an IPv4 address is classified by that.
pub(crate) fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_special_v4(address),
        IpAddr::V6(address) => is_special_v6(address),
    }
}

fn is_special_v4(address: Ipv4Addr) -> bool {
    let within = |(block, length): &(Ipv4Addr, u32)| {
        (address.to_bits() ^ block.to_bits()).leading_zeros() >= *length
    };
    V4_SPECIAL.iter().any(within)
}

fn is_special_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = v4_inside(address) {
        return inner.into_iter().flatten().any(is_special_v4);
    }
    let within = |(block, length): &(Ipv6Addr, u32)| {
        (address.to_bits() ^ block.to_bits()).leading_zeros() >= *length
    };
    if !within(&V6_GLOBAL_UNICAST) {
        return true;
    }
    V6_SPECIAL.iter().any(within) && !V6_REACHABLE.iter().any(within)
}

/// The IPv4 addresses that packets to this address go to or through, as far as its form shows them.
fn v4_inside(address: Ipv6Addr) -> Option<[Option<Ipv4Addr>; 2]> {
    let two = |high: u16, low: u16| {
        let bits = u32::from(high) << 16 | u32::from(low);
        Some(Ipv4Addr::from_bits(bits))
    };
    match address.segments() {
        // "IPv4-mapped Address" (RFC 4291), and "IPv4-compatible", which RFC 4291 deprecates: `::1` is 0.0.0.1, so it
        // is special, too; "IPv4-translated" (RFC 2765), which is in no registry any more; "IPv4-IPv6 Translat." (RFC
        // 6052); "6to4" (RFC 3056)
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some([two(high, low), None]),
        // "TEREDO" (RFC 4380): the server, and the client with every bit inverted
        [0x2001, 0, high, low, _, _, client_high, client_low] => {
            Some([two(high, low), two(!client_high, !client_low)])
        }
        _ => None,
    }
}

/// A block of IPv4 addresses: its first address, and the length of its prefix in bits.
const fn v4(a: u8, b: u8, c: u8, d: u8, length: u32) -> (Ipv4Addr, u32) {
    (Ipv4Addr::new(a, b, c, d), length)
}

/// A block of IPv6 addresses: the first four groups of its first address, and the length of its prefix in bits.
const fn v6(a: u16, b: u16, c: u16, d: u16, length: u32) -> (Ipv6Addr, u32) {
    (Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), length)
}

/// IANA's IPv4 Special-Purpose Address Registry without the blocks that are globally reachable (the two of AS112 and
/// that of AMT), and multicast.
const V4_SPECIAL: [(Ipv4Addr, u32); 16] = [
    v4(0, 0, 0, 0, 8), // "This network" (RFC 791), "This host on this network" (RFC 1122)
    v4(10, 0, 0, 0, 8), // "Private-Use" (RFC 1918)
    v4(100, 64, 0, 0, 10), // "Shared Address Space" (RFC 6598)
    v4(127, 0, 0, 0, 8), // "Loopback" (RFC 1122)
    v4(169, 254, 0, 0, 16), // "Link Local" (RFC 3927)
    v4(172, 16, 0, 0, 12), // "Private-Use" (RFC 1918)
    // "IETF Protocol Assignments" (RFC 6890). The registry calls two anycast addresses in it (RFC 7723, RFC 8155)
    // globally reachable, but the nearest device answers them, which may be one of the local network
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),       // "Documentation (TEST-NET-1)" (RFC 5737)
    v4(192, 88, 99, 0, 24), // "Deprecated (6to4 Relay Anycast)" (RFC 7526), "6a44-relay anycast address" (RFC 6751)
    v4(192, 168, 0, 0, 16), // "Private-Use" (RFC 1918)
    v4(198, 18, 0, 0, 15),  // "Benchmarking" (RFC 2544)
    v4(198, 51, 100, 0, 24), // "Documentation (TEST-NET-2)" (RFC 5737)
    v4(203, 0, 113, 0, 24), // "Documentation (TEST-NET-3)" (RFC 5737)
    v4(224, 0, 0, 0, 4),    // multicast (RFC 5771)
    v4(240, 0, 0, 0, 4),    // "Reserved" (RFC 1112)
    v4(255, 255, 255, 255, 32), // "Limited Broadcast" (RFC 8190, RFC 919)
];

/// All addresses that IANA assigns for unicast (RFC 4291 §2.4). Outside of it are these rows of the IPv6
/// Special-Purpose Address Registry: "Loopback Address" and "Unspecified Address" (RFC 4291), the local "IPv4-IPv6
/// Translat." `64:ff9b:1::/48` (RFC 8215; each network decides where in it an IPv4 address is), "Discard-Only Address
/// Block" (RFC 6666), "Dummy IPv6 Prefix" (RFC 9780), "Segment Routing (`SRv6`) SIDs" (RFC 9602), "Unique-Local" (RFC
/// 4193), "Link-Local Unicast" (RFC 4291); and also site-local addresses (RFC 3879), multicast (RFC 4291), and
/// unassigned addresses.
const V6_GLOBAL_UNICAST: (Ipv6Addr, u32) = v6(0x2000, 0, 0, 0, 3);

/// The rows of the IPv6 Special-Purpose Address Registry within that block. 6to4 and Teredo are classified before.
const V6_SPECIAL: [(Ipv6Addr, u32); 3] = [
    // "IETF Protocol Assignments" (RFC 2928). Its anycast addresses (RFC 7723, RFC 8155, RFC 9665) are treated like
    // those of IPv4
    v6(0x2001, 0, 0, 0, 23),
    v6(0x2001, 0xdb8, 0, 0, 32), // "Documentation" (RFC 3849)
    v6(0x3fff, 0, 0, 0, 20),     // "Documentation" (RFC 9637)
];

/// The rows of that registry that are globally reachable although they are within blocks that are not.
const V6_REACHABLE: [(Ipv6Addr, u32); 4] = [
    v6(0x2001, 3, 0, 0, 32),     // "AMT" (RFC 7450)
    v6(0x2001, 4, 0x112, 0, 48), // "AS112-v6" (RFC 7535)
    v6(0x2001, 0x20, 0, 0, 28),  // "ORCHIDv2" (RFC 7343)
    v6(0x2001, 0x30, 0, 0, 28),  // "Drone Remote ID Protocol Entity Tags (DETs) Prefix" (RFC 9374)
];

#[cfg(test)]
mod tests {
    use super::*;

    fn special(text: &str) -> bool {
        is_special(text.parse().unwrap())
    }

    #[track_caller]
    fn all(expected: bool, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(special(address), expected, "{address}");
        }
    }

    /// For each block: the address before it, its first and its last address, and the address behind it.
    const V4_BLOCKS: [(&str, &str, &str, &str); 15] = [
        ("", "0.0.0.0", "0.255.255.255", "1.0.0.0"),
        ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
        (
            "100.63.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "100.128.0.0",
        ),
        (
            "126.255.255.255",
            "127.0.0.0",
            "127.255.255.255",
            "128.0.0.0",
        ),
        (
            "169.253.255.255",
            "169.254.0.0",
            "169.254.255.255",
            "169.255.0.0",
        ),
        (
            "172.15.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "172.32.0.0",
        ),
        ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"),
        ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
        (
            "192.88.98.255",
            "192.88.99.0",
            "192.88.99.255",
            "192.88.100.0",
        ),
        (
            "192.167.255.255",
            "192.168.0.0",
            "192.168.255.255",
            "192.169.0.0",
        ),
        (
            "198.17.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.20.0.0",
        ),
        (
            "198.51.99.255",
            "198.51.100.0",
            "198.51.100.255",
            "198.51.101.0",
        ),
        (
            "203.0.112.255",
            "203.0.113.0",
            "203.0.113.255",
            "203.0.114.0",
        ),
        ("223.255.255.255", "224.0.0.0", "239.255.255.255", ""),
        ("", "240.0.0.0", "255.255.255.255", ""),
    ];

    #[test]
    fn ipv4_blocks_at_both_ends() {
        for (before, first, last, after) in V4_BLOCKS {
            all(true, &[first, last]);
            for outside in [before, after].into_iter().filter(|text| !text.is_empty()) {
                all(false, &[outside]);
                all(
                    false,
                    &[&format!("::ffff:{outside}"), &format!("64:ff9b::{outside}")],
                );
            }
            for inside in [first, last] {
                for form in ["::ffff:", "::", "::ffff:0:", "64:ff9b::"] {
                    all(true, &[&format!("{form}{inside}")]);
                }
            }
        }
        all(
            false,
            &[
                "1.1.1.1",
                "8.8.8.8",
                "192.31.196.1",
                "192.52.193.1",
                "192.175.48.1",
                "93.184.215.14",
            ],
        );
        all(
            true,
            &[
                "192.0.0.9",
                "192.0.0.10",
                "192.0.0.170",
                "169.254.169.254",
                "255.255.255.254",
            ],
        );
    }

    #[test]
    fn ipv6_blocks_at_both_ends() {
        let ones = "ffff:ffff:ffff:ffff:ffff:ffff";
        for (before, first, last, after) in [
            (
                format!("2000:ffff:{ones}"),
                "2001::",
                format!("2001:1ff:{ones}"),
                "2001:200::",
            ),
            (
                format!("2001:db7:{ones}"),
                "2001:db8::",
                format!("2001:db8:{ones}"),
                "2001:db9::",
            ),
            (
                format!("3ffe:ffff:{ones}"),
                "3fff::",
                format!("3fff:fff:{ones}"),
                "3fff:1000::",
            ),
        ] {
            all(true, &[first, &last]);
            all(false, &[&before, after]);
        }
        for (before, first, last, after) in [
            (
                format!("2001:2:{ones}"),
                "2001:3::",
                format!("2001:3:{ones}"),
                "2001:4::",
            ),
            (
                "2001:4:111:ffff::".to_owned(),
                "2001:4:112::",
                "2001:4:112:ffff::ffff".to_owned(),
                "2001:4:113::",
            ),
            (
                format!("2001:1f:{ones}"),
                "2001:20::",
                format!("2001:3f:{ones}"),
                "2001:40::",
            ),
        ] {
            all(false, &[first, &last]);
            all(true, &[&before, after]);
        }
        all(
            true,
            &[
                "2001:1::1",
                "2001:1::2",
                "2001:1::3",
                "2001:2::1",
                "2001:10::1",
            ],
        );
        all(
            false,
            &[
                "2001:4860:4860::8888",
                "2620:4f:8000::1",
                "2606:4700::1111",
                "2a00::1",
                "3ffe::1",
            ],
        );
    }

    #[test]
    fn addresses_that_are_not_global_unicast_are_special() {
        all(
            true,
            &[
                "::",
                "::1",
                "::2",
                "64:ff9b:1::8.8.8.8",
                "64:ff9b:1:808:8:800::",
                "64:ff9b:0:1::8.8.8.8",
                "64:ff9a::8.8.8.8",
                "100::",
                "100::ffff:ffff:ffff:ffff",
                "100:0:0:1::",
                "100:0:0:2::",
                "200::1",
                "1fff::1",
                "4000::",
                "5f00::",
                "5f00::1",
                "5eff::1",
                "fbff::1",
                "fc00::",
                "fd00::1",
                "fdff::1",
                "fe00::1",
                "fe80::",
                "fe80::1",
                "febf::1",
                "fec0::",
                "fec0::1",
                "feff::1",
                "ff00::",
                "ff02::1",
                "ff0e::1",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            ],
        );
        all(
            false,
            &[
                "2000::",
                "3fff:ffff::",
                "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            ],
        );
    }

    #[test]
    fn tunnels_are_classified_by_their_ends() {
        all(
            true,
            &[
                "2002:7f00:1::",
                "2002:a00:1::1",
                "2002:c0a8:101::",
                "2002:a9fe:a9fe::1",
                "2002::",
                "2002:e000:1::",
                // Teredo with a special server or client
                "2001:0:7f00:1::f7f7:f7f7",
                "2001:0:808:808::80ff:fffe",
                "2001:0:808:808::",
                "2001::",
                "2001::1",
            ],
        );
        all(
            false,
            &[
                "2002:808:808::",
                "2002:808:808:7f00:1::",
                "2001:0:808:808::f7f7:f7f7",
            ],
        );
        all(
            false,
            &[
                "::8.8.8.8",
                "::ffff:8.8.8.8",
                "::ffff:0:8.8.8.8",
                "64:ff9b::8.8.8.8",
            ],
        );
    }
}
