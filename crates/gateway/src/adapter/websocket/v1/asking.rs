//! Asks the worker's handlers about what a client of `millrace.v1` wants, and does what they answer. The operations of one
//! channel wait for each other, and nothing else does.

use millrace_core::Kind;
use millrace_protocol::v1::{Code, Id, Okay, Operation, Start, append_error};

use super::asked::{Item, State, What};
use super::calls::Calls;
use super::operations::unsubscribe;
use super::questions::{INFO, TEXT, Verdict, fields};
use super::speaker::{Speaker, append_header, append_message, fail};
use crate::close::CloseReason;
use crate::contract::{Context, Event, Flow, Instruction, StoreVerdict};

impl Speaker {
    /// Whether an operation has an id that an unanswered one has.
    pub(super) fn repeats(&self, operation: &Operation<'_>) -> bool {
        let id = match operation {
            Operation::Publish { id, .. } => id.as_ref(),
            Operation::Subscribe { id, .. }
            | Operation::Unsubscribe { id, .. }
            | Operation::Call { id, .. }
            | Operation::History { id, .. }
            | Operation::Presence { id, .. }
            | Operation::Info { id, .. } => Some(id),
            Operation::Ping | Operation::Answer { .. } | Operation::Failure { .. } => None,
        };
        id.is_some_and(|id| self.is_in_use(id))
    }

    /// Whether an unanswered operation has this id.
    pub(super) fn is_in_use(&self, id: &Id<'_>) -> bool {
        let asked = self.asked.as_deref();
        self.entering.is_in_use(id) || asked.is_some_and(|asked| asked.is_in_use(id))
    }

    /// Whether something of this channel is not done yet.
    pub(super) fn holds(&self, channel: &[u8]) -> bool {
        let asked = self.asked.as_deref();
        asked.is_some_and(|asked| asked.holds(channel))
    }

    /// Whether an operation of a channel has to wait: for a handler, or for another operation.
    pub(super) fn waits(&self, channel: &[u8], event: Event, cx: &Context<'_>) -> bool {
        cx.handles(event) || self.holds(channel)
    }

    /// Has a method of the worker called.
    pub(super) fn call(
        &mut self,
        id: Id<'_>,
        method: &str,
        (kind, payload): (Kind, &[u8]),
        cx: &mut Context<'_>,
    ) -> Flow {
        if !cx.handles(Event::V1Call) {
            fail(Some(&id), Code::NotFound, "there is no such method", cx);
            return Flow::Go;
        }
        let most = self.terms.listener.calls;
        let asked = self.asked.get_or_insert_default();
        if asked.calls() >= most || asked.bytes() >= cx.unhandled_bytes() {
            fail(Some(&id), Code::Limit, "too many calls are unanswered", cx);
            return self.flow(cx);
        }
        let number = asked.push(Some(id.into_owned()), What::Call(payload.len()));
        let flags = if kind == Kind::Text { TEXT } else { 0 };
        let fields = fields((number, flags), method.as_bytes(), None);
        cx.ask(Event::V1Call, &fields, payload);
        self.flow(cx)
    }

    /// Does an operation of a channel in its turn.
    pub(super) fn line_up(
        &mut self,
        id: Option<Id<'_>>,
        what: What,
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        if self.is_full(cx) && !self.may_end(&what) {
            if id.is_some() {
                let code = what.refusal();
                fail(id.as_ref(), code, "too many requests wait", cx);
            }
            return Ok(self.flow(cx));
        }
        let channel: Option<Box<[u8]>> = what.channel().map(Into::into);
        let asked = self.asked.get_or_insert_default();
        asked.push(id.map(Id::into_owned), what);
        self.advance(channel.as_deref(), cx)?;
        Ok(self.flow(cx))
    }

    /// Whether an operation ends a subscription, and none in front of it does: the client would get messages that it does
    /// not expect if that were refused. There are as many of them as channels at most.
    fn may_end(&self, what: &What) -> bool {
        let asked = self.asked.as_deref();
        match what {
            What::Unsubscribe { channel } => asked.is_some_and(|asked| !asked.ends(channel)),
            _ => false,
        }
    }

    /// Whether input may go on. While the application waits for the client it does, because the answer is among the input:
    /// what has no room then is refused.
    pub(super) fn flow(&self, cx: &mut Context<'_>) -> Flow {
        let holds = self.is_full(cx) && !self.is_called();
        if holds {
            cx.hold_input(true);
        }
        Flow::go_if(!holds && !cx.awaits_worker())
    }

    /// Whether the application waits for an answer of the client.
    fn is_called(&self) -> bool {
        self.calls.as_deref().is_some_and(Calls::are_awaited)
    }

    pub(super) fn is_full(&self, cx: &Context<'_>) -> bool {
        self.asked.as_deref().is_some_and(|asked| {
            asked.others() >= self.terms.listener.calls || asked.bytes() >= cx.unhandled_bytes()
        })
    }

    /// Begins what waits in a channel, up to the next that has to be waited for.
    fn advance(&mut self, channel: Option<&[u8]>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let Some(channel) = channel else {
            return Ok(());
        };
        while let Some(asked) = self.asked.as_deref_mut()
            && let Some(item) = asked.next(channel)
        {
            if let What::Unsubscribe { channel } = &item.what {
                item.state = State::Leaving;
                if let Some(id) = &item.id {
                    unsubscribe(id, channel, cx);
                    asked.resumes += 1;
                }
                return Ok(());
            }
            if item.ask(cx) {
                item.state = State::Asked;
                return Ok(());
            }
            let number = item.number;
            if let Some(item) = asked.take(number, State::Waits) {
                self.perform(&item, cx)?;
            }
        }
        Ok(())
    }

    /// Does what a client has asked for and may.
    fn perform(&mut self, item: &Item, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match (&item.what, &item.id) {
            (
                What::Subscribe {
                    channel,
                    start,
                    info,
                },
                Some(id),
            ) => {
                let may_say = cx.hub().client_terms(channel).info;
                let info = info.as_deref().filter(|_| may_say);
                self.subscribe(id, channel, (start.as_ref(), info), cx)
            }
            (
                What::Publish {
                    channel,
                    key,
                    kind,
                    payload,
                },
                id,
            ) => {
                let to = (&channel[..], key.as_deref().map(str::as_bytes));
                self.publish(id.as_ref(), to, (*kind, payload), cx);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A handler has answered, or failed. What is unknown had its answer already.
    pub(super) fn answered(
        &mut self,
        answer: &Instruction<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let Some((number, verdict)) = answer.fields().split_first_chunk() else {
            return Ok(());
        };
        let number = u32::from_le_bytes(*number);
        if let Some(store) = StoreVerdict::read(verdict) {
            return self.store_answered((number, &store), answer.payload(), cx);
        }
        let asked = self.asked.as_deref_mut();
        let Some(mut item) = asked.and_then(|asked| asked.take(number, State::Asked)) else {
            return Ok(());
        };
        let given = match Verdict::read(verdict, answer.payload()) {
            Verdict::Yes => None,
            Verdict::Data(kind, data) => Some((kind, data)),
            Verdict::No(code, reason) => {
                if let Some(id) = &item.id {
                    let error = |line: &mut Vec<u8>| append_error(Some(id), code, reason, line);
                    cx.reply(|out| append_header(error, out));
                }
                return self.done(&item, cx);
            }
        };
        match (&mut item.what, &item.id) {
            (What::Call(_), Some(id)) => say_result(id, given, cx),
            (What::Publish { kind, payload, .. }, _) => {
                if let Some((other, data)) = given {
                    (*kind, *payload) = (other, data.into());
                }
                self.perform(&item, cx)?;
            }
            (What::Subscribe { channel, start, .. }, Some(id)) if given.is_some() => {
                // what the handler says of the client counts, whatever the client may say of itself
                let member = given.and_then(|(_, member)| str::from_utf8(member).ok());
                self.subscribe(id, channel, (start.as_ref(), member), cx)?;
            }
            _ => self.perform(&item, cx)?,
        }
        self.done(&item, cx)
    }

    /// Goes on behind an operation that is done.
    pub(super) fn done(&mut self, item: &Item, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        self.advance(item.what.channel(), cx)?;
        if !self.is_full(cx) {
            cx.hold_input(false);
        }
        Ok(())
    }

    /// An answer to `unsub` is written. What waits in the channels goes on when that is true of all.
    pub(super) fn resumed(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let Some(asked) = self.asked.as_deref_mut() else {
            return Ok(());
        };
        asked.resumes = asked.resumes.saturating_sub(1);
        if asked.resumes > 0 {
            return Ok(());
        }
        let leaving = asked.numbers(State::Leaving);
        for number in leaving {
            let asked = self.asked.as_deref_mut();
            if let Some(item) = asked.and_then(|asked| asked.take(number, State::Leaving)) {
                self.done(&item, cx)?;
            }
        }
        Ok(())
    }

    /// The worker is gone: nothing of what it was asked will be answered.
    pub(super) fn worker_gone(&mut self, cx: &mut Context<'_>) {
        let Some(asked) = self.asked.as_deref_mut() else {
            return;
        };
        for item in asked.clear().filter(|item| item.state != State::Leaving) {
            if let Some(id) = &item.id {
                fail(Some(id), Code::Failed, "the worker is gone", cx);
            }
        }
    }
}

impl What {
    /// The code with which it is refused because too much waits. A client whose subscription fails tries again.
    fn refusal(&self) -> Code {
        match self {
            Self::Subscribe { .. } => Code::Failed,
            _ => Code::Limit,
        }
    }
}

impl Item {
    /// Asks the handler that decides about it. False: there is none.
    fn ask(&self, cx: &mut Context<'_>) -> bool {
        match &self.what {
            What::Subscribe {
                channel,
                start,
                info,
            } if cx.handles(Event::V1Subscribe) => {
                let flags = if info.is_some() { INFO } else { 0 };
                let since = match start {
                    Some(Start::Since(since)) => Some((&*since.epoch, since.offset)),
                    _ => None,
                };
                let fields = fields((self.number, flags), channel, since);
                let info = info.as_deref().unwrap_or_default().as_bytes();
                cx.ask(Event::V1Subscribe, &fields, info);
                true
            }
            What::Publish {
                channel,
                kind,
                payload,
                ..
            } if cx.handles(Event::V1Publish) => {
                let flags = if *kind == Kind::Text { TEXT } else { 0 };
                let fields = fields((self.number, flags), channel, None);
                cx.ask(Event::V1Publish, &fields, payload);
                true
            }
            _ => false,
        }
    }
}

/// Answers a call.
fn say_result(id: &Id<'_>, result: Option<(Kind, &[u8])>, cx: &mut Context<'_>) {
    let Some((kind, payload)) = result else {
        return cx.reply(|out| append_header(|line| Okay::new(id).append(line), out));
    };
    cx.send_part(|out| append_message(|line| Okay::new(id).append(line), (kind, payload), out));
}
