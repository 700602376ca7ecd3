//! What clients of `millrace.v1` send beside their streams: each POST is one message. Owns the keys by which a POST finds its
//! stream, on whichever thread that is.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Body as _;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Response, StatusCode};
use millrace_protocol::sse;
use millrace_protocol::websocket::{self, Opcode};
use parking_lot::Mutex;
use tokio::io::ReadBuf;
use tokio::sync::mpsc;

use crate::contract::{Received, random};
use crate::http::{Answer, Asked, Body, Exchange, Incoming, open, plain};
use crate::secret::is_equal;

/// The header that names the stream of a POST: its socket's id, a point, and its key.
pub(super) const HEADER: &str = "millrace-socket";

/// The streams of a listener that take messages.
#[derive(Default)]
pub(super) struct Posts(Mutex<HashMap<Box<str>, Stream>>);

struct Stream {
    key: Key,
    messages: mpsc::Sender<Message>,
}

/// A frame with a message.
struct Message {
    frame: Vec<u8>,
    /// What the socket has not read counts as a message that is being received. `None`: it was not received.
    counted: Option<Received>,
}

/// A stream's secret.
type Key = [u8; 16];

/// What a stream's socket reads.
pub(super) struct Inbox {
    /// `None`: no POST finds it.
    posted: Option<Posted>,
    /// The message that is being read, and how much of it was.
    current: Option<(Message, usize)>,
}

/// What POSTs send to a stream. While it exists, they find it.
struct Posted {
    posts: Arc<Posts>,
    socket: Box<str>,
    /// One message waits behind that which is read; a POST with another one waits for its answer.
    messages: mpsc::Receiver<Message>,
}

impl Posts {
    /// Opens a stream to POSTs. Returns its key as text, too.
    pub(super) fn add(self: &Arc<Self>, socket: String) -> io::Result<(Inbox, String)> {
        let mut key = Key::default();
        random(&mut key)?;
        let (sender, messages) = mpsc::channel(1);
        let socket: Box<str> = socket.into();
        let stream = Stream {
            key,
            messages: sender,
        };
        self.0.lock().insert(socket.clone(), stream);
        let posted = Posted {
            posts: Arc::clone(self),
            socket,
            messages,
        };
        let inbox = Inbox {
            posted: Some(posted),
            current: None,
        };
        Ok((inbox, sse::base64_url(&key)))
    }

    /// The stream that a request names by its id and its key.
    fn find(&self, headers: &HeaderMap) -> Option<mpsc::Sender<Message>> {
        let (socket, given) = headers.get(HEADER)?.to_str().ok()?.rsplit_once('.')?;
        let given: Key = sse::from_base64_url(given.as_bytes())?.try_into().ok()?;
        let streams = self.0.lock();
        let stream = streams.get(socket)?;
        is_equal(&given, &stream.key).then(|| stream.messages.clone())
    }

    /// Answers a POST: 204 when the message is taken.
    pub(super) async fn answer(
        &self,
        exchange: &Exchange,
        request: &mut Asked,
        most: usize,
    ) -> Answer {
        if let Some(answer) = open::refuse_origin(exchange, request) {
            return answer;
        }
        let limit = exchange.client.listener.config.limits.handshake_timeout;
        let shard = &exchange.shard;
        let counted = Received::new(shard.hub(), shard.limits().inbound_total_bytes);
        match self.send(request, (most, counted), limit).await {
            Ok(()) => {
                let mut answer = Response::new(Body::empty());
                *answer.status_mut() = StatusCode::NO_CONTENT;
                answer
            }
            Err((status, text)) => plain(status, text),
        }
    }

    async fn send(
        &self,
        request: &mut Asked,
        (most, mut counted): (usize, Received),
        limit: Duration,
    ) -> Result<(), Refused> {
        let unknown = (StatusCode::NOT_FOUND, UNKNOWN);
        let stream = self.find(request.headers()).ok_or(unknown)?;
        // bodies are received one at a time for a stream, and only while it takes messages, however many requests there are
        let place = tokio::time::timeout(limit, stream.clone().reserve_owned()).await;
        let place = place
            .map_err(|_| (StatusCode::SERVICE_UNAVAILABLE, LATE))?
            .map_err(|_| unknown)?;
        let kind = request.headers().get(CONTENT_TYPE);
        let is_bytes = kind.is_some_and(|kind| {
            let known = kind.as_bytes().get(..BYTES.len());
            known.is_some_and(|known| known.eq_ignore_ascii_case(BYTES))
        });
        let opcode = if is_bytes {
            Opcode::Binary
        } else {
            Opcode::Text
        };
        let message = tokio::select! {
            message = read(request.body_mut(), most, &mut counted) => message?,
            () = stream.closed() => return Err(unknown),
        };
        let mut frame = Vec::with_capacity(message.len() + 10);
        websocket::append_frame(&mut frame, opcode, &message);
        let message = Message {
            frame,
            counted: Some(counted),
        };
        if place.send(message).is_closed() {
            return Err(unknown);
        }
        Ok(())
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        self.posts.0.lock().remove(&self.socket);
    }
}

impl Inbox {
    /// One that has these messages and gets no others.
    pub(super) fn of(messages: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut frame = Vec::new();
        for message in messages {
            websocket::append_frame(&mut frame, Opcode::Text, &message);
        }
        let message = Message {
            frame,
            counted: None,
        };
        Self {
            posted: None,
            current: Some((message, 0)),
        }
    }

    /// Fills the buffer with what has arrived. Whether there was something; if not, the task is woken when there is.
    pub(super) fn read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> bool {
        if self.current.is_none() {
            let posted = self.posted.as_mut();
            let next = posted.map_or(Poll::Pending, |posted| posted.messages.poll_recv(cx));
            if let Poll::Ready(Some(next)) = next {
                self.current = Some((next, 0));
            }
        }
        let Some((message, at)) = &mut self.current else {
            return false;
        };
        let rest = message.frame.get(*at..).unwrap_or_default();
        let piece = rest.get(..buf.remaining()).unwrap_or(rest);
        buf.put_slice(piece);
        *at += piece.len();
        if let Some(counted) = &mut message.counted {
            counted.shrink(piece.len());
        }
        let has_any = !message.frame.is_empty();
        if *at == message.frame.len() {
            self.current = None;
        }
        has_any
    }
}

/// Why a message is not taken.
type Refused = (StatusCode, &'static str);

/// Reads a body of at most this many bytes.
async fn read(
    body: &mut Incoming,
    most: usize,
    counted: &mut Received,
) -> Result<Vec<u8>, Refused> {
    let too_large = (StatusCode::PAYLOAD_TOO_LARGE, "The message is too large");
    if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_large);
    }
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "The message is incomplete"))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.len() > most - bytes.len() {
            return Err(too_large);
        }
        if !counted.grow(data.len()) {
            return Err((StatusCode::SERVICE_UNAVAILABLE, FULL));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

const BYTES: &[u8] = b"application/octet-stream";
const UNKNOWN: &str = "There is no such stream here";
const FULL: &str = "Too much is being received";
const LATE: &str = "The message was not taken in time";
