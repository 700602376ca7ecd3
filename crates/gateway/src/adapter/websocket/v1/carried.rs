//! `millrace.v1` on a connection that is no WebSocket: its carrier puts what arrives into frames, and takes what is sent out of
//! them. The session is that of a WebSocket, so it does the same for both.

use std::sync::Arc;

use millrace_protocol::websocket::{DecoderConfig, Item};

use super::super::session::{Reads, TRAITS, WebSocket};
use super::{V1, V1Listener, V1Terms};
use crate::close::CloseReason;
use crate::contract::{
    Context, Encoding, Flow, Goodbye, Hub, Liveness, Session, Taken, Traits, Wake,
};
use crate::limits::ListenerLimits;

/// Makes the sessions of a listener. The carrier has to say that the subprotocol is [agreed](Session::agree) on.
#[derive(Debug)]
pub(crate) struct CarriedSessions {
    listener: Arc<V1Listener>,
    decoder: Arc<DecoderConfig>,
}

impl CarriedSessions {
    /// The decoder has to take frames that are not masked.
    pub(in crate::adapter::websocket) fn new(
        encoding: Encoding,
        limits: &ListenerLimits,
        decoder: DecoderConfig,
    ) -> Self {
        Self {
            listener: Arc::new(V1Listener::new(encoding, limits)),
            decoder: Arc::new(decoder),
        }
    }

    /// A session; `None`: no channel is for clients of the subprotocol. `answers`: whether the client may be called.
    pub(crate) fn open(&self, hub: &Arc<Hub>, answers: bool) -> Option<Box<dyn Session>> {
        if !hub.has_clients() {
            return None;
        }
        let terms = V1Terms::new(&self.listener, hub);
        let encoding = terms.plain();
        let reads = Carried(WebSocket::new(Arc::clone(&self.decoder)));
        let mut session = V1::new(reads, terms, encoding);
        session.answers = answers;
        Some(Box::new(session))
    }
}

/// Reads frames as a WebSocket does, but its peer neither answers pings nor the close, and gets whole messages.
#[derive(Debug)]
struct Carried(WebSocket);

impl Reads for Carried {
    fn read(
        &mut self,
        bytes: &mut [u8],
        cx: &mut Context<'_>,
        each: impl FnMut(Item<'_>, &mut Context<'_>) -> Result<Flow, CloseReason>,
    ) -> Result<Taken, CloseReason> {
        self.0.read(bytes, cx, each)
    }
}

impl Session for Carried {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Tells,
            goodbye: Goodbye::Said,
            ..TRAITS
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        self.0.input(bytes, cx)
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        self.0.wake(why, cx)
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        self.0.append_ping(out);
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        self.0.append_close(reason, out);
    }

    fn unfinished(&self) -> usize {
        self.0.unfinished()
    }
}
