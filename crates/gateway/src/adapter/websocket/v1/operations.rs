//! What a client of `millrace.v1` asks for: it subscribes and publishes where the terms of the channel allow it. No JavaScript
//! takes part unless the worker has handlers for that.

use std::borrow::Cow;

use millrace_core::{EnterError, Entering, Entrance, Kind, Position, Topic};
use millrace_protocol::v1::{self, Code, Id, Incoming, Okay, Operation, Start};

use super::asked;
use super::calling::{failed, said};
use super::entering::{What, owned_start};
use super::presence;
use super::speaker::{Speaker, append_header, fail};
use crate::close::CloseReason;
use crate::contract::{ClientPublishing, Context, Event, Flow, LateReply};

impl Speaker {
    /// Does what a client asks for, and answers.
    pub(super) fn operate(
        &mut self,
        incoming: Incoming<'_>,
        kind: Kind,
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        if self.repeats(&incoming.operation) {
            self.bad(None, "the id is in use", cx)?;
            return Ok(Flow::Go);
        }
        match incoming.operation {
            Operation::Subscribe {
                id,
                channel,
                start,
                info,
            } => return self.wants_in(id, channel, (start, info), cx),
            Operation::Unsubscribe { id, channel } => return self.wants_out(id, channel, cx),
            Operation::Publish { id, channel, key } => {
                let message = (kind, incoming.payload);
                return self.wants_to_publish(id, (channel, key), message, cx);
            }
            Operation::Call { id, method } => {
                return Ok(self.call(id, &method, (kind, incoming.payload), cx));
            }
            Operation::History {
                id,
                channel,
                since,
                limit,
                reverse,
            } => {
                if may_look(&id, &channel, cx) {
                    let start = since.map(|since| begin(Some(&Start::Since(since))));
                    return Ok(self.history(id, &channel, (start, reverse), limit, cx));
                }
            }
            Operation::Presence {
                id,
                channel,
                limit,
                after,
            } => {
                if may_look(&id, &channel, cx) {
                    let after = after.as_deref();
                    self.presence(&id, &channel, (limit, after), cx)?;
                    return Ok(self.flow(cx));
                }
            }
            Operation::Info { id, channel, info } => {
                if cx.hub().client_terms(&channel).info {
                    presence::set_info(&id, &channel, info, cx);
                } else {
                    deny(Some(&id), cx);
                }
            }
            Operation::Ping => cx.reply(|out| append_header(v1::append_pong, out)),
            Operation::Answer { id } => {
                self.client_answered(&id, said(kind, incoming.payload));
                return Ok(self.flow(cx));
            }
            Operation::Failure { id, code, reason } => {
                self.client_answered(&id, failed(&code, reason.as_deref()));
                return Ok(self.flow(cx));
            }
        }
        Ok(Flow::Go)
    }

    /// A subscription has its place among the channel's messages: what was in front is delivered, and what follows is behind
    /// the position. Answers, if that has waited.
    pub(super) fn entered(&mut self, entering: &Entering, cx: &mut Context<'_>) {
        for waiting in self.entering.take(entering.tag) {
            let What::Entered { recovered } = waiting.what else {
                fail(
                    Some(&waiting.id),
                    Code::Bad,
                    &EnterError::Already.to_string(),
                    cx,
                );
                continue;
            };
            let entered = entering.entered;
            let recovered = entered.recovered.or(recovered);
            // a client that has said where it begins knows what follows
            let last = Some(entering.follow()).filter(|last| *last > 0 && recovered.is_none());
            let okay = Okay {
                recovered,
                last,
                ..Okay::new(&waiting.id)
            };
            say(okay, entered.position, cx);
        }
    }

    fn wants_in(
        &mut self,
        id: Id<'_>,
        channel: Cow<'_, [u8]>,
        (start, info): (Option<Start<'_>>, Option<&str>),
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        let terms = cx.hub().client_terms(&channel);
        if !terms.subscribe {
            deny(Some(&id), cx);
        } else if self.waits(&channel, Event::V1Subscribe, cx) {
            let what = asked::What::Subscribe {
                channel: channel.into(),
                start: start.map(owned_start),
                info: info.map(Into::into),
            };
            return self.line_up(Some(id), what, cx);
        } else {
            let info = info.filter(|_| terms.info);
            if self.has_room_for_store(Some(&id), Code::Failed, cx) {
                self.subscribe(&id, &channel, (start.as_ref(), info), cx)?;
            }
            return Ok(self.flow_with_store(cx));
        }
        Ok(Flow::Go)
    }

    fn wants_out(
        &mut self,
        id: Id<'_>,
        channel: Cow<'_, [u8]>,
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        if self.holds(&channel) {
            let channel = channel.into();
            return self.line_up(Some(id), asked::What::Unsubscribe { channel }, cx);
        }
        unsubscribe(&id, &channel, cx);
        if let Some(asked) = self.asked.as_deref_mut() {
            asked.resumes += 1;
        }
        Ok(Flow::Stop)
    }

    fn wants_to_publish(
        &mut self,
        id: Option<Id<'_>>,
        (channel, key): (Cow<'_, [u8]>, Option<Cow<'_, str>>),
        (kind, payload): (Kind, &[u8]),
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        if self.waits(&channel, Event::V1Publish, cx)
            && cx.hub().client_terms(&channel).publish != ClientPublishing::Denied
        {
            let what = asked::What::Publish {
                channel: channel.into(),
                key: key.as_deref().map(Into::into),
                kind,
                payload: payload.into(),
            };
            return self.line_up(id, what, cx);
        }
        let to = (&channel[..], key.as_deref().map(str::as_bytes));
        if self.has_room_for_store(id.as_ref(), Code::Limit, cx) {
            self.publish(id.as_ref(), to, (kind, payload), cx);
        }
        Ok(self.flow_with_store(cx))
    }

    /// Subscribes a client that may do that, and say this of itself.
    pub(super) fn subscribe(
        &mut self,
        id: &Id<'_>,
        channel: &[u8],
        (start, info): (Option<&Start<'_>>, Option<&str>),
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let member = match presence::member(channel, info, cx) {
            Ok(member) => member,
            Err(error) => {
                fail(Some(id), Code::Limit, &error.to_string(), cx);
                return Ok(());
            }
        };
        let most = self.terms.listener.subscriptions;
        let tag = self.entering.tag();
        let entered = loop {
            if self.follows_first(id, channel, (start, info), cx) {
                return Ok(());
            }
            let entered = cx.post(|hub, socket, dirty| {
                let has_room = hub.admits_entering(socket, 1);
                let entrance = Entrance {
                    start: begin(start),
                    known: None,
                    references: 0,
                    own: true,
                    tag,
                };
                has_room.then(|| hub.enter_at(socket, channel, entrance, most, dirty))
            });
            // what was kept here has gone since then: the store is asked for it
            if !matches!(entered, Some(Err(EnterError::Unknown(_)))) {
                break entered;
            }
        };
        match entered {
            Some(Ok(_)) => {
                presence::enter(channel, member, cx);
                // a channel that keeps nothing recovers nothing
                let asked = matches!(start, Some(Start::Since(_))).then_some(false);
                // messages of the channel may be on their way, also if the application has ended a subscription just now
                self.entering.wait(id.clone().into_owned(), asked);
            }
            Some(Err(error @ EnterError::Already)) => {
                let counted = self.count_bad(cx);
                // in front of a close it is answered at once
                if counted.is_err() || !self.entering.refuse(id) {
                    fail(Some(id), Code::Bad, &error.to_string(), cx);
                }
                counted?;
            }
            Some(Err(error)) => fail(Some(id), Code::Limit, &error.to_string(), cx),
            // the client may try again, unlike with a limit of its own
            None => fail(Some(id), Code::Failed, "the server has too much to do", cx),
        }
        Ok(())
    }
}

/// Ends the client's subscription. The answer comes behind what was published before, and input waits for that.
pub(super) fn unsubscribe(id: &Id<'_>, channel: &[u8], cx: &mut Context<'_>) {
    cx.post(|hub, socket, dirty| hub.exit_own(socket, channel, dirty));
    let mut answer = Vec::new();
    append_header(|line| Okay::new(id).append(line), &mut answer);
    cx.reply_in_order(LateReply::Short(answer.into()), 0);
}

impl Speaker {
    /// Publishes, if the terms allow it.
    pub(super) fn publish(
        &mut self,
        id: Option<&Id<'_>>,
        to: (&[u8], Option<&[u8]>),
        (kind, payload): (Kind, &[u8]),
        cx: &mut Context<'_>,
    ) {
        let is_named = match cx.hub().client_terms(to.0).publish {
            ClientPublishing::Denied => {
                if id.is_some() {
                    deny(id, cx);
                }
                return;
            }
            ClientPublishing::Unnamed => false,
            ClientPublishing::Named => true,
        };
        let number = self.number_for_store(cx);
        let published = cx.post(|hub, socket, dirty| {
            let by = (socket, is_named, number);
            hub.publish_by(by, to, (kind, payload), dirty)
        });
        if published.is_stored {
            self.is_stored(number, id, payload.len());
        } else if let Some(id) = id {
            say_okay(id, published.position, None, cx);
        }
    }
}

/// Where a client begins.
pub(super) fn begin(start: Option<&Start<'_>>) -> millrace_core::Start {
    match start {
        None => millrace_core::Start::Next,
        Some(Start::Since(since)) => {
            millrace_core::Start::since(since.epoch.as_bytes(), since.offset)
        }
        Some(Start::Last(most)) => {
            millrace_core::Start::Last(u32::try_from(*most).unwrap_or(u32::MAX))
        }
    }
}

pub(super) fn say_okay(
    id: &Id<'_>,
    position: Option<Position>,
    recovered: Option<bool>,
    cx: &mut Context<'_>,
) {
    let okay = Okay {
        recovered,
        ..Okay::new(id)
    };
    say(okay, position, cx);
}

/// Answers with a position.
fn say(okay: Okay<'_>, position: Option<Position>, cx: &mut Context<'_>) {
    let epoch = position.map(|position| position.epoch.to_string());
    let offset = position.map(|position| position.offset);
    let okay = Okay {
        position: epoch.as_deref().zip(offset),
        ..okay
    };
    cx.reply(|out| append_header(|line| okay.append(line), out));
}

/// Whether a client may ask what a channel has. If not, it is told: it may not learn whether there is such a thing.
fn may_look(id: &Id<'_>, channel: &[u8], cx: &mut Context<'_>) -> bool {
    // where a handler decides about subscriptions, its decision counts here, too
    let is_open = cx.hub().client_terms(channel).subscribe && !cx.handles(Event::V1Subscribe);
    let may = is_open
        || cx.post(|hub, socket, _| hub.core().is_subscribed(socket, Topic::Channel(channel)));
    if !may {
        deny(Some(id), cx);
    }
    may
}

fn deny(id: Option<&Id<'_>>, cx: &mut Context<'_>) {
    fail(id, Code::Denied, "the channel's terms do not allow it", cx);
}
