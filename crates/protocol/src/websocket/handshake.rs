//! The opening handshake (RFC 6455 §4.2), checked strictly before the connection is upgraded.
//!
//! Never parses HTTP and never writes a response: it checks a parsed head and returns what the client offers
//! or why the request is refused.

mod client;
pub(super) mod extensions;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;

use crate::http::lists;

pub use client::{AnswerError, ClientRequest, Switched, append_request, judge_answer, request_key};
pub use extensions::Malformed;

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
    /// 400: `Sec-WebSocket-Extensions` is not a list of extensions. Found only where extensions are negotiated.
    #[error("Sec-WebSocket-Extensions must be a list of extensions")]
    Extensions,
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
            Self::Host | Self::Connection | Self::Key | Self::Protocol | Self::Extensions => 400,
        }
    }
}

/// Checks a request by RFC 6455 §4.2.1. The caller checks its origin, path and cookies.
pub fn check<'a>(head: &RequestHead<'a>) -> Result<Offer<'a>, Refusal> {
    if !head.get {
        return Err(Refusal::Method);
    }
    if !head.http_1_1 {
        return Err(Refusal::NotUpgrade);
    }
    let headers = head.headers.iter();
    check_get(headers.map(|(name, value)| (name.as_bytes(), *value)))
}

/// Checks a request that is a GET of HTTP/1.1. `lines` are its header lines in order: names in any case, and values.
pub fn check_get<'a>(
    lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<Offer<'a>, Refusal> {
    let said = Said::by(lines);
    if !said.upgrade {
        return Err(Refusal::NotUpgrade);
    }
    if !said.connection {
        return Err(Refusal::Connection);
    }
    said.host.only().ok_or(Refusal::Host)?;
    if said.version.only() != Some(b"13") {
        return Err(Refusal::Version);
    }
    let key = said.key.only().and_then(key_of).ok_or(Refusal::Key)?;
    Ok(Offer {
        key,
        protocols: protocols(&said.protocols)?,
        extensions: said.extensions,
    })
}

/// The `Sec-WebSocket-Accept` for a `key`, which proves that the server understood it (§4.2.2).
pub fn accept_key(key: &str) -> String {
    let mut accept = Vec::new();
    append_accept_key(key.as_bytes(), &mut accept);
    String::from_utf8(accept).unwrap_or_default()
}

/// Appends the `Sec-WebSocket-Accept` for a `key`.
pub fn append_accept_key(key: &[u8], out: &mut Vec<u8>) {
    let mut hash = sha1_smol::Sha1::new();
    hash.update(key);
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let mut text = [0; ACCEPT_BYTES];
    let written = BASE64_STANDARD.encode_slice(hash.digest().bytes(), &mut text);
    out.extend_from_slice(text.get(..written.unwrap_or_default()).unwrap_or_default());
}

/// The length of 20 bytes in base64.
const ACCEPT_BYTES: usize = 28;

/// Whether `bytes` are an HTTP token (RFC 9110 §5.6.2), which every subprotocol name must be.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// What the lines of a head say about the handshake.
#[derive(Default)]
struct Said<'a> {
    /// `Upgrade` lists websocket.
    upgrade: bool,
    /// `Connection` lists upgrade.
    connection: bool,
    host: Once<'a>,
    version: Once<'a>,
    key: Once<'a>,
    protocols: Vec<&'a [u8]>,
    extensions: Vec<&'a [u8]>,
}

impl<'a> Said<'a> {
    fn by(lines: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let mut said = Self::default();
        for (name, value) in lines {
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            // most names differ in length from those that matter
            match name.len() {
                4 if is(b"host") => said.host.add(value),
                7 if is(b"upgrade") => said.upgrade |= lists(value, b"websocket"),
                10 if is(b"connection") => said.connection |= lists(value, b"upgrade"),
                17 if is(b"sec-websocket-key") => said.key.add(value),
                21 if is(b"sec-websocket-version") => said.version.add(value),
                22 if is(b"sec-websocket-protocol") => said.protocols.push(trim(value)),
                24 if is(b"sec-websocket-extensions") => said.extensions.push(trim(value)),
                _ => {}
            }
        }
        said
    }
}

/// The value of a line that must occur once.
#[derive(Clone, Copy, Default)]
enum Once<'a> {
    #[default]
    Missing,
    Only(&'a [u8]),
    Repeated,
}

impl<'a> Once<'a> {
    fn add(&mut self, value: &'a [u8]) {
        *self = match self {
            Self::Missing => Self::Only(trim(value)),
            _ => Self::Repeated,
        };
    }

    fn only(self) -> Option<&'a [u8]> {
        match self {
            Self::Only(value) => Some(value),
            Self::Missing | Self::Repeated => None,
        }
    }
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

/// The elements of the list that these lines form. Empty elements are skipped (RFC 9110 §5.6.1).
fn protocols<'a>(lines: &[&'a [u8]]) -> Result<Vec<&'a str>, Refusal> {
    let mut protocols = Vec::new();
    let elements = lines
        .iter()
        .flat_map(|line| line.split(|&byte| byte == b','))
        .map(trim);
    for element in elements.filter(|element| !element.is_empty()) {
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
    let empty = protocols.is_empty() && !lines.is_empty();
    if repeated || empty {
        Err(Refusal::Protocol)
    } else {
        Ok(protocols)
    }
}

#[cfg(test)]
mod tests;
