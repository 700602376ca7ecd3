//! The opening handshake: judged strictly, admitted by the application, answered with 101. Ends where the
//! connection is handed to its shard.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body as _;
use hyper::header::{
    ALLOW, CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL,
    UPGRADE,
};
use hyper::{Method, Response, StatusCode, Version};
use millrace_protocol::websocket::handshake::{self, Refusal, RequestHead};

use super::{WebSocket, head};
use crate::http::{Answer, Asked, Body, Exchange, Visitor, plain};
use crate::shard::Shard;
use crate::shard::connection::{Admission, Shared};
use crate::stream::Stream;
use crate::worker::record::Opening;
use crate::worker::{Acceptance, Rejection};

/// Whether a request asks for a WebSocket, well or badly.
pub(crate) fn is_meant(request: &Asked) -> bool {
    let asked = request.headers().get_all(UPGRADE);
    asked
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket"))
}

/// Answers a request for a WebSocket: 101, or the error that fits.
pub(crate) async fn answer(exchange: Exchange, request: Asked) -> Answer {
    let offered = match offered(&request) {
        Ok(offered) => offered,
        Err(refusal) => return refuse(refusal),
    };
    if !request.body().is_end_stream() {
        // what followed the 101 would be a body for some and frames for others
        return plain(StatusCode::BAD_REQUEST, "A body is not allowed");
    }
    let Exchange { shard, visitor } = &exchange;
    if let Some((status, text)) = unwelcome(visitor, &request) {
        let address = visitor.address.map(tracing::field::display);
        tracing::warn!(target: "millrace::connection", address, status = status.as_u16(), reason = text, "refused");
        return plain(status, text);
    }
    let Some(worker) = shard.gateway().workers().pick() else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "No worker available");
    };
    let adapter = Box::new(WebSocket::new(Arc::clone(&visitor.listener.decoder)));
    let Some(mut seat) = visitor.seat.borrow_mut().take() else {
        return plain(StatusCode::BAD_REQUEST, "Already upgraded");
    };
    let address = exchange.client(request.headers());
    if address != visitor.address && address.is_some_and(|address| seat.count_for(address)) {
        seat.forget_address();
        *visitor.seat.borrow_mut() = Some(seat);
        return plain(StatusCode::SERVICE_UNAVAILABLE, TOO_MANY);
    }
    let (connection, admission) =
        shard.reserve(worker, &visitor.listener, (address, seat), adapter);
    let certificate = visitor.certificate.as_deref();
    if !introduce(shard, &connection, (address, certificate), &request) {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "No worker available");
    }
    // hyper drops this future when the client leaves; the connection must then not be forgotten
    let guard = Leaving {
        shard: Rc::clone(shard),
        connection: Some(connection),
    };
    let patience = visitor
        .listener
        .config
        .limits
        .handshake_timeout
        .mul_f32(PATIENCE);
    let answer = match tokio::time::timeout(patience, admission).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => return plain(StatusCode::SERVICE_UNAVAILABLE, "No worker available"),
        Err(_) => return plain(StatusCode::GATEWAY_TIMEOUT, "No answer in time"),
    };
    admit(guard, answer, visitor, &offered)
}

/// Tells the worker; `handleOpen`, where there is one, is shown the request.
fn introduce(
    shard: &Shard,
    connection: &Shared,
    (address, certificate): (Option<IpAddr>, Option<&[u8]>),
    request: &Asked,
) -> bool {
    let socket = connection.socket;
    if !connection.worker.handlers().open {
        return shard.introduce(connection, &Opening::unseen(socket));
    }
    let address = address
        .map(|address| address.to_string())
        .unwrap_or_default();
    let target = request.uri().path_and_query();
    let opening = Opening {
        socket,
        answer: true,
        address: &address,
        target: target.map_or("/", |target| target.as_str()),
        headers: &head::header_block(request.headers()),
        subject: &certificate.map(head::subject_block).unwrap_or_default(),
        certificate: certificate.unwrap_or_default(),
    };
    shard.introduce(connection, &opening)
}

/// Why this peer may not connect, whatever the application thinks.
fn unwelcome(visitor: &Visitor, request: &Asked) -> Option<(StatusCode, &'static str)> {
    if !head::origin_allowed(&visitor.listener.config.origins, request.headers()) {
        return Some((StatusCode::FORBIDDEN, "Origin not allowed"));
    }
    if visitor.crowded {
        return Some((StatusCode::SERVICE_UNAVAILABLE, TOO_MANY));
    }
    let stopping = visitor.listener.is_stopping();
    stopping.then_some((StatusCode::SERVICE_UNAVAILABLE, "Server is stopping"))
}

const TOO_MANY: &str = "Too many connections from this address";

/// The part of the handshake timeout left to `handleOpen`, so that there is time to answer.
const PATIENCE: f32 = 0.9;

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

/// Turns `handleOpen`'s answer into the HTTP one.
fn admit(mut guard: Leaving, answer: Admission, visitor: &Visitor, offered: &Offered) -> Answer {
    let Some(connection) = guard.connection.take() else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error");
    };
    let shard = &guard.shard;
    let mut response = switching(&offered.accept);
    let acceptance = match answer {
        Ok(acceptance) => acceptance,
        Err(rejection) => return rejected(*rejection),
    };
    if let Err(problem) = apply(&acceptance, &mut response, &offered.protocols) {
        shard
            .gateway()
            .report("ERR_MILLRACE_INVALID_ACCEPTANCE", problem);
        shard.lost(&connection);
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error");
    }
    let admitted = Admitted {
        shard: Rc::clone(shard),
        connection: Some(connection),
    };
    *visitor.upgrade.borrow_mut() = Some(Box::new(move |stream, early| {
        admitted.connected(stream, &early);
    }));
    response
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

/// A connection that was accepted and whose 101 is being written.
struct Admitted {
    shard: Rc<Shard>,
    connection: Option<Shared>,
}

impl Admitted {
    fn connected(mut self, stream: Stream, early: &Bytes) {
        if let Some(connection) = self.connection.take() {
            self.shard.connected(&connection, stream, early);
        }
    }
}

/// The 101 never left.
impl Drop for Admitted {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shard.lost(&connection);
        }
    }
}

fn rejected(rejection: Rejection) -> Answer {
    let mut answer = Response::new(Body::from(rejection.body));
    *answer.status_mut() = StatusCode::from_u16(rejection.status).unwrap_or(StatusCode::FORBIDDEN);
    for (name, value) in rejection.headers {
        // the length and the end of the answer are ours to say
        if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            continue;
        }
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            answer.headers_mut().append(name, value);
        }
    }
    answer
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
    for (name, value) in &acceptance.headers {
        let name =
            HeaderName::try_from(name).map_err(|_| "handleOpen returned an invalid header name")?;
        let value = HeaderValue::try_from(value)
            .map_err(|_| "handleOpen returned an invalid header value")?;
        if RESERVED.contains(&name.as_str()) {
            return Err("handleOpen returned a header that belongs to the handshake");
        }
        response.headers_mut().append(name, value);
    }
    Ok(())
}

/// Headers of a refusal that are ours to write.
const OURS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// Headers of the 101 that are ours to write.
const RESERVED: [&str; 6] = [
    "connection",
    "upgrade",
    "sec-websocket-accept",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
    "content-length",
];

/// Tells the shard when the client leaves while its admission is pending.
struct Leaving {
    shard: Rc<Shard>,
    connection: Option<Shared>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shard.abandoned(&connection);
        }
    }
}
