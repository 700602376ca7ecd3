//! Version 2: sixteen bytes, the addresses, and further fields that are ignored.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Header, HeaderError, LONGEST, Source};

pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The bytes of signature, command, family and length.
const FIXED: usize = 16;

pub(super) fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
    let command = match bytes.get(12) {
        None => return Ok(None),
        Some(0x20) => Command::Local,
        Some(0x21) => Command::Proxy,
        Some(_) => return Err(HeaderError::Malformed("the version or command")),
    };
    let family = match bytes.get(13) {
        None => return Ok(None),
        // either family or protocol may be unspecified; the protocol here is always a stream
        Some(0x00 | 0x01 | 0x10 | 0x20 | 0x30) => Family::Unknown,
        Some(0x11) => Family::V4,
        Some(0x21) => Family::V6,
        Some(0x31) => Family::Unix,
        Some(_) => return Err(HeaderError::Malformed("the family or protocol")),
    };
    let Some(&[high, low]) = bytes.get(14..FIXED) else {
        return Ok(None);
    };
    let length = FIXED + usize::from(u16::from_be_bytes([high, low]));
    if length > LONGEST {
        return Err(HeaderError::TooLong);
    }
    if length < FIXED + family.bytes() && matches!(command, Command::Proxy) {
        return Err(HeaderError::Malformed("truncated addresses"));
    }
    let Some(rest) = bytes.get(FIXED..length) else {
        return Ok(None);
    };
    let source = match command {
        Command::Local => Source::Proxy,
        Command::Proxy => family.source(rest),
    };
    Ok(Some(Header { length, source }))
}

enum Command {
    Local,
    Proxy,
}

enum Family {
    Unknown,
    V4,
    V6,
    Unix,
}

impl Family {
    /// The bytes of the two addresses with their ports.
    const fn bytes(&self) -> usize {
        match self {
            Self::Unknown => 0,
            Self::V4 => 2 * (4 + 2),
            Self::V6 => 2 * (16 + 2),
            Self::Unix => 2 * 108,
        }
    }

    /// The source address. The layout is source address, destination address, source port,
    /// destination port.
    fn source(&self, rest: &[u8]) -> Source {
        let client = match self {
            Self::Unknown | Self::Unix => None,
            Self::V4 => rest
                .first_chunk::<10>()
                .map(|&[a, b, c, d, .., high, low]| {
                    let port = u16::from_be_bytes([high, low]);
                    SocketAddr::from((Ipv4Addr::new(a, b, c, d), port))
                }),
            Self::V6 => rest
                .first_chunk::<16>()
                .zip(rest.get(32..34).and_then(|port| port.first_chunk::<2>()))
                .map(|(address, port)| {
                    SocketAddr::from((Ipv6Addr::from(*address), u16::from_be_bytes(*port)))
                }),
        };
        client.map_or(Source::Unknown, Source::Client)
    }
}
