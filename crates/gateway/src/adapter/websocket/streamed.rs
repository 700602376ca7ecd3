//! A WebSocket connection whose large messages are handed over while they arrive, for listeners that ask for that. The
//! decoder assembles a message up to the size from which it is handed over; from then on its bytes go to the worker as they
//! come.

use std::borrow::Cow;
use std::sync::Arc;

use millrace_protocol::websocket::{Decoder, DecoderConfig, Item, Kind, Payload};

use super::session::{self, Reads, TRAITS};
use crate::close::CloseReason;
use crate::contract::{Context, Event, Flow, Fragment, Session, Taken, Traits, TransferId, Wake};

/// See the module.
#[derive(Debug)]
pub(crate) struct Streamed {
    decoder: Decoder,
    config: Arc<DecoderConfig>,
    /// Larger messages are handed over in pieces.
    above: usize,
    arriving: Arriving,
}

/// The message that is being handed over.
#[derive(Debug, Default)]
struct Arriving {
    transfer: Option<TransferId>,
    /// Bytes that were handed over.
    bytes: usize,
}

impl Streamed {
    pub(crate) fn new(config: Arc<DecoderConfig>, above: usize) -> Self {
        Self {
            decoder: Decoder::new(),
            config,
            above,
            arriving: Arriving::default(),
        }
    }

    /// Hands over what has arrived of an unfinished message, if the message is large.
    fn hand_over(&mut self, cx: &mut Context<'_>) {
        let is_large = self.decoder.unfinished_bytes() > self.above;
        if (self.arriving.is_some() || (is_large && may_begin(cx)))
            && let Some((kind, bytes)) = self.decoder.take_part()
        {
            // all input was taken, so what follows is limited by the credit of the transfer
            let _flow = self.arriving.piece(kind, Cow::Owned(bytes), false, cx);
        }
    }

    fn take(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let bytes = session::decode(bytes, cx, |input, now, cx| {
            match self.decoder.next(input, &self.config, now) {
                Ok(None) => {
                    self.hand_over(cx);
                    Ok(None)
                }
                Ok(Some(Item::Message { kind, payload, .. }))
                    if self.arriving.is_some() || (payload.len() > self.above && may_begin(cx)) =>
                {
                    let payload = match payload {
                        Payload::Borrowed(bytes) => Cow::Borrowed(bytes),
                        Payload::Owned(bytes) => Cow::Owned(bytes),
                    };
                    let flow = self.arriving.piece(kind, payload, true, cx);
                    self.arriving.end(cx);
                    Ok(Some(flow))
                }
                item => session::pass_on_any(item, cx),
            }
        })?;
        Ok(session::taken(bytes, &self.decoder))
    }
}

/// Without handing anything over: for a connection whose messages no worker gets.
impl Reads for Streamed {
    fn read(
        &mut self,
        bytes: &mut [u8],
        cx: &mut Context<'_>,
        each: impl FnMut(Item<'_>, &mut Context<'_>) -> Result<Flow, CloseReason>,
    ) -> Result<Taken, CloseReason> {
        session::read_whole((&mut self.decoder, &self.config), bytes, cx, each)
    }
}

/// Whether a message may be handed over in pieces: not without a handler, and not while the connection ends.
fn may_begin(cx: &Context<'_>) -> bool {
    cx.handles(Event::MessageStream) && !cx.is_closing()
}

impl Arriving {
    fn is_some(&self) -> bool {
        self.transfer.is_some()
    }

    /// Hands over a piece, the first one behind the event that announces the message.
    fn piece(
        &mut self,
        kind: Kind,
        bytes: Cow<'_, [u8]>,
        last: bool,
        cx: &mut Context<'_>,
    ) -> Flow {
        let mut flow = Flow::Go;
        let transfer = *self.transfer.get_or_insert_with(|| {
            let transfer = cx.open_transfer();
            let mut fields = u32::from(kind == Kind::Binary).to_ne_bytes().to_vec();
            fields.extend_from_slice(&transfer.get().to_ne_bytes());
            flow = cx.event(Event::MessageStream, &fields, Cow::Borrowed(&[]));
            transfer
        });
        self.bytes += bytes.len();
        let room = cx.piece(transfer, bytes, last);
        Flow::go_if(flow == Flow::Go && room == Flow::Go)
    }

    /// The last piece was handed over, or the rest will not arrive, which the worker is told.
    fn end(&mut self, cx: &mut Context<'_>) {
        if let Some(transfer) = self.transfer.take() {
            cx.close_transfer(transfer);
        }
        self.bytes = 0;
    }
}

impl Session for Streamed {
    fn traits(&self) -> Traits {
        TRAITS
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let taken = self.take(bytes, cx);
        if taken.is_err() {
            // before the end waits for the handler, which may wait for the rest
            self.arriving.end(cx);
        }
        taken
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        session::wake(&why, cx);
        Ok(())
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        session::append_ping(out);
    }

    fn has_fragments(&self) -> bool {
        true
    }

    fn append_fragment(&mut self, fragment: &Fragment<'_>, out: &mut Vec<u8>) {
        session::append_fragment(fragment, out);
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        session::append_close(reason, out);
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished_bytes()
    }

    fn received(&self) -> usize {
        self.arriving.bytes + self.decoder.unfinished_bytes()
    }
}
