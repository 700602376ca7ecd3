//! No bytes make the parsers of proxy headers panic, wait without end, or parse a header differently when it comes in
//! pieces.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use millrace_protocol::proxy::{LONGEST, forwarded, parse};

fuzz_target!(|bytes: &[u8]| {
    let whole = parse(bytes);
    match whole {
        Ok(Some(header)) => {
            assert!(header.length <= bytes.len() && header.length <= LONGEST);
            assert_eq!(parse(&bytes[..header.length]), whole);
            assert_eq!(parse(&bytes[..header.length - 1]), Ok(None));
        }
        Ok(None) => assert!(bytes.len() < LONGEST),
        Err(_) => assert!(parse(&[bytes, b"\r\n"].concat()).is_err()),
    }

    let proxy = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (one, other) = bytes.split_at(bytes.len() / 2);
    let once = |bytes| std::iter::once(bytes);
    let only = forwarded::client(once(one), std::iter::empty(), |address| address == proxy);
    let both = forwarded::client(once(one), once(other), |address| address == proxy);
    assert!(both.is_none() || both == only);
});
