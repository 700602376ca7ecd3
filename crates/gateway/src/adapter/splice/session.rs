//! The connection of one client: its messages on their way to its targets, and the calls of its control channel.

use std::rc::Rc;
use std::sync::Arc;

use millrace_protocol::splice::{
    CONTROL, Call, CallError, ConnectParams, Gone, Incoming, Method, Prefix, Problem,
    Target as Url, TerminateParams, append_closed, append_done, append_error, append_warning,
    decode_call,
};
use millrace_protocol::websocket::{
    self, DecodeError, Decoder, Input, Item, Kind, Opcode, append_part, close,
};

use super::dial::{Failure, Order};
use super::target::{Connected, Target, append_control_message};
use super::targets::{Closing, Note, TOO_MANY, Targets};
use super::terms::Terms;
use crate::contract::{
    CloseMode, CloseReason, Context, Dial, Env, Flow, Goodbye, Hub, Liveness, Reached, Session,
    Taken, Traits, Wake,
};
use crate::target_stats::HostStats;

/// See the module.
#[derive(Debug)]
pub(super) struct Splice {
    decoder: Decoder,
    relay: Relay,
}

/// What it has beside its decoder.
#[derive(Debug)]
struct Relay {
    terms: Arc<Terms>,
    targets: Rc<Targets>,
}

impl Splice {
    pub(super) fn new(terms: &Arc<Terms>, hub: &Arc<Hub>) -> Self {
        Self {
            decoder: Decoder::new(),
            relay: Relay {
                terms: Arc::clone(terms),
                targets: Rc::new(Targets::new(Arc::clone(terms), Arc::clone(hub))),
            },
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
        mut payload: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        match Prefix::new().take(&mut payload) {
            None => warn(Problem::TooShort, cx),
            Some(CONTROL) => {
                if payload.len() > self.terms.limits.control_bytes {
                    return Err(TOO_LONG);
                }
                self.control(payload, cx);
            }
            Some(index) => self.relay(index, kind, payload, cx),
        }
        Ok(())
    }

    /// Relays a message to its target. One that does not read keeps up nobody else.
    fn relay(&self, index: u16, kind: Kind, payload: &[u8], cx: &mut Context<'_>) {
        let place = self
            .targets
            .find(index)
            .filter(|place| place.closing == Closing::No);
        let unwritten = place.and_then(|place| Some((place.link, cx.unwritten_of(place.link)?)));
        let Some((link, unwritten)) = unwritten else {
            return warn(Problem::NoSuchTarget, cx);
        };
        let most = self.terms.limits.target_queue_bytes;
        if unwritten > 0 && unwritten.saturating_add(payload.len()) > most {
            self.targets.count_for(index, HostStats::drop_one);
            self.targets.closes(index, Closing::Dropped);
            return cx.close_link(link, close::TRY_AGAIN_LATER, FULL);
        }
        let opcode = match kind {
            Kind::Text => Opcode::Text,
            Kind::Binary => Opcode::Binary,
        };
        self.targets
            .count_for(index, |stats| stats.sent(payload.len()));
        let key = self.targets.next_mask();
        // it was open a moment ago
        let _open = cx.write_to(link, |out| {
            append_part(out, opcode, true, Some(key), payload);
        });
    }

    /// Takes a message of the control channel.
    fn control(&self, document: &[u8], cx: &mut Context<'_>) {
        match decode_call(document) {
            Ok(Incoming::Reply) => {}
            Ok(Incoming::Call(Call { id, method })) => match method {
                Method::Connect(params) => self.connect(id, params, cx),
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
            // of a kind that is not known yet, too
            Err(_) => warn(Problem::Unparsable, cx),
        }
    }

    /// Begins to reach a target; the reply follows when it is.
    fn connect(&self, id: i64, params: ConnectParams, cx: &mut Context<'_>) {
        let Ok(target) = Url::parse(&params.url) else {
            return fail(id, Problem::InvalidUrl, Problem::InvalidUrl.text(), cx);
        };
        let terms = &self.terms;
        if !terms.dialler.may_reach(target.host()) {
            let problem = Problem::HostNotAllowed;
            return fail(id, problem, problem.text(), cx);
        }
        let most = usize::try_from(terms.limits.targets_per_session).unwrap_or(usize::MAX);
        let counted = terms.count().filter(|_| self.targets.count() < most);
        let Some(counted) = counted else {
            return fail(id, Problem::DialFailed, TOO_MANY, cx);
        };
        let order = Order {
            target,
            headers: params.headers,
            subprotocols: params.subprotocols,
            timeout: params.timeout,
        };
        let (by, targets) = (Arc::clone(&terms.dialler), Rc::clone(&self.targets));
        let dial = targets.next_dial();
        let stats = targets.stats_of(&order.target.host().to_string());
        let web_socket = params.web_socket;
        let reach = Box::pin(async move {
            match by.reach(&order).await {
                Ok(switched) => {
                    let call = Connected {
                        id,
                        dial,
                        web_socket,
                        protocol: switched.protocol,
                        stats,
                    };
                    Some(Reached {
                        stream: switched.stream,
                        early: switched.early,
                        session: Box::new(Target::new(&targets, call, counted)),
                    })
                }
                Err(Failure { problem, text }) => {
                    stats.fail();
                    targets.failed(dial, Note::Failed { id, problem, text });
                    None
                }
            }
        });
        let dialled = cx.dial(Dial { reach });
        self.targets.dialling(dial, dialled);
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

    /// Says what became of targets.
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
        let now = cx.now();
        let terms = Arc::clone(&self.relay.terms);
        let mut input = Input::new(bytes);
        loop {
            let item = self.decoder.next(&mut input, &terms.from_client, now);
            let mut flow = Flow::Go;
            match item.map_err(|error| reason_of(&error))? {
                None => return Ok(self.taken(length)),
                // of one that is closing it is nobody's
                Some(Item::Message { .. }) if cx.is_closing() => {}
                Some(Item::Message { kind, payload, .. }) => {
                    self.relay.message(kind, &payload, cx)?;
                    flow = cx.relayed(payload.len());
                }
                Some(Item::Ping(payload)) => {
                    cx.reply(|out| websocket::append_frame(out, Opcode::Pong, payload));
                }
                Some(Item::Pong(_)) => {}
                Some(Item::Close { code, reason }) => {
                    return Err(CloseReason::by_peer(code, reason));
                }
            }
            cx.alive();
            if flow == Flow::Stop {
                return Ok(self.taken(length - input.remaining().len()));
            }
        }
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened => {
                let waker = cx.waker();
                self.relay.targets.opened(cx.link(), waker);
            }
            Wake::Posted => self.relay.tell(cx),
            Wake::Room => self.relay.targets.room(),
            _ => {}
        }
        Ok(())
    }

    fn left(&mut self, reason: &CloseReason, env: &Env) {
        // what we have against the client is not the targets' fault
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
        let is_echo = reason.mode == CloseMode::Final && reason.is_by_peer();
        let text = if is_echo { "" } else { &reason.reason };
        websocket::append_close(out, reason.code, text);
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished_bytes()
    }
}

/// Nobody is reached for it any more, whatever became of its connection.
impl Drop for Relay {
    fn drop(&mut self) {
        let _told_before = self.targets.end();
    }
}

/// Says something on the control channel.
fn say(cx: &mut Context<'_>, encode: impl FnOnce(&mut Vec<u8>)) {
    let mut message = Vec::new();
    encode(&mut message);
    cx.reply(|out| append_control_message(&message, out));
}

fn warn(problem: Problem, cx: &mut Context<'_>) {
    say(cx, |out| append_warning(problem, problem.text(), out));
}

fn fail(id: i64, problem: Problem, text: &str, cx: &mut Context<'_>) {
    say(cx, |out| append_error(id, problem, text, out));
}

fn reason_of(error: &DecodeError) -> CloseReason {
    CloseReason::new(error.close_code(), error.close_reason(), CloseMode::Final)
}

/// A control message over its bound.
const TOO_LONG: CloseReason =
    CloseReason::new(1009, "Control message is too long", CloseMode::Final);

/// What a target is told that does not read.
const FULL: &str = "Outgoing queue is full";
