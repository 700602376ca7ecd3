//! One WebSocket connection: messages for the worker, pongs for the peer, the closing handshake.

use std::borrow::Cow;
use std::sync::Arc;

use millrace_core::Kind;
use millrace_protocol::websocket::{
    self, DecodeError, Decoder, DecoderConfig, Input, Item, Opcode, Payload,
};

use crate::close::{CloseMode, CloseReason};
use crate::contract::{
    Context, Encodings, Event, Flow, Fragment, Goodbye, Liveness, Operation, Session, Taken,
    Traits, Wake,
};

/// The session of one WebSocket connection.
#[derive(Debug)]
pub(crate) struct WebSocket {
    decoder: Decoder,
    config: Arc<DecoderConfig>,
}

const _: () = assert!(
    size_of::<WebSocket>() <= 24,
    "every idle connection pays for this: 24 bytes are the smallest block of most allocators"
);

impl WebSocket {
    pub(crate) fn new(config: Arc<DecoderConfig>) -> Self {
        Self {
            decoder: Decoder::new(),
            config,
        }
    }
}

/// A session whose input may have another meaning: it also hands over what it reads.
pub(super) trait Reads: Session {
    /// Reads input and calls `each` for every item in it.
    fn read(
        &mut self,
        bytes: &mut [u8],
        cx: &mut Context<'_>,
        each: impl FnMut(Item<'_>, &mut Context<'_>) -> Result<Flow, CloseReason>,
    ) -> Result<Taken, CloseReason>;
}

impl Reads for WebSocket {
    fn read(
        &mut self,
        bytes: &mut [u8],
        cx: &mut Context<'_>,
        each: impl FnMut(Item<'_>, &mut Context<'_>) -> Result<Flow, CloseReason>,
    ) -> Result<Taken, CloseReason> {
        read_whole((&mut self.decoder, &self.config), bytes, cx, each)
    }
}

/// Reads input and calls `each` for every item in it, whole messages.
pub(super) fn read_whole(
    (decoder, config): (&mut Decoder, &DecoderConfig),
    bytes: &mut [u8],
    cx: &mut Context<'_>,
    mut each: impl FnMut(Item<'_>, &mut Context<'_>) -> Result<Flow, CloseReason>,
) -> Result<Taken, CloseReason> {
    let bytes = decode(bytes, cx, |input, now, cx| {
        match decoder.next(input, config, now) {
            Ok(item) => item.map(|item| each(item, cx)).transpose(),
            Err(error) => Err(CloseReason::from(&error)),
        }
    })?;
    Ok(taken(bytes, decoder))
}

impl Session for WebSocket {
    fn traits(&self) -> Traits {
        TRAITS
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let bytes = decode(bytes, cx, |input, now, cx| {
            let item = self.decoder.next(input, &self.config, now);
            pass_on_any(item, cx)
        })?;
        Ok(taken(bytes, &self.decoder))
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        wake(&why, cx);
        Ok(())
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        append_ping(out);
    }

    fn has_fragments(&self) -> bool {
        true
    }

    fn append_fragment(&mut self, fragment: &Fragment<'_>, out: &mut Vec<u8>) {
        append_fragment(fragment, out);
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        append_close(reason, out);
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished_bytes()
    }
}

/// The traits of a connection without compression.
pub(super) const TRAITS: Traits = Traits {
    liveness: Liveness::Asks,
    goodbye: Goodbye::Answered,
    feeds_worker: true,
    half_close: false,
    encoding: Encodings::LEAD,
};

/// Calls `next`, which handles the next item of the input, until there is none or the worker takes no more. Returns the
/// number of bytes that were taken.
#[expect(
    clippy::inline_always,
    reason = "with several kinds of sessions it would be a call per read"
)]
#[inline(always)]
pub(super) fn decode<'b>(
    bytes: &'b mut [u8],
    cx: &mut Context<'_>,
    mut next: impl FnMut(&mut Input<'b>, u64, &mut Context<'_>) -> Result<Option<Flow>, CloseReason>,
) -> Result<usize, CloseReason> {
    let length = bytes.len();
    let now = cx.now();
    let mut input = Input::new(bytes);
    let taken = loop {
        match next(&mut input, now, cx) {
            Ok(Some(Flow::Go)) => {}
            Ok(Some(Flow::Stop)) => break Ok(length - input.remaining().len()),
            Ok(None) => break Ok(length),
            Err(reason) => break Err(reason),
        }
    };
    if input.frames() > 0 {
        cx.alive();
    }
    taken
}

/// What a session has taken.
#[inline]
pub(super) fn taken(bytes: usize, decoder: &Decoder) -> Taken {
    Taken {
        bytes,
        unfinished: !decoder.is_idle(),
    }
}

/// Handles what a decoder returns.
#[expect(
    clippy::inline_always,
    reason = "with two kinds of sessions it would be a call per message"
)]
#[inline(always)]
pub(super) fn pass_on_any(
    item: Result<Option<Item<'_>>, DecodeError>,
    cx: &mut Context<'_>,
) -> Result<Option<Flow>, CloseReason> {
    match item {
        Ok(Some(item)) => pass_on(item, cx).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(CloseReason::from(&error)),
    }
}

/// Handles an item. An error closes the connection.
#[expect(
    clippy::inline_always,
    reason = "with two kinds of sessions it would be a call per message"
)]
#[inline(always)]
pub(super) fn pass_on(item: Item<'_>, cx: &mut Context<'_>) -> Result<Flow, CloseReason> {
    match item {
        Item::Message {
            kind,
            ascii,
            payload,
        } => {
            let payload = match payload {
                Payload::Borrowed(bytes) => Cow::Borrowed(bytes),
                Payload::Owned(bytes) => Cow::Owned(bytes),
            };
            Ok(cx.message(from_wire(kind), ascii, payload))
        }
        Item::Ping(payload) => {
            cx.reply_control(|out| websocket::append_frame(out, Opcode::Pong, payload));
            Ok(tell_if_handled(cx, Event::WebSocketPing, payload))
        }
        // this is how clients answer the gateway's own pings
        Item::Pong([]) => Ok(Flow::Go),
        Item::Pong(payload) => Ok(tell_if_handled(cx, Event::WebSocketPong, payload)),
        Item::Close { code, reason } => Err(CloseReason::by_peer(code, reason)),
    }
}

/// Sends the ping that the worker asks for.
pub(super) fn wake(why: &Wake<'_>, cx: &mut Context<'_>) {
    if let Wake::Told(instruction) = why
        && instruction.operation() == Some(Operation::WebSocketPing)
    {
        cx.reply_control(|out| websocket::append_frame(out, Opcode::Ping, instruction.payload()));
    }
}

pub(super) fn append_ping(out: &mut Vec<u8>) {
    websocket::append_frame(out, Opcode::Ping, b"");
}

/// Parts are not compressed.
pub(super) fn append_fragment(fragment: &Fragment<'_>, out: &mut Vec<u8>) {
    let opcode = match fragment.kind {
        _ if !fragment.is_first => Opcode::Continuation,
        Kind::Text => Opcode::Text,
        Kind::Binary => Opcode::Binary,
    };
    websocket::append_part(out, opcode, fragment.is_last, None, fragment.payload);
}

pub(super) fn append_close(reason: &CloseReason, out: &mut Vec<u8>) {
    // a close that echoes the peer's has no reason text; one that this side begins has one
    let text = if reason.mode == CloseMode::Final && reason.is_by_peer() {
        ""
    } else {
        &reason.reason
    };
    websocket::append_close(out, reason.code, text);
}

/// Passes a control frame to the worker if it has a handler for these.
#[cold]
fn tell_if_handled(cx: &mut Context<'_>, event: Event, payload: &[u8]) -> Flow {
    if cx.handles(event) {
        cx.event(event, &[], Cow::Borrowed(payload))
    } else {
        Flow::Go
    }
}

pub(super) fn from_wire(kind: websocket::Kind) -> Kind {
    match kind {
        websocket::Kind::Text => Kind::Text,
        websocket::Kind::Binary => Kind::Binary,
    }
}
