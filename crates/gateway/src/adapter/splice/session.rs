//! The session of one client: relays its messages to its targets, and handles the calls on its control channel.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use millrace_protocol::splice::{
    CONTROL, Call, CallError, Gone, Incoming, Method, Prefix, Problem, TerminateParams,
    append_closed, append_done, decode_call,
};
use millrace_protocol::websocket::{self, Decoder, Input, Item, Kind, Masked, Opcode, close};

use super::connecting::Connecting;
use super::local::Inner;
use super::patience::Patience;
use super::say::{fail, say, warn};
use super::targets::{Closing, Note, Targets};
use super::terms::Terms;
use crate::contract::{
    CloseMode, CloseReason, Context, Env, Flow, Goodbye, Hub, Liveness, Session, Taken, Traits,
    Wake,
};
use crate::target_stats::HostStats;

/// See the module.
#[derive(Debug)]
pub(super) struct Splice {
    decoder: Decoder,
    relay: Relay,
}

/// The state apart from the decoder.
#[derive(Debug)]
struct Relay {
    terms: Arc<Terms>,
    targets: Rc<Targets>,
    connecting: Connecting,
    patience: Patience,
    /// Messages relayed since the last count: the index of their target, their number, and their bytes.
    sent: Cell<(u16, u64, u64)>,
}

impl Splice {
    /// `inner` accepts targets within the gateway.
    pub(super) fn new(terms: &Arc<Terms>, hub: &Arc<Hub>, inner: Option<Inner>) -> Self {
        let targets = Rc::new(Targets::new(Arc::clone(terms), Arc::clone(hub)));
        Self {
            decoder: Decoder::new(),
            relay: Relay {
                terms: Arc::clone(terms),
                connecting: Connecting::new(&targets, inner),
                patience: Patience::new(terms.limits.target_queue_bytes),
                targets,
                sent: Cell::default(),
            },
        }
    }

    /// Takes decoded input until the flow stops.
    fn relay_all(
        &mut self,
        input: &mut Input<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let Self { decoder, relay } = self;
        let now = cx.now();
        loop {
            let item = decoder.next_masked(input, &relay.terms.from_client, now);
            let mut flow = Flow::Go;
            match item.map_err(|error| CloseReason::from(&error))? {
                None => return Ok(()),
                // a client that is closing sends nothing more to its targets
                Some(Item::Message { .. }) if cx.is_closing() => {}
                Some(Item::Message { kind, payload, .. }) => {
                    let length = payload.len();
                    relay.message(kind, payload, cx)?;
                    flow = cx.relayed(length);
                }
                Some(Item::Ping(payload)) => {
                    cx.reply_control(|out| websocket::append_frame(out, Opcode::Pong, payload));
                }
                Some(Item::Pong(_)) => {}
                Some(Item::Close { code, reason }) => {
                    return Err(CloseReason::by_peer(code, reason));
                }
            }
            cx.alive();
            if flow == Flow::Stop {
                return Ok(());
            }
        }
    }

    fn taken(&self, bytes: usize) -> Taken {
        Taken {
            bytes,
            unfinished: !self.decoder.is_idle(),
        }
    }
}

impl Relay {
    /// Takes one message.
    fn message(
        &self,
        kind: Kind,
        mut payload: Masked<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let prefix = payload.take::<2>();
        match prefix.and_then(|bytes| Prefix::new().take(&mut &bytes[..])) {
            None => warn(Problem::TooShort, cx),
            Some(CONTROL) => {
                if payload.len() > self.terms.limits.control_bytes {
                    return Err(TOO_LONG);
                }
                self.control(payload.unmask(), cx);
            }
            Some(index) => self.relay(index, kind, &payload, cx),
        }
        Ok(())
    }

    /// Relays a message to its target. A target that does not read delays the others only for a short time.
    fn relay(&self, index: u16, kind: Kind, payload: &Masked<'_>, cx: &mut Context<'_>) {
        let place = self
            .targets
            .find(index)
            .filter(|place| place.closing == Closing::No);
        let queued = place.and_then(|place| Some((place.link, cx.queued_of(place.link)?)));
        let Some((link, queued)) = queued else {
            return warn(Problem::NoSuchTarget, cx);
        };
        let most = self.terms.limits.target_queue_bytes;
        if queued > 0 && queued.saturating_add(payload.len()) > most {
            self.targets.count_for(index, HostStats::drop_one);
            self.targets.closes(index, Closing::Dropped);
            return cx.close_link(link, close::TRY_AGAIN_LATER, FULL);
        }
        self.sent(index, payload.len());
        let key = Some(self.targets.next_mask());
        // `queued_of` has just found the link open
        let _open = cx.write_to(link, |out| payload.append_frame(out, kind.into(), key));
        let queued = queued.saturating_add(payload.len());
        self.patience.wrote(link, queued);
    }

    /// Counts a message to a target, together with those that follow it to the same target.
    fn sent(&self, index: u16, bytes: usize) {
        if self.sent.get().0 != index {
            self.count_sent();
        }
        let (_, messages, before) = self.sent.get();
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.sent
            .set((index, messages + 1, before.saturating_add(bytes)));
    }

    fn count_sent(&self) {
        let (index, messages, bytes) = self.sent.take();
        if messages > 0 {
            self.targets
                .count_for(index, |stats| stats.sent(messages, bytes));
        }
    }

    /// Takes a message of the control channel.
    fn control(&self, document: &[u8], cx: &mut Context<'_>) {
        match decode_call(document) {
            Ok(Incoming::Reply) => {}
            Ok(Incoming::Call(Call { id, method })) => match method {
                Method::Connect(params) => self.connecting.call(id, params, cx),
                Method::Terminate(params) => self.terminate(id, &params, cx),
                Method::Unknown => {
                    let problem = Problem::UnknownMethod;
                    fail(id, problem, problem.text(), cx);
                }
            },
            Err(CallError::Params { id, problem }) => {
                let text = format!("{}: {problem}", Problem::Unparsable.text());
                fail(id, Problem::Unparsable, &text, cx);
            }
            // this includes messages of an unknown kind
            Err(_) => warn(Problem::Unparsable, cx),
        }
    }

    fn terminate(&self, id: i64, params: &TerminateParams, cx: &mut Context<'_>) {
        let found = params
            .index
            .and_then(|index| Some((index, self.targets.find(index)?)));
        let Some((index, place)) = found.filter(|(_, place)| place.closing == Closing::No) else {
            let problem = Problem::NoSuchTarget;
            return fail(id, problem, problem.text(), cx);
        };
        self.targets.closes(index, Closing::Terminated);
        cx.close_link(
            place.link,
            params.code.unwrap_or(close::NORMAL),
            &params.reason,
        );
        say(cx, |out| append_done(id, out));
    }

    /// Arranges a wake-up at the earliest of the session's deadlines.
    fn wake_in_time(&self, cx: &mut Context<'_>) {
        let times = [self.patience.until(), self.connecting.next()];
        if let Some(next) = times.into_iter().flatten().min() {
            cx.wake_at(next);
        }
    }

    /// Tells the client what happened to its targets.
    fn tell(&self, cx: &mut Context<'_>) {
        while let Some(note) = self.targets.next_note() {
            match note {
                Note::Failed { id, problem, text } => fail(id, problem, &text, cx),
                Note::Gone { index, end } => {
                    let gone = Gone {
                        index,
                        code: end.code,
                        reason: &end.reason,
                        unclean: end.unclean,
                    };
                    let name = self.terms.closed_name;
                    say(cx, |out| append_closed(name, gone, out));
                }
            }
        }
    }
}

impl Session for Splice {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Asks,
            goodbye: Goodbye::Answered,
            feeds_worker: false,
            half_close: false,
            encoding: self.relay.terms.encoding,
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let length = bytes.len();
        let mut input = Input::new(bytes);
        let relayed = self.relay_all(&mut input, cx);
        self.relay.count_sent();
        relayed?;
        self.relay.patience.begin(cx);
        self.relay.wake_in_time(cx);
        Ok(self.taken(length - input.remaining().len()))
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened => {
                let waker = cx.waker();
                self.relay.targets.opened(cx.link(), waker);
            }
            Wake::Posted => {
                self.relay.tell(cx);
                self.relay.patience.look(cx);
            }
            Wake::Room => self.relay.targets.room(),
            Wake::Time => {
                self.relay.connecting.look(cx);
                self.relay.patience.look(cx);
                self.relay.wake_in_time(cx);
            }
            Wake::Told(answer) => self.relay.connecting.answered(&answer, cx),
            _ => {}
        }
        Ok(())
    }

    fn left(&mut self, reason: &CloseReason, env: &Env) {
        // an error of the client is no reason to blame its targets
        let (code, text) = if reason.is_by_peer() {
            (reason.code, &*reason.reason)
        } else {
            (close::GOING_AWAY, "")
        };
        for target in self.relay.targets.end() {
            env.close_link(target, code, text);
        }
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        websocket::append_frame(out, Opcode::Ping, b"");
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        // the client's close is echoed unchanged
        websocket::append_close(out, reason.code, &reason.reason);
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished_bytes()
    }
}

/// Ends the session's dials and targets in every case in which its connection ends.
impl Drop for Relay {
    fn drop(&mut self) {
        let _told_before = self.targets.end();
    }
}

/// A control message exceeds the limit.
const TOO_LONG: CloseReason =
    CloseReason::new(1009, "Control message is too long", CloseMode::Final);

/// The close reason for a target that does not read.
const FULL: &str = "Outgoing queue is full";
