//! Version 1: one line of text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Header, HeaderError, Source};

pub(super) const SIGNATURE: &[u8] = b"PROXY ";

/// The longest line, including its end.
const LONGEST: usize = 107;

pub(super) fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
    let line = bytes.get(..LONGEST).unwrap_or(bytes);
    let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
        return if line.len() < LONGEST {
            Ok(None)
        } else {
            Err(HeaderError::Malformed("a line without an end"))
        };
    };
    let text = line.get(SIGNATURE.len()..end).unwrap_or_default();
    let text =
        std::str::from_utf8(text).map_err(|_| HeaderError::Malformed("bytes that are not text"))?;
    Ok(Some(Header {
        length: end + 2,
        source: source(text)?,
    }))
}

fn source(text: &str) -> Result<Source, HeaderError> {
    let mut fields = text.split(' ');
    let family = fields.next().unwrap_or_default();
    let v4 = match family {
        "TCP4" => true,
        "TCP6" => false,
        // the rest of the line must be ignored
        "UNKNOWN" => return Ok(Source::Unknown),
        _ => return Err(HeaderError::Malformed("the family")),
    };
    let mut field = || fields.next().unwrap_or_default();
    let client = address(field(), v4)?;
    address(field(), v4)?;
    let client_port = port(field())?;
    port(field())?;
    if fields.next().is_some() {
        return Err(HeaderError::Malformed("more fields than six"));
    }
    Ok(Source::Client(SocketAddr::new(client, client_port)))
}

fn address(text: &str, v4: bool) -> Result<IpAddr, HeaderError> {
    let parsed = if v4 {
        text.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
    } else {
        text.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    };
    parsed.ok_or(HeaderError::Malformed("an address"))
}

fn port(text: &str) -> Result<u16, HeaderError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    text.parse()
        .ok()
        .filter(|_| plain && !padded)
        .ok_or(HeaderError::Malformed("a port"))
}
