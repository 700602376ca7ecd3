//! How a request becomes a socket of any protocol: the listener's rules are checked, the shard asks `handleOpen`, and a
//! refusal is answered with a status.

mod head;

use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::{Answer, Asked, Body, Client, Exchange, OVER_LIMIT, plain};
use crate::event::{Acceptance, Rejection, Transport};
use crate::permits::Permit;
use crate::shard::open::{Candidate, Opened, Refusal, Shown, Undecided};
use crate::socket::Session;
pub(crate) use head::{Head, Line, split};

/// Lets a worker decide if some worker has `handleOpen`; otherwise no worker is asked or told. `Err`: the answer to a
/// client that is refused.
pub(crate) async fn admit_where_asked(
    exchange: &Exchange,
    request: &Asked,
    transport: Transport,
    session: Box<dyn Session>,
) -> Result<(Opened, Box<Acceptance>), Answer> {
    if exchange.shard.hub().workers().judge() {
        return admit(exchange, request, transport, session).await;
    }
    let opened = admit_unasked(exchange, request, session).map_err(|answer| *answer)?;
    Ok((opened, Box::default()))
}

/// Admits without asking or telling a worker. `Err`: the answer to a client that is refused.
pub(crate) fn admit_unasked(
    exchange: &Exchange,
    request: &Asked,
    session: Box<dyn Session>,
) -> Result<Opened, Box<Answer>> {
    let head = Head::Parsed(request);
    let client = &exchange.client;
    if let Some(answer) = may_not_come_in(client, head) {
        return Err(Box::new(answer));
    }
    let permit = client.take_permit();
    let permit = permit.map_err(|(status, text)| Box::new(plain(status, text)))?;
    let permit = counted(exchange, head, permit).map_err(|refusal| Box::new(refused(refusal)))?;
    let place = (head.client(exchange).0, permit);
    let shard = &exchange.shard;
    Ok(shard.open_unasked(&client.listener, place, |_| session))
}

/// Lets a worker decide. `Err`: the answer to a client that is refused.
pub(crate) async fn admit(
    exchange: &Exchange,
    request: &Asked,
    transport: Transport,
    session: Box<dyn Session>,
) -> Result<(Opened, Box<Acceptance>), Answer> {
    let asked = ask(exchange, Head::Parsed(request), transport, session);
    let undecided = asked.map_err(|answer| *answer)?;
    undecided.in_time().await.map_err(refused)
}

/// Asks a worker. `Err`: the answer to a client that is refused without that.
pub(super) fn ask(
    exchange: &Exchange,
    head: Head<'_>,
    transport: Transport,
    session: Box<dyn Session>,
) -> Result<Undecided, Box<Answer>> {
    let Exchange { shard, client, .. } = exchange;
    if let Some(answer) = may_not_come_in(client, head) {
        return Err(Box::new(answer));
    }
    let refused = |refusal| Box::new(refused(refusal));
    let worker = shard.pick_worker(&client.listener).map_err(refused)?;
    let is_unheard = worker.handlers().only_answers() && !session.needs_no_handler();
    if transport == Transport::WebSocket && is_unheard {
        // its first message would close it
        let answer = unwelcome(client, StatusCode::NOT_IMPLEMENTED, NO_HANDLERS);
        return Err(Box::new(answer));
    }
    let permit = client.take_permit();
    let permit = permit.map_err(|(status, text)| Box::new(plain(status, text)))?;
    let permit = counted(exchange, head, permit).map_err(refused)?;
    let (address, port) = head.client(exchange);
    let candidate = Candidate {
        worker,
        listener: &client.listener,
        transport,
        address,
        port,
        certificate: client.certificate.as_deref(),
        permit,
    };
    let show = || Shown {
        target: head.target().into(),
        headers: head.block(),
    };
    shard.ask(candidate, |_| session, show).map_err(refused)
}

/// Checks the listener's rules for a client; `None`: it is allowed.
fn may_not_come_in(client: &Client, head: Head<'_>) -> Option<Answer> {
    let (status, text) = if !head.origin_allowed(&client.service.origins) {
        (StatusCode::FORBIDDEN, NO_ORIGIN)
    } else if client.over_limit {
        (StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT)
    } else if client.listener.is_stopping() {
        (StatusCode::SERVICE_UNAVAILABLE, "Server is stopping")
    } else {
        return None;
    };
    Some(unwelcome(client, status, text))
}

/// The answer to a request whose origin may not use the listener's sockets; `None`: it may.
pub(crate) fn refuse_origin(exchange: &Exchange, request: &Asked) -> Option<Answer> {
    let client = &exchange.client;
    let is_allowed = Head::Parsed(request).origin_allowed(&client.service.origins);
    (!is_allowed).then(|| unwelcome(client, StatusCode::FORBIDDEN, NO_ORIGIN))
}

/// Counts the permit for the client that a trusted proxy names.
fn counted(exchange: &Exchange, head: Head<'_>, mut permit: Permit) -> Result<Permit, Refusal> {
    let client = &exchange.client;
    let (address, _) = head.client(exchange);
    if address != client.address && address.is_some_and(|address| permit.count_for(address)) {
        exchange.shard.stats.refused_by_address.add(1);
        permit.forget_address();
        *client.permit.borrow_mut() = Some(permit);
        return Err(Refusal::OverLimit);
    }
    Ok(permit)
}

/// Reports that `handleOpen` accepted with a value that cannot be sent.
pub(crate) fn invalid(opened: Opened, problem: &str) -> Answer {
    opened.report_invalid(problem);
    plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
}

/// Adds the headers that `handleOpen` returned. `reserved` ones are set by Millrace only.
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

fn unwelcome(client: &Client, status: StatusCode, text: &'static str) -> Answer {
    let address = client.address.map(tracing::field::display);
    tracing::warn!(target: "millrace::connection", address, status = status.as_u16(), reason = text, "refused");
    plain(status, text)
}

/// The answer to a client that was refused.
pub(super) fn refused(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::NoWorker => plain(StatusCode::SERVICE_UNAVAILABLE, "No worker available"),
        Refusal::OverLimit => plain(StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT),
        Refusal::Late => plain(StatusCode::GATEWAY_TIMEOUT, "No answer in time"),
        Refusal::Rejected(rejection) => rejected(*rejection),
    }
}

fn rejected(rejection: Rejection) -> Answer {
    let mut answer = Response::new(Body::from(rejection.body));
    *answer.status_mut() = StatusCode::from_u16(rejection.status).unwrap_or(StatusCode::FORBIDDEN);
    for (name, value) in rejection.headers {
        // length and framing of the answer are set by Millrace only
        if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            continue;
        }
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            answer.headers_mut().append(name, value);
        }
    }
    answer
}

const NO_ORIGIN: &str = "Origin not allowed";

/// The answer to a handshake if the worker module only answers requests.
const NO_HANDLERS: &str = "The worker module has no handler of WebSockets";

/// Headers of a refusal that the application cannot set.
const OURS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];
