//! The adapter of Server-Sent Events: a socket that only receives, carried by the body of an HTTP answer.

use std::fmt;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use hyper::{Method, Response, StatusCode};
use millrace_core::Kind;
use millrace_protocol::sse;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

use crate::close::CloseReason;
use crate::contract::{
    self, Acceptance, Carried, Encoding, EncodingDef, Goodbye, ListenError, Liveness, Message,
    Opened, Reader, Session, Stream, Taken, Traits, Transport,
};
use crate::http::open;
use crate::http::{
    Answer, Answering, Asked, Body, BodyError, Claim, Client, Endpoint, Exchange, SimpleRequest,
    Taking, plain,
};
use crate::permits::Permit;

/// The event streams of one listener.
#[derive(Debug)]
pub(crate) struct EventStreams {
    path: String,
    encoding: Encoding,
}

impl EventStreams {
    /// Reads the option `events`; `None` if it is not given.
    pub(crate) fn new(
        options: &Reader<'_>,
        encoding: Encoding,
    ) -> Result<Option<Self>, ListenError> {
        let path = options.text("events")?.map(str::to_owned);
        Ok(path.map(|path| Self { path, encoding }))
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
        Box::pin(answer(self.encoding, exchange, asked))
    }
}

/// Answers with 200 or an error.
async fn answer(encoding: Encoding, exchange: &Exchange, request: &Asked) -> Option<Answer> {
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
    let session = Box::new(Sse(encoding));
    let admitted = open::admit(exchange, request, Transport::EventStream, session).await;
    Some(match admitted {
        Ok((opened, acceptance)) => begin(opened, &acceptance, &exchange.client),
        Err(answer) => answer,
    })
}

fn begin(opened: Opened, acceptance: &Acceptance, client: &Rc<Client>) -> Answer {
    if acceptance.protocol.is_some() {
        return open::invalid(
            opened,
            "handleOpen selected a subprotocol, and an event stream has none",
        );
    }
    let (ours, theirs) = duplex(PIPE_BYTES);
    let mut answer = Response::new(Body::Stream(Box::pin(Pipe::new(theirs, client))));
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
    let pipe = PipeEnd {
        stream: ours,
        carrier: Rc::clone(client),
    };
    opened.connected(Stream::carried(pipe), &Bytes::new());
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

/// The socket's end of the pipe. What is in the pipe, and what the HTTP connection holds of it, has not reached the
/// peer yet.
struct PipeEnd {
    stream: DuplexStream,
    /// The HTTP connection that carries it.
    carrier: Rc<Client>,
}

impl fmt::Debug for PipeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PipeEnd").field(&self.stream).finish()
    }
}

impl Carried for PipeEnd {
    fn needs_shutdown(&self) -> bool {
        false
    }

    /// The permit stays taken until the HTTP connection is closed, too.
    fn give_back(&self, permit: Permit) {
        *self.carrier.permit.borrow_mut() = Some(permit);
    }
}

impl AsyncRead for PipeEnd {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The body of the answer: what the shard writes to the socket's stream. Ends with the socket, or when the client has
/// left.
struct Pipe {
    stream: DuplexStream,
    left: Pin<Box<dyn Future<Output = ()>>>,
}

impl Pipe {
    fn new(stream: DuplexStream, client: &Rc<Client>) -> Self {
        let client = Rc::clone(client);
        Self {
            stream,
            left: Box::pin(async move { client.half_closed.wait().await }),
        }
    }
}

impl HttpBody for Pipe {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let pipe = self.get_mut();
        if pipe.left.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        // the buffer is not zeroed, because an event is short
        let mut piece = [MaybeUninit::uninit(); PIPE_BYTES];
        let mut buffer = ReadBuf::uninit(&mut piece);
        ready!(Pin::new(&mut pipe.stream).poll_read(cx, &mut buffer))?;
        let filled = buffer.filled();
        if filled.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(filled)))))
    }
}

/// Bytes between the shard and hyper; the rest waits in the outbox.
const PIPE_BYTES: usize = 16 * 1024;

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
