//! Channels with history: publishing with a position, subscribing at one, and reading what is kept. Owns the shapes of
//! the results; the rules are in the core.

use std::sync::Arc;

use millrace_gateway::{
    Answers, Entered, Hub, Kept, KeptMessage, Kind, Maker, Manner, Past, PastError, Place,
    Position, Published, Reply, SocketId, Start, Topic,
};

use crate::arguments::{self, Items, TopicAt};
use crate::backpressure::too_many_waits;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};
use crate::numbers;
use crate::presence;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `publish(channel, data, key, compress): { deliveries, position?, isRepeated, question? }`. If a store of histories has
/// the message, the question is answered with the text `<epoch> <offset> <0 or 1>`, 1 if it is repeated.
pub(crate) fn publish<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [channel, data, key, compress, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = arguments::name(js, channel, "channel", &mut scratch)?;
    arguments::check_length("channel", channel.len(), call.own.channel_name_bytes())?;
    let key = if arguments::is_undefined(js, key)? {
        None
    } else {
        Some(arguments::text(js, key, "options.idempotencyKey")?)
    };
    let compresses = js.to_boolean(compress)?;
    let (published, question) =
        arguments::with_data(js, data, "data", &mut scratch, |names, kind, payload| {
            let channel = names.get(channel).unwrap_or_default();
            let mut manner = Manner {
                key: key.as_deref().map(str::as_bytes),
                ..Manner::default()
            };
            let ticket = Ticket::open(call)?;
            if let Some(ticket) = &ticket {
                manner.ticket = ticket.id;
            }
            let published = call.own.post(|gateway, dirty| {
                if compresses {
                    gateway.publish(channel, (kind, payload), &manner, dirty)
                } else {
                    gateway.publish_uncompressed(channel, (kind, payload), &manner, dirty)
                }
            })?;
            let question = match ticket {
                Some(ticket) => ticket.settle(call, &published)?,
                None => None,
            };
            Ok::<_, Failure>((published, question))
        })??;
    let object = js.object()?;
    if let Some(question) = question {
        js.set(object, c"question", js.number(f64::from(question))?)?;
    }
    let deliveries = js.number(numbers::from_usize(published.deliveries))?;
    js.set(object, c"deliveries", deliveries)?;
    js.set(object, c"position", show_position(js, published.position)?)?;
    js.set(object, c"isRepeated", js.boolean(published.is_repeated)?)?;
    Ok(Some(object))
}

/// `subscribeAt(who, channel, epoch, number, member): { id, recovered, position }[]`; `undefined`: the channel has no history;
/// `null`: it has no presence; a number: it has to be called again when this question is answered. `number` is the offset, or without an epoch how many of the last messages. `member` is JSON:
/// the sockets become members; with it the others may be absent.
pub(crate) fn subscribe_at<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [who, channel, epoch, number, member, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let who = Items::read(js, who, "who", &mut scratch)?;
    let channel = TopicAt::read(js, channel, "channel", &mut scratch)?;
    let is_last = arguments::is_undefined(js, epoch)? && !arguments::is_undefined(js, number)?;
    let start = if is_last {
        Start::Last(arguments::whole(js, number, "options.last")?)
    } else {
        start(js, epoch, number)?
    };
    let Topic::Channel(channel) = channel.topic(&scratch) else {
        return Err(Failure::Argument(
            "argument 'channel' cannot be a pattern with options: its subscribers get only what is published from now on"
                .to_owned(),
        ));
    };
    arguments::check_length("channel", channel.len(), call.own.channel_name_bytes())?;
    let has_presence = || {
        call.own
            .with(|gateway| gateway.core().has_presence(channel))
    };
    if !arguments::is_undefined(js, member)? && !has_presence()? {
        return Ok(Some(js.null()?));
    }
    let info = presence::info(call, member)?;
    let entered = loop {
        if let Some((number, answers)) = asking(call)?
            && let Some(place) = call
                .own
                .with(|gateway| gateway.when_followed((channel, start), (number, &answers)))?
        {
            return wait(call, number, place);
        }
        let entered = who.with(&scratch, |who| {
            call.own.post(|gateway, dirty| {
                if start != Start::Next {
                    gateway.history(channel, (Start::Next, false), 0)?;
                }
                let entered = gateway.subscribe_at(who, channel, start, dirty);
                if let (Some(info), Ok(entered)) = (&info, &entered) {
                    let ids: Vec<_> = entered.iter().map(|(id, _)| *id).collect();
                    gateway.make_members(&ids, channel, (Maker::Application, Some(info)), dirty);
                }
                Some(entered)
            })
        })?;
        // what was kept here has gone since then: the store is asked for it
        if !matches!(entered, Some(Err(PastError::Unknown))) {
            break entered;
        }
    };
    let Some(entered) = entered else {
        return Ok(None);
    };
    let entered = entered.map_err(|error| match error {
        PastError::Overloaded => Failure::Coded("ERR_MILLRACE_OVERLOADED", error.to_string()),
        _ => Failure::Argument(format!("argument 'who': {error}")),
    })?;
    let results = js.array(entered.len())?;
    for (index, entered) in (0_u32..).zip(&entered) {
        js.scoped(|js| js.set_element(results, index, show_entered(js, entered)?))?;
    }
    Ok(Some(results))
}

/// `history(channel, epoch, offset, limit, reverse): { position, publications }`; `undefined`: the channel has no
/// history; a number: [`take_past`] has it when this question is answered.
pub(crate) fn history<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [channel, epoch, offset, limit, reverse, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = arguments::name(js, channel, "channel", &mut scratch)?;
    let channel = scratch.get(channel).unwrap_or_default();
    let start = match start(js, epoch, offset)? {
        Start::Next => Start::Last(u32::MAX),
        given => given,
    };
    let most = if arguments::is_undefined(js, limit)? {
        usize::MAX
    } else {
        let limit = arguments::whole(js, limit, "options.limit")?;
        usize::try_from(limit).unwrap_or(usize::MAX)
    };
    let from = (start, js.to_boolean(reverse)?);
    if let Some((number, answers)) = asking(call)?
        && let Some(place) = call
            .own
            .with(|gateway| gateway.ask_history(channel, from, most, (number, &answers)))?
    {
        return wait(call, number, place);
    }
    let past = call
        .own
        .with(|gateway| gateway.history(channel, from, most))?;
    past.map(|past| show_past(js, &past)).transpose()
}

/// `takePast(question): { position, publications } | undefined`: takes what came with the answer to a question about what a
/// channel has kept.
pub(crate) fn take_past<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let number = arguments::whole(call.js, call.arguments[0], "question")?;
    let Some(Reply::Said(Kind::Binary, bytes)) = call.own.questions().take_result(number) else {
        return Ok(None);
    };
    let past = Hub::read_past(&bytes);
    past.map(|past| show_past(call.js, &past)).transpose()
}

fn show_past<'s>(js: Js<'s>, past: &Past<KeptMessage>) -> Outcome<Value<'s>> {
    let object = js.object()?;
    let position = show_position(js, Some(past.position))?;
    js.set(object, c"position", position)?;
    let list = js.array(past.messages.len())?;
    for (index, kept) in (0_u32..).zip(&past.messages) {
        js.scoped(|js| js.set_element(list, index, show_kept(js, kept)?))?;
    }
    js.set(object, c"publications", list)?;
    Ok(object)
}

/// A question to the store of histories that a publication may become.
struct Ticket {
    number: u32,
    id: u64,
    place: Arc<Place>,
}

impl Ticket {
    /// `None`: there is no store.
    fn open(call: &Call<'_, Bound>) -> Outcome<Option<Self>> {
        let Some((number, answers)) = asking(call)? else {
            return Ok(None);
        };
        let opened = call
            .own
            .with(|gateway| gateway.open_ticket((number, &answers)))?;
        let (id, place) = opened.ok_or_else(too_many_waits)?;
        Ok(Some(Self { number, id, place }))
    }

    /// The question, if the store has the message.
    fn settle(self, call: &Call<'_, Bound>, published: &Published) -> Outcome<Option<u32>> {
        if published.is_stored {
            call.own.questions().asked(self.number, self.place);
            return Ok(Some(self.number));
        }
        call.own
            .with(|gateway| gateway.close_ticket(self.id, &self.place))?;
        Ok(None)
    }
}

/// The number of a question to the store of histories, and where its answer arrives; `None`: there is no store.
fn asking(call: &Call<'_, Bound>) -> Outcome<Option<(u32, Arc<Answers>)>> {
    if !call.own.with(|gateway| gateway.asks_store())? {
        return Ok(None);
    }
    let questions = call.own.questions();
    let Some(answers) = questions.answers() else {
        return Err(Failure::internal("there is no place for answers"));
    };
    Ok(Some((questions.number(), answers)))
}

/// Returns a question that was asked.
fn wait<'s>(call: &Call<'s, Bound>, number: u32, place: Option<Arc<Place>>) -> Answer<'s> {
    let place = place.ok_or_else(too_many_waits)?;
    call.own.questions().asked(number, place);
    call.js.number(f64::from(number)).map(Some)
}

/// Behind the given position; [`Start::Next`] if none is given.
fn start(js: Js<'_>, epoch: Value<'_>, offset: Value<'_>) -> Outcome<Start> {
    if arguments::is_undefined(js, epoch)? {
        return Ok(Start::Next);
    }
    let epoch = arguments::text(js, epoch, "options.since.epoch")?;
    let wrong = || arguments::wrong(js, offset, "options.since.offset", "a whole number");
    let offset = js.as_number(offset)?.and_then(numbers::to_u64);
    Ok(Start::since(epoch.as_bytes(), offset.ok_or_else(wrong)?))
}

fn show_position(js: Js<'_>, position: Option<Position>) -> Outcome<Value<'_>> {
    let Some(Position { epoch, offset }) = position else {
        return js.undefined();
    };
    let object = js.object()?;
    js.set(object, c"epoch", js.string(&epoch.to_string())?)?;
    js.set(object, c"offset", js.number(numbers::from_u64(offset))?)?;
    Ok(object)
}

fn show_entered<'s>(js: Js<'s>, (id, entered): &(SocketId, Entered)) -> Outcome<Value<'s>> {
    let object = js.object()?;
    js.set(object, c"id", js.number(numbers::from_id(*id))?)?;
    if let Some(recovered) = entered.recovered {
        js.set(object, c"recovered", js.boolean(recovered)?)?;
    }
    js.set(object, c"position", show_position(js, entered.position)?)?;
    Ok(object)
}

fn show_kept<'s>(js: Js<'s>, kept: &Kept<KeptMessage>) -> Outcome<Value<'s>> {
    let object = js.object()?;
    let (number, message) = (&kept.number, &kept.message);
    let offset = js.number(numbers::from_u64(number.position.offset))?;
    js.set(object, c"offset", offset)?;
    js.set(
        object,
        c"timestamp",
        js.number(numbers::from_u64(number.unix_ms))?,
    )?;
    let data = match (message.kind(), std::str::from_utf8(message.payload())) {
        (Kind::Text, Ok(text)) => js.string(text)?,
        _ => js.buffer(message.payload())?,
    };
    js.set(object, c"data", data)?;
    if let Some(from) = number.from {
        js.set(object, c"from", js.number(numbers::from_id(from))?)?;
        if message.node() > 0 {
            js.set(
                object,
                c"node",
                js.string(&format!("{:016x}", message.node()))?,
            )?;
        }
    }
    Ok(object)
}
