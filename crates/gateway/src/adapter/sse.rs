//! The adapter of Server-Sent Events: a socket that only receives, carried by the body of an HTTP answer. A client of
//! `millrace.v1` also sends, by POST.

mod channels;
mod frames;
mod pipe;
mod posts;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use hyper::{Method, Response, StatusCode};
use millrace_core::Kind;
use millrace_protocol::sse::{self, Positions};
use millrace_protocol::v1;

use crate::close::CloseReason;
use crate::contract::{
    self, Acceptance, Encoding, EncodingDef, Goodbye, Hub, ListenError, Liveness, Message, Opened,
    Reader, Session, Stream, Taken, Traits, Transport,
};
use crate::http::open;
use crate::http::{
    Answer, Answering, Asked, Body, Claim, Client, Endpoint, EndpointLimits, Exchange,
    SimpleRequest, Taking, plain,
};
use frames::Unframed;
use pipe::pipe;
use posts::{Inbox, Posts};

/// The event streams of one listener.
pub(crate) struct EventStreams {
    path: String,
    encoding: Encoding,
    /// What speaks `millrace.v1`.
    v1: OpenV1,
    posts: Arc<Posts>,
    message_bytes: usize,
}

/// Makes a session of `millrace.v1`, whose client can be called or not; `None`: no channel is for such clients.
pub(crate) type OpenV1 = Box<dyn Fn(&Arc<Hub>, bool) -> Option<Box<dyn Session>> + Send + Sync>;

impl fmt::Debug for EventStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventStreams").field(&self.path).finish()
    }
}

impl EventStreams {
    /// Reads the option `events`; `None` if it is not given.
    pub(crate) fn new(
        options: &Reader<'_>,
        limits: &EndpointLimits<'_>,
        encoding: Encoding,
        v1: OpenV1,
    ) -> Result<Option<Self>, ListenError> {
        let path = options.text("events")?.map(str::to_owned);
        Ok(path.map(|path| Self {
            path,
            encoding,
            v1,
            posts: Arc::default(),
            message_bytes: limits.listener.message_bytes,
        }))
    }
}

impl Endpoint for EventStreams {
    fn claim(&self, _: &Exchange, asked: &Asked) -> Claim {
        if asked.uri().path() == self.path {
            Claim::Yes
        } else {
            Claim::No
        }
    }

    fn take(&self, _: &Exchange, request: &SimpleRequest<'_>) -> Taking {
        if request.path() == self.path {
            Taking::Unsure
        } else {
            Taking::Pass
        }
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        Box::pin(answer(self, exchange, asked))
    }
}

/// Answers with 200, or a POST with 204, or with an error.
async fn answer(
    streams: &EventStreams,
    exchange: &Exchange,
    request: &mut Asked,
) -> Option<Answer> {
    if request.method() == Method::POST && request.headers().contains_key(posts::HEADER) {
        let most = streams.message_bytes;
        return Some(streams.posts.answer(exchange, request, most).await);
    }
    if request.method() != Method::GET {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
        answer
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET"));
        return Some(answer);
    }
    if !accepts_events(request.headers()) {
        return Some(plain(
            StatusCode::NOT_ACCEPTABLE,
            "This is a stream of events: Accept has to have text/event-stream",
        ));
    }
    let hub = exchange.shard.hub();
    let asks = match Asks::read(request, hub) {
        Ok(asks) => asks,
        Err((status, text)) => return Some(plain(status, text)),
    };
    let speaks = (!matches!(asks, Asks::Nothing))
        .then(|| (streams.v1)(hub, matches!(asks, Asks::V1)))
        .flatten();
    let own = speaks.is_some().then_some(v1::SUBPROTOCOL);
    let session = speaks.unwrap_or_else(|| Box::new(Sse(streams.encoding)));
    let admitted = open::admit(exchange, request, Transport::EventStream, session).await;
    let (opened, acceptance) = match admitted {
        Ok(admitted) => admitted,
        Err(answer) => return Some(answer),
    };
    let chosen = acceptance.protocol.as_deref();
    if chosen.is_some() && chosen != own {
        let problem = "handleOpen selected a subprotocol, and an event stream has none";
        return Some(open::invalid(opened, problem));
    }
    let Some(socket) = opened.socket().filter(|_| own.is_some()) else {
        return Some(begin(opened, &acceptance, &exchange.client, None).await);
    };
    opened.agree(true);
    let spoken = match asks {
        Asks::Nothing => None,
        Asks::V1 => {
            let Ok((inbox, key)) = streams.posts.add(hub.socket_name(socket)) else {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return Some(plain(status, "Internal server error"));
            };
            Some((inbox, Unframed::v1(key)))
        }
        Asks::Channels(positions) => {
            let inbox = Inbox::of(positions.subscriptions());
            Some((inbox, Unframed::plain(positions)))
        }
    };
    Some(begin(opened, &acceptance, &exchange.client, spoken).await)
}

/// What a client asks for.
enum Asks {
    /// A stream of what the application sends.
    Nothing,
    /// To speak `millrace.v1`.
    V1,
    /// The messages of channels.
    Channels(Positions),
}

impl Asks {
    /// If no channel is for clients, the query belongs to the application.
    fn read(request: &Asked, hub: &Hub) -> Result<Self, (StatusCode, &'static str)> {
        let query = request.uri().query().unwrap_or_default();
        if query.is_empty() || !hub.has_clients() {
            return Ok(Self::Nothing);
        }
        if query.split('&').any(|parameter| parameter == "v=1") {
            return Ok(Self::V1);
        }
        let names = channels::read(query).ok_or((StatusCode::BAD_REQUEST, channels::INVALID))?;
        if names.is_empty() {
            return Ok(Self::Nothing);
        }
        if channels::is_unclear(&names) {
            return Err((StatusCode::BAD_REQUEST, channels::UNCLEAR));
        }
        let may = |name: &String| hub.client_terms(name.as_bytes()).subscribe;
        if !names.iter().all(may) {
            return Err((StatusCode::FORBIDDEN, DENIED));
        }
        let last = channels::last_event_id(request.headers());
        Ok(Self::Channels(Positions::new(names, last)))
    }
}

const DENIED: &str = "The client may not subscribe to this channel";

/// Begins a stream. One whose session speaks `millrace.v1` has what that reads, and what becomes of what it writes.
async fn begin(
    opened: Opened,
    acceptance: &Acceptance,
    client: &Rc<Client>,
    spoken: Option<(Inbox, Unframed)>,
) -> Answer {
    let (inbox, unframed) = spoken.unzip();
    let (end, body) = pipe(client, inbox, unframed);
    let mut answer = Response::new(Body::empty());
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, sse::CONTENT_TYPE),
        (CACHE_CONTROL, "no-store"),
        // the permit moves to the socket, so no other request may follow on this connection
        (CONNECTION, "close"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Err(problem) = open::add_headers(acceptance, &mut answer, &RESERVED) {
        return open::invalid(opened, problem);
    }
    opened.connected(Stream::carried(end), &Bytes::new());
    // a browser comes back to a stream that has begun, however it ends
    if !body.is_allowed().await {
        return plain(StatusCode::FORBIDDEN, DENIED);
    }
    *answer.body_mut() = Body::Stream(Box::pin(body));
    answer
}

/// Whether `Accept` allows an event stream (RFC 9110, section 12.5.1, as far as it matters here). Without the header it
/// does.
fn accepts_events(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .any(|range| {
            ["text/event-stream", "text/*", "*/*"]
                .iter()
                .any(|wanted| range.eq_ignore_ascii_case(wanted))
        })
}

/// The session of one event stream.
#[derive(Debug)]
struct Sse(Encoding);

impl Session for Sse {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Tells,
            goodbye: Goodbye::Said,
            feeds_worker: false,
            half_close: false,
            encoding: self.0,
        }
    }

    fn input(
        &mut self,
        bytes: &mut [u8],
        _: &mut contract::Context<'_>,
    ) -> Result<Taken, CloseReason> {
        // the peer of an event stream cannot send
        Ok(Taken {
            bytes: bytes.len(),
            unfinished: false,
        })
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        sse::append_heartbeat(out);
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        sse::append_close(out, reason.code, &reason.reason);
    }
}

/// The encoding of event streams, for a session without its HTTP answer.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn encoding_on_stage(encodings: &crate::contract::Encodings) -> Encoding {
    encodings.add(ENCODING)
}

/// A session without its HTTP answer, with this encoding.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn session_on_stage(encoding: Encoding) -> Box<dyn Session> {
    Box::new(Sse(encoding))
}

/// The encoding of a message as one event.
pub(super) const ENCODING: EncodingDef = EncodingDef {
    name: "sse",
    names_channel: false,
    most_payload: usize::MAX,
    around: AROUND,
    append: append_message,
};

/// Bytes that an event adds to a text of one line.
const AROUND: usize = 10;

fn append_message(message: &Message<'_>, out: &mut Vec<u8>) {
    match message.kind {
        Kind::Text => sse::append_text(out, message.payload),
        Kind::Binary => sse::append_binary(out, message.payload),
    }
}

/// Headers of the answer that the application cannot set.
const RESERVED: [&str; 4] = [
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_ask_for_events_in_several_ways() {
        let accepts = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(ACCEPT, HeaderValue::from_str(value).unwrap());
            }
            accepts_events(&headers)
        };
        assert!(accepts(&[]));
        assert!(accepts(&["text/html, Text/Event-Stream;q=0.9"]));
        assert!(accepts(&["text/html", "*/*"]));
        assert!(!accepts(&["text/html, application/json"]));
    }
}
