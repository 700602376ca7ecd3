//! The opening handshake of WebSockets: which requests ask for one, what they offer, and the answer. The endpoint
//! decides which session handles the connection.

use std::mem;

use bytes::Bytes;
use hyper::body::Body as _;
use hyper::header::{
    ALLOW, CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use hyper::{Method, Response, StatusCode, Version};
use millrace_protocol::websocket::deflate::{Malformed, Offer, Terms};
use millrace_protocol::websocket::handshake::{self, Refusal, RequestHead};
use smallvec::SmallVec;

use super::open::{self, Line};
use super::{Answer, Asked, Body, Client, Offers, plain};
use crate::event::Acceptance;
use crate::shard::open::Opened;

/// Whether a request asks for a WebSocket, even if incorrectly.
pub(crate) fn is_meant(request: &Asked) -> bool {
    let asked = request.headers().get_all(UPGRADE);
    let lists = |text: &str| {
        text.split(',')
            .any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket"))
    };
    asked.iter().any(|value| value.to_str().is_ok_and(lists))
}

/// What a valid request offered.
pub(crate) struct Offered {
    /// The value of `Sec-WebSocket-Key`.
    key: SmallVec<[u8; KEY_BYTES]>,
    protocols: Vec<String>,
    /// The terms of compression that the answer confirms.
    terms: Option<Terms>,
    /// The subprotocol of the session, if it is offered.
    own: Option<&'static str>,
}

impl Offered {
    /// Reads the lines of a GET in HTTP/1.1 without a body; `None`: the request is invalid. Also returns the lines that
    /// offer extensions.
    pub(super) fn by<'a>(lines: &[Line<'a>]) -> Option<(Self, Vec<&'a [u8]>)> {
        let mut offer = handshake::check_get(lines.iter().copied()).ok()?;
        let extensions = mem::take(&mut offer.extensions);
        Some((Self::of(offer), extensions))
    }

    fn of(offer: handshake::Offer<'_>) -> Self {
        Self {
            key: SmallVec::from_slice(offer.key.as_bytes()),
            protocols: offer.protocols.into_iter().map(str::to_owned).collect(),
            terms: None,
            own: None,
        }
    }

    /// What an endpoint has to know of it.
    pub(crate) fn offers<'a>(&'a self, extensions: &'a [&'a [u8]]) -> Offers<'a> {
        Offers {
            extensions,
            protocols: &self.protocols,
        }
    }

    /// The subprotocols.
    pub(crate) fn protocols(&self) -> &[String] {
        &self.protocols
    }

    /// Sets the terms of compression that the answer confirms, and the subprotocol of the session.
    pub(crate) fn agree(&mut self, terms: Option<Terms>, own: Option<&'static str>) {
        self.terms = terms;
        self.own = own;
    }

    /// The subprotocol that the answer names.
    fn chosen<'a>(&self, acceptance: &'a Acceptance) -> Option<&'a str> {
        acceptance.protocol.as_deref().or(self.own)
    }

    /// Tells the session whether the subprotocol is its own, and whether it may compress.
    pub(super) fn settle(&self, acceptance: &Acceptance, opened: &Opened) {
        if let Some(own) = self.own {
            opened.agree(self.chosen(acceptance) == Some(own));
        }
        if acceptance.uncompressed && self.terms.is_some() {
            opened.stop_compressing();
        }
    }

    /// Appends the head of the 101 up to the date. False: the acceptance has more in it than this head.
    pub(super) fn append_switching(&self, acceptance: &Acceptance, out: &mut Vec<u8>) -> bool {
        let chosen = self.chosen(acceptance);
        let is_offered = |chosen: &str| self.protocols.iter().any(|known| known == chosen);
        if !acceptance.headers.is_empty() || chosen.is_some_and(|chosen| !is_offered(chosen)) {
            return false;
        }
        out.extend_from_slice(SWITCHING);
        handshake::append_accept_key(&self.key, out);
        if let Some(chosen) = chosen {
            out.extend_from_slice(b"\r\nsec-websocket-protocol: ");
            out.extend_from_slice(chosen.as_bytes());
        }
        if let Some(terms) = self.terms {
            out.extend_from_slice(b"\r\nsec-websocket-extensions: ");
            terms.append(out);
        }
        out.extend_from_slice(b"\r\n");
        true
    }
}

/// The length of 16 bytes in base64.
const KEY_BYTES: usize = 24;

/// The beginning of a 101, as [`switching`] makes it.
const SWITCHING: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-accept: ";

/// Checks a request. `Err`: the answer to an invalid one.
pub(crate) fn offered(request: &Asked) -> Result<Offered, Box<Answer>> {
    let offered = judge(request).map_err(|refusal| Box::new(refuse(refusal)))?;
    if !request.body().is_end_stream() {
        // some clients would read the bytes behind the 101 as a body, others as frames
        let answer = plain(StatusCode::BAD_REQUEST, "A body is not allowed");
        return Err(Box::new(answer));
    }
    Ok(offered)
}

/// The compression that a request offers, if it does. `Err`: the answer to one with malformed extensions (RFC 6455 §9.1).
pub(crate) fn compression_offer(request: &Asked) -> Result<Option<Offer>, Box<Answer>> {
    let lines = request.headers().get_all(SEC_WEBSOCKET_EXTENSIONS);
    let offer = Offer::first(lines.iter().map(HeaderValue::as_bytes));
    offer.map_err(|Malformed| Box::new(refuse(Refusal::Extensions)))
}

fn judge(request: &Asked) -> Result<Offered, Refusal> {
    let headers: Vec<(&str, &[u8])> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let head = RequestHead {
        get: request.method() == Method::GET,
        http_1_1: request.version() == Version::HTTP_11,
        headers: &headers,
    };
    handshake::check(&head).map(Offered::of)
}

fn refuse(refusal: Refusal) -> Answer {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut answer = Response::new(Body::from(Bytes::from(refusal.to_string())));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    match refusal.status() {
        426 => {
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(
                HeaderName::from_static("sec-websocket-version"),
                HeaderValue::from_static("13"),
            );
        }
        405 => {
            headers.insert(ALLOW, HeaderValue::from_static("GET"));
        }
        _ => {}
    }
    answer
}

/// Makes the 101 from the acceptance of `handleOpen`. The connection then belongs to the session.
pub(crate) fn begin(
    opened: Opened,
    acceptance: &Acceptance,
    client: &Client,
    offered: &Offered,
) -> Answer {
    let mut response = switching(offered);
    if let Err(problem) = apply(acceptance, &mut response, offered) {
        return open::invalid(opened, problem);
    }
    offered.settle(acceptance, &opened);
    *client.upgrade.borrow_mut() = Some(Box::new(move |stream, early| {
        opened.connected(stream, &early);
    }));
    response
}

fn switching(offered: &Offered) -> Answer {
    let (mut accept, mut extensions) = (Vec::new(), Vec::new());
    handshake::append_accept_key(&offered.key, &mut accept);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_bytes(&accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(terms) = offered.terms {
        terms.append(&mut extensions);
        if let Ok(extensions) = HeaderValue::from_bytes(&extensions) {
            headers.insert(SEC_WEBSOCKET_EXTENSIONS, extensions);
        }
    }
    response
}

fn apply(
    acceptance: &Acceptance,
    response: &mut Answer,
    offered: &Offered,
) -> Result<(), &'static str> {
    if let Some(protocol) = offered.chosen(acceptance) {
        if !offered.protocols.iter().any(|known| known == protocol) {
            return Err("handleOpen selected a subprotocol that the client did not offer");
        }
        let value = HeaderValue::try_from(protocol)
            .map_err(|_| "handleOpen selected an invalid subprotocol")?;
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, value);
    }
    open::add_headers(acceptance, response, &RESERVED)
}

/// Headers of the 101 that the application cannot set.
const RESERVED: [&str; 6] = [
    "connection",
    "upgrade",
    "sec-websocket-accept",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
    "content-length",
];
