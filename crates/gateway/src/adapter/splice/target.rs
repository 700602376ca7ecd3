//! The connection to one target: relays its messages to the client, each behind the target's index, and reports its
//! end. Its opening handshake is complete before it begins.

use std::rc::Rc;
use std::sync::Arc;

use millrace_protocol::splice::{Problem, append_connected, is_text_index};
use millrace_protocol::websocket::deflate::Inflation;
use millrace_protocol::websocket::{
    Decoder, Input, Item, Kind, Masked, Opcode, append_masked_close, append_part, close, header,
};

use super::say::append_control_message;
use super::targets::{Closing, End, Note, TOO_MANY, Targets};
use super::terms::{Counted, Terms};
use crate::contract::{
    CloseReason, Context, Env, Goodbye, Link, Liveness, Session, Taken, Traits, Wake,
};
use crate::target_stats::HostStats;

/// See the module.
#[derive(Debug)]
pub(super) struct Target {
    decoder: Decoder,
    leg: Leg,
}

/// The state apart from the decoder.
#[derive(Debug)]
struct Leg {
    terms: Arc<Terms>,
    targets: Rc<Targets>,
    call: Connected,
    /// `None` until the connection is open, and after the client was told of its end.
    index: Option<u16>,
    _counted: Counted,
}

/// The call that asked for it.
#[derive(Debug)]
pub(super) struct Connected {
    /// The call's id, which the reply repeats.
    pub(super) id: i64,
    /// Its number among the pending dials.
    pub(super) dial: u64,
    /// Whether the client exposes it as a `WebSocket`.
    pub(super) web_socket: bool,
    /// The subprotocol that the target selected.
    pub(super) protocol: Option<String>,
    /// Whether the target may compress its messages.
    pub(super) is_compressed: bool,
    /// The counters of its host.
    pub(super) stats: Arc<HostStats>,
}

impl Target {
    pub(super) fn new(targets: &Rc<Targets>, call: Connected, counted: Counted) -> Self {
        let terms = Arc::clone(&targets.terms);
        Self {
            decoder: Decoder::new(),
            leg: Leg {
                terms,
                targets: Rc::clone(targets),
                call,
                index: None,
                _counted: counted,
            },
        }
    }

    /// Takes decoded input while the client has room; counts messages and their bytes.
    fn relay_all(
        &mut self,
        input: &mut Input<'_>,
        received: &mut (u64, u64),
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let Self { decoder, leg } = self;
        let now = cx.now();
        let terms = leg.call.is_compressed.then(|| Arc::clone(&leg.terms));
        let mut inflater = terms.as_deref().map(|terms| terms.inflaters.lend());
        loop {
            // messages of a target that is closing are dropped
            let client = leg.targets.client().filter(|_| !cx.is_closing());
            if let Some(client) = client
                && cx.room_of(client) == Some(false)
            {
                leg.targets.wait_for_room(cx.waker());
                cx.hold_input(true);
                return Ok(());
            }
            let config = &leg.terms.from_target;
            let item = match &mut inflater {
                None => decoder.next_masked(input, config, now),
                Some(inflater) => {
                    let history = None;
                    let inflation = Inflation { inflater, history };
                    let item = decoder.next_inflated(input, config, now, inflation);
                    item.map(|item| item.map(Item::handed_on))
                }
            };
            match item.map_err(|error| CloseReason::from(&error))? {
                None => return Ok(()),
                Some(Item::Message { kind, payload, .. }) => {
                    if let Some(client) = client {
                        received.0 += 1;
                        received.1 += u64::try_from(payload.len()).unwrap_or_default();
                        leg.relay(kind, &payload, client, cx);
                    }
                }
                Some(Item::Ping(payload)) => {
                    let key = Some(leg.targets.next_mask());
                    cx.reply_control(|out| append_part(out, Opcode::Pong, true, key, payload));
                }
                Some(Item::Pong(_)) => {}
                Some(Item::Close { code, reason }) => {
                    leg.gone(code.unwrap_or(close::NO_STATUS), reason, true);
                    return Err(CloseReason::by_peer(code, reason));
                }
            }
            cx.alive();
        }
    }

    fn taken(&self, bytes: usize) -> Taken {
        Taken {
            bytes,
            unfinished: !self.decoder.is_idle(),
        }
    }
}

impl Leg {
    /// Takes an index in the session and tells the client about it, before any message of the target.
    fn open(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let client = self.targets.client().ok_or(CloseReason::GOING_AWAY)?;
        let ascii = self.call.web_socket;
        let place = (cx.link(), &self.call.stats);
        let Some(index) = self.targets.place(self.call.dial, place, ascii) else {
            let failed = Note::Failed {
                id: self.call.id,
                problem: Problem::DialFailed,
                text: TOO_MANY.to_owned(),
            };
            // if the session is over, the note is discarded
            self.targets.failed(self.call.dial, failed);
            return Err(CloseReason::GOING_AWAY);
        };
        self.index = Some(index);
        self.call.stats.open();
        let reply = connected_reply(&self.call, index);
        if cx.write_to(client, |out| append_control_message(&reply, out)) {
            Ok(())
        } else {
            Err(CloseReason::GOING_AWAY)
        }
    }

    /// Relays a message.
    fn relay(&self, kind: Kind, payload: &Masked<'_>, client: Link, cx: &mut Context<'_>) {
        let Some(index) = self.index else {
            return;
        };
        let is_text = kind == Kind::Text && is_text_index(index) && !self.terms.binary;
        let opcode = if is_text {
            Opcode::Text
        } else {
            Opcode::Binary
        };
        // a message to a client that has left is discarded
        let _open = cx.write_to(client, |out| {
            let (head, size) = header(opcode, payload.len() + 2, false);
            out.reserve(size + 2 + payload.len());
            out.extend_from_slice(head.get(..size).unwrap_or_default());
            out.extend_from_slice(&index.to_be_bytes());
            payload.append_to(out, None);
        });
    }

    /// The closing handshake begins.
    fn left(&mut self, reason: &CloseReason) {
        let place = self.index.and_then(|index| self.targets.find(index));
        if place.is_some_and(|place| place.closing == Closing::Terminated) {
            // the client asked for the close and is told of the target's answer
            return;
        }
        if close::is_valid_on_wire(reason.code) {
            self.gone(reason.code, &reason.reason, false);
        } else {
            self.gone(close::GOING_AWAY, "", false);
        }
    }

    /// The target is gone: tells the client, once.
    fn gone(&mut self, code: u16, reason: &str, clean: bool) {
        if let Some(index) = self.index.take() {
            self.call.stats.close();
            let end = End {
                code,
                reason: reason.to_owned(),
                unclean: !clean && self.call.web_socket,
            };
            self.targets.gone(index, end);
        }
    }
}

impl Session for Target {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Asks,
            goodbye: Goodbye::Answered,
            feeds_worker: false,
            half_close: false,
            encoding: self.leg.terms.encoding,
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let length = bytes.len();
        let mut input = Input::new(bytes);
        let mut received = (0, 0);
        let relayed = self.relay_all(&mut input, &mut received, cx);
        self.leg.call.stats.received(received.0, received.1);
        relayed?;
        Ok(self.taken(length - input.remaining().len()))
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened => {
                cx.read_on();
                self.leg.open(cx)
            }
            Wake::Posted => {
                cx.hold_input(false);
                Ok(())
            }
            Wake::Room => {
                self.leg.targets.look();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn left(&mut self, reason: &CloseReason, _env: &Env) {
        self.leg.left(reason);
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        let key = Some(self.leg.targets.next_mask());
        append_part(out, Opcode::Ping, true, key, b"");
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        // the target's close is echoed unchanged
        append_masked_close(
            out,
            reason.code,
            &reason.reason,
            self.leg.targets.next_mask(),
        );
    }

    fn follows(&self) -> bool {
        true
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished_bytes()
    }
}

/// Reports the end of a target that did not answer the close, or was never open.
impl Drop for Leg {
    fn drop(&mut self) {
        self.gone(close::GOING_AWAY, "", false);
    }
}

fn connected_reply(call: &Connected, index: u16) -> Vec<u8> {
    let mut reply = Vec::new();
    append_connected(call.id, index, call.protocol.as_deref(), &mut reply);
    reply
}
