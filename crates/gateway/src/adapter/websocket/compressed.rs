//! One WebSocket connection with compression: its messages are inflated, the rest is as without.

use std::sync::{Arc, OnceLock};

use millrace_protocol::websocket::deflate::{History, Inflation};
use millrace_protocol::websocket::{DecodeError, Decoder, DecoderConfig, Item};

use super::contexts::Reservation;
use super::session::{self, Reads};
use crate::close::CloseReason;
use crate::contract::{
    Context as Cx, Encoding, Encodings, Flow, Fragment, Session, Taken, Traits, Wake,
};
use crate::inflaters::Inflaters;

/// The session of one connection with compression.
#[derive(Debug)]
pub(super) struct Compressed<C> {
    decoder: Decoder,
    shared: Arc<Shared>,
    context: C,
}

/// What connections with the same terms share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) decoder: Arc<DecoderConfig>,
    pub(super) inflaters: Arc<Inflaters>,
    pub(super) encoding: Encoding,
    /// The encoding of `millrace.v1` with the same compression, once a client speaks it.
    pub(super) headed: OnceLock<Encoding>,
    /// The same for connections to which nothing is compressed, once there is one.
    pub(super) silent: OnceLock<Arc<Shared>>,
}

impl Shared {
    fn silent(&self) -> &Arc<Self> {
        self.silent.get_or_init(|| {
            Arc::new(Self {
                decoder: Arc::clone(&self.decoder),
                inflaters: Arc::clone(&self.inflaters),
                encoding: Encodings::LEAD,
                headed: OnceLock::new(),
                silent: OnceLock::new(),
            })
        })
    }
}

/// What a connection with context takeover has, in either direction.
#[derive(Debug)]
pub(super) struct Context {
    /// What the client's messages may refer to.
    pub(super) history: Option<History>,
    /// Its memory, and that of the gateway's messages.
    #[expect(dead_code, reason = "it is given back when it is dropped")]
    pub(super) reservation: Reservation,
}

const _: () = assert!(
    size_of::<Compressed<()>>() <= 24,
    "a connection without context takeover costs no more than one without compression"
);

/// A connection with or without a context.
pub(super) trait Keeps {
    fn history(&mut self) -> Option<&mut History>;
}

impl Keeps for () {
    fn history(&mut self) -> Option<&mut History> {
        None
    }
}

impl Keeps for Box<Context> {
    fn history(&mut self) -> Option<&mut History> {
        self.history.as_mut()
    }
}

/// The bytes of the messages of one read, of which a few on the wire may stand for many.
#[derive(Default)]
struct Text(usize);

impl Text {
    #[inline]
    fn count(&mut self, item: &Result<Option<Item<'_>>, DecodeError>) {
        if let Ok(Some(Item::Message { payload, .. })) = item {
            self.0 = self.0.saturating_add(payload.len());
        }
    }

    /// Stops once there was so much that other connections have to get a turn first.
    #[inline]
    fn stop(
        &self,
        flow: Result<Option<Flow>, CloseReason>,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Flow>, CloseReason> {
        match flow {
            Ok(Some(_)) if self.0 > MOST_TEXT => {
                cx.yield_turn();
                Ok(Some(Flow::Stop))
            }
            flow => flow,
        }
    }
}

/// The text of one read after which other connections get a turn: inflating it takes about a millisecond.
const MOST_TEXT: usize = 256 * 1024;

impl<C> Compressed<C> {
    pub(super) fn new(shared: Arc<Shared>, context: C) -> Self {
        Self {
            decoder: Decoder::new(),
            shared,
            context,
        }
    }
}

impl<C: Keeps> Reads for Compressed<C> {
    fn read(
        &mut self,
        bytes: &mut [u8],
        cx: &mut Cx<'_>,
        mut each: impl FnMut(Item<'_>, &mut Cx<'_>) -> Result<Flow, CloseReason>,
    ) -> Result<Taken, CloseReason> {
        let mut lent = self.shared.inflaters.lend();
        let mut text = Text::default();
        let bytes = session::decode(bytes, cx, |input, now, cx| {
            let inflation = Inflation {
                inflater: &mut lent,
                history: self.context.history(),
            };
            let config = &self.shared.decoder;
            let item = self.decoder.next_inflated(input, config, now, inflation);
            text.count(&item);
            match item {
                Ok(item) => {
                    let flow = item.map(|item| each(item, cx)).transpose();
                    text.stop(flow, cx)
                }
                Err(error) => Err(CloseReason::from(&error)),
            }
        })?;
        Ok(session::taken(bytes, &self.decoder))
    }
}

impl<C: Keeps> Session for Compressed<C> {
    fn traits(&self) -> Traits {
        Traits {
            encoding: self.shared.encoding,
            ..session::TRAITS
        }
    }

    fn stop_compressing(&mut self) {
        self.shared = Arc::clone(self.shared.silent());
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Cx<'_>) -> Result<Taken, CloseReason> {
        let mut lent = self.shared.inflaters.lend();
        let mut text = Text::default();
        let bytes = session::decode(bytes, cx, |input, now, cx| {
            let inflation = Inflation {
                inflater: &mut lent,
                history: self.context.history(),
            };
            let config = &self.shared.decoder;
            let item = self.decoder.next_inflated(input, config, now, inflation);
            text.count(&item);
            let flow = session::pass_on_any(item, cx);
            text.stop(flow, cx)
        })?;
        Ok(session::taken(bytes, &self.decoder))
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Cx<'_>) -> Result<(), CloseReason> {
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
}
