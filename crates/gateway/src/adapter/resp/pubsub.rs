//! Publishing and subscribing. The core keeps the subscriptions; this module reads the commands and confirms them.

use ahash::AHashSet;
use millrace_core::{EnterError, Kind, Name, Pattern, Space, Tally, Target, Topic};
use millrace_protocol::resp::Reply;

use super::call::{Call, Flow};
use super::long::AROUND;
use super::options::PublishAs;
use super::session::Session;
use super::stored::may_publish;
use crate::contract::{Context, Instruction, LateReply, StoreVerdict};
use crate::limits::FixedLimits;

pub(super) fn subscribe(call: &mut Call<'_, '_>) -> Flow {
    enter_all(call, Space::Channel, b"subscribe")
}

pub(super) fn psubscribe(call: &mut Call<'_, '_>) -> Flow {
    enter_all(call, Space::Pattern, b"psubscribe")
}

pub(super) fn ssubscribe(call: &mut Call<'_, '_>) -> Flow {
    enter_all(call, Space::Sharded, b"ssubscribe")
}

pub(super) fn unsubscribe(call: &mut Call<'_, '_>) -> Flow {
    leave(call, Space::Channel, b"unsubscribe")
}

pub(super) fn punsubscribe(call: &mut Call<'_, '_>) -> Flow {
    leave(call, Space::Pattern, b"punsubscribe")
}

pub(super) fn sunsubscribe(call: &mut Call<'_, '_>) -> Flow {
    leave(call, Space::Sharded, b"sunsubscribe")
}

pub(super) fn publish(call: &mut Call<'_, '_>) -> Flow {
    let channel = call.argument(1);
    publish_to(call, Topic::Channel(channel))
}

pub(super) fn spublish(call: &mut Call<'_, '_>) -> Flow {
    let channel = call.argument(1);
    publish_to(call, Topic::Sharded(channel))
}

/// Drops all subscriptions without a confirmation.
pub(super) fn exit_all(call: &mut Call<'_, '_>) {
    call.post(|hub, socket, dirty| {
        for name in hub.core().topics_of(socket) {
            hub.exit(socket, topic(name.space(), name.as_bytes()), dirty);
        }
    });
    call.session.tally = Tally::default();
}

fn enter_all(call: &mut Call<'_, '_>, space: Space, kind: &[u8]) -> Flow {
    if let Err(text) = may_enter(call, space) {
        return call.error(text);
    }
    let mut confirmations = call.long();
    if let Err(unfit) = confirmations.make_room(confirmed(call.arguments(1))) {
        return call.error(unfit.text(TOO_MANY));
    }
    for name in call.arguments(1) {
        let most = call.session.terms.subscriptions;
        let entered =
            call.post(|hub, socket, dirty| hub.enter(socket, topic(space, name), most, dirty));
        match entered {
            Ok(tally) => {
                call.session.tally = tally;
                let mut reply = confirmations.reply();
                confirm(&mut reply, kind, Some(name), count(space, tally));
            }
            Err(error) => {
                // another client used the last room meanwhile, so the remaining subscriptions would fail as well
                call.confirm(confirmations.finish(|_| ()));
                return call.error(refusal(&error));
            }
        }
    }
    call.confirm(confirmations.finish(|_| ()))
}

/// Checks a command as a whole: a command that is refused here has changed nothing.
fn may_enter(call: &Call<'_, '_>, space: Space) -> Result<(), String> {
    let asked = call.request.count() - 1;
    if !call.hub().admits_entering(call.session.client.id, asked) {
        return Err("ERR the server has too much to do, try again".to_owned());
    }
    let longest = FixedLimits::default().channel_name_bytes;
    if call.arguments(1).any(|name| name.len() > longest) {
        return Err("ERR the channel's name is too long".to_owned());
    }
    if space == Space::Pattern {
        for text in call.arguments(1) {
            Pattern::new(text).map_err(|error| refusal(&error.into()))?;
        }
    }
    let most = call.session.terms.subscriptions;
    let (core, socket) = (call.hub().core(), call.session.client.id);
    let held = core.tally(socket).total();
    if held + call.request.count() - 1 <= most {
        return Ok(());
    }
    // only new names count, and each of them once
    let mut new = AHashSet::new();
    for name in call.arguments(1) {
        let is_new = !core.is_subscribed(socket, topic(space, name)) && new.insert(name);
        if is_new && held + new.len() > most {
            return Err(refusal(&EnterError::TooMany { most }));
        }
    }
    Ok(())
}

fn refusal(error: &EnterError) -> String {
    format!("ERR {error}")
}

/// Drops the named subscriptions, or all of this kind. Earlier publications come before the confirmation, and none
/// after it.
fn leave(call: &mut Call<'_, '_>, space: Space, kind: &[u8]) -> Flow {
    // JavaScript may have subscribed this connection as well
    let core = call.hub().core();
    let listened = core.tally(call.session.client.id).total() > 0;
    let all = if call.request.count() > 1 {
        Vec::new()
    } else {
        let socket = call.session.client.id;
        let mut all = call.hub().core().topics_of(socket);
        all.retain(|name| name.space() == space);
        all
    };
    let given: Vec<&[u8]> = call.arguments(1).collect();
    let named = given.into_iter().chain(all.iter().map(Name::as_bytes));
    let mut answer = call.long();
    if let Err(unfit) = answer.make_room(confirmed(named.clone()).max(AROUND)) {
        return call.error(unfit.text(TOO_MANY));
    }
    let mut reply = answer.reply();
    let mut left_any = false;
    for name in named {
        left_any = true;
        let tally = call.post(|hub, socket, dirty| hub.exit(socket, topic(space, name), dirty));
        call.session.tally = tally;
        confirm(&mut reply, kind, Some(name), count(space, tally));
    }
    if !left_any {
        confirm(&mut reply, kind, None, count(space, call.session.tally));
    }
    let answer = answer.finish(|_| ());
    if listened {
        call.confirm_behind(answer)
    } else {
        call.confirm(answer)
    }
}

/// The most bytes of the confirmations of these names.
fn confirmed<'n>(names: impl Iterator<Item = &'n [u8]>) -> usize {
    names.fold(0, |sum: usize, name| {
        sum.saturating_add(name.len() + AROUND)
    })
}

/// Confirms a change: its kind, the name, and the number of remaining subscriptions.
fn confirm(reply: &mut Reply<'_>, kind: &[u8], name: Option<&[u8]>, left: usize) {
    reply.push(3);
    reply.bulk(kind);
    reply.optional(name);
    reply.integer(i64::try_from(left).unwrap_or(i64::MAX));
}

/// Counts as Redis does: shard channels separately.
fn count(space: Space, tally: Tally) -> usize {
    match space {
        Space::Sharded => tally.sharded,
        Space::Channel | Space::Pattern => tally.channels + tally.patterns,
    }
}

fn topic(space: Space, name: &[u8]) -> Topic<'_> {
    match space {
        Space::Channel => Topic::Channel(name),
        Space::Sharded => Topic::Sharded(name),
        Space::Pattern => Topic::Pattern(name),
    }
}

fn publish_to(call: &mut Call<'_, '_>, topic: Topic<'_>) -> Flow {
    let payload = call.argument(2);
    let kind = match call.session.terms.publish_as {
        PublishAs::Binary => Kind::Binary,
        _ if std::str::from_utf8(payload).is_ok() => Kind::Text,
        PublishAs::Auto => Kind::Binary,
        PublishAs::Text => return call.error("ERR the message is not valid UTF-8"),
    };
    if let Topic::Channel(name) = topic
        && call.hub().asks_store()
    {
        return publish_by_store(call, name, (kind, payload));
    }
    let posted = call.post(|hub, _, dirty| match topic {
        Topic::Sharded(name) => hub.send_sharded(name, kind, payload, dirty),
        Topic::Channel(name) | Topic::Pattern(name) => {
            hub.send(&[Target::Channel(name)], kind, payload, &[], dirty)
        }
    });
    say_posted(call, posted)
}

fn say_posted(call: &mut Call<'_, '_>, posted: usize) -> Flow {
    if call.session.listens() {
        // this connection may be a recipient: then the message comes first
        let posted = i64::try_from(posted).unwrap_or(i64::MAX);
        return call.reply_behind(|reply| reply.integer(posted));
    }
    call.integer(posted)
}

/// Publishes where a store numbers the messages of channels with history. In such a channel the command is answered when the
/// store has answered. Only other publications run meanwhile.
fn publish_by_store(call: &mut Call<'_, '_>, name: &[u8], message: (Kind, &[u8])) -> Flow {
    let number = call.session.stored.next();
    let published = call.post(|hub, socket, dirty| {
        hub.publish_by((socket, false, number), (name, None), message, dirty)
    });
    if !published.is_stored {
        return say_posted(call, published.deliveries);
    }
    let is_silent = call.session.silence.is_silent();
    call.session.stored.wait(published.deliveries, is_silent);
    Flow::Next
}

impl Session {
    /// Whether the input may be read on from here: commands wait for publications that a store has not answered, except for
    /// further publications. A subscriber waits for each, because its messages go before the answer.
    pub(super) fn may_read(&self, rest: &[u8]) -> bool {
        let stored = &self.stored;
        !stored.waits() || stored.has_room() && !self.listens() && may_publish(rest)
    }

    /// The store has answered.
    pub(super) fn store_answered(&mut self, answer: &Instruction<'_>, cx: &mut Context<'_>) {
        let Some((number, verdict)) = answer.fields().split_first_chunk() else {
            return;
        };
        let version = self.version;
        let number = u32::from_le_bytes(*number);
        let ready = self.stored.answer(number, |deliveries, out| {
            let mut reply = Reply::new(version, out);
            match StoreVerdict::read(verdict) {
                Some(StoreVerdict::Published(_)) => reply.integer(deliveries.into()),
                Some(StoreVerdict::Unknown) => reply.error(UNKNOWN),
                _ => reply.error(AWAY),
            }
        });
        let Some(ready) = ready else {
            return;
        };
        cx.hold_input(false);
        if ready.is_empty() {
            return;
        }
        if self.listens() {
            // this connection may be a recipient: what was posted for it comes first
            cx.reply_in_order(LateReply::Short(ready.into()), 0);
        } else {
            cx.reply(|out| out.extend_from_slice(&ready));
        }
    }
}

const AWAY: &[u8] = b"ERR the store of histories cannot be reached; the message was not published";
const UNKNOWN: &[u8] =
    b"ERR no answer came from the store of histories; whether the message was published is not known";

pub(super) fn channels(call: &mut Call<'_, '_>) -> Flow {
    list(call, Space::Channel)
}

pub(super) fn shard_channels(call: &mut Call<'_, '_>) -> Flow {
    list(call, Space::Sharded)
}

pub(super) fn numsub(call: &mut Call<'_, '_>) -> Flow {
    count_each(call, Space::Channel)
}

pub(super) fn shard_numsub(call: &mut Call<'_, '_>) -> Flow {
    count_each(call, Space::Sharded)
}

pub(super) fn numpat(call: &mut Call<'_, '_>) -> Flow {
    let count = call.hub().core().pattern_count();
    call.integer(count)
}

fn list(call: &mut Call<'_, '_>, space: Space) -> Flow {
    if call.request.count() > 3 {
        let part = call.argument(1);
        let text = &b"ERR unknown subcommand or wrong number of arguments for '"[..];
        return call.error([text, part, b"'. Try PUBSUB HELP."].concat());
    }
    let pattern = match call.request.get(2).map(Pattern::new).transpose() {
        Ok(pattern) => pattern,
        Err(error) => return call.error(format!("ERR {error}")),
    };
    let (mut found, mut length, mut fits) = (call.long(), 0, Ok(()));
    call.hub().core().names(space, &mut |name: &Name| {
        let matches = |pattern: &Pattern| pattern.matches(name.as_bytes());
        if fits.is_ok() && pattern.as_ref().is_none_or(matches) {
            length += 1;
            let name = name.as_bytes();
            fits = found.write(name.len(), |reply| reply.bulk(name));
        }
    });
    if let Err(unfit) = fits {
        return call.error(unfit.text("ERR the list is too long: ask for fewer"));
    }
    let whole = found.finish(|reply| reply.array(length));
    call.reply_whole(whole)
}

fn count_each(call: &mut Call<'_, '_>, space: Space) -> Flow {
    let mut counts = call.long();
    for name in call.arguments(2) {
        let core = call.hub().core();
        let count = core.subscribers(topic(space, name));
        let written = counts.write(name.len(), |reply| {
            reply.bulk(name);
            reply.integer(i64::try_from(count).unwrap_or(i64::MAX));
        });
        if let Err(unfit) = written {
            return call.error(unfit.text(TOO_MANY));
        }
    }
    let length = (call.request.count() - 2) * 2;
    let whole = counts.finish(|reply| reply.array(length));
    call.reply_whole(whole)
}

const TOO_MANY: &str = "ERR the answer is too long: name fewer";
