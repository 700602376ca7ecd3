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
use millrace_protocol::websocket::DecoderConfig;

use crate::frame::Encodings;
use crate::http::{
    Answer, Answering, Asked, Endpoints, Exchange, HttpProtocol, OVER_LIMIT, plain, refuse_method,
};
use crate::limits::ListenerLimits;
use crate::net::address::ListenError;
use crate::options::Reader;
use crate::shard::protocol::Protocol;
use files::Files;
use resp::RespProtocol;
use status::StatusPaths;

/// What a gateway's listeners can speak.
pub(crate) fn protocols(encodings: &mut Encodings) -> Vec<Box<dyn Protocol>> {
    encodings.add(sse::ENCODING);
    vec![
        Box::new(HttpProtocol(endpoints)),
        Box::new(RespProtocol::new(encodings)),
    ]
}

/// What answers the requests of a listener, in the order of their precedence.
#[derive(Debug)]
struct InOrder {
    /// Paths on which WebSockets open; `None`: any.
    websocket_paths: Option<Vec<String>>,
    decoder: Arc<DecoderConfig>,
    status: StatusPaths,
    /// The path of event streams; `None`: there are none.
    events: Option<String>,
    files: Option<Files>,
}

fn endpoints(
    options: &Reader<'_>,
    limits: &ListenerLimits,
) -> Result<Arc<dyn Endpoints>, ListenError> {
    Ok(Arc::new(InOrder {
        websocket_paths: options.texts("websocketPaths")?,
        decoder: websocket::decoder(limits),
        status: StatusPaths::read(options)?,
        events: options.text("events")?.map(str::to_owned),
        files: Files::open(options, limits)?,
    }))
}

impl Endpoints for InOrder {
    fn answer(&self, exchange: Exchange, request: Asked) -> Answering<'_> {
        Box::pin(self.ask(exchange, request))
    }
}

impl InOrder {
    async fn ask(&self, exchange: Exchange, request: Asked) -> Answer {
        if let Some(refusal) = refuse_method(&exchange, request.method()) {
            return refusal;
        }
        let takes_requests = exchange.shard.hub().workers().takes_requests();
        let paths = self.websocket_paths.as_deref();
        let is_socket_path =
            paths.is_none_or(|paths| paths.iter().any(|path| path == request.uri().path()));
        let decoder = || Arc::clone(&self.decoder);
        if is_socket_path && websocket::is_meant(&request) {
            return websocket::answer(decoder(), exchange, request).await;
        }
        if let Some(answer) = status::answer(&self.status, &exchange, &request) {
            return answer;
        }
        if sse::is_asked_for(self.events.as_deref(), &request) {
            return sse::answer(exchange, request).await;
        }
        if let Some(files) = &self.files {
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
        if is_socket_path && self.files.is_none() {
            // where there are only WebSockets, whatever asks for none is told so
            return websocket::answer(decoder(), exchange, request).await;
        }
        plain(StatusCode::NOT_FOUND, "Not found")
    }
}
