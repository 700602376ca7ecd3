//! HTTP as a carrier: input is inspected strictly, hyper parses it, and an endpoint of the listener answers it. Knows
//! no other protocol.
//!
//! [`clock`] keeps the times, [`connection`] has the state that a connection, hyper and its shard share, [`service`]
//! what the connections of a listener share, [`serve`] the task of a connection, [`h2`] the task of an HTTP/2
//! connection, [`answer`] what all answers have in common, [`answer_head`] the head of a worker's answer, [`verbatim`]
//! answers that a worker wrote as messages, [`direct`] requests that are answered without hyper, [`simple`] how endpoints
//! see these, [`answer_date`] the date of their answers, [`endpoint`] the endpoints, [`methods`] the methods that no endpoint gets,
//! [`upgrade`] how a request becomes a WebSocket, [`incoming`] and [`body`] the bodies of requests and answers, and
//! [`limits`] the limits of all that.

mod answer;
mod answer_date;
mod answer_head;
mod answer_heads;
mod body;
mod clock;
mod connection;
mod direct;
mod endpoint;
mod h2;
mod incoming;
mod limits;
mod methods;
pub(crate) mod open;
mod options;
mod protocol;
mod serve;
mod service;
mod signal;
mod simple;
pub(crate) mod upgrade;
mod verbatim;

use std::cell::{OnceCell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Request, Response, StatusCode};
use millrace_protocol::http::Refusal;

use crate::listener::ListenerState;
use crate::net::address_text::text_of;
use crate::net::stream::Stream;
use crate::permits::Permit;
use crate::shard::Shard;

pub(crate) use answer::plain;
pub use answer_head::{AnswerHead, HeadError, Verbatim};
pub use answer_heads::AnswerHeads;
pub(crate) use body::{Body, BodyError};
pub(crate) use endpoint::{Answering, Claim, Endpoint, Endpoints, Offers, Opens};
pub(crate) use h2::Place;
pub(crate) use incoming::Incoming;
pub(crate) use limits::{EndpointLimits, HttpLimits};
use methods::refuse_method;
pub(crate) use protocol::HttpProtocol;
use serve::adopt;
pub(crate) use service::HttpService;
pub(crate) use signal::Signal;
pub(crate) use simple::{Arrived, Later, Ready, ReadyHead, SimpleRequest, Taking};

/// The answer to a peer whose address has too many connections.
pub(crate) const OVER_LIMIT: &str = "Too many connections from this address";

/// An answer of an endpoint.
pub(crate) type Answer = Response<Body>;

/// A request for an endpoint.
pub(crate) type Asked = Request<Incoming>;

/// In the extensions of a request: its head as it was sent, if Node listeners want it.
#[derive(Clone, Debug)]
pub(crate) struct SentHead(pub(crate) Bytes);

/// The context of one request.
pub(crate) struct Exchange {
    pub(crate) shard: Rc<Shard>,
    pub(crate) client: Rc<Client>,
    /// Whether no other endpoint is left to answer the request.
    pub(crate) last: bool,
}

impl Exchange {
    /// The client's address: the peer's, or the one that a trusted proxy names.
    pub(crate) fn client_address(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let client = &self.client;
        client
            .listener
            .config
            .trusted
            .client(client.address, headers)
    }

    /// Whether a trusted proxy sent it, whose headers about its client are reliable.
    pub(crate) fn is_forwarded(&self) -> bool {
        let client = &self.client;
        client.listener.config.trusted.has(client.address)
    }

    /// The client's port; 0 on a unix socket, and for a client that a proxy names in its requests.
    pub(crate) fn client_port(&self, headers: &HeaderMap) -> u16 {
        let client = &self.client;
        if self.client_address(headers) == client.address {
            client.port
        } else {
            0
        }
    }
}

impl Client {
    /// Takes the permit for the socket that this request becomes: that of its connection, which no other request can
    /// use, or an additional one on an HTTP/2 connection. `Err`: the answer if there is none.
    pub(crate) fn take_permit(&self) -> Result<Permit, (StatusCode, &'static str)> {
        match (&self.place, self.permit.borrow_mut().take()) {
            (_, Some(permit)) => Ok(permit),
            (Some(place), None) => place.take_permit(),
            (None, None) => Err((StatusCode::BAD_REQUEST, "Already upgraded")),
        }
    }
}

impl Client {
    /// The peer's address as text; empty on a unix socket.
    pub(crate) fn address_text(&self) -> &str {
        self.address_text.get_or_init(|| {
            let text = self.address.map(text_of);
            text.unwrap_or_default().into()
        })
    }

    /// Logs a request that was refused before an endpoint saw all of it.
    fn log_refusal(&self, refusal: Refusal) {
        let address = self.address.map(tracing::field::display);
        tracing::debug!(target: "millrace::http", address, status = refusal.status(), reason = %refusal, "refused");
    }
}

/// The peer of an HTTP connection, or of one stream of an HTTP/2 connection.
pub(crate) struct Client {
    pub(crate) address: Option<IpAddr>,
    /// The address as text, once a worker was told of it.
    address_text: OnceCell<Box<str>>,
    pub(crate) port: u16,
    /// The local address, if Node listeners may ask for it; `None` on a unix socket.
    pub(crate) local: Option<SocketAddr>,
    pub(crate) listener: Arc<ListenerState>,
    pub(crate) service: Arc<HttpService>,
    /// Whether its address already has too many connections.
    pub(crate) over_limit: bool,
    /// Its verified TLS certificate in DER.
    pub(crate) certificate: Option<Arc<[u8]>>,
    /// Moves to the socket when the connection is upgraded.
    pub(crate) permit: RefCell<Option<Permit>>,
    /// The stream's place in an HTTP/2 connection.
    pub(crate) place: Option<Place>,
    /// Takes the connection over once the 101 is written.
    pub(crate) upgrade: RefCell<Option<Upgrade>>,
    /// Set when the client sends nothing more. It still reads if it only closed its sending half.
    pub(crate) half_closed: Signal,
}

/// Takes the stream, and the bytes that followed the request. Dropped without a call if the connection ends first.
pub(crate) type Upgrade = Box<dyn FnOnce(Stream, Bytes)>;
