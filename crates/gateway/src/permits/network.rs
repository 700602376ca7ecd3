//! What limits per address count as one: an IPv4 address, or the network of an IPv6 address, because a client has as many
//! addresses there as it wants.

use std::net::{IpAddr, Ipv6Addr};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpAddr);

impl Network {
    /// The first 64 bits of an IPv6 address, and the whole of any other. All hosts of a link have the same link-local
    /// network, so there each address counts by itself.
    pub(crate) fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        match address {
            IpAddr::V6(v6) if !v6.is_unicast_link_local() => {
                let network = Ipv6Addr::from_bits(v6.to_bits() & PREFIX);
                Self(IpAddr::V6(network))
            }
            IpAddr::V4(_) | IpAddr::V6(_) => Self(address),
        }
    }
}

/// The part of an IPv6 address that names the network (RFC 4291 §2.5.4).
const PREFIX: u128 = u128::MAX << 64;

#[cfg(all(test, not(millrace_loom)))]
mod tests {
    use super::*;

    fn of(address: &str) -> Network {
        Network::of(address.parse().expect("an address"))
    }

    #[test]
    fn an_ipv6_address_counts_by_its_network_and_others_by_themselves() {
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::"));
        assert_eq!(of("2001:db8:1:2::ffff"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::"), of("2001:db8:1:3::"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
        assert_ne!(of("fe80::1"), of("fe80::2"));
    }
}
