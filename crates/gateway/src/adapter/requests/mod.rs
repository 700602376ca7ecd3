//! Requests to workers: each goes to the next worker in turn that takes requests, and the answer comes back by the
//! request's id. Transports requests and answers; decides nothing about HTTP itself.

mod answer_body;
mod limits;
mod pending;
mod simple;
mod ticket;
mod upload;

use std::rc::Rc;

use hyper::body::Body as _;
use hyper::header::{EXPECT, HOST};
use hyper::{Response, StatusCode, Version};
use millrace_protocol::http::head_lines;

use crate::contract::{Asking, Handlers, ListenError, Worker, queue::Taken};
use crate::http::{
    Answer, AnswerHead, Answering, Asked, Body, Claim, Client, Endpoint, EndpointLimits, Exchange,
    Incoming, OVER_LIMIT, SentHead, SimpleRequest, Taking, Verbatim, plain,
};
use crate::limits::SIDECAR_BYTES;
use answer_body::AnswerBody;
use limits::AnswerLimits;
use pending::Outcome;
use ticket::{Ticket, room};

/// A request's body, as it is passed to the worker.
enum Content {
    None,
    Whole(Vec<u8>),
    /// The body follows piece by piece; these bytes of it have already arrived.
    Stream(Incoming, Vec<u8>),
}

/// The endpoint that passes requests to workers: every request, while some worker takes requests.
#[derive(Debug)]
pub(crate) struct WorkerRequests {
    /// The most bytes of a request's body.
    body_bytes: usize,
    /// Milliseconds until an answer has to begin; `None`: no limit.
    timeout: Option<u64>,
}

impl WorkerRequests {
    pub(crate) fn new(limits: &EndpointLimits<'_>) -> Result<Self, ListenError> {
        let own: AnswerLimits = limits.own()?;
        let timeout = u64::try_from(own.answer_timeout.as_millis()).unwrap_or(u64::MAX);
        Ok(Self {
            body_bytes: limits.http.body_bytes,
            timeout: (timeout > 0).then_some(timeout),
        })
    }
}

impl Endpoint for WorkerRequests {
    fn claim(&self, exchange: &Exchange, _: &Asked) -> Claim {
        if exchange.shard.hub().workers().takes_requests() {
            Claim::Yes
        } else {
            Claim::No
        }
    }

    fn take(&self, exchange: &Exchange, request: &SimpleRequest<'_>) -> Taking {
        simple::take(self, exchange, request)
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        Box::pin(answer(self, exchange, asked))
    }
}

/// Answers a request through a worker.
async fn answer(
    terms: &WorkerRequests,
    exchange: &Exchange,
    request: &mut Asked,
) -> Option<Answer> {
    let Exchange { shard, client, .. } = exchange;
    if client.over_limit {
        return Some(plain(StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT));
    }
    // most requests have no body and need no closer look
    let expects = !request.body().is_end_stream() && request.headers().contains_key(EXPECT);
    let content = match receive(request.body_mut(), terms.body_bytes, expects).await {
        Ok(content) => content,
        Err(answer) => return Some(answer),
    };
    let most = shard.limits().worker_requests;
    let Some(worker) = shard.hub().workers().pick_for_request(most) else {
        return Some(plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "No worker available",
        ));
    };
    let ticket = Ticket::open(shard, worker, terms.timeout);
    // while the worker's queue is full, the request waits, at most until its deadline
    loop {
        match ask(&ticket, request, exchange, &content) {
            Taken::Full if room(shard, ticket.pending()).await => {}
            Taken::Yes | Taken::Full => break,
            Taken::Gone => {
                ticket.close();
                return Some(plain(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "No worker available",
                ));
            }
        }
    }
    if let Content::Stream(body, begun) = content {
        upload::start(shard, &ticket, (begun, body), terms.body_bytes);
    }
    let outcome = ticket.outcome(client.half_closed.wait()).await;
    Some(conclude(ticket, client, outcome))
}

/// Makes the answer of what has come of a request.
fn conclude(ticket: Ticket, client: &Rc<Client>, outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Whole(mut whole) => {
            ticket.close();
            if whole.head.is::<Verbatim>() {
                return Verbatim::answer(Body::from(std::mem::take(&mut whole.body)));
            }
            match AnswerHead::open_whole(&mut whole) {
                Some((head, bytes)) => respond(head, Body::from(bytes)),
                None => given_up(),
            }
        }
        Outcome::Begin(head) if head.is::<Verbatim>() => {
            let body = AnswerBody::new(ticket, Rc::clone(client));
            Verbatim::answer(Body::Stream(Box::pin(body)))
        }
        Outcome::Begin(head) => {
            let Some(head) = AnswerHead::open(head) else {
                return given_up();
            };
            let body = AnswerBody::new(ticket, Rc::clone(client));
            respond(head, Body::Stream(Box::pin(body)))
        }
        Outcome::Abort => {
            ticket.close();
            given_up()
        }
        Outcome::WorkerGone => {
            ticket.close();
            plain(StatusCode::BAD_GATEWAY, "The worker ended")
        }
        Outcome::Late => plain(StatusCode::SERVICE_UNAVAILABLE, "No answer in time"),
    }
}

/// Takes a small body whole if all of it arrived with the head; refuses one that announces too large a length.
async fn receive(body: &mut Incoming, limit: usize, expects: bool) -> Result<Content, Answer> {
    if body.is_end_stream() {
        return Ok(Content::None);
    }
    let hint = body.size_hint();
    let least = usize::try_from(hint.lower()).unwrap_or(usize::MAX);
    if least > limit {
        return Err(plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The request's body is too large",
        ));
    }
    let is_large = hint.exact().is_none() || least > SIDECAR_BYTES;
    // a client that waits for 100 Continue gets it before anyone answers: later it would end up inside the answer
    if is_large && !expects {
        return Ok(Content::Stream(std::mem::take(body), Vec::new()));
    }
    match upload::begin(body).await {
        Ok((bytes, true)) if !is_large => Ok(Content::Whole(bytes)),
        Ok((bytes, true)) => Ok(Content::Stream(Incoming::default(), bytes)),
        Ok((begun, false)) => Ok(Content::Stream(std::mem::take(body), begun)),
        Err(_) => Err(plain(
            StatusCode::BAD_REQUEST,
            "The request's body is incomplete",
        )),
    }
}

/// Queues the request for the worker.
fn ask(ticket: &Ticket, request: &Asked, exchange: &Exchange, content: &Content) -> Taken {
    // reuses the buffer of earlier heads
    let mut head = ticket.take_head();
    let lengths = describe(request, exchange, ticket.worker(), &mut head);
    let taken = ticket.ask(&Asking {
        id: ticket.id().get(),
        version: match request.version() {
            // the requests of an HTTP/2 connection look like those of HTTP/1.1 to every endpoint
            _ if exchange.client.place.is_some() => 2,
            Version::HTTP_10 | Version::HTTP_09 => 0,
            _ => 1,
        },
        encrypted: exchange.client.listener.tls.is_some(),
        forwarded: exchange.is_forwarded(),
        streams: matches!(content, Content::Stream(..)),
        port: exchange.client_port(request.headers()),
        head: &head,
        lengths,
        body: match content {
            Content::Whole(bytes) => Some(bytes),
            Content::None | Content::Stream(..) => None,
        },
    });
    ticket.keep_head(head);
    taken
}

/// Writes address, method and target, returns their lengths, and appends the headers. For a Node listener it also
/// writes the local address behind the peer's, and everything as it was sent.
fn describe(
    request: &Asked,
    exchange: &Exchange,
    worker: &Worker,
    head: &mut Vec<u8>,
) -> [usize; 3] {
    use std::io::Write as _;

    match exchange.client_address(request.headers()) {
        address if address == exchange.client.address => {
            head.extend_from_slice(exchange.client.address_text().as_bytes());
        }
        Some(address) => write!(head, "{address}").expect("a Vec takes everything"),
        None => {}
    }
    let as_node = worker.handlers().contains(Handlers::NODE_REQUEST);
    if let Some(local) = exchange.client.local.filter(|_| as_node) {
        write!(head, "\n{local}").expect("a Vec takes everything");
    }
    let address = head.len();
    head.extend_from_slice(request.method().as_str().as_bytes());
    let method = head.len() - address;
    if let Some(SentHead(sent)) = request.extensions().get()
        && as_node
        && let Some((target, lines)) = head_lines::target(sent)
    {
        head.extend_from_slice(target);
        for (name, value) in lines {
            append(head, name, value);
        }
        return [address, method, target.len()];
    }
    let uri = request.uri();
    if request.version() >= Version::HTTP_2 || uri.scheme().is_none() {
        let target = uri.path_and_query().map_or("", |all| all.as_str());
        let authority = uri.authority().filter(|_| target.is_empty());
        head.extend_from_slice(authority.map_or(target, |all| all.as_str()).as_bytes());
    } else {
        write!(head, "{uri}").expect("a Vec takes everything");
    }
    let target = head.len() - address - method;
    if let Some(authority) = uri.authority()
        && !request.headers().contains_key(HOST)
    {
        append(head, b"host", authority.as_str().as_bytes());
    }
    for (name, value) in request.headers() {
        append(head, name.as_str().as_bytes(), value.as_bytes());
    }
    [address, method, target]
}

/// Appends a header in the form of the records.
fn append(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.push(0);
    out.extend_from_slice(value);
    out.push(0);
}

fn given_up() -> Answer {
    plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
}

fn respond(head: AnswerHead, body: Body) -> Answer {
    let head = head.into_parts();
    let mut answer = Response::new(body);
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    if let Some(reason) = head.reason {
        answer.extensions_mut().insert(reason);
    }
    answer
}
