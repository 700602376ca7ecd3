//! The task of one HTTP connection: serves simple requests, lets hyper serve everything else, and closes it.

mod conversation;

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request, StatusCode};

use super::answer::{self, Wishes};
use super::connection::{Around, HttpConnection, HttpConnections, Registration};
use super::direct::{Direct, Next};
use super::endpoint::nobody;
use super::verbatim::{self, Cut};
use super::{Answer, Asked, Client, Exchange, HttpService, SentHead, Verbatim, h2, refuse_method};
use crate::fault::Fault;
use crate::listener::Peer;
use crate::net::stream::Stream;
use crate::shard::Shard;
use crate::shard::open::Opened;
use crate::shard::tasks::spawn;
use conversation::{Course, Visits, converse};

/// Serves a connection on this shard, until it ends or is upgraded.
pub(super) fn adopt(shard: &Rc<Shard>, stream: Stream, mut peer: Peer, service: Arc<HttpService>) {
    let listener = &peer.listener;
    // a stop drops connections during their preamble, so a later one is dropped as well; a peer without a preamble may
    // have sent its request already, which is answered
    if listener.is_stopping() && (listener.tls.is_some() || listener.config.proxy_protocol) {
        return;
    }
    if shard.hub().workers().takes_node_requests() {
        peer.local = stream.local_address();
    }
    let connection = HttpConnection::new(shard, &peer.listener, service);
    let registration = HttpConnections::enter(&connection);
    let place = registration.place();
    place.set_task(spawn(Box::pin(serve(
        connection,
        stream,
        peer,
        registration,
    ))));
}

/// The arguments are captured once in the returned future; an `async fn` would store them twice.
fn serve(
    connection: Rc<HttpConnection>,
    stream: Stream,
    mut peer: Peer,
    registration: Registration,
) -> impl Future<Output = ()> {
    let timeout = connection.around.listener.config.limits.handshake_timeout;
    let timeout = if peer.over_limit {
        timeout.min(OVER_LIMIT_TIMEOUT)
    } else {
        timeout
    };
    async move {
        let Around { shard, service, .. } = &connection.around;
        shard.hub().faults().hit(Fault::HttpConnection);
        let Some(stream) = shard.pass_preamble(stream, &mut peer, timeout).await else {
            return;
        };
        if stream.speaks_http2() {
            return Box::pin(h2::converse(
                &connection,
                Client::new(peer, service),
                stream,
            ))
            .await;
        }
        connection.wire.borrow_mut().open(stream, shard.now());
        if peer.over_limit {
            connection.begin_end(OVER_LIMIT_TIMEOUT);
        }
        let client = Rc::new(Client::new(peer, service));
        match answer_requests(&connection, &client).await {
            End::Broken => return,
            End::Socket(opened) => {
                return leave(&connection, registration, |stream, early| {
                    opened.connected(stream, &early);
                });
            }
            End::Over => {}
        }
        if let Some(upgrade) = client.upgrade.take() {
            return leave(&connection, registration, upgrade);
        }
        part(&connection, &client).await;
    }
}

/// How the requests of a connection end.
enum End {
    /// Nothing can be sent any more.
    Broken,
    /// The connection becomes a socket, without hyper.
    Socket(Opened),
    /// No request follows, or the connection becomes what hyper's last answer says.
    Over,
}

/// Answers requests, with hyper where it is needed.
async fn answer_requests(connection: &Rc<HttpConnection>, client: &Rc<Client>) -> End {
    let mut direct = Direct::new(connection, client);
    let answer = Cell::new(None);
    let mut hyper = None;
    let mut visits = Visits::default();
    loop {
        let asked = connection.asked.get();
        let next = poll_fn(|cx| {
            connection.set_waker(cx.waker());
            let next = direct.poll(cx, connection);
            if connection.asked.get() > asked && !direct.is_waiting() {
                // a request was answered without it; it is made again when another one needs it
                hyper = None;
                visits = Visits::default();
            }
            next
        });
        match next.await {
            Next::Broken => return End::Broken,
            Next::Socket(opened) => return End::Socket(opened),
            Next::End => return End::Over,
            Next::Hyper(first) => answer.set(first.map(Box::new)),
        }
        if hyper.is_some() {
            visits.returned();
        }
        let may_leave = || {
            connection.asked.get() > asked + visits.more() && direct.is_possible(&connection.around)
        };
        let hyper = hyper.get_or_insert_with(|| {
            // boxed, so that other connections pay nothing for it
            Box::new(converse(connection, client, &answer))
        });
        match poll_fn(|cx| hyper(cx, &may_leave)).await {
            Course::Idle => {}
            Course::Over => return End::Over,
            Course::Broken => return End::Broken,
        }
    }
}

/// Hands the stream over, with the bytes that were read behind the last request.
fn leave(
    connection: &HttpConnection,
    registration: Registration,
    over: impl FnOnce(Stream, Bytes),
) {
    let moved = connection.wire.borrow_mut().take();
    drop(registration);
    if let Some((stream, early)) = moved {
        over(stream, early);
    }
}

/// The request is captured in the returned future; an `async fn` would move the argument and store it twice.
fn respond(
    connection: Rc<HttpConnection>,
    client: Rc<Client>,
    request: Request<Incoming>,
    answer: Option<Answer>,
) -> impl Future<Output = Result<Answer, Cut>> {
    let wishes = Wishes::of(&request);
    let mut asked = request.map(|body| super::Incoming::new(body, &connection));
    async move { answer_to(&connection, &client, (wishes, &mut asked), answer).await }
}

async fn answer_to(
    connection: &Rc<HttpConnection>,
    client: &Rc<Client>,
    (wishes, asked): (Wishes, &mut Asked),
    answer: Option<Answer>,
) -> Result<Answer, Cut> {
    let serial = connection.asked.get() + 1;
    connection.asked.set(serial);
    if let Some(head) = connection.wire.borrow_mut().take_head(serial) {
        asked.extensions_mut().insert(SentHead(head.into()));
    }
    let upgrades = begin_upgrade(connection, serial);
    let over_limit = client.over_limit;
    let mut exchange = Exchange {
        shard: Rc::clone(&connection.around.shard),
        client: Rc::clone(client),
        last: true,
    };
    let endpoints = &client.service.endpoints;
    let mut answer = answer.or_else(|| refuse_method(&exchange, asked.method()));
    let mut claims = endpoints.claims(&exchange, asked);
    while answer.is_none()
        && let Some(answering) = endpoints.ask(&mut claims, &mut exchange, asked)
    {
        answer = answering.await;
    }
    let mut answer = answer.unwrap_or_else(nobody);
    drop(exchange);
    connection.around.shard.count_request();
    drop(std::mem::take(asked.body_mut()));
    let rest = connection.left.take();
    let mut keeps = wishes.keep_alive
        && !upgrades
        && !over_limit
        // a request that became a socket, or nearly did, took the permit of the connection
        && client.permit.borrow().is_some()
        && serial < u64::from(client.service.limits.keep_alive_requests)
        && !connection.around.listener.ends_connections()
        && !answer::closes(&answer)
        && wishes.can_see_the_end_of(&answer);
    let is_whole = {
        let wire = connection.wire.borrow();
        let inspector = wire.inspector();
        inspector.requests() > serial || !inspector.is_in_body()
    };
    // the rest of the body would have to be read before the next request
    keeps &= match rest {
        Some(rest) if keeps && is_whole => read_out(rest).await,
        Some(_) => false,
        None => is_whole,
    };
    let refusal = connection.wire.borrow().refusal;
    if let Some(refusal) = refusal.filter(|_| !is_whole) {
        client.log_refusal(refusal);
        answer = answer::refusal(refusal, wishes.html);
    }
    let is_sent = Verbatim::is(&answer);
    if is_sent {
        let heads = asked.method() == Method::HEAD;
        (keeps, answer) = verbatim::send(connection, answer.into_body(), heads, keeps).await?;
    }
    let wire = &mut *connection.wire.borrow_mut();
    if !upgrades && answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        answer = answer::plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error");
    }
    connection.closing.set(!keeps);
    if !keeps {
        // hyper would wait for a reader
        drop(connection.left.take());
    }
    wire.to_http_1_0 = wishes.http_1_0 && !is_sent;
    answer::finish(
        &mut answer,
        keeps.then_some(&connection.around.service.keep_alive),
    );
    Ok(answer)
}

/// Whether this request asks for another protocol.
fn begin_upgrade(connection: &HttpConnection, serial: u64) -> bool {
    let wire = &mut *connection.wire.borrow_mut();
    let inspector = wire.inspector();
    let upgrades = inspector.is_at_upgrade() && inspector.requests() == serial;
    if upgrades {
        connection.begin_handshake(wire);
    }
    upgrades
}

/// Reads what has already arrived of a body that no endpoint wants. False: the body is broken.
async fn read_out(mut body: Incoming) -> bool {
    loop {
        match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            Some(Ok(_)) => {}
            Some(Err(_)) => return false,
            None => return true,
        }
    }
}

/// Sends the last answer if there is one, and closes the connection.
async fn part(connection: &HttpConnection, client: &Client) {
    let around = &connection.around;
    connection.begin_end(LINGER);
    let (words, mut lingers) = {
        let wire = connection.wire.borrow();
        let inspector = wire.inspector();
        let in_body = inspector.is_in_body();
        let words = match wire.refusal {
            Some(refusal) if !in_body && !connection.closing.get() => {
                around.shard.count_request();
                client.log_refusal(refusal);
                answer::refusal_bytes(refusal, wire.leftover())
            }
            _ => Vec::new(),
        };
        (words, in_body || wire.refusal.is_some())
    };
    let mut rest = &words[..];
    let ended = poll_fn(|cx| connection.wire.borrow_mut().poll_end(cx, around, &mut rest)).await;
    if ended.is_err() || connection.wire.borrow().half_closed {
        return;
    }
    lingers |= !connection.wire.borrow().leftover().is_empty();
    poll_fn(|cx| {
        let mut wire = connection.wire.borrow_mut();
        wire.poll_drain(cx, around, &mut lingers)
    })
    .await;
}

/// Time for a peer whose address has too many connections to send the request, which is then refused.
const OVER_LIMIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for the peer to read the last answer.
const LINGER: Duration = Duration::from_secs(2);

impl Client {
    fn new(peer: Peer, service: &Arc<HttpService>) -> Self {
        Self {
            address: peer.address,
            address_text: std::cell::OnceCell::new(),
            port: peer.port,
            local: peer.local,
            listener: peer.listener,
            service: Arc::clone(service),
            over_limit: peer.over_limit,
            certificate: peer.certificate,
            permit: std::cell::RefCell::new(peer.permit),
            place: None,
            upgrade: std::cell::RefCell::default(),
            half_closed: super::Signal::default(),
        }
    }
}
