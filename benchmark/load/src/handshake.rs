//! The opening handshake of a client: one fixed request, and a strict check of the response.

use std::net::SocketAddr;

use crate::failure::Failure;

/// The upgrade request for an address and a path. The key is RFC 6455's example, so the accept value
/// is known.
pub fn request(target: SocketAddr, path: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {target}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    .into_bytes()
}

/// Checks the server's answer: its length on the wire, or `None` while it is incomplete.
pub fn answer(bytes: &[u8]) -> Result<Option<usize>, Failure> {
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
    if !status.starts_with("HTTP/1.1 101") || !accepted {
        return Err(Failure::Violation(format!("handshake answered: {head}")));
    }
    Ok(Some(end + 4))
}

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
        assert_eq!(answer(good.as_bytes()).unwrap(), Some(good.len() - 4));
        assert_eq!(answer(&good.as_bytes()[..40]).unwrap(), None);
        assert!(answer(b"HTTP/1.1 403 Forbidden\r\n\r\n").is_err());
        assert!(answer(b"HTTP/1.1 101 x\r\nSec-WebSocket-Accept: wrong\r\n\r\n").is_err());
    }
}
