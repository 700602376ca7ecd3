//! Event streams of channels, for clients that know nothing of `millrace.v1`: makes events of its messages, with the positions of
//! the channels in the field `id`. A browser gives them back as `Last-Event-ID`, so nothing is missed. Pure. Over 400 lines because its tests are beside it.

use std::borrow::Cow;

use super::{append_binary, append_close, append_text, append_type};
use crate::json::{self, Value, append_string};

/// The channels of one stream, and how far it has got.
#[derive(Debug)]
pub struct Positions {
    channels: Vec<Channel>,
    /// Whether all channels have answered, so that events have ids.
    whole: bool,
}

#[derive(Debug)]
struct Channel {
    name: String,
    /// Where the client was; `None`: it is new.
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

/// The type of the event that tells of publications that are missing.
const GAP_EVENT: &str = "gap";

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
            whole: false,
        }
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
        let end = message.iter().position(|byte| *byte == b'\n');
        let (header, payload) = message.split_at(end.unwrap_or(message.len()));
        let payload = payload.get(1..).unwrap_or_default();
        let seen = Seen::read(header);
        match seen.kind.as_deref() {
            None => self.message(&seen, (is_text, payload), out),
            Some("ok") => self.answered(&seen, out),
            Some("gap") => {
                if let Some(index) = self.index(&seen) {
                    self.move_to(index, &seen);
                    self.append_gap(index, out);
                    self.append_id(out, b"\n");
                }
            }
            Some("err") => {
                let reason = seen.reason.as_deref().unwrap_or_default();
                append_close(out, TRY_LATER, reason);
                return false;
            }
            Some(_) => {}
        }
        true
    }

    fn answered(&mut self, seen: &Seen<'_>, out: &mut Vec<u8>) {
        let Some(channel) = seen.id.and_then(|id| self.channels.get_mut(id)) else {
            return;
        };
        let before = channel.asked.as_ref().map(|(_, offset)| *offset);
        channel.place = match (seen.position(), before) {
            (None, _) => Place::Unnumbered,
            // what was missed follows
            (Some((epoch, _)), Some(offset)) if seen.recovered == Some(true) => {
                Place::At(epoch, offset)
            }
            (Some((epoch, offset)), _) => Place::At(epoch, offset),
        };
        if seen.recovered != Some(false) {
            channel.asked = None;
        }
        let is_known = |channel: &Channel| !matches!(channel.place, Place::Unknown);
        if self.whole || !self.channels.iter().all(is_known) {
            return;
        }
        self.whole = true;
        for index in 0..self.channels.len() {
            // only those that were not recovered still have it
            let lost = self
                .channels
                .get_mut(index)
                .and_then(|channel| channel.asked.take());
            if lost.is_some() {
                self.append_gap(index, out);
            }
        }
        self.append_id(out, b"\n");
    }

    fn message(&mut self, seen: &Seen<'_>, (is_text, payload): (bool, &[u8]), out: &mut Vec<u8>) {
        let index = self.index(seen);
        if let Some(index) = index {
            self.move_to(index, seen);
        }
        if seen.excepted {
            return self.append_id(out, b"\n");
        }
        let named = index.filter(|_| self.channels.len() > 1);
        let named = named.and_then(|index| self.channels.get(index));
        if index.is_some() {
            self.append_id(out, b"");
        }
        match named {
            None if is_text => append_text(out, payload),
            None => append_binary(out, payload),
            Some(channel) if is_text => {
                append_type(out, &channel.name);
                append_text(out, payload);
            }
            // the last type counts, so it is that of bytes with the name behind it
            Some(channel) => {
                append_type(out, &format!("{} {}", super::BINARY_EVENT, channel.name));
                super::append_base64(out, payload);
                out.push(b'\n');
            }
        }
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

    /// Appends the positions of all channels, if they are known.
    fn append_id(&self, out: &mut Vec<u8>, end: &[u8]) {
        if !self.whole {
            return;
        }
        out.extend_from_slice(b"id: ");
        for (index, channel) in self.channels.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match &channel.place {
                Place::At(epoch, offset) => {
                    out.extend_from_slice(format!("{epoch}:{offset}").as_bytes());
                }
                Place::Unnumbered | Place::Unknown => out.push(b'-'),
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
    recovered: Option<bool>,
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
                ("reason", Value::String(text)) => seen.reason = Some(text.decode()),
                ("recovered", Value::Bool(recovered)) => seen.recovered = Some(recovered),
                ("id", _) => seen.id = number.and_then(|id| usize::try_from(id).ok()),
                ("o", _) => seen.offset = number,
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
mod tests {
    use super::*;

    fn events(stream: &mut Positions, messages: &[&str]) -> String {
        let mut out = Vec::new();
        for message in messages {
            stream.append(true, message.as_bytes(), &mut out);
        }
        String::from_utf8(out).unwrap()
    }

    fn subscriptions(stream: &Positions) -> Vec<String> {
        let all = stream.subscriptions();
        all.map(|message| String::from_utf8(message).unwrap())
            .collect()
    }

    #[test]
    fn a_channel_with_history_has_ids() {
        let mut stream = Positions::new(vec!["a".into()], None);
        assert_eq!(
            subscriptions(&stream),
            ["{\"t\":\"sub\",\"id\":0,\"c\":\"a\"}"]
        );
        let told = events(
            &mut stream,
            &[
                "{\"t\":\"hi\",\"v\":1}",
                "{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":3}",
                "{\"c\":\"a\",\"o\":4,\"ts\":9}\nx\ny",
                "{\"c\":\"a\",\"o\":5,\"x\":1}",
                "{}\ndirect",
                "{\"t\":\"gap\",\"c\":\"a\",\"e\":\"cd\",\"o\":1}",
            ],
        );
        let expected = [
            "id: ab:3\n\n",
            "id: ab:4\ndata: x\ndata: y\n\n",
            "id: ab:5\n\n",
            "data: direct\n\n",
            "event: gap\ndata: {\"c\":\"a\",\"e\":\"cd\",\"o\":1}\n\nid: cd:1\n\n",
        ];
        assert_eq!(told, expected.concat());
        let mut out = Vec::new();
        stream.append(false, b"{\"c\":\"a\",\"o\":2}\n\0", &mut out);
        assert_eq!(out, b"id: cd:2\nevent: binary\ndata: AA==\n\n");
    }

    #[test]
    fn several_channels_have_a_list_and_names() {
        let mut stream = Positions::new(vec!["a".into(), "b".into()], Some("ab:3,-"));
        let since = ",\"since\":{\"e\":\"ab\",\"o\":3}}";
        assert_eq!(
            subscriptions(&stream),
            [
                format!("{{\"t\":\"sub\",\"id\":0,\"c\":\"a\"{since}"),
                "{\"t\":\"sub\",\"id\":1,\"c\":\"b\",\"since\":{\"e\":\"-\",\"o\":0}}".into()
            ]
        );
        let told = events(
            &mut stream,
            &[
                "{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":4,\"recovered\":true}",
                "{\"t\":\"ok\",\"id\":1,\"recovered\":false}",
                "{\"c\":\"a\",\"o\":4}\nx",
                "{\"c\":\"b\"}\ny",
            ],
        );
        let expected = [
            "event: gap\ndata: {\"c\":\"b\"}\n\n",
            "id: ab:3,-\n\n",
            "id: ab:4,-\nevent: a\ndata: x\n\n",
            "id: ab:4,-\nevent: b\ndata: y\n\n",
        ];
        assert_eq!(told, expected.concat());
    }

    #[test]
    fn what_is_no_position_is_a_gap() {
        for last in [
            "x",
            "a:b:c",
            "ab:-1",
            "ab:1,cd:2",
            ",",
            "ab:9007199254740992",
            "\"e\":1",
        ] {
            let mut stream = Positions::new(vec!["a".into()], Some(last));
            assert!(
                subscriptions(&stream)[0].contains("{\"e\":\"-\",\"o\":0}"),
                "{last}"
            );
            let told = events(
                &mut stream,
                &["{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":4,\"recovered\":false}"],
            );
            assert_eq!(
                told,
                "event: gap\ndata: {\"c\":\"a\",\"e\":\"ab\",\"o\":4}\n\nid: ab:4\n\n"
            );
        }
    }

    #[test]
    fn a_subscription_that_fails_ends_the_stream() {
        let mut stream = Positions::new(vec!["a".into()], Some(""));
        let mut out = Vec::new();
        let answer = b"{\"t\":\"err\",\"id\":0,\"code\":\"limit\",\"reason\":\"full\"}";
        assert!(!stream.append(true, answer, &mut out));
        assert_eq!(out, b"event: close\ndata: 1013 full\n\n");
    }
}
