//! The opening handshake: judged strictly, admitted by the application, answered with 101. Ends where the
//! connection is handed to its shard.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body as _;
use hyper::header::{
    ALLOW, CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL,
    UPGRADE,
};
use hyper::{Method, Response, StatusCode, Version};
use millrace_protocol::websocket::handshake::{self, Refusal, RequestHead};
use millrace_protocol::websocket::{DecoderConfig, Role};

use super::session::WebSocket;
use crate::contract::{Acceptance, ListenError, Opened, Reader, Transport};
use crate::http::open;
use crate::http::{
    Answer, Answering, Asked, Body, Claim, Client, Endpoint, EndpointLimits, Exchange, HttpLimits,
    plain,
};
use crate::limits::ListenerLimits;

/// WebSockets on one listener.
#[derive(Debug)]
pub(crate) struct WebSockets {
    /// Paths on which they open; `None`: any.
    paths: Option<Vec<String>>,
    decoder: Arc<DecoderConfig>,
}

impl WebSockets {
    /// Reads the option `websocketPaths`.
    pub(crate) fn new(
        options: &Reader<'_>,
        limits: &EndpointLimits<'_>,
    ) -> Result<Self, ListenError> {
        Ok(Self {
            paths: options.texts("websocketPaths")?,
            decoder: decoder(limits.listener, limits.http),
        })
    }

    fn open_at(&self, path: &str) -> bool {
        let paths = self.paths.as_deref();
        paths.is_none_or(|paths| paths.iter().any(|known| known == path))
    }
}

impl Endpoint for WebSockets {
    fn claim(&self, _: &Exchange, asked: &Asked) -> Claim {
        if !self.open_at(asked.uri().path()) {
            Claim::No
        } else if is_meant(asked) {
            Claim::Yes
        } else {
            // where there are only WebSockets, whatever asks for none is told so
            Claim::IfNobodyElse
        }
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        Box::pin(answer(&self.decoder, exchange, asked))
    }
}

/// The bounds of a listener as the decoder wants them.
fn decoder(limits: &ListenerLimits, http: &HttpLimits) -> Arc<DecoderConfig> {
    Arc::new(DecoderConfig {
        message_bytes: limits.message_bytes,
        role: Role::Server,
        checks_text: true,
        control_per_second: http.control_frames_per_second,
        control_burst: http.control_frames_burst,
    })
}

/// A session without its stream, on a listener that says nothing of HTTP.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn session_on_stage(limits: &ListenerLimits) -> Box<dyn crate::contract::Session> {
    Box::new(WebSocket::new(decoder(limits, &HttpLimits::default())))
}

/// Whether a request asks for a WebSocket, well or badly.
fn is_meant(request: &Asked) -> bool {
    let asked = request.headers().get_all(UPGRADE);
    let lists = |text: &str| {
        text.split(',')
            .any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket"))
    };
    asked.iter().any(|value| value.to_str().is_ok_and(lists))
}

/// 101, or the error that fits.
async fn answer(
    decoder: &Arc<DecoderConfig>,
    exchange: &Exchange,
    request: &Asked,
) -> Option<Answer> {
    let offered = match offered(request) {
        Ok(offered) => offered,
        Err(refusal) => return Some(refuse(refusal)),
    };
    if !request.body().is_end_stream() {
        // what followed the 101 would be a body for some and frames for others
        return Some(plain(StatusCode::BAD_REQUEST, "A body is not allowed"));
    }
    let session = Box::new(WebSocket::new(Arc::clone(decoder)));
    let transport = Transport::WebSocket;
    let admitted = open::admit(exchange, request, transport, session).await;
    Some(match admitted {
        Ok((opened, acceptance)) => begin(opened, &acceptance, &exchange.client, &offered),
        Err(answer) => answer,
    })
}

/// Turns `handleOpen`'s acceptance into the 101.
fn begin(opened: Opened, acceptance: &Acceptance, client: &Client, offered: &Offered) -> Answer {
    let mut response = switching(&offered.accept);
    if let Err(problem) = apply(acceptance, &mut response, &offered.protocols) {
        return open::invalid(opened, problem);
    }
    *client.upgrade.borrow_mut() = Some(Box::new(move |stream, early| {
        opened.connected(stream, &early);
    }));
    response
}

/// What a good request offered.
struct Offered {
    /// The proof that its key was understood.
    accept: String,
    protocols: Vec<String>,
}

/// Judges the head.
fn offered(request: &Asked) -> Result<Offered, Refusal> {
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
    handshake::check(&head).map(|offer| Offered {
        accept: handshake::accept_key(offer.key),
        protocols: offer.protocols.into_iter().map(str::to_owned).collect(),
    })
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

/// The 101.
fn switching(accept: &str) -> Answer {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::try_from(accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

fn apply(
    acceptance: &Acceptance,
    response: &mut Answer,
    offered: &[String],
) -> Result<(), &'static str> {
    if let Some(protocol) = &acceptance.protocol {
        if !offered.contains(protocol) {
            return Err("handleOpen selected a subprotocol that the client did not offer");
        }
        let value = HeaderValue::try_from(protocol)
            .map_err(|_| "handleOpen selected an invalid subprotocol")?;
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, value);
    }
    open::add_headers(acceptance, response, &RESERVED)
}

/// Headers of the 101 that are ours to write.
const RESERVED: [&str; 6] = [
    "connection",
    "upgrade",
    "sec-websocket-accept",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
    "content-length",
];
