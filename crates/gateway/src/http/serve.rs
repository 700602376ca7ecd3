//! The task of one HTTP connection: the first head, then hyper until it is done, then the last words.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;

use super::answer::{self, Wishes};
use super::feed::Feed;
use super::visit::{Around, Stay, Visit, Visits, set_task};
use super::{Answer, Exchange, Visitor, h2};
use crate::adapter;
use crate::arrival::arrive;
use crate::listener::Peer;
use crate::shard::Shard;
use crate::stream::Stream;

/// Serves a connection on this shard, until it ends or is upgraded.
pub(crate) fn adopt(shard: &Rc<Shard>, stream: Stream, peer: Peer) {
    let visit = Visit::new(shard, &peer.listener);
    let stay = Visits::enter(&visit);
    let key = stay.key();
    let task = tokio::task::spawn_local(serve(visit, stream, peer, stay));
    set_task(shard, key, task.abort_handle());
}

async fn serve(visit: Rc<Visit>, stream: Stream, mut peer: Peer, stay: Stay) {
    let Around { shard, listener } = &visit.around;
    let timeout = listener.config.limits.handshake_timeout;
    let timeout = if peer.crowded {
        timeout.min(CROWDED_TIMEOUT)
    } else {
        timeout
    };
    let Some(stream) = arrive(shard, stream, &mut peer, timeout).await else {
        return;
    };
    if stream.speaks_http2() {
        return Box::pin(h2::converse(&visit, Visitor::from(peer), stream)).await;
    }
    {
        let mut wire = visit.wire.borrow_mut();
        wire.open(stream, shard.now());
        if peer.crowded {
            wire.clock.begin_end(shard.now(), CROWDED_TIMEOUT);
        }
    }
    let visitor = Rc::new(Visitor::from(peer));
    let asked = poll_fn(|cx| {
        visit.set_waker(cx.waker());
        visit.wire.borrow_mut().poll_first(cx, &visit.around)
    });
    if asked.await {
        // boxed: those whose first head has not come pay nothing for it
        if !Box::pin(converse(&visit, &visitor)).await {
            return;
        }
        if let Some(upgrade) = visitor.upgrade.take() {
            let moved = visit.wire.borrow_mut().take();
            drop(stay);
            if let Some((stream, early)) = moved {
                upgrade(stream, early);
            }
            return;
        }
    }
    part(&visit, &visitor).await;
}

/// Lets hyper read requests and write answers. False: the connection is broken.
async fn converse(visit: &Rc<Visit>, visitor: &Rc<Visitor>) -> bool {
    let limits = &visit.around.listener.config.limits;
    let mut builder = http1::Builder::new();
    builder
        // it is seen here when a peer leaves, and one that only stops sending gets its answer
        .half_close(true)
        .auto_date_header(true)
        .header_read_timeout(None)
        .max_buf_size(limits.request_head_bytes.max(BUFFER_BYTES))
        .max_header_size(limits.request_head_bytes);
    let headers = usize::try_from(limits.request_headers).unwrap_or(usize::MAX);
    if headers > HYPER_HEADERS {
        builder.max_headers(headers);
    }
    let service = service_fn(|request| {
        let (visit, visitor) = (Rc::clone(visit), Rc::clone(visitor));
        async move { Ok::<_, Infallible>(respond(&visit, visitor, request).await) }
    });
    let feed = TokioIo::new(Feed(Rc::clone(visit)));
    let mut connection = pin!(builder.serve_connection(feed, service));
    poll_fn(|cx| {
        {
            let wire = &mut *visit.wire.borrow_mut();
            let late = !wire.unsent.queued && !wire.unsent.is_empty();
            let sent = late.then(|| wire.poll_unsent(cx, &visit.around.shard));
            if wire.unsent.broken || matches!(sent, Some(Poll::Ready(Err(_)))) {
                return Poll::Ready(false);
            }
        }
        if let Poll::Ready(outcome) = connection.as_mut().poll(cx) {
            return Poll::Ready(outcome.is_ok());
        }
        let wire = &mut *visit.wire.borrow_mut();
        if wire.clock.is_waiting() {
            return Poll::Pending;
        }
        let broken = wire.poll_ahead(cx, &visit.around).is_err();
        if wire.half_closed {
            visitor.half_closed.set();
        }
        // a socket that cannot be written to from there is none
        if broken || wire.half_closed && wire.inspector().is_at_upgrade() {
            return Poll::Ready(false);
        }
        Poll::Pending
    })
    .await
}

async fn respond(visit: &Rc<Visit>, visitor: Rc<Visitor>, request: Request<Incoming>) -> Answer {
    let limits = &visit.around.listener.config.limits;
    let serial = visit.asked.get() + 1;
    visit.asked.set(serial);
    let wishes = Wishes::of(&request);
    let upgrades = {
        let wire = &mut *visit.wire.borrow_mut();
        let inspector = wire.inspector();
        let upgrades = inspector.is_at_upgrade() && inspector.requests() == serial;
        if upgrades {
            wire.clock.begin_handshake(limits.handshake_timeout);
        }
        upgrades
    };
    let crowded = visitor.crowded;
    let exchange = Exchange {
        shard: Rc::clone(&visit.around.shard),
        visitor: Rc::clone(&visitor),
    };
    let request = request.map(|body| super::Incoming::new(body, visit));
    let mut answer = adapter::answer(exchange, request).await;
    visit.around.shard.count_request();
    let rest = visit.left.take();
    let mut keeps = wishes.keep_alive
        && !upgrades
        && !crowded
        // what became a socket, or nearly did, took the connection's seat along
        && visitor.seat.borrow().is_some()
        && serial < u64::from(limits.keep_alive_requests)
        && !visit.around.listener.is_stopping()
        && !answer::closes(&answer)
        && wishes.can_see_the_end_of(&answer);
    let is_whole = {
        let wire = visit.wire.borrow();
        let inspector = wire.inspector();
        inspector.requests() > serial || !inspector.is_in_body()
    };
    // what is left of the body would have to be read before the next request
    keeps &= match rest {
        Some(rest) if keeps && is_whole => read_out(rest).await,
        Some(_) => false,
        None => is_whole,
    };
    let wire = &mut *visit.wire.borrow_mut();
    if let Some(refusal) = wire.refusal.filter(|_| !is_whole) {
        visitor.log_refusal(refusal);
        answer = answer::refusal(refusal, wishes.html);
    }
    if !upgrades && answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        answer = answer::plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error");
    }
    visit.closing.set(!keeps);
    wire.to_http_1_0 = wishes.http_1_0;
    answer::finish(
        &mut answer,
        keeps.then_some(&visit.around.listener.keep_alive),
    );
    answer
}

/// Reads what is there already of a body that nobody wants. False: it is broken.
async fn read_out(mut body: Incoming) -> bool {
    loop {
        match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            Some(Ok(_)) => {}
            Some(Err(_)) => return false,
            None => return true,
        }
    }
}

/// The last words, if there are any, and the end.
async fn part(visit: &Visit, visitor: &Visitor) {
    let around = &visit.around;
    let (words, mut lingers) = {
        let mut wire = visit.wire.borrow_mut();
        wire.clock.begin_end(around.shard.now(), LINGER);
        let inspector = wire.inspector();
        let in_body = inspector.is_in_body();
        let words = match wire.refusal {
            Some(refusal) if !in_body && !visit.closing.get() => {
                around.shard.count_request();
                visitor.log_refusal(refusal);
                answer::refusal_bytes(refusal, wire.leftover())
            }
            _ => Vec::new(),
        };
        (words, in_body || wire.refusal.is_some())
    };
    let mut rest = &words[..];
    let ended = poll_fn(|cx| visit.wire.borrow_mut().poll_end(cx, around, &mut rest)).await;
    if ended.is_err() || visit.wire.borrow().half_closed {
        return;
    }
    lingers |= !visit.wire.borrow().leftover().is_empty();
    poll_fn(|cx| {
        let mut wire = visit.wire.borrow_mut();
        wire.poll_drain(cx, around, &mut lingers)
    })
    .await;
}

/// Bytes that hyper reads and writes at once, at most.
const BUFFER_BYTES: usize = 64 * 1024;

/// Headers for which hyper has room without being told.
const HYPER_HEADERS: usize = 100;

/// Time for a peer whose address has too many connections to send the request that is refused.
const CROWDED_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for the peer to read the last answer.
const LINGER: Duration = Duration::from_secs(2);

impl From<Peer> for Visitor {
    fn from(peer: Peer) -> Self {
        Self {
            address: peer.address,
            port: peer.port,
            listener: Arc::clone(&peer.listener),
            crowded: peer.crowded,
            certificate: peer.certificate,
            seat: std::cell::RefCell::new(Some(peer.seat)),
            place: None,
            upgrade: std::cell::RefCell::default(),
            half_closed: super::Signal::default(),
        }
    }
}
