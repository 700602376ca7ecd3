//! HTTP in front of everything: what comes in is inspected strictly, hyper parses it, an endpoint of its
//! listener answers it. Knows no protocol but HTTP.
//!
//! [`clock`] keeps the times, [`connection`] is what a connection, hyper and its shard share, with its bytes, [`service`]
//! what those of a listener share, [`serve`] the task of a connection, [`h2`] that of one that speaks HTTP/2, [`answer`] what
//! is common to answers, [`answer_head`] what a worker says of one, [`verbatim`] those that a worker wrote as messages, [`endpoint`] who answers, [`methods`] are those that no
//! endpoint gets, [`upgrade`] how one becomes a WebSocket, [`incoming`] and [`body`] are what requests and answers carry,
//! [`limits`] the bounds of all that.

mod answer;
mod answer_head;
mod body;
mod clock;
mod connection;
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
pub(crate) mod upgrade;
mod verbatim;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Request, Response, StatusCode};
use millrace_protocol::http::Refusal;

use crate::listener::ListenerState;
use crate::net::stream::Stream;
use crate::permits::Permit;
use crate::shard::Shard;

pub(crate) use answer::plain;
pub use answer_head::{AnswerHead, HeadError, Verbatim};
pub(crate) use body::{Body, BodyError};
pub(crate) use endpoint::{Answering, Claim, Endpoint, Endpoints};
pub(crate) use h2::Place;
pub(crate) use incoming::Incoming;
pub(crate) use limits::{EndpointLimits, HttpLimits};
use methods::refuse_method;
pub(crate) use protocol::HttpProtocol;
use serve::adopt;
pub(crate) use service::HttpService;
pub(crate) use signal::Signal;

/// What a peer is told whose address has too many connections.
pub(crate) const OVER_LIMIT: &str = "Too many connections from this address";

/// What an endpoint answers with.
pub(crate) type Answer = Response<Body>;

/// The request as endpoints get it.
pub(crate) type Asked = Request<Incoming>;

/// In the extensions of a request: its head as it was sent, where a listener of Node is to see it so.
#[derive(Clone, Debug)]
pub(crate) struct SentHead(pub(crate) Bytes);

/// One request's surroundings.
pub(crate) struct Exchange {
    pub(crate) shard: Rc<Shard>,
    pub(crate) client: Rc<Client>,
    /// Nobody else answers if the endpoint that is asked does not.
    pub(crate) last: bool,
}

impl Exchange {
    /// Who asks: the peer, or the client that a trusted proxy names.
    pub(crate) fn client_address(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let client = &self.client;
        client
            .listener
            .config
            .trusted
            .client(client.address, headers)
    }

    /// Whether a trusted proxy sent it, whose headers about its client are true.
    pub(crate) fn is_forwarded(&self) -> bool {
        let client = &self.client;
        client.listener.config.trusted.has(client.address)
    }

    /// The port of who asks; 0 on a unix socket, and where a proxy names the client in its requests.
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
    /// The permit of the socket that this request becomes: that of its connection, which is nobody else's, or one more on
    /// a connection of many. `Err`: the answer where there is none.
    pub(crate) fn take_permit(&self) -> Result<Permit, (StatusCode, &'static str)> {
        match (&self.place, self.permit.borrow_mut().take()) {
            (_, Some(permit)) => Ok(permit),
            (Some(place), None) => place.take_permit(),
            (None, None) => Err((StatusCode::BAD_REQUEST, "Already upgraded")),
        }
    }
}

impl Client {
    /// A request was refused before an endpoint saw all of it.
    fn log_refusal(&self, refusal: Refusal) {
        let address = self.address.map(tracing::field::display);
        tracing::debug!(target: "millrace::http", address, status = refusal.status(), reason = %refusal, "refused");
    }
}

/// The peer of an HTTP connection, or of one stream of an HTTP/2 connection.
pub(crate) struct Client {
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    /// This side's address, where listeners of Node may ask for it; `None` on a unix socket.
    pub(crate) local: Option<SocketAddr>,
    pub(crate) listener: Arc<ListenerState>,
    pub(crate) service: Arc<HttpService>,
    /// Its address has too many connections already.
    pub(crate) over_limit: bool,
    /// Its TLS certificate in DER, checked.
    pub(crate) certificate: Option<Arc<[u8]>>,
    /// Moves on when the connection is upgraded.
    pub(crate) permit: RefCell<Option<Permit>>,
    /// On an HTTP/2 connection, the stream's place in it.
    pub(crate) place: Option<Place>,
    /// Who takes the connection over once the 101 is written.
    pub(crate) upgrade: RefCell<Option<Upgrade>>,
    /// It will send nothing more. It may still read, and does if it only closed its half.
    pub(crate) half_closed: Signal,
}

/// Takes the stream and the bytes that came right behind the request. Dropped uncalled when the connection ends
/// before.
pub(crate) type Upgrade = Box<dyn FnOnce(Stream, Bytes)>;
