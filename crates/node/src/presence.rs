//! Channels with presence: who is there, and what they say of themselves, as JSON text. Owns the shapes of the results; the
//! rules are in the core.

use millrace_gateway::{Info, InfoError, MemberId, MemberState};

use crate::arguments;
use crate::backpressure::too_many_waits;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};
use crate::numbers;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `presence(channel, node, after, most): { socketId, node, since, info? }[]`, those behind a socket of a node; `undefined`: the
/// channel has no presence; a number: it has to be called again when this question is answered.
pub(crate) fn members<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [channel, node, after, most, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = arguments::name(js, channel, "channel", &mut scratch)?;
    let channel = scratch.get(channel).unwrap_or_default();
    let after = match arguments::optional_id(js, after, "after")? {
        None => None,
        Some(socket) => {
            let node = arguments::text(js, node, "node")?;
            let node = u64::from_str_radix(&node, 16);
            let wrong = |_| Failure::internal("a node's number is hexadecimal");
            Some(MemberId {
                node: node.map_err(wrong)?,
                socket,
            })
        }
    };
    let most = usize::try_from(arguments::whole(js, most, "most")?).unwrap_or(usize::MAX);
    if let Some(question) = awaited(call, channel)? {
        return Ok(Some(question));
    }
    let (here, members) = call.own.with(|gateway| {
        let here = gateway.node();
        (here, gateway.core().members(channel, here, after, most))
    })?;
    let Ok(members) = members else {
        return Ok(None);
    };
    let list = js.array(members.len())?;
    for (index, member) in (0_u32..).zip(&members) {
        js.scoped(|js| js.set_element(list, index, show(js, here, member)?))?;
    }
    Ok(Some(list))
}

/// The number of a question that is answered when the members of all nodes can be read; `None`: they can.
fn awaited<'s>(call: &Call<'s, Bound>, channel: &[u8]) -> Answer<'s> {
    if !call.own.with(|gateway| gateway.shares_presence())? {
        return Ok(None);
    }
    let questions = call.own.questions();
    let Some(answers) = questions.answers() else {
        return Err(Failure::internal("there is no place for answers"));
    };
    let number = questions.number();
    let place = call
        .own
        .with(|gateway| gateway.when_members_known(channel, (number, &answers)))?;
    let Some(place) = place else {
        return Ok(None);
    };
    questions.asked(number, place.ok_or_else(too_many_waits)?);
    call.js.number(f64::from(number)).map(Some)
}

/// `presenceCount(channel): { members, sockets }`; `undefined`: the channel has no presence; a number: it has to be called again
/// when this question is answered.
pub(crate) fn count<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [channel, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = arguments::name(js, channel, "channel", &mut scratch)?;
    let channel = scratch.get(channel).unwrap_or_default();
    if let Some(question) = awaited(call, channel)? {
        return Ok(Some(question));
    }
    let count = call
        .own
        .with(|gateway| gateway.core().member_count(channel))?;
    let Ok(count) = count else {
        return Ok(None);
    };
    let object = js.object()?;
    let members = js.number(numbers::from_usize(count.members))?;
    js.set(object, c"members", members)?;
    let sockets = js.number(numbers::from_usize(count.sockets))?;
    js.set(object, c"sockets", sockets)?;
    Ok(Some(object))
}

/// `setPresence(socketId, channel, info): boolean`: whether it is a member; `undefined`: the channel has no presence.
pub(crate) fn set<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [socket, channel, text, ..]) = (call.js, call.arguments);
    let id = arguments::id(js, socket, "socketId")?;
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = arguments::name(js, channel, "channel", &mut scratch)?;
    let channel = scratch.get(channel).unwrap_or_default();
    if !call
        .own
        .with(|gateway| gateway.core().has_presence(channel))?
    {
        return Ok(None);
    }
    let Some(info) = info(call, text)? else {
        return Err(Failure::Argument("argument 'info' is missing".to_owned()));
    };
    let set = call
        .own
        .post(|gateway, dirty| gateway.set_info(id, channel, &info, dirty))?;
    Ok(Some(js.boolean(set.unwrap_or(false))?))
}

/// What a member says of itself, from JSON; `None`: nothing is given, or no channel has presence.
pub(crate) fn info(call: &Call<'_, Bound>, text: Value<'_>) -> Outcome<Option<Info>> {
    let js = call.js;
    if arguments::is_undefined(js, text)? {
        return Ok(None);
    }
    let text = arguments::text(js, text, "info")?;
    let info = call.own.with(|gateway| gateway.core().info(&text))?;
    match info {
        Ok(info) => Ok(Some(info)),
        Err(error @ InfoError::TooMany { .. }) => Err(Failure::Coded(
            "ERR_MILLRACE_PRESENCE_FULL",
            error.to_string(),
        )),
        Err(error) => Err(Failure::Argument(error.to_string())),
    }
}

fn show<'s>(js: Js<'s>, here: u64, member: &MemberState) -> Outcome<Value<'s>> {
    let object = js.object()?;
    let node = if member.node == 0 { here } else { member.node };
    js.set(object, c"node", js.string(&format!("{node:016x}"))?)?;
    let id = js.number(numbers::from_id(member.socket))?;
    js.set(object, c"socketId", id)?;
    let since = js.number(numbers::from_u64(member.since_ms))?;
    js.set(object, c"since", since)?;
    if let Some(info) = &member.info {
        js.set(object, c"info", js.string(info.text())?)?;
    }
    Ok(object)
}
