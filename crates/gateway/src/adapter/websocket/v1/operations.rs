//! What a client of `millrace.v1` asks for, as far as no JavaScript is needed: it subscribes and publishes where the terms of
//! the channel allow it.

use millrace_core::{EnterError, Entrance, Kind, Position, Topic};
use millrace_protocol::v1::{self, Code, Id, Incoming, Okay, Operation, Start};
use millrace_protocol::websocket::{self, Opcode};

use super::presence;
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
                id,
                channel,
                start,
                info,
            } => self.subscribe(&id, &channel, (start.as_ref(), info), cx)?,
            Operation::Unsubscribe { id, channel } => return Ok(unsubscribe(&id, &channel, cx)),
            Operation::Publish { id, channel, key } => {
                let to = (&channel[..], key.as_deref().map(str::as_bytes));
                publish(id.as_ref(), to, (kind, incoming.payload), cx);
            }
            Operation::Call { id, .. } => {
                fail(Some(&id), Code::NotFound, "there is no such method", cx);
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
                    history(&id, &channel, (start, reverse), limit, cx);
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
            // answers to calls that nobody waits for
            Operation::Answer { .. } | Operation::Failure { .. } => {}
        }
        Ok(Flow::Go)
    }

    fn subscribe(
        &mut self,
        id: &Id<'_>,
        channel: &[u8],
        (start, info): (Option<&Start<'_>>, Option<&str>),
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let terms = cx.hub().client_terms(channel);
        if !terms.subscribe {
            deny(Some(id), cx);
            return Ok(());
        }
        let member = match presence::member(channel, info.filter(|_| terms.info), cx) {
            Ok(member) => member,
            Err(error) => {
                fail(Some(id), Code::Limit, &error.to_string(), cx);
                return Ok(());
            }
        };
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
                presence::enter(channel, member, cx);
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

/// Whether a client may ask what a channel has. If not, it is told: it may not learn whether there is such a thing.
fn may_look(id: &Id<'_>, channel: &[u8], cx: &mut Context<'_>) -> bool {
    let may = cx.hub().client_terms(channel).subscribe
        || cx.post(|hub, socket, _| hub.core().is_subscribed(socket, Topic::Channel(channel)));
    if !may {
        deny(Some(id), cx);
    }
    may
}

/// Answers with what a channel has kept, as much of it as an answer may have.
fn history(
    id: &Id<'_>,
    channel: &[u8],
    (start, reverse): (Option<millrace_core::Start>, bool),
    limit: Option<u64>,
    cx: &mut Context<'_>,
) {
    let most = limit.map_or(HISTORY, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    // from the beginning, if the client names no position
    let start = start.unwrap_or(millrace_core::Start::Last(u32::MAX));
    let past = cx
        .hub()
        .history(channel, (start, reverse), most.min(MOST_HISTORY));
    let Some(mut past) = past else {
        return fail(Some(id), Code::NotFound, "the channel has no history", cx);
    };
    let mut bytes = 0;
    let fits = past.messages.iter().take_while(|kept| {
        let is_first = bytes == 0;
        bytes += kept.message.payload().len() + 64;
        is_first || bytes <= HISTORY_BYTES
    });
    let count = fits.count();
    past.messages.truncate(count);
    let epoch = past.position.epoch.to_string();
    let okay = Okay {
        position: Some((&epoch, past.position.offset)),
        count: u64::try_from(count).ok(),
        ..Okay::new(id)
    };
    cx.reply(|out| append_header(|line| okay.append(line), out));
    for kept in &past.messages {
        let from = kept.number.from;
        let from = from.map(|socket| cx.hub().socket_name(socket));
        let publication = v1::Publication {
            channel,
            offset: Some(kept.number.position.offset),
            timestamp: Some(kept.number.unix_ms),
            from: from.as_deref(),
            answers: Some(id),
            ..v1::Publication::default()
        };
        cx.reply(|out| {
            let mut message = Vec::new();
            publication.append(&mut message);
            message.push(b'\n');
            message.extend_from_slice(kept.message.payload());
            let opcode = match kept.message.kind() {
                Kind::Text => Opcode::Text,
                Kind::Binary => Opcode::Binary,
            };
            websocket::append_frame(out, opcode, &message);
        });
    }
}

/// Publications of an answer without a limit.
const HISTORY: usize = 100;

/// The most publications of an answer, and their bytes if there are several.
const MOST_HISTORY: usize = 1_000;
const HISTORY_BYTES: usize = 256 * 1024;

fn deny(id: Option<&Id<'_>>, cx: &mut Context<'_>) {
    fail(id, Code::Denied, "the channel's terms do not allow it", cx);
}
