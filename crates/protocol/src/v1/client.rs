//! The messages of a client. Owns the rules of what is malformed; does not know what a client may do.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::id::{Id, whole};
use super::{HEADER_BYTES, SHORT_BYTES};
use crate::json::{self, Object, Text, Value};

/// A message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming<'a> {
    /// What it asks for.
    pub operation: Operation<'a>,
    /// What follows the header; empty if nothing does.
    pub payload: &'a [u8],
}

/// What a client asks for, or answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation<'a> {
    /// `sub`: to get the publications of a channel.
    Subscribe {
        /// For the answer.
        id: Id<'a>,
        /// The channel's name.
        channel: Cow<'a, [u8]>,
        /// Where to begin; `None`: with the next publication.
        start: Option<Start<'a>>,
        /// What the client says of itself, in JSON as written.
        info: Option<&'a str>,
    },
    /// `unsub`: to get no more of them.
    Unsubscribe {
        /// For the answer.
        id: Id<'a>,
        /// The channel's name.
        channel: Cow<'a, [u8]>,
    },
    /// `pub`: to publish the payload.
    Publish {
        /// For the answer; `None`: none is wanted.
        id: Option<Id<'a>>,
        /// The channel's name.
        channel: Cow<'a, [u8]>,
        /// The idempotency key, at most [`SHORT_BYTES`] bytes.
        key: Option<Cow<'a, str>>,
    },
    /// `call`: to have a method of the server handle the payload.
    Call {
        /// For the answer.
        id: Id<'a>,
        /// The method.
        method: Cow<'a, str>,
    },
    /// `hist`: to get publications that the channel has kept.
    History {
        /// For the answer.
        id: Id<'a>,
        /// The channel's name.
        channel: Cow<'a, [u8]>,
        /// Only those behind this position.
        since: Option<Since<'a>>,
        /// The most publications; `None`: the default.
        limit: Option<u64>,
        /// Whether the newest come first.
        reverse: bool,
    },
    /// `pres`: to get the members of a channel.
    Presence {
        /// For the answer.
        id: Id<'a>,
        /// The channel's name.
        channel: Cow<'a, [u8]>,
        /// The most members; `None`: the default.
        limit: Option<u64>,
        /// Only those behind this socket id.
        after: Option<Cow<'a, str>>,
    },
    /// `info`: to change what the client says of itself.
    Info {
        /// For the answer.
        id: Id<'a>,
        /// The channel's name.
        channel: Cow<'a, [u8]>,
        /// JSON as written.
        info: &'a str,
    },
    /// `ping`: to see whether the server is there.
    Ping,
    /// `ok`: the payload is the result of a call of the server.
    Answer {
        /// The id of the call.
        id: Id<'a>,
    },
    /// `err`: a call of the server failed.
    Failure {
        /// The id of the call.
        id: Id<'a>,
        /// The code, at most [`SHORT_BYTES`] bytes.
        code: Cow<'a, str>,
        /// For people.
        reason: Option<Cow<'a, str>>,
    },
}

/// A position in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since<'a> {
    /// Which numbers these are.
    pub epoch: Cow<'a, str>,
    /// The number of a publication.
    pub offset: u64,
}

/// Where a subscription begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start<'a> {
    /// Behind this position.
    Since(Since<'a>),
    /// With as many of the newest publications that the channel has kept.
    Last(u64),
}

/// A malformed message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Bad<'a> {
    /// The message's id, if it could be read.
    pub id: Option<Id<'a>>,
    /// What is wrong.
    pub reason: &'static str,
}

/// Parses a message.
pub fn decode(message: &[u8]) -> Result<Incoming<'_>, Bad<'_>> {
    let (header, payload) = split(message)?;
    let Some(Value::Object(object)) = json::parse(header) else {
        return Err(Bad::unread("the header is not an object in JSON"));
    };
    let fields = Fields::of(object);
    match fields.operation() {
        Ok(operation) => Ok(Incoming { operation, payload }),
        Err(reason) => {
            let id = fields.id.and_then(Id::read);
            Err(Bad { id, reason })
        }
    }
}

impl Bad<'_> {
    fn unread(reason: &'static str) -> Self {
        Self { id: None, reason }
    }
}

/// The header, and the payload behind its line feed.
fn split(message: &[u8]) -> Result<(&[u8], &[u8]), Bad<'_>> {
    let searched = message.get(..=HEADER_BYTES).unwrap_or(message);
    match memchr::memchr(b'\n', searched) {
        Some(end) => {
            let (header, behind) = message.split_at(end);
            Ok((header, behind.get(1..).unwrap_or_default()))
        }
        None if searched.len() > HEADER_BYTES => Err(Bad::unread("the header is too long")),
        None => Ok((message, &[])),
    }
}

/// The fields that some operation has. Of a field that was given twice the last counts, and a null is as none: that is
/// what JavaScript makes of it.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<Value<'a>>,
    id: Option<Value<'a>>,
    channel: Option<Value<'a>>,
    channel_base64: Option<Value<'a>>,
    since: Option<Value<'a>>,
    last: Option<Value<'a>>,
    info: Option<(Value<'a>, &'a str)>,
    key: Option<Value<'a>>,
    method: Option<Value<'a>>,
    limit: Option<Value<'a>>,
    reverse: Option<Value<'a>>,
    after: Option<Value<'a>>,
    code: Option<Value<'a>>,
    reason: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    fn of(object: Object<'a>) -> Self {
        let mut fields = Self::default();
        for (name, value, written) in object.written_members() {
            let value = (!matches!(value, Value::Null)).then_some(value);
            let field = match &*name.decode() {
                "t" => &mut fields.kind,
                "id" => &mut fields.id,
                "c" => &mut fields.channel,
                "cb" => &mut fields.channel_base64,
                "since" => &mut fields.since,
                "last" => &mut fields.last,
                "info" => {
                    fields.info = value.map(|value| (value, written));
                    continue;
                }
                "key" => &mut fields.key,
                "m" => &mut fields.method,
                "limit" => &mut fields.limit,
                "reverse" => &mut fields.reverse,
                "after" => &mut fields.after,
                "code" => &mut fields.code,
                "reason" => &mut fields.reason,
                _ => continue,
            };
            *field = value;
        }
        fields
    }

    /// As it is written: others are told it.
    fn info(&self) -> Result<Option<&'a str>, &'static str> {
        let Some((value, written)) = self.info else {
            return Ok(None);
        };
        is_paired(value).then_some(Some(written)).ok_or(INFO)
    }

    fn operation(&self) -> Result<Operation<'a>, &'static str> {
        let kind = text(self.kind, "t must be text")?;
        Ok(match kind.as_deref() {
            Some("sub") => Operation::Subscribe {
                id: self.id()?,
                channel: self.channel()?,
                start: self.start()?,
                info: self.info()?,
            },
            Some("unsub") => Operation::Unsubscribe {
                id: self.id()?,
                channel: self.channel()?,
            },
            Some("pub") => Operation::Publish {
                id: self.optional_id()?,
                channel: self.channel()?,
                key: short(self.key, "key must be text of at most 64 bytes")?,
            },
            Some("call") => Operation::Call {
                id: self.id()?,
                method: text(self.method, METHOD)?.ok_or(METHOD)?,
            },
            Some("hist") => Operation::History {
                id: self.id()?,
                channel: self.channel()?,
                since: self.since()?,
                limit: number(self.limit, LIMIT)?,
                reverse: self.reverse()?,
            },
            Some("pres") => Operation::Presence {
                id: self.id()?,
                channel: self.channel()?,
                limit: number(self.limit, LIMIT)?,
                after: text(self.after, "after must be text")?,
            },
            Some("info") => Operation::Info {
                id: self.id()?,
                channel: self.channel()?,
                info: self.info()?.ok_or("info is missing")?,
            },
            Some("ping") => Operation::Ping,
            Some("ok") => Operation::Answer { id: self.id()? },
            Some("err") => Operation::Failure {
                id: self.id()?,
                code: short(self.code, CODE)?.ok_or(CODE)?,
                reason: text(self.reason, "reason must be text")?,
            },
            Some(_) => return Err("t names no operation"),
            None => return Err("t is missing"),
        })
    }

    fn id(&self) -> Result<Id<'a>, &'static str> {
        self.optional_id()?.ok_or("id is missing")
    }

    fn optional_id(&self) -> Result<Option<Id<'a>>, &'static str> {
        let read =
            |value| Id::read(value).ok_or("id must be a whole number or text of at most 64 bytes");
        self.id.map(read).transpose()
    }

    fn channel(&self) -> Result<Cow<'a, [u8]>, &'static str> {
        match (self.channel, self.channel_base64) {
            (Some(_), Some(_)) => Err("c and cb exclude each other"),
            (None, None) => Err("c is missing"),
            (name, None) => Ok(match text(name, "c must be text")?.ok_or("c is missing")? {
                Cow::Borrowed(name) => Cow::Borrowed(name.as_bytes()),
                Cow::Owned(name) => Cow::Owned(name.into_bytes()),
            }),
            (None, coded) => {
                let coded = text(coded, BASE64)?.ok_or(BASE64)?;
                let name = BASE64_STANDARD.decode(coded.as_bytes());
                name.map(Cow::Owned).map_err(|_| BASE64)
            }
        }
    }

    fn start(&self) -> Result<Option<Start<'a>>, &'static str> {
        let last = number(self.last, "last must be a whole number")?;
        match (self.since()?, last) {
            (Some(_), Some(_)) => Err("since and last exclude each other"),
            (since, last) => Ok(since.map(Start::Since).or(last.map(Start::Last))),
        }
    }

    fn since(&self) -> Result<Option<Since<'a>>, &'static str> {
        let position = match self.since {
            None => return Ok(None),
            Some(Value::Object(position)) => position,
            Some(_) => return Err(SINCE),
        };
        let (mut epoch, mut offset) = (None, None);
        for (name, value) in position.members() {
            match &*name.decode() {
                "e" => epoch = Some(value),
                "o" => offset = Some(value),
                _ => {}
            }
        }
        Ok(Some(Since {
            epoch: text(epoch, SINCE)?.ok_or(SINCE)?,
            offset: number(offset, SINCE)?.ok_or(SINCE)?,
        }))
    }

    fn reverse(&self) -> Result<bool, &'static str> {
        match self.reverse {
            None => Ok(false),
            Some(Value::Bool(reverse)) => Ok(reverse),
            Some(_) => Err("reverse must be true or false"),
        }
    }
}

const INFO: &str = "info must have no lone surrogate";
const METHOD: &str = "m must be text";
const LIMIT: &str = "limit must be a whole number";
const CODE: &str = "code must be text of at most 64 bytes";
const BASE64: &str = "cb must be base64";
const SINCE: &str = "since must have the text e and the whole number o";

fn text<'a>(
    value: Option<Value<'a>>,
    problem: &'static str,
) -> Result<Option<Cow<'a, str>>, &'static str> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => text.decode_paired().map(Some).ok_or(problem),
        Some(_) => Err(problem),
    }
}

/// Whether no text in it has a lone surrogate. The parser bounds the depth.
fn is_paired(value: Value<'_>) -> bool {
    let is_text = |text: Text<'_>| text.decode_paired().is_some();
    match value {
        Value::String(text) => is_text(text),
        Value::Array(array) => array.values().all(is_paired),
        Value::Object(object) => {
            let mut members = object.members();
            members.all(|(name, value)| is_text(name) && is_paired(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn short<'a>(
    value: Option<Value<'a>>,
    problem: &'static str,
) -> Result<Option<Cow<'a, str>>, &'static str> {
    match text(value, problem)? {
        Some(text) if text.len() > SHORT_BYTES => Err(problem),
        text => Ok(text),
    }
}

fn number(value: Option<Value<'_>>, problem: &'static str) -> Result<Option<u64>, &'static str> {
    value.map(|value| whole(value).ok_or(problem)).transpose()
}
