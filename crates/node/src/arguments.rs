//! Arguments from JavaScript, read and checked before anything changes. Owns the texts of the `TypeError`s; does
//! not know what the arguments are used for.

use std::ops::Range;

use bytes::Bytes;
use millrace_gateway::limits::FixedLimits;
use millrace_gateway::{Kind, SocketId, Target, Token, Topic};

use crate::failure::{Failure, Outcome};
use crate::js::{Js, Type, Value};
use crate::numbers;

/// A target. A name is a range in the scratch buffer.
#[derive(Clone, Debug)]
enum Item {
    Id(SocketId),
    Name(Range<usize>),
}

/// Socket ids and channel names, as they were read.
#[derive(Debug)]
pub(crate) enum Items {
    /// A single value, which needs no allocation.
    One(ItemOf),
    Many(Vec<ItemOf>),
}

/// One value of [`Items`].
#[derive(Debug)]
pub(crate) struct ItemOf(Item);

impl ItemOf {
    fn target<'a>(&self, scratch: &'a [u8]) -> Target<'a> {
        match &self.0 {
            Item::Id(id) => Target::Socket(*id),
            Item::Name(place) => Target::Channel(scratch.get(place.clone()).unwrap_or_default()),
        }
    }
}

impl Items {
    /// Reads a socket id, a channel name, or an array of these. Appends names to `scratch`.
    pub(crate) fn read(
        js: Js<'_>,
        value: Value<'_>,
        name: &str,
        scratch: &mut Vec<u8>,
    ) -> Outcome<Self> {
        if let Some(number) = js.as_number(value)? {
            let id = numbers::to_id(number).ok_or_else(|| wrong(js, value, name, TARGET))?;
            return Ok(Self::One(ItemOf(Item::Id(id))));
        }
        if let Some(place) = append(js, value, scratch)? {
            return Ok(Self::One(ItemOf(Item::Name(place))));
        }
        if !js.is_array(value)? {
            return Err(wrong(js, value, name, TARGET));
        }
        let length = js.array_length(value)?;
        let room = usize::try_from(length).unwrap_or_default();
        let mut items = Vec::with_capacity(room.min(LIST_ROOM));
        for index in 0..length {
            let element = js.element(value, index)?;
            items.push(ItemOf(read_element(js, element, (name, index), scratch)?));
        }
        Ok(Self::Many(items))
    }

    /// Passes the targets to `look`, with their names from `scratch`.
    pub(crate) fn with<R>(&self, scratch: &[u8], look: impl FnOnce(&[Target<'_>]) -> R) -> R {
        match self {
            Self::One(item) => look(&[item.target(scratch)]),
            Self::Many(items) => look(
                &items
                    .iter()
                    .map(|item| item.target(scratch))
                    .collect::<Vec<_>>(),
            ),
        }
    }
}

/// The topic of a subscription.
#[derive(Clone, Debug)]
pub(crate) enum TopicAt {
    /// A channel, with the range of its name in the scratch buffer.
    Channel(Range<usize>),
    /// A pattern, with the range of its text in the scratch buffer.
    Pattern(Range<usize>),
}

impl TopicAt {
    /// Reads a channel's name, or an object whose `pattern` is a pattern's text. Refuses a text that is too long.
    pub(crate) fn read(
        js: Js<'_>,
        value: Value<'_>,
        argument: &str,
        scratch: &mut Vec<u8>,
    ) -> Outcome<Self> {
        const TOPIC: &str = "a string, Uint8Array, ArrayBuffer or an object with a pattern";
        let limits = FixedLimits::default();
        if let Some(place) = append(js, value, scratch)? {
            check_length(argument, place.len(), limits.channel_name_bytes)?;
            return Ok(Self::Channel(place));
        }
        if js.type_of(value)? != Type::Object || js.is_array(value)? {
            return Err(wrong(js, value, argument, TOPIC));
        }
        let pattern = js.get(value, c"pattern")?;
        if is_undefined(js, pattern)? {
            return Err(wrong(js, value, argument, TOPIC));
        }
        let argument = format!("{argument}.pattern");
        let place = name(js, pattern, &argument, scratch)?;
        check_length(&argument, place.len(), limits.pattern_bytes)?;
        Ok(Self::Pattern(place))
    }

    /// Returns the topic with its name from `scratch`.
    pub(crate) fn topic<'a>(&self, scratch: &'a [u8]) -> Topic<'a> {
        let bytes = |place: &Range<usize>| scratch.get(place.clone()).unwrap_or_default();
        match self {
            Self::Channel(place) => Topic::Channel(bytes(place)),
            Self::Pattern(place) => Topic::Pattern(bytes(place)),
        }
    }
}

fn read_element(
    js: Js<'_>,
    value: Value<'_>,
    (name, index): (&str, u32),
    scratch: &mut Vec<u8>,
) -> Outcome<Item> {
    const ELEMENT: &str =
        "a socket id (a positive whole number) or a channel name (a string or bytes)";
    if let Some(number) = js.as_number(value)? {
        let id = numbers::to_id(number);
        return id
            .map(Item::Id)
            .ok_or_else(|| wrong(js, value, &format!("{name}[{index}]"), ELEMENT));
    }
    let place = append(js, value, scratch)?;
    place
        .map(Item::Name)
        .ok_or_else(|| wrong(js, value, &format!("{name}[{index}]"), ELEMENT))
}

/// Reads a socket id.
pub(crate) fn id(js: Js<'_>, value: Value<'_>, name: &str) -> Outcome<SocketId> {
    const ID: &str = "a socket id (a positive whole number)";
    if let Some(number) = js.as_number(value)?
        && let Some(id) = numbers::to_id(number)
    {
        return Ok(id);
    }
    Err(wrong(js, value, name, ID))
}

/// Reads a socket id or `undefined`.
pub(crate) fn optional_id(js: Js<'_>, value: Value<'_>, name: &str) -> Outcome<Option<SocketId>> {
    if is_undefined(js, value)? {
        Ok(None)
    } else {
        id(js, value, name).map(Some)
    }
}

/// Reads `undefined`, a socket id, or an array of ids.
pub(crate) fn ids(js: Js<'_>, value: Value<'_>, name: &str) -> Outcome<Vec<SocketId>> {
    if is_undefined(js, value)? {
        return Ok(Vec::new());
    }
    if !js.is_array(value)? {
        return id(js, value, name).map(|id| vec![id]);
    }
    let mut ids = Vec::new();
    for index in 0..js.array_length(value)? {
        let element = js.element(value, index)?;
        ids.push(id(js, element, &format!("{name}[{index}]"))?);
    }
    Ok(ids)
}

/// Reads a whole number below 2^32.
pub(crate) fn whole(js: Js<'_>, value: Value<'_>, name: &str) -> Outcome<u32> {
    if let Some(number) = js.as_number(value)?
        && let Some(number) = numbers::to_u32(number)
    {
        return Ok(number);
    }
    Err(wrong(
        js,
        value,
        name,
        "a whole number from 0 to 4294967295",
    ))
}

/// Reads a name or key, a string (as UTF-8) or bytes. Appends it to `scratch` and returns the range.
pub(crate) fn name(
    js: Js<'_>,
    value: Value<'_>,
    name: &str,
    scratch: &mut Vec<u8>,
) -> Outcome<Range<usize>> {
    let place = append(js, value, scratch)?;
    place.ok_or_else(|| wrong(js, value, name, BYTES))
}

/// Refuses a name that is too long.
pub(crate) fn check_length(argument: &str, length: usize, limit: usize) -> Outcome<()> {
    if length <= limit {
        return Ok(());
    }
    Err(Failure::Argument(format!(
        "argument '{argument}' must be at most {limit} bytes long, not {length}"
    )))
}

/// Reads a message and passes it to `look`, with the earlier content of `scratch`: a string is a text message,
/// bytes are a binary message. `look` must not run JavaScript.
pub(crate) fn with_data<R>(
    js: Js<'_>,
    value: Value<'_>,
    name: &str,
    scratch: &mut Vec<u8>,
    look: impl FnOnce(&[u8], Kind, &[u8]) -> R,
) -> Outcome<R> {
    let start = scratch.len();
    if js.append_string(value, scratch)? {
        let (before, text) = scratch.split_at(start);
        return Ok(look(before, Kind::Text, text));
    }
    match js.with_bytes(value, |bytes| look(scratch, Kind::Binary, bytes))? {
        Some(result) => Ok(result),
        None => Err(wrong(js, value, name, BYTES)),
    }
}

/// Copies a string's UTF-8, or bytes.
pub(crate) fn copied(
    js: Js<'_>,
    value: Value<'_>,
    name: &str,
    scratch: &mut Vec<u8>,
) -> Outcome<Bytes> {
    with_data(js, value, name, scratch, |_before, _kind, bytes| {
        Bytes::copy_from_slice(bytes)
    })
}

/// Makes a token of these bytes. `is_value` tells whether they are a serialised value. A token that is too long is
/// refused, because the close event of its connection carries it.
pub(crate) fn token(js: Js<'_>, bytes: Bytes, is_value: Value<'_>) -> Outcome<Token> {
    let is_value = !is_undefined(js, is_value)? && js.to_boolean(is_value)?;
    let limit = FixedLimits::default().token_bytes;
    if bytes.len() <= limit {
        return Ok(Token { bytes, is_value });
    }
    let length = if is_value {
        "when it is serialised"
    } else {
        "long"
    };
    Err(Failure::Argument(format!(
        "argument 'token' must be at most {limit} bytes {length}, not {}",
        bytes.len()
    )))
}

/// Does the same as [`copied`]; `None` for `undefined`.
pub(crate) fn optional_copied(
    js: Js<'_>,
    value: Value<'_>,
    name: &str,
    scratch: &mut Vec<u8>,
) -> Outcome<Option<Bytes>> {
    if is_undefined(js, value)? {
        Ok(None)
    } else {
        copied(js, value, name, scratch).map(Some)
    }
}

/// Reads a string.
pub(crate) fn text(js: Js<'_>, value: Value<'_>, name: &str) -> Outcome<String> {
    let mut bytes = Vec::new();
    if !js.append_string(value, &mut bytes)? {
        return Err(wrong(js, value, name, "a string"));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::internal("the runtime gave a string that is not UTF-8"))
}

/// Whether the argument was omitted.
pub(crate) fn is_undefined(js: Js<'_>, value: Value<'_>) -> Outcome<bool> {
    Ok(js.type_of(value)? == Type::Undefined)
}

/// The `TypeError` for `argument`, with what was expected and what was given.
pub(crate) fn wrong(js: Js<'_>, value: Value<'_>, argument: &str, expected: &str) -> Failure {
    match describe(js, value) {
        Ok(given) => Failure::Argument(format!(
            "argument '{argument}' must be {expected}, not {given}"
        )),
        Err(failure) => failure,
    }
}

fn describe(js: Js<'_>, value: Value<'_>) -> Outcome<String> {
    Ok(match js.type_of(value)? {
        Type::Undefined => "undefined".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => js.to_boolean(value)?.to_string(),
        Type::Number => number_text(js.to_number(value)?),
        Type::String => "a string".to_owned(),
        Type::Symbol => "a symbol".to_owned(),
        Type::Function => "a function".to_owned(),
        Type::Object if js.is_array(value)? => "an array".to_owned(),
        Type::Object => "an object".to_owned(),
        Type::Other => "a bigint or other value".to_owned(),
    })
}

/// A number, approximately as JavaScript writes it, for an error message.
fn number_text(number: f64) -> String {
    if number.is_infinite() {
        return format!("{}Infinity", if number < 0.0 { "-" } else { "" });
    }
    format!("the number {number}")
}

/// Appends a string's UTF-8 or bytes. Returns `None` for any other value.
fn append(js: Js<'_>, value: Value<'_>, scratch: &mut Vec<u8>) -> Outcome<Option<Range<usize>>> {
    let start = scratch.len();
    let found = js.append_string(value, scratch)?
        || js
            .with_bytes(value, |bytes| scratch.extend_from_slice(bytes))?
            .is_some();
    Ok(found.then_some(start..scratch.len()))
}

const TARGET: &str = "a socket id (a positive whole number), a channel name (a string or bytes) or an array of these";

const BYTES: &str = "a string, Uint8Array or ArrayBuffer";

/// The most elements for which a list reserves capacity before it has read them.
const LIST_ROOM: usize = 1024;
