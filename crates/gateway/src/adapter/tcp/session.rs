//! The session of one connection: passes messages to the worker, and handles the end of the peer's stream.

use std::borrow::Cow;
use std::sync::Arc;

use millrace_core::Kind;
use millrace_protocol::framing::{DecodeError, Decoder, Framing, Text, is_http_request};

use crate::contract::{
    CloseMode, CloseReason, Context, Encoding, Event, Flow, Goodbye, Liveness, Session, Taken,
    Traits, Wake,
};

use super::stream::Stream;

/// What the connections of a listener share.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) framing: Framing,
    pub(super) encoding: Encoding,
    pub(super) message_bytes: usize,
    /// Whether a connection may begin with the first line of an HTTP request.
    pub(super) allow_http: bool,
    /// Whether the connections are streams for JavaScript code of the protocol.
    pub(super) as_stream: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Tcp {
    terms: Arc<Terms>,
    decoder: Decoder,
    /// Whether no complete message has arrived yet.
    is_new: bool,
    /// `Some` if the connection is a stream for JavaScript code of the protocol.
    stream: Option<Stream>,
}

impl Tcp {
    pub(super) fn new(terms: &Arc<Terms>, stream: Option<Stream>) -> Self {
        Self {
            terms: Arc::clone(terms),
            decoder: Decoder::new(terms.framing),
            is_new: true,
            stream,
        }
    }

    /// Passes one message to the worker.
    fn message(
        &mut self,
        payload: Cow<'_, [u8]>,
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        let is_first = std::mem::take(&mut self.is_new);
        if is_first && !self.terms.allow_http && is_http_request(&payload) {
            return Err(HTTP_REQUEST);
        }
        cx.alive();
        let (kind, ascii) = self.kind_of(&payload);
        Ok(cx.message(kind, ascii, payload))
    }

    /// The kind of a message: a line is text if it is valid; other framings carry bytes.
    fn kind_of(&self, payload: &[u8]) -> (Kind, bool) {
        if self.terms.framing != Framing::Line {
            return (Kind::Binary, false);
        }
        match Text::of(payload) {
            Text::Ascii => (Kind::Text, true),
            Text::Utf8 => (Kind::Text, false),
            Text::No => (Kind::Binary, false),
        }
    }

    fn taken(&self, bytes: usize) -> Taken {
        Taken {
            bytes,
            unfinished: self.decoder.unfinished().is_some(),
        }
    }
}

impl Session for Tcp {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Kernel,
            // the end of the stream is the close
            goodbye: Goodbye::None,
            feeds_worker: true,
            half_close: true,
            encoding: self.terms.encoding,
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let length = bytes.len();
        if cx.is_closing() || self.stream.as_ref().is_some_and(Stream::is_closing) {
            // input is ignored while the connection closes
            return Ok(self.taken(length));
        }
        let mut rest = &*bytes;
        loop {
            let next = self.decoder.next(&mut rest, self.terms.message_bytes);
            let Some(payload) = next.map_err(|error| reason_of(&error))? else {
                return Ok(self.taken(length));
            };
            if self.message(payload, cx)? == Flow::Stop {
                return Ok(self.taken(length - rest.len()));
            }
        }
    }

    fn input_ended(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        if let Some(line) = self.decoder.finish().map_err(|error| reason_of(&error))? {
            // no input follows that the flow could stop
            let _flow = self.message(Cow::Owned(line), cx)?;
        }
        if !cx.handles(Event::End) {
            return Err(CloseReason::by_peer(None, ""));
        }
        let _flow = cx.event(Event::End, &[], Cow::Borrowed(&[]));
        Ok(())
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match &mut self.stream {
            Some(stream) => stream.wake(&why, cx),
            None => Ok(()),
        }
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished().unwrap_or_default()
    }
}

fn reason_of(error: &DecodeError) -> CloseReason {
    CloseReason::new(error.close_code(), error.close_reason(), CloseMode::Final)
}

/// The request may come from a web page, whose body contains lines of its own.
const HTTP_REQUEST: CloseReason = CloseReason::new(1008, "HTTP request", CloseMode::Final);
