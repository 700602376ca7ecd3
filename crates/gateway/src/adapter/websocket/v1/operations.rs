//! What a client of `millrace.v1` asks for, as far as no JavaScript is needed: it subscribes and publishes where the terms of
//! the channel allow it.

use millrace_core::{EnterError, Entrance, Kind, Position, Topic};
use millrace_protocol::v1::{self, Code, Id, Incoming, Okay, Operation, Start};

use super::session::{Speaker, append_header, fail};
use crate::close::CloseReason;
use crate::contract::{ClientPublishing, Context, Flow, LateReply};

impl Speaker {
    /// Does what a client asks for, and answers.
    pub(super) fn operate(
        &mut self,
        incoming: Incoming<'_>,
        kind: Kind,
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        match incoming.operation {
            Operation::Subscribe {
                id, channel, start, ..
            } => self.subscribe(&id, &channel, start.as_ref(), cx)?,
            Operation::Unsubscribe { id, channel } => return Ok(unsubscribe(&id, &channel, cx)),
            Operation::Publish { id, channel, key } => {
                let to = (&channel[..], key.as_deref().map(str::as_bytes));
                publish(id.as_ref(), to, (kind, incoming.payload), cx);
            }
            Operation::Call { id, .. } => {
                fail(Some(&id), Code::NotFound, "there is no such method", cx);
            }
            Operation::History { id, channel, .. } => {
                look_up(&id, &channel, "the channel has no history", cx);
            }
            Operation::Presence { id, channel, .. } => {
                look_up(&id, &channel, "the channel has no presence", cx);
            }
            Operation::Info { id, channel, .. } => {
                if cx.hub().client_terms(&channel).info {
                    fail(Some(&id), Code::NotFound, "it is no member", cx);
                } else {
                    deny(Some(&id), cx);
                }
            }
            Operation::Ping => cx.reply(|out| append_header(v1::append_pong, out)),
            // answers to calls that nobody waits for
            Operation::Answer { .. } | Operation::Failure { .. } => {}
        }
        Ok(Flow::Go)
    }

    fn subscribe(
        &mut self,
        id: &Id<'_>,
        channel: &[u8],
        start: Option<&Start<'_>>,
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        if !cx.hub().client_terms(channel).subscribe {
            deny(Some(id), cx);
            return Ok(());
        }
        let most = self.terms.listener.subscriptions;
        let entered = cx.post(|hub, socket, dirty| {
            let has_room = hub.admits_entering(socket, 1);
            let entrance = Entrance {
                start: begin(start),
                references: 0,
                own: true,
                tag: 0,
            };
            has_room.then(|| hub.enter_at(socket, channel, entrance, most, dirty))
        });
        match entered {
            // the shard learns of the subscription later, so nothing of the channel is in front of this answer
            Some(Ok(entered)) => {
                // a channel that keeps nothing recovers nothing
                let asked = matches!(start, Some(Start::Since(_))).then_some(false);
                say_okay(id, entered.position, entered.recovered.or(asked), cx);
            }
            Some(Err(error @ EnterError::Already)) => self.bad(Some(id), &error.to_string(), cx)?,
            Some(Err(error)) => fail(Some(id), Code::Limit, &error.to_string(), cx),
            None => fail(Some(id), Code::Limit, "the server has too much to do", cx),
        }
        Ok(())
    }
}

/// Ends the client's subscription. The answer comes behind what was published before, and input waits for that.
fn unsubscribe(id: &Id<'_>, channel: &[u8], cx: &mut Context<'_>) -> Flow {
    cx.post(|hub, socket, dirty| hub.exit_own(socket, channel, dirty));
    let mut answer = Vec::new();
    append_header(|line| Okay::new(id).append(line), &mut answer);
    cx.reply_in_order(LateReply::Short(answer.into()), 0);
    Flow::Stop
}

fn publish(
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
    let published = cx
        .post(|hub, socket, dirty| hub.publish_by((socket, is_named), to, (kind, payload), dirty));
    if let Some(id) = id {
        say_okay(id, published.position, None, cx);
    }
}

/// Where a client begins.
fn begin(start: Option<&Start<'_>>) -> millrace_core::Start {
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

fn say_okay(
    id: &Id<'_>,
    position: Option<Position>,
    recovered: Option<bool>,
    cx: &mut Context<'_>,
) {
    let epoch = position.map(|position| position.epoch.to_string());
    let okay = Okay {
        position: epoch
            .as_deref()
            .zip(position.map(|position| position.offset)),
        recovered,
        ..Okay::new(id)
    };
    cx.reply(|out| append_header(|line| okay.append(line), out));
}

/// Answers what asks for something that the channel does not have: the client may not learn even that without access.
fn look_up(id: &Id<'_>, channel: &[u8], missing: &str, cx: &mut Context<'_>) {
    let may = cx.hub().client_terms(channel).subscribe
        || cx.post(|hub, socket, _| hub.core().is_subscribed(socket, Topic::Channel(channel)));
    if may {
        fail(Some(id), Code::NotFound, missing, cx);
    } else {
        deny(Some(id), cx);
    }
}

fn deny(id: Option<&Id<'_>>, cx: &mut Context<'_>) {
    fail(id, Code::Denied, "the channel's terms do not allow it", cx);
}
