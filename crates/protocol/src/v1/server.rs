//! The messages of the server: their headers, to which the caller appends a line feed and the payload if there is one.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::id::{Id, whole};
use crate::json::{self, Value, append_string};

/// The answer `ok`.
#[derive(Debug, Clone, Copy)]
pub struct Okay<'a> {
    /// The id of what it answers.
    pub id: &'a Id<'a>,
    /// The position of the channel or of the publication: epoch and offset.
    pub position: Option<(&'a str, u64)>,
    /// Whether nothing was missed since the position that the client gave.
    pub recovered: Option<bool>,
    /// How many publications follow that name what they answer.
    pub count: Option<u64>,
    /// How many of the last publications follow in front of what is published from now on.
    pub last: Option<u64>,
    /// Whether there is more behind this page.
    pub more: bool,
}

impl<'a> Okay<'a> {
    /// An answer that says nothing else.
    pub const fn new(id: &'a Id<'a>) -> Self {
        Self {
            id,
            position: None,
            recovered: None,
            count: None,
            last: None,
            more: false,
        }
    }

    /// Appends it.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"t\":\"ok\",\"id\":");
        self.id.append(out);
        append_position(self.position, out);
        match self.recovered {
            Some(true) => out.extend_from_slice(b",\"recovered\":true"),
            Some(false) => out.extend_from_slice(b",\"recovered\":false"),
            None => {}
        }
        if let Some(count) = self.count {
            append_number("n", count, out);
        }
        if let Some(last) = self.last {
            append_number("last", last, out);
        }
        if self.more {
            out.extend_from_slice(b",\"more\":true");
        }
        out.push(b'}');
    }
}

/// The header of a publication.
#[derive(Debug, Clone, Copy, Default)]
pub struct Publication<'a> {
    /// The channel's name.
    pub channel: &'a [u8],
    /// Its number.
    pub offset: Option<u64>,
    /// When it was published, in milliseconds since 1970.
    pub timestamp: Option<u64>,
    /// The publisher's socket id.
    pub from: Option<&'a str>,
    /// Whether this subscriber was excepted, so that it gets the header alone.
    pub excepted: bool,
    /// The mark of the virtual socket that is subscribed.
    pub mark: Option<Mark<'a>>,
    /// The id of the `hist` that it answers.
    pub answers: Option<&'a Id<'a>>,
}

/// How a virtual socket marks what is sent through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// A prefix: text in `v`, or base64 in `vb` if it is not UTF-8.
    Prefix(&'a [u8]),
    /// User data: a number in `v`.
    Number(i32),
}

impl Publication<'_> {
    /// Appends it.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        append_bytes("c", self.channel, out);
        if let Some(offset) = self.offset {
            append_number("o", offset, out);
        }
        if let Some(timestamp) = self.timestamp {
            append_number("ts", timestamp, out);
        }
        if let Some(from) = self.from {
            append_text("f", from, out);
        }
        if self.excepted {
            append_number("x", 1, out);
        }
        append_mark(self.mark, out);
        if let Some(id) = self.answers {
            out.extend_from_slice(b",\"re\":");
            id.append(out);
        }
        out.push(b'}');
    }
}

/// The channel and the offset of a publication of this server. `None`: the message is none, or has no offset among those of
/// its reader's own subscription, because it is an answer or for a virtual socket.
pub fn number_of(message: &[u8]) -> Option<(Cow<'_, [u8]>, u64)> {
    let end = memchr::memchr(b'\n', message)?;
    let Some(Value::Object(object)) = json::parse(message.get(..end)?) else {
        return None;
    };
    let (mut channel, mut offset) = (None, None);
    for (name, value) in object.members() {
        match (&*name.decode(), value) {
            ("c", Value::String(text)) => {
                channel = Some(Cow::Owned(text.decode().into_owned().into_bytes()));
            }
            ("cb", Value::String(text)) => {
                let name = BASE64_STANDARD.decode(text.decode().as_bytes());
                channel = name.ok().map(Cow::Owned);
            }
            ("o", value) => offset = whole(value),
            ("t" | "v" | "vb" | "re", _) => return None,
            _ => {}
        }
    }
    channel.zip(offset)
}

/// Reads the mark of a virtual socket in a header of this server.
pub fn mark_of<R>(header: &[u8], read: impl FnOnce(Mark<'_>) -> R) -> Option<R> {
    let Some(Value::Object(object)) = json::parse(header) else {
        return None;
    };
    for (name, value) in object.members() {
        match (&*name.decode(), value) {
            ("v", Value::Number(digits)) => return digits.parse().ok().map(Mark::Number).map(read),
            ("v", Value::String(text)) => {
                return Some(read(Mark::Prefix(text.decode().as_bytes())));
            }
            ("vb", Value::String(text)) => {
                let prefix = BASE64_STANDARD.decode(text.decode().as_bytes()).ok()?;
                return Some(read(Mark::Prefix(&prefix)));
            }
            _ => {}
        }
    }
    None
}

/// Appends the header of what is sent to this socket, not by a channel.
pub fn append_direct(mark: Option<Mark<'_>>, out: &mut Vec<u8>) {
    out.push(b'{');
    append_mark(mark, out);
    out.push(b'}');
}

/// Appends `hi`: the first message, with the socket's id and the interval of pings in milliseconds.
pub fn append_hi(socket: &str, ping: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"t\":\"hi\",\"v\":1");
    append_text("s", socket, out);
    append_number("ping", ping, out);
    out.push(b'}');
}

/// Appends `err`. `code` is [`Code::text`](super::Code::text), or that of a handler. Without an id it answers what had no
/// id, or one that is in use.
pub fn append_error(id: Option<&Id<'_>>, code: &str, reason: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"t\":\"err\"");
    if let Some(id) = id {
        out.extend_from_slice(b",\"id\":");
        id.append(out);
    }
    append_text("code", code, out);
    if let Some(reason) = reason {
        append_text("reason", reason, out);
    }
    out.push(b'}');
}

/// Appends `pong`.
pub fn append_pong(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"t\":\"pong\"}");
}

/// Appends `sub`: the server has subscribed this socket by itself.
pub fn append_subscribed(channel: &[u8], position: Option<(&str, u64)>, out: &mut Vec<u8>) {
    begin("sub", channel, out);
    append_position(position, out);
    out.push(b'}');
}

/// Appends `gap`: publications up to this position were lost for this subscriber.
pub fn append_gap(channel: &[u8], position: (&str, u64), out: &mut Vec<u8>) {
    begin("gap", channel, out);
    append_position(Some(position), out);
    out.push(b'}');
}

/// Appends `call`: a request of the server.
pub fn append_call(id: &Id<'_>, method: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"t\":\"call\",\"id\":");
    id.append(out);
    append_text("m", method, out);
    out.push(b'}');
}

/// What has happened to members of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberEvent {
    /// They are new.
    Join,
    /// They are gone.
    Leave,
    /// They say something else of themselves.
    Update,
}

/// Appends `join`, `leave` or `update` with members: the id of each one's socket and its info in JSON, if it has one.
pub fn append_members<'m>(
    event: MemberEvent,
    channel: &[u8],
    members: impl IntoIterator<Item = (&'m str, Option<&'m str>)>,
    out: &mut Vec<u8>,
) {
    let kind = match event {
        MemberEvent::Join => "join",
        MemberEvent::Leave => "leave",
        MemberEvent::Update => "update",
    };
    begin(kind, channel, out);
    out.extend_from_slice(b",\"m\":");
    append_member_list(members, out);
    out.push(b'}');
}

/// Appends members as a payload: an array of objects with the id of each one's socket and its info in JSON, if it has one.
pub fn append_member_list<'m>(
    members: impl IntoIterator<Item = (&'m str, Option<&'m str>)>,
    out: &mut Vec<u8>,
) {
    out.push(b'[');
    for (place, (socket, info)) in members.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"s\":");
        append_string(socket, out);
        if let Some(info) = info {
            out.extend_from_slice(b",\"info\":");
            out.extend_from_slice(info.as_bytes());
        }
        out.push(b'}');
    }
    out.push(b']');
}

/// A value in JSON without the spaces between its parts, and so without line ends.
pub fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for character in json.chars() {
        if is_text {
            is_text = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
        } else if matches!(character, ' ' | '\t' | '\r' | '\n') {
            continue;
        } else {
            is_text = character == '"';
        }
        out.push(character);
    }
    out
}

/// Appends `count`: how many members a channel has.
pub fn append_count(channel: &[u8], members: u64, out: &mut Vec<u8>) {
    begin("count", channel, out);
    append_number("n", members, out);
    out.push(b'}');
}

fn begin(kind: &str, channel: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"t\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.push(b'"');
    append_bytes("c", channel, out);
}

fn append_position(position: Option<(&str, u64)>, out: &mut Vec<u8>) {
    if let Some((epoch, offset)) = position {
        append_text("e", epoch, out);
        append_number("o", offset, out);
    }
}

fn append_mark(mark: Option<Mark<'_>>, out: &mut Vec<u8>) {
    match mark {
        None => {}
        Some(Mark::Prefix(prefix)) => append_bytes("v", prefix, out),
        Some(Mark::Number(number)) => {
            append_name("v", out);
            out.extend_from_slice(number.to_string().as_bytes());
        }
    }
}

/// Appends bytes as text, or in base64 under a name that ends in `b` if they are not UTF-8.
fn append_bytes(name: &str, bytes: &[u8], out: &mut Vec<u8>) {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return append_text(name, text, out);
    }
    append_name(&[name, "b"].concat(), out);
    out.push(b'"');
    out.extend_from_slice(BASE64_STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}

fn append_text(name: &str, text: &str, out: &mut Vec<u8>) {
    append_name(name, out);
    append_string(text, out);
}

fn append_number(name: &str, number: u64, out: &mut Vec<u8>) {
    append_name(name, out);
    out.extend_from_slice(number.to_string().as_bytes());
}

/// Appends the name of a field, behind a comma unless it is the first.
fn append_name(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}
