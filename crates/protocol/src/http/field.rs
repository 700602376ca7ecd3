//! One header line, and what all lines of a head say about the end of the message (RFC 9112 §6).

use super::bytes::{is_value, lists, split_behind_token, trim};
use super::refusal::Refusal;
use super::request_line::{Method, RequestLine, is_authority};

/// What the header lines of a head have said so far.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a header that was there or not"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fields {
    host: bool,
    length: Option<u64>,
    chunked: bool,
    continues: bool,
    /// `Upgrade` lists websocket.
    websocket: bool,
    /// `Connection` lists upgrade.
    upgrade: bool,
    /// `Connection` lists close.
    closes: bool,
    /// A header asks for another protocol.
    switches: bool,
    /// A header asks for an interim answer, or says something about a body.
    asks_more: bool,
}

/// What a request asks of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Only an answer: GET of a path in HTTP/1.1, without a body, without a change of the protocol and without an
    /// expectation.
    Answer {
        /// The client wants the connection closed behind the answer.
        closes: bool,
    },
    /// The same, but with a change of the protocol to WebSocket, and without `Connection: close`.
    WebSocket,
    /// Something else, or more.
    More,
}

/// What follows a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Counted(u64),
    Chunked,
    /// Nothing or WebSocket frames, depending on the response.
    Upgrade,
}

/// Splits a header line without its CRLF into a valid name and a valid value.
pub(super) fn split(line: &[u8]) -> Result<(&[u8], &[u8]), Refusal> {
    if let [b' ' | b'\t', ..] = line {
        return Err(Refusal::Folded);
    }
    let (name, value) = match split_behind_token(line) {
        (name, [b':', value @ ..]) => (name, value),
        (_, rest) if rest.contains(&b':') => return Err(Refusal::HeaderName),
        _ => return Err(Refusal::NoColon),
    };
    if name.is_empty() {
        return Err(Refusal::HeaderName);
    }
    if !is_value(value) {
        return Err(Refusal::HeaderValue);
    }
    Ok((name, trim(value)))
}

/// Refuses a trailer whose name decides how the message is read.
pub(super) fn check_trailer(line: &[u8]) -> Result<(), Refusal> {
    let (name, _) = split(line)?;
    if FRAMING
        .iter()
        .any(|framing| name.eq_ignore_ascii_case(framing))
    {
        return Err(Refusal::Trailer);
    }
    Ok(())
}

const FRAMING: [&[u8]; 8] = [
    b"content-length",
    b"transfer-encoding",
    b"host",
    b"connection",
    b"upgrade",
    b"expect",
    b"te",
    b"trailer",
];

impl Fields {
    /// Records one header line. With `as_node`, the listener of Node answers expectations itself.
    pub(super) fn add(
        &mut self,
        line: &[u8],
        request: RequestLine,
        as_node: bool,
    ) -> Result<(), Refusal> {
        let (name, value) = split(line)?;
        // most names differ in length from those that matter
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.add_host(value, request),
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.asks_more = true;
                if as_node {
                    return Ok(());
                }
                self.add_expectation(value, request)
            }
            7 if name.eq_ignore_ascii_case(b"upgrade") => {
                self.switches = true;
                self.websocket |= lists(value, b"websocket");
                Ok(())
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.upgrade |= lists(value, b"upgrade");
                self.closes |= lists(value, b"close");
                Ok(())
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                self.asks_more = true;
                self.add_length(value)
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.add_encoding(value, request)
            }
            _ => Ok(()),
        }
    }

    fn add_host(&mut self, value: &[u8], request: RequestLine) -> Result<(), Refusal> {
        if std::mem::replace(&mut self.host, true) {
            return Err(Refusal::HostRepeated);
        }
        if value.is_empty() {
            return if request.http_1_0 {
                Ok(())
            } else {
                Err(Refusal::HostMissing)
            };
        }
        if is_authority(value, false) {
            Ok(())
        } else {
            Err(Refusal::Host)
        }
    }

    fn add_expectation(&mut self, value: &[u8], request: RequestLine) -> Result<(), Refusal> {
        if request.http_1_0 {
            return Ok(());
        }
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(Refusal::Expectation);
        }
        self.continues = true;
        Ok(())
    }

    fn add_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(Refusal::Length);
        }
        if self.length.is_some() {
            return Err(Refusal::LengthRepeated);
        }
        let digits = value.iter().map(|digit| u64::from(digit - b'0'));
        let length = digits.fold(0u64, |sum, digit| {
            sum.saturating_mul(10).saturating_add(digit)
        });
        self.length = Some(length);
        Ok(())
    }

    fn add_encoding(&mut self, value: &[u8], request: RequestLine) -> Result<(), Refusal> {
        if request.http_1_0 || value.is_empty() {
            return Err(Refusal::Encoding);
        }
        for coding in value.split(|&byte| byte == b',') {
            if !trim(coding).eq_ignore_ascii_case(b"chunked") {
                return Err(Refusal::EncodingUnknown);
            }
            if std::mem::replace(&mut self.chunked, true) {
                return Err(Refusal::Encoding);
            }
        }
        Ok(())
    }

    /// What a request of this line asks of its connection. `body` is what follows its head.
    pub(super) fn asks(&self, request: RequestLine, body: Body) -> Asks {
        match body {
            _ if !request.gets_path || self.asks_more => Asks::More,
            Body::None if !self.switches => Asks::Answer {
                closes: self.closes,
            },
            Body::Upgrade if !self.closes => Asks::WebSocket,
            _ => Asks::More,
        }
    }

    /// Checks the head as a whole.
    pub(super) fn body(&self, request: RequestLine, body_bytes: u64) -> Result<Body, Refusal> {
        if !self.host && !request.http_1_0 {
            return Err(Refusal::HostMissing);
        }
        let connects = request.method == Method::Connect;
        match (self.chunked, self.length) {
            (true, Some(_)) => Err(Refusal::LengthAndEncoding),
            (true, None) | (false, Some(1..)) if connects => Err(Refusal::BodyNotAllowed),
            (true, None) => Ok(Body::Chunked),
            (false, Some(length @ 1..)) if length > body_bytes => Err(Refusal::BodyTooBig),
            (false, Some(length @ 1..)) => Ok(Body::Counted(length)),
            (false, None) if self.continues => Err(Refusal::LengthMissing),
            // in HTTP/1.1 such a request has an empty body
            (false, None) if request.http_1_0 && request.method == Method::Sends => {
                Err(Refusal::LengthMissing)
            }
            (false, _) if self.websocket && self.upgrade && !request.http_1_0 => Ok(Body::Upgrade),
            (false, _) => Ok(Body::None),
        }
    }
}
