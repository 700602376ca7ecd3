//! The adapter registry. An adapter ties one protocol's codec to the gateway: it knows the wire
//! and nothing of other adapters. A new transport is one file here, its codec, and its lines below.

pub(crate) mod files;
mod requests;
mod resp;
mod sse;
pub(crate) mod status;
pub(crate) mod websocket;

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;

use crate::frame::Encodings;
use crate::http::{Answer, Asked, Exchange, OVER_LIMIT, plain, refuse_method};
use crate::listener::Peer;
use crate::net::stream::Stream;
use crate::shard::Shard;
pub(crate) use requests::Requests;
#[cfg(test)]
pub(crate) use resp::session_on_stage as resp_session;
pub(crate) use resp::{Common as RespCommon, Terms as RespTerms};
#[cfg(test)]
pub(crate) use sse::session_on_stage as sse_session;

/// What adapters keep for a whole gateway.
#[derive(Debug)]
pub(crate) struct Adapters {
    pub(crate) resp: Arc<RespCommon>,
}

impl Adapters {
    pub(crate) fn new(encodings: &mut Encodings) -> Self {
        encodings.add(sse::ENCODING);
        Self {
            resp: Arc::new(RespCommon::new(encodings)),
        }
    }
}

/// Takes an accepted connection over on this shard, in the protocol of its listener.
pub(crate) fn adopt(shard: &Rc<Shard>, stream: Stream, peer: Peer) {
    match peer.listener.resp.clone() {
        None => crate::http::adopt(shard, stream, peer),
        Some(terms) => resp::adopt(shard, stream, peer, &terms),
    }
}

/// Answers an HTTP request: the endpoints in the order of their precedence.
pub(crate) async fn answer(exchange: Exchange, request: Asked) -> Answer {
    if let Some(refusal) = refuse_method(&exchange, request.method()) {
        return refusal;
    }
    let takes_requests = exchange.shard.hub().workers().takes_requests();
    let paths = exchange.client.listener.config.websocket_paths.as_deref();
    let is_socket_path =
        paths.is_none_or(|paths| paths.iter().any(|path| path == request.uri().path()));
    if is_socket_path && websocket::is_meant(&request) {
        return websocket::answer(exchange, request).await;
    }
    if let Some(answer) = status::answer(&exchange, &request) {
        return answer;
    }
    if sse::is_asked_for(&exchange, &request) {
        return sse::answer(exchange, request).await;
    }
    let listener = Arc::clone(&exchange.client.listener);
    if let Some(files) = &listener.files {
        if exchange.client.over_limit {
            return plain(StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT);
        }
        if let Some(answer) = files.answer(&request, !takes_requests).await {
            return answer;
        }
    }
    if takes_requests {
        return requests::answer(exchange, request).await;
    }
    if is_socket_path && listener.files.is_none() {
        // where there are only WebSockets, whatever asks for none is told so
        return websocket::answer(exchange, request).await;
    }
    plain(StatusCode::NOT_FOUND, "Not found")
}
