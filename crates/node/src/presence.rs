//! Channels with presence: who is there, and what they say of themselves, as JSON text. Owns the shapes of the results; the
//! rules are in the core.

use millrace_gateway::{Info, InfoError, MemberState};

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};
use crate::numbers;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `presence(channel, after, most): { socketId, since, info? }[]`, those behind a socket; `undefined`: the channel has no
/// presence.
pub(crate) fn members<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [channel, after, most, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = arguments::name(js, channel, "channel", &mut scratch)?;
    let channel = scratch.get(channel).unwrap_or_default();
    let after = arguments::optional_id(js, after, "after")?;
    let most = usize::try_from(arguments::whole(js, most, "most")?).unwrap_or(usize::MAX);
    let members = call
        .own
        .with(|gateway| gateway.core().members(channel, after, most))?;
    let Ok(members) = members else {
        return Ok(None);
    };
    let list = js.array(members.len())?;
    for (index, member) in (0_u32..).zip(&members) {
        js.scoped(|js| js.set_element(list, index, show(js, member)?))?;
    }
    Ok(Some(list))
}

/// `presenceCount(channel): { members, sockets }`; `undefined`: the channel has no presence.
pub(crate) fn count<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [channel, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = arguments::name(js, channel, "channel", &mut scratch)?;
    let channel = scratch.get(channel).unwrap_or_default();
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

fn show<'s>(js: Js<'s>, member: &MemberState) -> Outcome<Value<'s>> {
    let object = js.object()?;
    let id = js.number(numbers::from_id(member.socket))?;
    js.set(object, c"socketId", id)?;
    let since = js.number(numbers::from_u64(member.since_ms))?;
    js.set(object, c"since", since)?;
    if let Some(info) = &member.info {
        js.set(object, c"info", js.string(info.text())?)?;
    }
    Ok(object)
}
