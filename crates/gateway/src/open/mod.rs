//! How a request becomes a socket, whatever that will speak: judged by the listener's rules, shown to `handleOpen`,
//! answered. Owns the connection until it is handed to its shard.

mod head;

use std::net::IpAddr;
use std::rc::Rc;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::adapter::OVER_LIMIT;
use crate::event::record::Opening;
use crate::event::{Acceptance, Rejection};
use crate::http::{Answer, Asked, Body, Client, Exchange, plain};
use crate::net::stream::Stream;
use crate::shard::Shard;
use crate::shard::connection::Shared;
use crate::socket::Session;

/// A connection that was accepted and whose answer is on its way. Dropping it tells the shard that the answer never
/// left.
pub(crate) struct Opened {
    shard: Rc<Shard>,
    connection: Option<Shared>,
}

/// Has the worker decide. `Err`: the answer to a peer that may not come in.
pub(crate) async fn admit(
    exchange: &Exchange,
    request: &Asked,
    session: Box<dyn Session>,
) -> Result<(Opened, Box<Acceptance>), Answer> {
    let Exchange { shard, client } = exchange;
    if let Some((status, text)) = unwelcome(client, request) {
        let address = client.address.map(tracing::field::display);
        tracing::warn!(target: "millrace::connection", address, status = status.as_u16(), reason = text, "refused");
        return Err(plain(status, text));
    }
    let limits = shard.limits();
    let (events, bytes) = (limits.worker_queue_events, limits.worker_queue_bytes);
    let Some(worker) = shard.hub().workers().pick(events, bytes) else {
        tracing::warn!(target: "millrace::connection", "refused: there is no worker with room in its queue");
        return Err(unavailable());
    };
    let permit = client.take_permit();
    let mut permit = permit.map_err(|(status, text)| plain(status, text))?;
    let address = exchange.client_address(request.headers());
    if address != client.address && address.is_some_and(|address| permit.count_for(address)) {
        permit.forget_address();
        *client.permit.borrow_mut() = Some(permit);
        return Err(plain(StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT));
    }
    let (connection, admission) =
        shard.reserve(worker, &client.listener, (address, permit), |_| session);
    let certificate = client.certificate.as_deref();
    if !announce(shard, &connection, (address, certificate), request) {
        return Err(unavailable());
    }
    // hyper drops this future when the client leaves; the connection must then not be forgotten
    let mut guard = Leaving {
        shard: Rc::clone(shard),
        connection: Some(connection),
    };
    let limits = &client.listener.config.limits;
    let timeout = limits.handshake_timeout.mul_f32(ANSWER_PART);
    let answer = match tokio::time::timeout(timeout, admission).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => return Err(unavailable()),
        Err(_) => return Err(plain(StatusCode::GATEWAY_TIMEOUT, "No answer in time")),
    };
    let connection = guard.connection.take();
    match answer {
        Ok(acceptance) => {
            let shard = Rc::clone(shard);
            Ok((Opened { shard, connection }, acceptance))
        }
        Err(rejection) => Err(rejected(*rejection)),
    }
}

impl Opened {
    /// The answer is written: messages may flow. `early` came right behind the request.
    pub(crate) fn connected(mut self, stream: Stream, early: &Bytes) {
        if let Some(connection) = self.connection.take() {
            self.shard.connected(&connection, stream, early);
        }
    }

    /// `handleOpen` accepted with something that cannot be said.
    pub(crate) fn invalid(self, problem: &str) -> Answer {
        self.shard
            .hub()
            .report("ERR_MILLRACE_INVALID_ACCEPTANCE", problem);
        plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shard.lost(&connection);
        }
    }
}

/// Adds the headers that `handleOpen` gave, except that `reserved` ones are ours to write.
pub(crate) fn add_headers(
    acceptance: &Acceptance,
    response: &mut Answer,
    reserved: &[&str],
) -> Result<(), &'static str> {
    for (name, value) in &acceptance.headers {
        let name =
            HeaderName::try_from(name).map_err(|_| "handleOpen returned an invalid header name")?;
        let value = HeaderValue::try_from(value)
            .map_err(|_| "handleOpen returned an invalid header value")?;
        if reserved.contains(&name.as_str()) {
            return Err("handleOpen returned a header that belongs to the handshake");
        }
        response.headers_mut().append(name, value);
    }
    Ok(())
}

/// Tells the worker; `handleOpen`, where there is one, is shown the request.
fn announce(
    shard: &Shard,
    connection: &Shared,
    (address, certificate): (Option<IpAddr>, Option<&[u8]>),
    request: &Asked,
) -> bool {
    let socket = connection.socket;
    if !connection.worker.handlers().open {
        return shard.announce(connection, &Opening::unseen(socket));
    }
    let address = address
        .map(|address| address.to_string())
        .unwrap_or_default();
    let target = request.uri().path_and_query();
    let opening = Opening {
        socket,
        answer: true,
        address: &address,
        target: target.map_or("/", |target| target.as_str()),
        headers: &head::header_block(request.headers()),
        subject: &certificate.map(head::subject_block).unwrap_or_default(),
        certificate: certificate.unwrap_or_default(),
    };
    shard.announce(connection, &opening)
}

/// Why this peer may not connect, whatever the application thinks.
fn unwelcome(client: &Client, request: &Asked) -> Option<(StatusCode, &'static str)> {
    if !head::origin_allowed(&client.listener.config.origins, request.headers()) {
        return Some((StatusCode::FORBIDDEN, "Origin not allowed"));
    }
    if client.over_limit {
        return Some((StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT));
    }
    let stopping = client.listener.is_stopping();
    stopping.then_some((StatusCode::SERVICE_UNAVAILABLE, "Server is stopping"))
}

fn unavailable() -> Answer {
    plain(StatusCode::SERVICE_UNAVAILABLE, "No worker available")
}

fn rejected(rejection: Rejection) -> Answer {
    let mut answer = Response::new(Body::from(rejection.body));
    *answer.status_mut() = StatusCode::from_u16(rejection.status).unwrap_or(StatusCode::FORBIDDEN);
    for (name, value) in rejection.headers {
        // the length and the end of the answer are ours to say
        if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            continue;
        }
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            answer.headers_mut().append(name, value);
        }
    }
    answer
}

/// The part of the handshake timeout left to `handleOpen`, so that there is time to answer.
const ANSWER_PART: f32 = 0.9;

/// Headers of a refusal that are ours to write.
const OURS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// Tells the shard when the client leaves while its admission is pending.
struct Leaving {
    shard: Rc<Shard>,
    connection: Option<Shared>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shard.abandoned(&connection);
        }
    }
}
