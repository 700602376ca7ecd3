//! The opening handshake (RFC 6455 §4.2), checked strictly before the connection is upgraded.
//!
//! Never parses HTTP and never writes a response: it checks a parsed head and returns what the client offers
//! or why the request is refused.

mod client;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;

pub use client::{AnswerError, ClientRequest, Switched, append_request, judge_answer, request_key};

/// The parts of a request head that the handshake needs.
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'a> {
    /// The method is GET.
    pub get: bool,
    /// The version is HTTP/1.1.
    pub http_1_1: bool,
    /// All header lines in order: name in lower case, value as sent.
    pub headers: &'a [(&'a str, &'a [u8])],
}

/// What a client offers in a valid request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer<'a> {
    /// Its `Sec-WebSocket-Key`, for [`accept_key`].
    pub key: &'a str,
    /// The subprotocols that it offers, in its order of preference, without duplicates.
    pub protocols: Vec<&'a str>,
    /// The values of its `Sec-WebSocket-Extensions` lines, not parsed.
    pub extensions: Vec<&'a [u8]>,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// 405: only GET can be upgraded.
    #[error("the method must be GET")]
    Method,
    /// 426: `Upgrade: websocket` is missing, or the request is of HTTP/1.0, where it has no meaning (RFC
    /// 9110 §7.8).
    #[error("this is a WebSocket endpoint")]
    NotUpgrade,
    /// 426: `Sec-WebSocket-Version` is not 13.
    #[error("the WebSocket version must be 13")]
    Version,
    /// 400: there is not exactly one `Host`.
    #[error("exactly one Host header is needed")]
    Host,
    /// 400: `Connection` does not list `Upgrade`.
    #[error("the Connection header must list Upgrade")]
    Connection,
    /// 400: there is not exactly one `Sec-WebSocket-Key` of 16 bytes in base64.
    #[error("exactly one Sec-WebSocket-Key of 16 bytes in base64 is needed")]
    Key,
    /// 400: `Sec-WebSocket-Protocol` is not a list of distinct tokens.
    #[error("Sec-WebSocket-Protocol must be a list of distinct tokens")]
    Protocol,
}

impl Refusal {
    /// The HTTP status of the response. 426 also needs `Upgrade: websocket` and `Sec-WebSocket-Version: 13`,
    /// and 405 needs `Allow: GET`.
    pub const fn status(self) -> u16 {
        match self {
            Self::Method => 405,
            Self::NotUpgrade | Self::Version => 426,
            Self::Host | Self::Connection | Self::Key | Self::Protocol => 400,
        }
    }
}

/// Checks a request by RFC 6455 §4.2.1. The caller checks its origin, path and cookies.
pub fn check<'a>(head: &RequestHead<'a>) -> Result<Offer<'a>, Refusal> {
    if !head.get {
        return Err(Refusal::Method);
    }
    if !head.http_1_1 || !lists(head, "upgrade", "websocket") {
        return Err(Refusal::NotUpgrade);
    }
    if !lists(head, "connection", "upgrade") {
        return Err(Refusal::Connection);
    }
    only(head, "host").ok_or(Refusal::Host)?;
    if only(head, "sec-websocket-version") != Some(b"13") {
        return Err(Refusal::Version);
    }
    let key = only(head, "sec-websocket-key")
        .and_then(key_of)
        .ok_or(Refusal::Key)?;
    let protocols = protocols(head)?;
    let extensions = lines(head, "sec-websocket-extensions").collect();
    Ok(Offer {
        key,
        protocols,
        extensions,
    })
}

/// The `Sec-WebSocket-Accept` for a `key`, which proves that the server understood it (§4.2.2).
pub fn accept_key(key: &str) -> String {
    let mut hash = sha1_smol::Sha1::new();
    hash.update(key.as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64_STANDARD.encode(hash.digest().bytes())
}

/// Whether `bytes` are an HTTP token (RFC 9110 §5.6.2), which every subprotocol name must be.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// The values of all lines named `name`, without surrounding white space.
fn lines<'a>(head: &RequestHead<'a>, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let named = head.headers.iter().filter(move |(line, _)| *line == name);
    named.map(|(_, value)| trim(value))
}

/// The value of the line named `name`, if there is exactly one.
fn only<'a>(head: &RequestHead<'a>, name: &'static str) -> Option<&'a [u8]> {
    let mut lines = lines(head, name);
    let first = lines.next()?;
    lines.next().is_none().then_some(first)
}

/// The elements of the list formed by all lines named `name`. Empty elements are skipped (RFC 9110 §5.6.1).
fn elements<'a>(head: &RequestHead<'a>, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let all = lines(head, name).flat_map(|line| line.split(|&byte| byte == b','));
    all.map(trim).filter(|element| !element.is_empty())
}

fn lists(head: &RequestHead<'_>, name: &'static str, wanted: &str) -> bool {
    elements(head, name).any(|element| element.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// Removes spaces and tabs at both ends.
fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

fn key_of(value: &[u8]) -> Option<&str> {
    let mut decoded = [0; 18];
    match KEY.decode_slice(value, &mut decoded) {
        Ok(16) => str::from_utf8(value).ok(),
        _ => None,
    }
}

/// The example key in RFC 6455 §4.1, `AQIDBAUGBwgJCgsMDQ4PEC==`, has unused bits set after the last byte.
const KEY: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

fn protocols<'a>(head: &RequestHead<'a>) -> Result<Vec<&'a str>, Refusal> {
    let mut protocols = Vec::new();
    for element in elements(head, "sec-websocket-protocol") {
        if !is_token(element) {
            return Err(Refusal::Protocol);
        }
        protocols.push(str::from_utf8(element).map_err(|_| Refusal::Protocol)?);
    }
    // sorting avoids quadratic time for a head full of short names
    let mut sorted = protocols.clone();
    sorted.sort_unstable();
    let repeated = sorted
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a == b));
    let empty = protocols.is_empty() && lines(head, "sec-websocket-protocol").next().is_some();
    if repeated || empty {
        Err(Refusal::Protocol)
    } else {
        Ok(protocols)
    }
}

#[cfg(test)]
mod tests;
