//! HTTP in front of everything: hyper parses the request, an endpoint of the adapter registry
//! answers it. Knows no protocol but HTTP.

mod body;

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use crate::adapter;
use crate::arrival::arrive;
use crate::listener::{ListenerState, Peer, Seat};
use crate::shard::Shard;
use crate::stream::Stream;

pub(crate) use body::Body;

/// What an endpoint answers with.
pub(crate) type Answer = Response<Body>;

/// One request's surroundings.
pub(crate) struct Exchange {
    pub(crate) shard: Rc<Shard>,
    pub(crate) visitor: Rc<Visitor>,
}

impl Exchange {
    /// Who asks: the peer, or the client that a trusted proxy names.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let visitor = &self.visitor;
        visitor
            .listener
            .config
            .trusted
            .client(visitor.address, headers)
    }
}

/// The peer of an HTTP connection.
pub(crate) struct Visitor {
    pub(crate) address: Option<IpAddr>,
    pub(crate) listener: Arc<ListenerState>,
    /// Its address has too many connections already.
    pub(crate) crowded: bool,
    /// Its TLS certificate in DER, checked.
    pub(crate) certificate: Option<Box<[u8]>>,
    /// Moves on when the connection is upgraded.
    pub(crate) seat: RefCell<Option<Seat>>,
}

/// Serves a connection on this shard, until it is answered or upgraded.
pub(crate) fn adopt(shard: &Rc<Shard>, stream: Stream, peer: Peer) {
    let listener = peer.listener.id;
    let key = Rc::new(Cell::new(usize::MAX));
    let task = tokio::task::spawn_local(handshake(Rc::clone(shard), stream, peer, Rc::clone(&key)));
    key.set(shard.keep_handshake(listener, task.abort_handle()));
}

async fn handshake(shard: Rc<Shard>, stream: Stream, mut peer: Peer, key: Rc<Cell<usize>>) {
    let _kept = Kept {
        shard: Rc::clone(&shard),
        key,
    };
    let begun = Instant::now();
    let timeout = if peer.crowded {
        let whole = peer.listener.config.limits.handshake_timeout;
        whole.min(CROWDED_TIMEOUT)
    } else {
        peer.listener.config.limits.handshake_timeout
    };
    let Some(stream) = arrive(&shard, stream, &mut peer, timeout).await else {
        return;
    };
    let Peer {
        address,
        listener,
        seat,
        crowded,
        certificate,
    } = peer;
    let limits = &listener.config.limits;
    let mut builder = http1::Builder::new();
    builder
        .half_close(false)
        .auto_date_header(true)
        .header_read_timeout(None)
        .max_buf_size(limits.request_head_bytes.max(SMALLEST_BUFFER))
        .max_header_size(limits.request_head_bytes);
    let visitor = Rc::new(Visitor {
        address,
        listener,
        crowded,
        certificate,
        seat: RefCell::new(Some(seat)),
    });
    let service = service_fn(move |request| {
        let exchange = Exchange {
            shard: Rc::clone(&shard),
            visitor: Rc::clone(&visitor),
        };
        async move {
            let asked = Rc::clone(&exchange.shard);
            let mut answer = adapter::answer(exchange, request).await;
            asked.count_request();
            // said here and not by hyper, which would say it in a 101 too: some clients take only `upgrade` there
            if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().append(CONNECTION, close);
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // a peer that breaks off or is too slow is closed, whatever stage it is at
    let _ended = tokio::time::timeout(timeout.saturating_sub(begun.elapsed()), connection).await;
}

/// Takes the handshake off the shard's list, however it ends.
struct Kept {
    shard: Rc<Shard>,
    key: Rc<Cell<usize>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.shard.forget_handshake(self.key.get());
    }
}

/// An answer with a short text.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Body::from(Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    answer
}

/// The request as endpoints get it.
pub(crate) type Asked = Request<Incoming>;

/// Time for a peer whose address has too many connections to send the request that is refused.
const CROWDED_TIMEOUT: Duration = Duration::from_secs(1);

/// The smallest buffer hyper accepts.
const SMALLEST_BUFFER: usize = 8192;
