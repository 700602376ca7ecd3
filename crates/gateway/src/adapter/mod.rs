//! The adapter registry. An adapter ties one protocol's codec to the gateway: it knows the wire
//! and nothing of other adapters. A new transport is one file here, its codec, and its lines below.

pub(crate) mod files;
mod requests;
mod resp;
mod sse;
pub(crate) mod status;
pub(crate) mod websocket;

use std::sync::Arc;

use http::StatusCode;

use crate::frame::Encodings;
use crate::http::{Answer, Asked, Exchange, HttpProtocol, OVER_LIMIT, plain, refuse_method};
use crate::shard::protocol::Protocol;
use resp::RespProtocol;

/// What a gateway's listeners can speak.
pub(crate) fn protocols(encodings: &mut Encodings) -> Vec<Box<dyn Protocol>> {
    encodings.add(sse::ENCODING);
    vec![
        Box::new(HttpProtocol),
        Box::new(RespProtocol::new(encodings)),
    ]
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
