//! The adapter registry. An adapter ties one protocol's codec to the gateway: it knows the wire
//! and nothing of other adapters. A new transport is one file here, its codec, and its lines below.

pub(crate) mod files;
mod requests;
mod resp;
mod sse;
pub(crate) mod status;
pub(crate) mod websocket;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use millrace_core::{Kind, ShardSet, SocketId};

use crate::close::CloseReason;
use crate::frame::{Charge, Encoding, Encodings, Frame, LateReply};
use crate::http::{Answer, Asked, Exchange, plain, refuse_method};
use crate::hub::Hub;
use crate::listener::Peer;
use crate::net::stream::Stream;
use crate::shard::Shard;
pub(crate) use requests::Requests;
pub(crate) use resp::{Common as RespCommon, Terms as RespTerms};

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

/// What a peer is told whose address has too many connections.
pub(crate) const OVER_LIMIT: &str = "Too many connections from this address";

/// What a connection speaks. One value per connection; lives on its I/O shard.
pub(crate) trait Adapter {
    /// Takes bytes just read (or given back earlier). Returns how many were taken: fewer than given
    /// means the connection is out of credit, and the rest is given again when it has some.
    fn input(&mut self, bytes: &mut [u8], intake: &mut dyn Intake) -> Result<usize, CloseReason>;

    /// Which shared frames this connection takes.
    fn encoding(&self) -> Encoding;

    /// Encodes the protocol's sign-of-life question.
    fn append_ping(&mut self, out: &mut Vec<u8>);

    /// Encodes the protocol's goodbye.
    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>);

    /// Bytes received of a message not yet complete; `None` between messages.
    fn unfinished(&self) -> Option<usize>;

    /// Whether its peer answers neither a sign-of-life question nor a goodbye, and sends nothing for the worker.
    fn is_one_way(&self) -> bool {
        false
    }

    /// When the peer has to have said who it is, in milliseconds since the gateway was made; `None`: nobody waits for that.
    fn deadline(&self) -> Option<u64> {
        None
    }

    /// An answer that was given for later is written.
    fn answer_written(&mut self) {}
}

/// What an adapter tells of its input.
pub(crate) trait Intake {
    /// A complete message for the worker. `false`: take nothing more now.
    fn deliver(
        &mut self,
        kind: Kind,
        ascii: bool,
        payload: Cow<'_, [u8]>,
    ) -> Result<bool, CloseReason>;

    /// Bytes to answer with at once.
    fn reply(&mut self, encode: &mut dyn FnMut(&mut Vec<u8>));

    /// The same, which may be long: in a frame that was counted before it was made.
    fn reply_long(&mut self, reply: Frame);

    /// What a long reply is counted with before it is made.
    fn charge(&self) -> Charge;

    /// Answers when everything that was posted to this shard so far is delivered, and this time has passed. Take nothing
    /// more now.
    fn answer_later(&mut self, answer: LateReply, delay: Duration);

    /// A complete message of so many bytes was answered and is not for the worker. `false`: take nothing more now.
    fn answered(&mut self, bytes: usize) -> bool;

    /// Where the connection stands.
    fn site(&mut self) -> Site<'_>;

    /// Something complete arrived: the peer lives.
    fn alive(&mut self);

    /// There is a new deadline.
    fn look_again(&mut self);

    /// Whether the connection is closing: what comes counts no more.
    fn is_closing(&self) -> bool;

    /// Milliseconds since the gateway was made.
    fn now(&self) -> u64;
}

/// A connection's place in its gateway.
pub(crate) struct Site<'a> {
    pub(crate) hub: &'a Arc<Hub>,
    pub(crate) socket: SocketId,
    /// The shards that something is posted to: they are woken once the input is taken.
    pub(crate) dirty: &'a mut ShardSet,
}
