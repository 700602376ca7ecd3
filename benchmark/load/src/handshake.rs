//! The opening handshake of a client: one fixed request, and a strict check of the response.

use std::net::SocketAddr;

use crate::failure::Failure;

/// The upgrade request for an address and a path. The key is RFC 6455's example, so the accept value
/// is known. With `compression`, it offers to inflate messages without context takeover.
pub fn request(target: SocketAddr, path: &str, compression: bool) -> Vec<u8> {
    let offer = if compression { OFFER } else { "" };
    format!(
        "GET {path} HTTP/1.1\r\nHost: {target}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n{offer}\r\n"
    )
    .into_bytes()
}

/// Checks the server's answer: its length on the wire, or `None` while it is incomplete. With `compression`, the server
/// must have taken the offer, and no more than that.
pub fn answer(bytes: &[u8], compression: bool) -> Result<Option<usize>, Failure> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let accepted = lines.any(|line| {
        line.split_once(':').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("sec-websocket-accept") && value.trim() == ACCEPT
        })
    });
    let agreed = extensions(&head) == compression.then_some(true);
    if !status.starts_with("HTTP/1.1 101") || !accepted || !agreed {
        return Err(Failure::Violation(format!("handshake answered: {head}")));
    }
    Ok(Some(end + 4))
}

/// Whether the extensions of an answer are what was offered; `None` if it has none.
fn extensions(head: &str) -> Option<bool> {
    let mut values = head.split("\r\n").filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_it = name.eq_ignore_ascii_case("sec-websocket-extensions");
        is_it.then_some(value)
    });
    let value = values.next()?;
    let mut parts: Vec<&str> = value.split(';').map(str::trim).collect();
    parts.sort_unstable();
    let offered = parts == AGREED || parts == AGREED[1..];
    Some(offered && values.next().is_none())
}

const OFFER: &str = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; \
                     client_no_context_takeover\r\n";
/// What the answer to the offer consists of, in alphabetical order; the first is optional.
const AGREED: [&str; 3] = [
    "client_no_context_takeover",
    "permessage-deflate",
    "server_no_context_takeover",
];
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_found_complete_and_checked() {
        let good = format!(
            "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: {ACCEPT}\r\n\r\nrest"
        );
        assert_eq!(
            answer(good.as_bytes(), false).unwrap(),
            Some(good.len() - 4)
        );
        assert!(answer(good.as_bytes(), true).is_err());
        assert_eq!(answer(&good.as_bytes()[..40], false).unwrap(), None);
        assert!(answer(b"HTTP/1.1 403 Forbidden\r\n\r\n", false).is_err());
        assert!(
            answer(
                b"HTTP/1.1 101 x\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
                false
            )
            .is_err()
        );
    }

    #[test]
    fn compression_must_be_what_was_offered() {
        for (answered, holds) in [
            ("permessage-deflate; server_no_context_takeover", true),
            (
                "permessage-deflate;client_no_context_takeover; server_no_context_takeover",
                true,
            ),
            ("permessage-deflate", false),
            (
                "permessage-deflate; server_no_context_takeover; server_max_window_bits=10",
                false,
            ),
        ] {
            let head = format!(
                "HTTP/1.1 101 x\r\nsec-websocket-accept: {ACCEPT}\r\nsec-websocket-extensions: {answered}\r\n\r\n"
            );
            assert_eq!(answer(head.as_bytes(), true).is_ok(), holds, "{answered}");
            assert!(answer(head.as_bytes(), false).is_err());
        }
    }
}
