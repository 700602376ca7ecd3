//! One connection that offers `millrace.v1`: its messages are operations, unless `handleOpen` chooses another subprotocol.

use millrace_core::{Number, Position, SocketId};
use millrace_protocol::v1;
use millrace_protocol::websocket::{self, Item, Opcode};

use super::super::session::{self, Reads, TRAITS};
use super::V1Terms;
use super::asked::Asked;
use super::entering::Entering;
use super::members;
use super::speaker::{Speaker, append_header};
use super::unwrap::{head, unwrap};
use crate::close::CloseReason;
use crate::contract::{
    Context, Encoding, Env, Fragment, Operation, Presence, Session, Taken, Traits, Wake,
};

/// See the module. What reads the frames is the session that the connection has with another subprotocol.
#[derive(Debug)]
pub(in crate::adapter::websocket) struct V1<R> {
    reads: R,
    speaker: Speaker,
    agreed: Agreed,
    /// The encoding of messages once it is agreed that it is spoken.
    encoding: Encoding,
    /// Whether the client answers calls.
    pub(super) answers: bool,
}

/// Which subprotocol the connection has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agreed {
    /// `handleOpen` has not chosen.
    Open,
    /// This one.
    Own,
    Other,
}

impl<R: Reads> V1<R> {
    pub(in crate::adapter::websocket) fn new(reads: R, terms: V1Terms, encoding: Encoding) -> Self {
        Self {
            reads,
            speaker: Speaker {
                terms,
                bads: None,
                entering: Entering::default(),
                asked: None,
                calls: None,
            },
            agreed: Agreed::Open,
            encoding,
            answers: true,
        }
    }
}

impl<R: Reads> Session for V1<R> {
    fn traits(&self) -> Traits {
        match self.agreed {
            // what is sent now may have to be undone, so it is not compressed
            Agreed::Open => Traits {
                encoding: self.speaker.terms.plain(),
                ..TRAITS
            },
            Agreed::Own => Traits {
                encoding: self.encoding,
                feeds_worker: false,
                ..self.reads.traits()
            },
            Agreed::Other => self.reads.traits(),
        }
    }

    fn agree(&mut self, is_own: bool) {
        self.agreed = if is_own { Agreed::Own } else { Agreed::Other };
    }

    fn stop_compressing(&mut self) {
        self.encoding = self.speaker.terms.plain();
        self.reads.stop_compressing();
    }

    fn unwrap_sent(&self, sent: &[u8], out: &mut Vec<u8>) {
        unwrap(sent, out);
    }

    fn append_opening(&mut self, socket: SocketId, out: &mut Vec<u8>) {
        if self.agreed != Agreed::Open {
            return;
        }
        let V1Terms { listener, hub } = &self.speaker.terms;
        let mut hi = Vec::new();
        v1::append_hi(&hub.socket_name(socket), listener.ping_ms, &mut hi);
        websocket::append_frame(out, Opcode::Text, &hi);
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        if self.agreed != Agreed::Own {
            return self.reads.input(bytes, cx);
        }
        let speaker = &mut self.speaker;
        self.reads.read(bytes, cx, |item, cx| match item {
            Item::Message { kind, payload, .. } => {
                speaker.message(session::from_wire(kind), &payload, cx)
            }
            item => session::pass_on(item, cx),
        })
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Gap(channel, last) if self.agreed != Agreed::Other => {
                cx.reply(|out| append_gap(channel.as_bytes(), last, out));
                return Ok(());
            }
            Wake::Entered(_, entering) => {
                self.speaker.entered(entering, cx);
                return Ok(());
            }
            why if self.agreed != Agreed::Own => return self.reads.wake(why, cx),
            Wake::Told(answer) if answer.operation() == Some(Operation::V1Answer) => {
                return self.speaker.answered(&answer, cx);
            }
            Wake::Called(calling) => self.speaker.call_client(calling, cx),
            Wake::Resumed => return self.speaker.resumed(cx),
            Wake::WorkerGone => self.speaker.worker_gone(cx),
            why => return self.reads.wake(why, cx),
        }
        Ok(())
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        self.reads.append_ping(out);
    }

    /// The terms of channels say what a client may do, and unless `handleOpen` chooses another subprotocol, this one is spoken.
    fn needs_no_handler(&self) -> bool {
        true
    }

    fn calls_client(&self) -> bool {
        self.agreed == Agreed::Own && self.answers
    }

    fn has_fragments(&self) -> bool {
        self.reads.has_fragments()
    }

    fn append_fragment(&mut self, fragment: &Fragment<'_>, out: &mut Vec<u8>) {
        if self.agreed == Agreed::Other || !fragment.is_first {
            return self.reads.append_fragment(fragment, out);
        }
        let mut payload = Vec::new();
        v1::append_direct(None, &mut payload);
        payload.push(b'\n');
        payload.extend_from_slice(fragment.payload);
        let payload = &payload[..];
        self.reads.append_fragment(
            &Fragment {
                payload,
                ..*fragment
            },
            out,
        );
    }

    fn append_subscribed(&mut self, channel: &[u8], behind: Option<Position>, out: &mut Vec<u8>) {
        let epoch = behind.map(|position| position.epoch.to_string());
        let offset = behind.map(|position| position.offset);
        let position = epoch.as_deref().zip(offset);
        append_header(|line| v1::append_subscribed(channel, position, line), out);
    }

    fn append_excepted(&mut self, channel: &[u8], number: &Number, out: &mut Vec<u8>) {
        let publication = v1::Publication {
            channel,
            offset: Some(number.position.offset),
            excepted: true,
            ..v1::Publication::default()
        };
        append_header(|line| publication.append(line), out);
    }

    fn append_presence(&mut self, channel: &[u8], presence: &Presence<'_>, out: &mut Vec<u8>) {
        let hub = &self.speaker.terms.hub;
        append_header(|line| members::append(hub, channel, presence, line), out);
    }

    fn number_of(&mut self, frame: &[u8]) -> Option<(Vec<u8>, u64)> {
        let head = head(frame)?;
        let (channel, offset) = v1::number_of(&head)?;
        Some((channel.into_owned(), offset))
    }

    fn append_gap(&mut self, channel: &[u8], last: Position, out: &mut Vec<u8>) {
        append_gap(channel, last, out);
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        self.reads.append_close(reason, out);
    }

    fn ending(&mut self) {
        self.speaker.calls = None;
    }

    fn has_pending(&self) -> bool {
        let asked = self.speaker.asked.as_deref();
        asked.is_some_and(Asked::has_publications)
    }

    fn left(&mut self, _reason: &CloseReason, _env: &Env) {
        self.speaker.calls = None;
    }

    fn unfinished(&self) -> usize {
        self.reads.unfinished()
    }

    fn received(&self) -> usize {
        self.reads.received()
    }

    fn waiting(&self) -> usize {
        let asked = self.speaker.asked.as_deref();
        self.reads.waiting() + asked.map_or(0, Asked::bytes)
    }
}

fn append_gap(channel: &[u8], last: Position, out: &mut Vec<u8>) {
    let epoch = last.epoch.to_string();
    append_header(
        |line| v1::append_gap(channel, (&epoch, last.offset), line),
        out,
    );
}
