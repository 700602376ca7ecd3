//! HTTP/2, on TLS connections that selected it. Requests are passed to endpoints as if they had come by HTTP/1.1; a
//! request for a WebSocket (RFC 8441) becomes a stream of its own. hyper and h2 implement the protocol and enforce its
//! limits.

mod inflow;
mod line;
mod session;
mod tunnel;

use std::convert::Infallible;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body as _;
use hyper::ext::Protocol;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, UPGRADE,
};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use millrace_protocol::http::{InspectorConfig, Refusal, apart};

use super::answer;
use super::connection::HttpConnection;
use super::endpoint::nobody;
use super::verbatim;
use super::{
    Answer, Asked, Body, Client, Exchange, Incoming, Upgrade, Verbatim, plain, refuse_method,
};
use crate::net::stream::Stream;
use crate::shard::tasks::spawn;
pub(super) use inflow::Inflow;
use line::Line;
pub(crate) use session::Place;
pub(super) use session::{PACE, Session};
use session::{Paced, StreamGuard, Tasks};
use tunnel::Tunnel;

/// Serves an HTTP/2 connection until it ends.
pub(super) async fn converse(connection: &Rc<HttpConnection>, client: Client, stream: Stream) {
    let session = Session::new(Rc::clone(&connection.around.shard), client);
    connection.set_session(&session);
    let limits = &connection.around.service.limits;
    let head = u32::try_from(limits.request_head_bytes).unwrap_or(u32::MAX);
    let mut builder = http2::Builder::new(Tasks(Rc::clone(&session)));
    builder
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(head)
        .initial_stream_window_size(WINDOW)
        // a stream that is not read must not block the others
        .initial_connection_window_size(
            WINDOW
                .saturating_mul(limits.http2_streams.max(1))
                .min(MOST_WINDOW),
        )
        .max_send_buf_size(SEND_BYTES)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(RESETS)
        .enable_connect_protocol();
    let service = service_fn(|request| {
        connection.look_by(connection.around.shard.now() + PACE);
        let (session, guard) = (Rc::clone(&session), session.enter());
        async move { Ok::<_, Infallible>(respond(&session, guard, request).await) }
    });
    let line = TokioIo::new(Line::new(stream, &session));
    let mut hyper = std::pin::pin!(builder.serve_connection(line, service));
    let mut told = false;
    poll_fn(|cx| {
        connection.set_waker(cx.waker());
        if session.is_flooded() {
            return Poll::Ready(());
        }
        if session.is_leaving() && !std::mem::replace(&mut told, true) {
            hyper.as_mut().graceful_shutdown();
        }
        // an error of the connection is handled like its end
        hyper.as_mut().poll(cx).map(drop)
    })
    .await;
}

/// Bytes of a stream that the peer may send before they are consumed.
const WINDOW: u32 = 128 * 1024;

/// The largest window that HTTP/2 allows.
const MOST_WINDOW: u32 = (1 << 31) - 1;

/// Bytes of a stream that wait for the peer to accept them.
const SEND_BYTES: usize = 64 * 1024;

/// Streams that a peer may open and reset before the connection is closed (CVE-2023-44487).
const RESETS: usize = 32;

async fn respond(
    session: &Rc<Session>,
    guard: StreamGuard,
    request: Request<hyper::body::Incoming>,
) -> Response<Paced> {
    let html = answer::likes_html(request.headers());
    let most = session.inspector().body_bytes;
    let refused = |refusal: Refusal| {
        session.log_refusal(refusal);
        answer::refusal(refusal, html)
    };
    let judged = judge(&request, session.rules()).and_then(|()| {
        if request.body().size_hint().lower() > most {
            return Err(Refusal::BodyTooBig);
        }
        Ok(())
    });
    let heads = request.method() == Method::HEAD;
    if let Err(refusal) = judged {
        return without_body(refused(refusal), heads).map(|body| Paced::new(body, guard));
    }
    let has_body = !request.body().is_end_stream();
    let inflow = has_body.then(|| guard.watch(most)).flatten();
    let mut request = request.map(|body| Incoming::of_stream(body, inflow.clone()));
    if request.method() == Method::CONNECT {
        return connect(session, guard, request).await;
    }
    let answer = if liken(&mut request) {
        let answering = ask(&guard, session.client(&guard), &mut request);
        let answer = match &inflow {
            Some(inflow) => inflow.unless_refused(answering).await,
            None => Ok(answering.await),
        };
        answer.unwrap_or_else(refused)
    } else {
        nameless()
    };
    without_body(answer, heads).map(|body| Paced::new(body, guard))
}

async fn ask(guard: &StreamGuard, client: Rc<Client>, request: &mut Asked) -> Answer {
    let shard = Rc::clone(guard.shard());
    let service = Arc::clone(&client.service);
    let mut exchange = Exchange {
        shard,
        client,
        last: true,
    };
    let mut answer = refuse_method(&exchange, request.method());
    let mut claims = service.endpoints.claims(&exchange, request);
    while answer.is_none()
        && let Some(answering) = service.endpoints.ask(&mut claims, &mut exchange, request)
    {
        answer = answering.await;
    }
    let answer = answer.unwrap_or_else(nobody);
    if Verbatim::is(&answer) {
        return verbatim::unpack(answer, request.method() == Method::HEAD).await;
    }
    answer
}

/// Removes the body from answers that have none; for HTTP/1.1 hyper does so.
fn without_body(mut answer: Answer, heads: bool) -> Answer {
    let status = answer.status();
    let is_empty = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if !heads && !is_empty {
        return answer;
    }
    let body = std::mem::replace(answer.body_mut(), Body::empty());
    let length = body.size_hint().exact().filter(|&length| length > 0);
    if status == StatusCode::NO_CONTENT {
        answer.headers_mut().remove(CONTENT_LENGTH);
    } else if let (false, Some(length)) = (is_empty, length) {
        let lengths = answer.headers_mut().entry(CONTENT_LENGTH);
        lengths.or_insert_with(|| HeaderValue::from(length));
    }
    answer
}

/// Checks by the rules of HTTP/1.1 what HTTP/2 leaves to its user.
fn judge(
    request: &Request<hyper::body::Incoming>,
    config: &InspectorConfig,
) -> Result<(), Refusal> {
    let headers = request.headers();
    // browsers send each cookie in a header of its own
    let cookies = headers.get_all(COOKIE).iter().count();
    let count = headers.len() - cookies.saturating_sub(1);
    let expects = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    if !headers.get_all(EXPECT).iter().all(expects) {
        return Err(Refusal::Expectation);
    }
    match request.uri().path_and_query() {
        // a plain CONNECT has no path
        None => Ok(()),
        Some(path) => apart::judge(
            request.method().as_str().as_bytes(),
            path.as_str().as_bytes(),
            count,
            config,
        ),
    }
}

/// Opens a tunnel for a WebSocket, if an endpoint accepts it.
async fn connect(session: &Rc<Session>, guard: StreamGuard, mut request: Asked) -> Response<Paced> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (mut answer, taken) = match admit(session, &guard, request).await {
        Ok(admitted) => admitted,
        Err(refusal) => return refusal.map(|body| Paced::new(body, guard)),
    };
    *answer.status_mut() = StatusCode::OK;
    let headers = answer.headers_mut();
    for name in [CONNECTION, UPGRADE, SEC_WEBSOCKET_ACCEPT] {
        headers.remove(name);
    }
    guard.answered();
    spawn(Box::pin(open(upgrade, guard, taken)));
    answer.map(Paced::empty)
}

async fn admit(
    session: &Rc<Session>,
    guard: &StreamGuard,
    mut request: Asked,
) -> Result<(Answer, Upgrade), Answer> {
    let protocol = request.extensions().get::<Protocol>();
    if protocol.is_none_or(|protocol| protocol.as_str() != "websocket") {
        return Err(plain(
            StatusCode::NOT_IMPLEMENTED,
            "Only websocket is spoken after CONNECT",
        ));
    }
    if !liken(&mut request) {
        return Err(nameless());
    }
    *request.method_mut() = Method::GET;
    let headers = request.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    // the key proves nothing here, and the answer does not contain it
    headers.entry(SEC_WEBSOCKET_KEY).or_insert(KEY);
    let client = session.client(guard);
    let answer = ask(guard, Rc::clone(&client), &mut request).await;
    match client.upgrade.take() {
        Some(taken) => Ok((answer, taken)),
        // a success would tell the client that there is a tunnel
        None if answer.status().is_success() || answer.status().is_informational() => Err(plain(
            StatusCode::NOT_IMPLEMENTED,
            "There is no WebSocket here",
        )),
        None => Err(answer),
    }
}

/// The key of sixteen zero bytes.
const KEY: HeaderValue = HeaderValue::from_static("AAAAAAAAAAAAAAAAAAAAAA==");

/// Hands the stream over once the answer is written.
async fn open(upgrade: OnUpgrade, guard: StreamGuard, taken: Upgrade) {
    if let Ok(Ok(upgraded)) = tokio::time::timeout(OPEN_TIMEOUT, upgrade).await {
        let tunnel = Tunnel::new(upgraded, guard);
        taken(Stream::carried(tunnel), Bytes::new());
    }
}

/// Time to write the answer.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes a request look as if it had come by HTTP/1.1: with only a path, and a `Host`. False: it names no host or two
/// different ones, so it is unclear which one's rules apply.
fn liken(request: &mut Asked) -> bool {
    let target = request.uri().clone();
    let authority = target.authority().map(|name| name.as_str().as_bytes());
    let mut hosts = request.headers().get_all(HOST).iter();
    let named = match (hosts.next(), hosts.next(), authority) {
        (Some(host), None, name) => {
            let host = host.as_bytes();
            apart::is_host(host) && name.is_none_or(|name| name.eq_ignore_ascii_case(host))
        }
        (None, None, Some(name)) => apart::is_host(name),
        _ => false,
    };
    if let Some(host) = authority.and_then(|name| HeaderValue::from_bytes(name).ok()) {
        request.headers_mut().insert(HOST, host);
    }
    let path = target.path_and_query().cloned();
    *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
    *request.version_mut() = Version::HTTP_11;
    named
}

fn nameless() -> Answer {
    plain(StatusCode::BAD_REQUEST, "One host is needed")
}
