//! The functions that applications call for every message. Owns their argument lists. Each function
//! converts its arguments, calls the gateway and converts the result.

use millrace_gateway::{
    Annotation, HEAD_ROOM, Kind, SocketId, SubscribeError, Target, is_sendable_close_code,
};

use crate::arguments::{self, Items, TopicAt};
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Type, Value};
use crate::{numbers, replies};

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `send(target, data, except, replies, texts): number`: sends the replies collected so far first.
pub(crate) fn send<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [target, data, except, ..]) = (call.js, call.arguments);
    replies_first(call)?;
    let mut scratch = call.own.environment().scratch().borrow();
    let targets = Items::read(js, target, "target", &mut scratch)?;
    let except = if call.given > 2 {
        arguments::ids(js, except, "options.except")?
    } else {
        Vec::new()
    };
    let count = arguments::with_data(js, data, "data", &mut scratch, |names, kind, payload| {
        targets.with(names, |targets| {
            call.own
                .post(|gateway, dirty| gateway.send(targets, kind, payload, &except, dirty))
        })
    })??;
    js.number(numbers::from_usize(count)).map(Some)
}

/// `sendLong(target, text, except, replies, texts): number`: does the same as `send` for a text
/// that is long enough for a buffer of its own.
pub(crate) fn send_long<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [target, data, except, ..]) = (call.js, call.arguments);
    replies_first(call)?;
    let mut scratch = call.own.environment().scratch().borrow();
    let targets = Items::read(js, target, "target", &mut scratch)?;
    let except = arguments::ids(js, except, "options.except")?;
    let Some(bytes) = js.string_behind(data, HEAD_ROOM)? else {
        return Err(arguments::wrong(js, data, "data", "a string"));
    };
    let count = targets.with(&scratch, |targets| {
        call.own.post(|gateway, dirty| {
            gateway.send_in_place(targets, Kind::Text, bytes, &except, dirty)
        })
    })?;
    js.number(numbers::from_usize(count)).map(Some)
}

/// `sendUncompressed(target, data, except, replies, texts): number`: does the same as `send`, without
/// compression.
pub(crate) fn send_uncompressed<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [target, data, except, ..]) = (call.js, call.arguments);
    replies_first(call)?;
    let mut scratch = call.own.environment().scratch().borrow();
    let targets = Items::read(js, target, "target", &mut scratch)?;
    let except = arguments::ids(js, except, "options.except")?;
    let count = arguments::with_data(js, data, "data", &mut scratch, |names, kind, payload| {
        targets.with(names, |targets| {
            call.own.post(|gateway, dirty| {
                gateway.send_uncompressed(targets, kind, payload, &except, dirty)
            })
        })
    })??;
    js.number(numbers::from_usize(count)).map(Some)
}

fn replies_first(call: &Call<'_, Bound>) -> Outcome<()> {
    if call.given <= 3 {
        return Ok(());
    }
    let [.., count, texts] = call.arguments;
    replies::send(call.own, call.js, count, texts)
}

/// `subscribe(who, channel, delta): number[]`
pub(crate) fn subscribe<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    change(call, |delta| delta)
}

/// `unsubscribe(who, channel, delta): number[]`
pub(crate) fn unsubscribe<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    change(call, i32::saturating_neg)
}

/// `copySubscriptions(from, to): number[]`
pub(crate) fn copy_subscriptions<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let js = call.js;
    let mut scratch = call.own.environment().scratch().borrow();
    let from = arguments::name(js, call.arguments[0], "from", &mut scratch)?;
    let to = arguments::name(js, call.arguments[1], "to", &mut scratch)?;
    arguments::check_length("to", to.len(), call.own.channel_name_bytes())?;
    let from = [Target::Channel(scratch.get(from).unwrap_or_default())];
    let to = scratch.get(to).unwrap_or_default();
    let added = call
        .own
        .post(|gateway, dirty| gateway.subscribe(&from, to, 1, dirty))?
        .map_err(not_subscribed)?;
    id_list(js, &added).map(Some)
}

fn change<'s>(call: &Call<'s, Bound>, sign: impl FnOnce(i32) -> i32) -> Answer<'s> {
    let (js, [who, channel, delta, ..]) = (call.js, call.arguments);
    let mut scratch = call.own.environment().scratch().borrow();
    let who = Items::read(js, who, "who", &mut scratch)?;
    let channel = TopicAt::read(js, channel, "channel", &mut scratch)?;
    let delta = match js.type_of(delta)? {
        Type::Undefined => 1,
        Type::Number => {
            numbers::to_i32_saturating(js.to_number(delta)?).ok_or_else(|| not_whole(js, delta))?
        }
        _ => return Err(not_whole(js, delta)),
    };
    let topic = channel.topic(&scratch);
    let changed = who.with(&scratch, |who| {
        call.own
            .post(|gateway, dirty| gateway.subscribe_to(who, topic, sign(delta), dirty))
    })?;
    id_list(js, &changed.map_err(not_subscribed)?).map(Some)
}

fn not_subscribed(error: SubscribeError) -> Failure {
    let code = match error {
        SubscribeError::Overloaded => "ERR_MILLRACE_OVERLOADED",
        _ => "ERR_MILLRACE_TOO_MANY_PATTERNS",
    };
    Failure::Coded(code, error.to_string())
}

fn not_whole(js: Js<'_>, delta: Value<'_>) -> Failure {
    arguments::wrong(js, delta, "delta", "a whole number")
}

/// `hasSubscriptions(channel): boolean`
pub(crate) fn has_subscriptions<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let mut scratch = call.own.environment().scratch().borrow();
    let channel = TopicAt::read(call.js, call.arguments[0], "channel", &mut scratch)?;
    let topic = channel.topic(&scratch);
    let answer = call.own.with(|gateway| gateway.has_subscriptions(topic))?;
    call.js.boolean(answer).map(Some)
}

/// `createVirtualSocket(socketId, userDataOrPrefix): number`
pub(crate) fn create_virtual_socket<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [target, annotation, ..]) = (call.js, call.arguments);
    let target = arguments::id(js, target, "socketId")?;
    let annotation = read_annotation(call, annotation)?;
    let id = call
        .own
        .with(|gateway| gateway.create_virtual(target, annotation))?;
    js.number(numbers::from_id(id)).map(Some)
}

fn read_annotation(call: &Call<'_, Bound>, value: Value<'_>) -> Outcome<Option<Annotation>> {
    const NAME: &str = "userDataOrPrefix";
    let js = call.js;
    match js.type_of(value)? {
        Type::Undefined => Ok(None),
        Type::Number => match numbers::to_i32(js.to_number(value)?) {
            Some(data) => Ok(Some(Annotation::UserData(data))),
            None => Err(arguments::wrong(
                js,
                value,
                NAME,
                "a whole number from -2147483648 to 2147483647",
            )),
        },
        _ => {
            let mut scratch = call.own.environment().scratch().borrow();
            let place = arguments::name(js, value, NAME, &mut scratch)?;
            let prefix = scratch.get(place).unwrap_or_default();
            Annotation::prefix(prefix)
                .map_err(|error| Failure::Argument(format!("argument '{NAME}': {error}")))
        }
    }
}

/// `deleteVirtualSocket(id, expectedTarget): boolean`
pub(crate) fn delete_virtual_socket<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let id = arguments::id(call.js, call.arguments[0], "id")?;
    let expected = arguments::optional_id(call.js, call.arguments[1], "expectedTarget")?;
    let deleted = call
        .own
        .post(|gateway, dirty| gateway.delete_virtual(id, expected, dirty))?;
    call.js.boolean(deleted).map(Some)
}

/// `setToken(socketId, token, isValue): void`
pub(crate) fn set_token<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let id = arguments::id(call.js, call.arguments[0], "socketId")?;
    let mut scratch = call.own.environment().scratch().borrow();
    let bytes = arguments::copied(call.js, call.arguments[1], "token", &mut scratch)?;
    let token = arguments::token(call.js, bytes, call.arguments[2])?;
    call.own
        .with(|gateway| gateway.set_token(id, token))?
        .map_err(|_| {
            Failure::Coded(
                "ERR_MILLRACE_SOCKET_NOT_FOUND",
                "Socket not found".to_owned(),
            )
        })?;
    Ok(None)
}

/// `token(socketId): Buffer | ArrayBuffer | undefined`: an `ArrayBuffer` contains a serialised
/// value.
pub(crate) fn token<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let id = arguments::id(call.js, call.arguments[0], "socketId")?;
    let token = call.own.with(|gateway| gateway.token(id))?;
    let made = token.map(|token| {
        if token.is_value {
            return call.js.array_buffer(&token.bytes).map(|(value, _)| value);
        }
        call.js.buffer(&token.bytes)
    });
    made.transpose()
}

/// `getKey(key): Buffer | undefined`
pub(crate) fn get_key<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let mut scratch = call.own.environment().scratch().borrow();
    let key = arguments::name(call.js, call.arguments[0], "key", &mut scratch)?;
    let value = call
        .own
        .with(|gateway| gateway.key(scratch.get(key).unwrap_or_default()))?;
    value.map(|value| call.js.buffer(&value)).transpose()
}

/// `setKey(key, value): Buffer | undefined`
pub(crate) fn set_key<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let mut scratch = call.own.environment().scratch().borrow();
    let key = arguments::name(call.js, call.arguments[0], "key", &mut scratch)?;
    let value = arguments::optional_copied(call.js, call.arguments[1], "value", &mut scratch)?;
    let before = call
        .own
        .with(|gateway| gateway.set_key(scratch.get(key).unwrap_or_default(), value))?;
    before.map(|before| call.js.buffer(&before)).transpose()
}

/// `setKeyIf(key, newValue, checkValue): boolean`
pub(crate) fn set_key_if<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let mut scratch = call.own.environment().scratch().borrow();
    let key = arguments::name(call.js, call.arguments[0], "key", &mut scratch)?;
    let new = arguments::optional_copied(call.js, call.arguments[1], "newValue", &mut scratch)?;
    let check = arguments::optional_copied(call.js, call.arguments[2], "checkValue", &mut scratch)?;
    let key = scratch.get(key).unwrap_or_default();
    let changed = call
        .own
        .with(|gateway| gateway.set_key_if(key, new, check.as_deref()))?;
    call.js.boolean(changed).map(Some)
}

/// `close(socketId, code, reason): boolean`
pub(crate) fn close<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [id, code, reason, ..]) = (call.js, call.arguments);
    let id = arguments::id(js, id, "socketId")?;
    let code = if arguments::is_undefined(js, code)? {
        DEFAULT_CLOSE_CODE
    } else {
        close_code(js, code)?
    };
    let reason = if arguments::is_undefined(js, reason)? {
        String::new()
    } else {
        arguments::text(js, reason, "reason")?
    };
    if reason.len() > LONGEST_REASON {
        let length = reason.len();
        return Err(Failure::Argument(format!(
            "argument 'reason' must be at most {LONGEST_REASON} bytes of UTF-8, not {length}"
        )));
    }
    let closed = call
        .own
        .post(|gateway, dirty| gateway.close(id, code, &reason, dirty))?;
    js.boolean(closed).map(Some)
}

/// `terminate(socketId): boolean`
pub(crate) fn terminate<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let id = arguments::id(call.js, call.arguments[0], "socketId")?;
    let ended = call
        .own
        .post(|gateway, dirty| gateway.terminate(id, dirty))?;
    call.js.boolean(ended).map(Some)
}

/// `ping(socketId, data): boolean`
pub(crate) fn ping<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [id, data, ..]) = (call.js, call.arguments);
    let id = arguments::id(js, id, "socketId")?;
    let mut scratch = call.own.environment().scratch().borrow();
    let data = arguments::optional_copied(js, data, "data", &mut scratch)?.unwrap_or_default();
    let length = data.len();
    if length > LONGEST_PING {
        return Err(Failure::Argument(format!(
            "argument 'data' must be at most {LONGEST_PING} bytes, not {length}"
        )));
    }
    let told = call
        .own
        .post(|gateway, dirty| gateway.ping(id, &data, dirty))?;
    js.boolean(told).map(Some)
}

/// Reads a close code that may be sent.
pub(crate) fn close_code(js: Js<'_>, value: Value<'_>) -> Outcome<u16> {
    if let Some(number) = js.as_number(value)?
        && let Some(code) = numbers::to_u32(number)
        && let Ok(code) = u16::try_from(code)
        && is_sendable_close_code(code)
    {
        return Ok(code);
    }
    Err(arguments::wrong(
        js,
        value,
        "code",
        "a close code that may be sent (1000 to 1003, 1007 to 1014 or 3000 to 4999)",
    ))
}

/// Makes an array of socket ids.
pub(crate) fn id_list<'s>(js: Js<'s>, ids: &[SocketId]) -> Outcome<Value<'s>> {
    let list = js.array(ids.len())?;
    for (index, id) in (0_u32..).zip(ids) {
        js.scoped(|js| js.set_element(list, index, js.number(numbers::from_id(*id))?))?;
    }
    Ok(list)
}

/// Normal closure.
const DEFAULT_CLOSE_CODE: u16 = 1000;

/// The most bytes of a reason that fit into a close frame after the code.
const LONGEST_REASON: usize = 123;

/// The most bytes that a ping may carry: RFC 6455 5.5.
const LONGEST_PING: usize = 125;
