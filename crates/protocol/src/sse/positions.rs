//! Event streams of channels, for clients that know nothing of `millrace.v1`: makes events of its messages, with the positions of
//! the channels in the field `id`. A browser gives them back as `Last-Event-ID`, so nothing is missed. Pure.

use std::borrow::Cow;

use super::pieces::Coding;
use super::{
    BINARY_EVENT, GAP_EVENT, Pieces, append_base64, append_close, append_data, append_text,
    append_type,
};
use crate::json::{self, Value, append_string};

/// The channels of one stream, and how far it has got.
#[derive(Debug)]
pub struct Positions {
    channels: Vec<Channel>,
    /// Whether a channel has answered, so that events have ids.
    has_ids: bool,
    outcome: Outcome,
}

/// What has become of the subscriptions of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Not all are answered.
    Open,
    /// They are, or one was refused for a reason that may pass, or that only the application knows.
    Settled,
    /// The client may not subscribe to one.
    Denied,
}

#[derive(Debug)]
struct Channel {
    name: String,
    /// Where the client was, until the subscription is answered; `None`: it is new.
    asked: Option<(String, u64)>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// The subscription is not answered.
    Unknown,
    /// The channel has no history.
    Unnumbered,
    At(String, u64),
}

/// The close code if a subscription is not possible now.
const TRY_LATER: u16 = 1013;

/// An epoch that no channel has, for a client whose position is unknown: it is told a gap.
const NO_EPOCH: &str = "-";

impl Positions {
    /// The stream of channels with different names. `last` is `Last-Event-ID`: what is no position of theirs is a gap.
    pub fn new(names: Vec<String>, last: Option<&str>) -> Self {
        let last = last.filter(|last| !last.is_empty());
        let count = last.map_or(0, |last| last.split(',').count());
        let mut given = last
            .filter(|_| count == names.len())
            .unwrap_or_default()
            .split(',');
        let mut asked = || {
            let position = given.next().and_then(position);
            last.map(|_| position.unwrap_or_else(|| (NO_EPOCH.to_owned(), 0)))
        };
        let channels = names.into_iter().map(|name| Channel {
            name,
            asked: asked(),
            place: Place::Unknown,
        });
        Self {
            channels: channels.collect(),
            has_ids: false,
            outcome: Outcome::Open,
        }
    }

    /// What has become of its subscriptions.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The messages that subscribe it, in this order.
    pub fn subscriptions(&self) -> impl Iterator<Item = Vec<u8>> {
        self.channels.iter().enumerate().map(|(id, channel)| {
            let mut line = format!("{{\"t\":\"sub\",\"id\":{id},\"c\":").into_bytes();
            append_string(&channel.name, &mut line);
            if let Some((epoch, offset)) = &channel.asked {
                line.extend_from_slice(b",\"since\":{\"e\":");
                append_string(epoch, &mut line);
                line.extend_from_slice(format!(",\"o\":{offset}}}").as_bytes());
            }
            line.push(b'}');
            line
        })
    }

    /// Appends what a message of the server is to this stream. False: the stream is over.
    pub fn append(&mut self, is_text: bool, message: &[u8], out: &mut Vec<u8>) -> bool {
        let (header, payload) = split(message);
        match self.begin(is_text, header, out) {
            Begun::Over => return false,
            Begun::Whole => return true,
            Begun::Data(Coding::Lines) => append_data(out, payload),
            Begun::Data(Coding::Base64) => append_base64(out, payload),
        }
        out.push(b'\n');
        true
    }

    /// The same for a long message, whose payload is appended in pieces. `None`: the stream is over.
    pub fn pieces(&mut self, is_text: bool, message: &[u8], out: &mut Vec<u8>) -> Option<Pieces> {
        let (header, payload) = split(message);
        match self.begin(is_text, header, out) {
            Begun::Over => None,
            Begun::Whole => Some(Pieces::nothing_of(message.len())),
            Begun::Data(coding) => {
                let before = message.len() - payload.len();
                Some(Pieces::of_data(message, before, coding))
            }
        }
    }

    /// Appends what is in front of the data of a message.
    fn begin(&mut self, is_text: bool, header: &[u8], out: &mut Vec<u8>) -> Begun {
        let seen = Seen::read(header);
        match seen.kind.as_deref() {
            None => return self.message(&seen, is_text, out),
            Some("ok") => self.answered(&seen, out),
            Some("gap") => {
                if let Some(index) = self.index(&seen) {
                    self.move_to(index, &seen);
                    self.append_gap(index, out);
                    self.append_id(out, b"\n");
                }
            }
            Some("err") => {
                if self.outcome == Outcome::Open {
                    self.outcome = match seen.code.as_deref() {
                        Some("denied") => Outcome::Denied,
                        _ => Outcome::Settled,
                    };
                }
                let reason = seen.reason.as_deref().unwrap_or_default();
                append_close(out, TRY_LATER, reason);
                return Begun::Over;
            }
            Some(_) => {}
        }
        Begun::Whole
    }

    fn answered(&mut self, seen: &Seen<'_>, out: &mut Vec<u8>) {
        let Some((index, channel)) = seen
            .id
            .and_then(|id| Some((id, self.channels.get_mut(id)?)))
        else {
            return;
        };
        let before = channel
            .shown()
            .map(|(epoch, offset)| (epoch.to_owned(), offset));
        let asked = channel.asked.take();
        let is_lost = asked.is_some() && seen.recovered == Some(false);
        channel.place = match (seen.position(), asked) {
            (None, _) => Place::Unnumbered,
            // what was missed follows
            (Some((epoch, _)), Some((_, offset))) if seen.recovered == Some(true) => {
                Place::At(epoch, offset)
            }
            // what the application has on its way follows, too
            (Some((epoch, offset)), _) => {
                Place::At(epoch, offset.saturating_sub(seen.last.unwrap_or_default()))
            }
        };
        let before = before.as_ref().map(|(epoch, offset)| (&**epoch, *offset));
        let is_news = channel.shown() != before;
        let is_first = !std::mem::replace(&mut self.has_ids, true);
        if is_lost {
            self.append_gap(index, out);
        }
        if is_lost || is_first || is_news {
            self.append_id(out, b"\n");
        }
        let mut channels = self.channels.iter();
        if channels.all(|channel| !matches!(channel.place, Place::Unknown)) {
            self.outcome = Outcome::Settled;
        }
    }

    fn message(&mut self, seen: &Seen<'_>, is_text: bool, out: &mut Vec<u8>) -> Begun {
        let index = self.index(seen);
        if let Some(index) = index {
            self.move_to(index, seen);
        }
        if seen.excepted {
            self.append_id(out, b"\n");
            return Begun::Whole;
        }
        if index.is_some() {
            self.append_id(out, b"");
        }
        let named = index.filter(|_| self.channels.len() > 1);
        match named.and_then(|index| self.channels.get(index)) {
            None if is_text => {}
            None => append_type(out, BINARY_EVENT),
            Some(channel) if is_text => append_type(out, &channel.name),
            Some(channel) => append_type(out, &format!("{BINARY_EVENT} {}", channel.name)),
        }
        Begun::Data(if is_text {
            Coding::Lines
        } else {
            Coding::Base64
        })
    }

    /// The channel that a message is about; `None` for another one, and for what came through a virtual socket.
    fn index(&self, seen: &Seen<'_>) -> Option<usize> {
        let name = seen.channel.as_deref().filter(|_| !seen.marked)?;
        self.channels
            .iter()
            .position(|channel| channel.name == name)
    }

    fn move_to(&mut self, index: usize, seen: &Seen<'_>) {
        let Some(channel) = self.channels.get_mut(index) else {
            return;
        };
        match (&mut channel.place, seen.offset) {
            (Place::At(epoch, offset), Some(new)) => {
                *offset = new;
                if let Some(renewed) = &seen.epoch {
                    *epoch = renewed.to_string();
                }
            }
            (place, _) => {
                if let Some((epoch, offset)) = seen.position() {
                    *place = Place::At(epoch, offset);
                }
            }
        }
    }

    /// Appends the positions of all channels, if one of them is known.
    fn append_id(&self, out: &mut Vec<u8>, end: &[u8]) {
        if !self.has_ids {
            return;
        }
        out.extend_from_slice(b"id: ");
        for (index, channel) in self.channels.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match channel.shown() {
                Some((epoch, offset)) => {
                    out.extend_from_slice(format!("{epoch}:{offset}").as_bytes());
                }
                // a client that comes back with this is told a gap
                None => out.push(b'-'),
            }
        }
        out.push(b'\n');
        out.extend_from_slice(end);
    }

    fn append_gap(&self, index: usize, out: &mut Vec<u8>) {
        let Some(channel) = self.channels.get(index) else {
            return;
        };
        append_type(out, GAP_EVENT);
        let mut data = b"{\"c\":".to_vec();
        append_string(&channel.name, &mut data);
        if let Place::At(epoch, offset) = &channel.place {
            data.extend_from_slice(b",\"e\":");
            append_string(epoch, &mut data);
            data.extend_from_slice(format!(",\"o\":{offset}").as_bytes());
        }
        data.push(b'}');
        append_text(out, &data);
    }
}

impl Channel {
    /// The position that an id has of it: until it has answered, that of the client.
    fn shown(&self) -> Option<(&str, u64)> {
        match (&self.place, &self.asked) {
            (Place::At(epoch, offset), _) | (Place::Unknown, Some((epoch, offset)))
                if epoch != NO_EPOCH =>
            {
                Some((epoch, *offset))
            }
            _ => None,
        }
    }
}

/// What a message is, when what stands in front of its data is written.
enum Begun {
    /// Its event is complete, or it has none.
    Whole,
    /// Its payload is the data of its event.
    Data(Coding),
    /// The end of the stream.
    Over,
}

/// The header of a message, and its payload.
fn split(message: &[u8]) -> (&[u8], &[u8]) {
    let (header, payload) = super::split(message);
    (header, payload.unwrap_or_default())
}

/// A position as it stands in an id; `None`: it is none.
fn position(text: &str) -> Option<(String, u64)> {
    let (epoch, offset) = text.trim().split_once(':')?;
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let fits = (1..=EPOCH_BYTES).contains(&epoch.len()) && epoch.bytes().all(is_one);
    let offset = offset.parse().ok().filter(|offset| *offset <= MOST_EXACT)?;
    fits.then(|| (epoch.to_owned(), offset))
}

/// The most characters of an epoch.
const EPOCH_BYTES: usize = 16;

/// The greatest number up to which a double has every whole number.
const MOST_EXACT: u64 = (1 << 53) - 1;

/// The fields of a header of the server that matter here.
#[derive(Default)]
struct Seen<'a> {
    kind: Option<Cow<'a, str>>,
    id: Option<usize>,
    channel: Option<Cow<'a, str>>,
    epoch: Option<Cow<'a, str>>,
    offset: Option<u64>,
    /// How many of the last messages follow an answer.
    last: Option<u64>,
    recovered: Option<bool>,
    code: Option<Cow<'a, str>>,
    reason: Option<Cow<'a, str>>,
    excepted: bool,
    marked: bool,
}

impl<'a> Seen<'a> {
    fn read(header: &'a [u8]) -> Self {
        let mut seen = Self::default();
        let Some(Value::Object(object)) = json::parse(header) else {
            return seen;
        };
        for (name, value) in object.members() {
            let number = value
                .integer()
                .and_then(|number| u64::try_from(number).ok());
            match (&*name.decode(), value) {
                ("t", Value::String(text)) => seen.kind = Some(text.decode()),
                ("c", Value::String(text)) => seen.channel = Some(text.decode()),
                ("e", Value::String(text)) => seen.epoch = Some(text.decode()),
                ("code", Value::String(text)) => seen.code = Some(text.decode()),
                ("reason", Value::String(text)) => seen.reason = Some(text.decode()),
                ("recovered", Value::Bool(recovered)) => seen.recovered = Some(recovered),
                ("id", _) => seen.id = number.and_then(|id| usize::try_from(id).ok()),
                ("o", _) => seen.offset = number,
                ("last", _) => seen.last = number,
                ("x", _) => seen.excepted = true,
                ("v" | "vb", _) => seen.marked = true,
                _ => {}
            }
        }
        seen
    }

    fn position(&self) -> Option<(String, u64)> {
        Some((self.epoch.as_deref()?.to_owned(), self.offset?))
    }
}

#[cfg(test)]
mod tests;
