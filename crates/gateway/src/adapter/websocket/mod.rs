//! The WebSocket adapter (RFC 6455): our strict decoder in, shared frames out, closing handshake.

mod endpoint;

use std::borrow::Cow;
use std::sync::Arc;

use millrace_core::Kind;
use millrace_protocol::websocket::{
    self, DecodeError, Decoder, DecoderConfig, Input, Item, Opcode, Payload,
};

use super::{Adapter, Intake};
use crate::close::{CloseMode, CloseReason};
use crate::frame::{Encoding, Encodings};

pub(crate) use endpoint::{answer, is_meant};

/// One WebSocket connection's side of the codec.
#[derive(Debug)]
pub(crate) struct WebSocket {
    decoder: Decoder,
    config: Arc<DecoderConfig>,
}

impl WebSocket {
    pub(crate) fn new(config: Arc<DecoderConfig>) -> Self {
        Self {
            decoder: Decoder::new(),
            config,
        }
    }
}

impl Adapter for WebSocket {
    fn input(&mut self, bytes: &mut [u8], intake: &mut dyn Intake) -> Result<usize, CloseReason> {
        let length = bytes.len();
        let now = intake.now();
        let mut input = Input::new(bytes);
        let mut frames = 0;
        loop {
            let item = self
                .decoder
                .next(&mut input, &self.config, now)
                .map_err(|error| CloseReason::from(&error))?;
            let more = match item {
                None => {
                    if input.frames() > frames {
                        intake.alive();
                    }
                    return Ok(length);
                }
                Some(Item::Message {
                    kind,
                    ascii,
                    payload,
                }) => {
                    let payload = match payload {
                        Payload::Borrowed(bytes) => Cow::Borrowed(bytes),
                        Payload::Owned(bytes) => Cow::Owned(bytes),
                    };
                    intake.deliver(from_wire(kind), ascii, payload)?
                }
                Some(Item::Ping(payload)) => {
                    intake.reply(&mut |out| websocket::append_frame(out, Opcode::Pong, payload));
                    true
                }
                Some(Item::Pong(_)) => true,
                Some(Item::Close { code, reason }) => {
                    return Err(CloseReason::by_peer(code, reason));
                }
            };
            if input.frames() > frames {
                frames = input.frames();
                intake.alive();
            }
            if !more {
                return Ok(length - input.remaining().len());
            }
        }
    }

    fn encoding(&self) -> Encoding {
        Encodings::LEAD
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        websocket::append_frame(out, Opcode::Ping, b"");
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        // what the peer sent is echoed without its reason; what we say has one
        let text = if reason.mode == CloseMode::Final && reason.is_by_peer() {
            ""
        } else {
            &reason.reason
        };
        websocket::append_close(out, reason.code, text);
    }

    fn unfinished(&self) -> Option<usize> {
        (!self.decoder.is_idle()).then(|| self.decoder.unfinished_bytes())
    }
}

impl From<&DecodeError> for CloseReason {
    fn from(error: &DecodeError) -> Self {
        Self::new(error.close_code(), error.close_reason(), CloseMode::Final)
    }
}

fn from_wire(kind: websocket::Kind) -> Kind {
    match kind {
        websocket::Kind::Text => Kind::Text,
        websocket::Kind::Binary => Kind::Binary,
    }
}
