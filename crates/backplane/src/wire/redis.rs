//! Redis, Valkey and other servers with RESP3, on one connection: commands are sent without waiting for replies,
//! which come in the same order; published messages come in between. Owns that order.

mod server;

use std::collections::VecDeque;

use super::command::{command, put, split_command};
use super::reply::{self, Parsed, TooLong, Value};
use super::{Event, Source, Wire, WireError, shown};
use crate::config::Credentials;
use crate::envelope::{self, HEAD_BYTES};
use crate::outlet::Outgoing;
use crate::topic::{Prefix, Topic};
use server::{is_moved, slot_range, unfit};

/// See the module.
#[derive(Debug)]
pub(crate) struct Redis {
    prefix: Prefix,
    credentials: Credentials,
    /// Whether channels are sharded channels of the cluster.
    is_cluster: bool,
    /// What the outstanding replies answer.
    expected: VecDeque<Expected>,
    unconfirmed: u64,
    longest: usize,
    /// The remaining bytes of a text that is skipped because it is too long.
    to_skip: usize,
    /// The number of following values that belong to it and are skipped, too.
    to_drop: usize,
}

#[derive(Debug)]
enum Expected {
    Hello,
    Published,
    Subscribed(Topic),
    Unsubscribed(Topic),
    Slots,
    /// A reply that is ignored.
    Anything,
}

impl Redis {
    /// `longest` is the most bytes of one message.
    pub(crate) fn new(
        prefix: &str,
        credentials: Credentials,
        is_cluster: bool,
        longest: usize,
    ) -> Self {
        Self {
            // on a cluster all channels are in the sharded name space
            prefix: Prefix::new(prefix, ':', if is_cluster { ';' } else { ':' }),
            credentials,
            is_cluster,
            expected: VecDeque::new(),
            unconfirmed: 0,
            longest: longest.saturating_add(HEAD_BYTES),
            to_skip: 0,
            to_drop: 0,
        }
    }

    /// Queries the slots of the cluster's nodes. [`Event::Slots`] follows.
    fn ask_slots(&mut self, out: &mut Vec<u8>) {
        command(out, &[b"CLUSTER", b"SLOTS"]);
        self.expected.push_back(Expected::Slots);
    }

    /// Appends a command with a topic's name on the server.
    fn about(&self, names: [&[u8]; 3], topic: &Topic, out: &mut Vec<u8>) {
        let [plain, sharded, pattern] = names;
        let front = self.prefix.channels();
        let plain = if self.is_cluster { sharded } else { plain };
        match topic {
            Topic::Channel(name) => split_command(out, plain, &[front, name]),
            Topic::Sharded(name) => split_command(out, sharded, &[self.prefix.sharded(), name]),
            Topic::Pattern(name) => split_command(out, pattern, &[front, name]),
            Topic::Control => split_command(out, plain, &[self.prefix.control()]),
        }
    }

    fn reply(
        &mut self,
        value: &Value<'_>,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), WireError> {
        let Some(expected) = self.expected.pop_front() else {
            return Err(match value {
                Value::Error(text) => WireError::Ended(shown(text)),
                _ => WireError::Protocol("a reply without a command"),
            });
        };
        match (expected, value) {
            (Expected::Hello | Expected::Slots, Value::Error(text)) => {
                return Err(WireError::Refused(shown(text)));
            }
            (Expected::Hello, hello) => match unfit(hello) {
                None => each(Event::Ready),
                Some(why) => return Err(WireError::Refused(why.to_owned())),
            },
            (Expected::Slots, Value::List(ranges)) => {
                each(Event::Slots(ranges.iter().filter_map(slot_range).collect()));
            }
            (Expected::Published, Value::Error(text)) => {
                self.unconfirmed -= 1;
                if is_moved(text) {
                    each(Event::Moved);
                }
                each(Event::NotPublished(&shown(text)));
            }
            (Expected::Published, _) => {
                self.unconfirmed -= 1;
                each(Event::Published(1));
            }
            (Expected::Subscribed(topic), Value::Error(text)) => {
                if is_moved(text) {
                    each(Event::Unsubscribed(topic));
                    each(Event::Moved);
                } else {
                    each(Event::Refused(topic, &shown(text)));
                }
            }
            (Expected::Unsubscribed(topic), Value::Error(_)) => each(Event::Unsubscribed(topic)),
            (Expected::Subscribed(_) | Expected::Unsubscribed(_), _) => {
                return Err(WireError::Protocol("an invalid answer to a subscription"));
            }
            (Expected::Anything | Expected::Slots, _) => {}
        }
        Ok(())
    }

    fn push(
        &mut self,
        items: &[Value<'_>],
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), WireError> {
        match items {
            [
                Value::Text(b"message"),
                Value::Text(name),
                Value::Text(payload),
            ] => {
                if let Some(source) = self.source(name, false) {
                    each(Event::Message(source, payload));
                }
            }
            [
                Value::Text(b"smessage"),
                Value::Text(name),
                Value::Text(payload),
            ] => {
                if let Some(source) = self.source(name, true) {
                    each(Event::Message(source, payload));
                }
            }
            [
                Value::Text(b"pmessage"),
                Value::Text(pattern),
                Value::Text(name),
                Value::Text(payload),
            ] => {
                let front = self.prefix.channels();
                if let (Some(pattern), Some(name)) =
                    (pattern.strip_prefix(front), name.strip_prefix(front))
                {
                    each(Event::Message(Source::Pattern(pattern, name), payload));
                }
            }
            [
                Value::Text(b"subscribe" | b"psubscribe" | b"ssubscribe"),
                ..,
            ] => {
                let Some(Expected::Subscribed(topic)) = self.expected.pop_front() else {
                    return Err(WireError::Protocol("a subscription that was not requested"));
                };
                each(Event::Subscribed(topic));
            }
            [
                Value::Text(b"unsubscribe" | b"punsubscribe" | b"sunsubscribe"),
                Value::Text(name),
                ..,
            ] => {
                if matches!(self.expected.front(), Some(Expected::Unsubscribed(topic)) if self.is_called(topic, name))
                {
                    if let Some(Expected::Unsubscribed(topic)) = self.expected.pop_front() {
                        each(Event::Unsubscribed(topic));
                    }
                } else if let Some(topic) = self.topic(name) {
                    // the slot moved to another node of the cluster
                    each(Event::Unsubscribed(topic));
                    each(Event::Moved);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Skips a text that is too long, with the values that belong to it.
    fn pass_over(
        &mut self,
        long: TooLong,
        is_push: bool,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), WireError> {
        if let Some(left) = self.to_drop.checked_sub(1)
            && long.behind == 0
        {
            self.to_drop = left;
            return Ok(());
        }
        if !is_push || self.to_drop > 0 || long.behind > PARTS_OF_A_MESSAGE {
            return Err(WireError::Protocol("a value is too long"));
        }
        self.to_drop = long.behind;
        each(Event::TooLong);
        Ok(())
    }

    fn source<'n>(&self, name: &'n [u8], is_sharded: bool) -> Option<Source<'n>> {
        if self.is_cluster || !is_sharded {
            if let Some(channel) = name.strip_prefix(self.prefix.channels()) {
                return Some(Source::Channel(channel));
            }
            if name == self.prefix.control() {
                return Some(Source::Control);
            }
        }
        let channel = name.strip_prefix(self.prefix.sharded());
        channel.filter(|_| is_sharded).map(Source::Sharded)
    }

    /// The topic of a name that the server has unsubscribed by itself. This happens only to sharded channels,
    /// when they move.
    fn topic(&self, name: &[u8]) -> Option<Topic> {
        match self.source(name, true)? {
            Source::Channel(name) => Some(Topic::Channel(name.into())),
            Source::Sharded(name) => Some(Topic::Sharded(name.into())),
            Source::Control => Some(Topic::Control),
            Source::Pattern(..) | Source::Any(_) => None,
        }
    }

    fn is_called(&self, topic: &Topic, name: &[u8]) -> bool {
        match topic {
            Topic::Channel(own) | Topic::Pattern(own) => {
                name.strip_prefix(self.prefix.channels()) == Some(own)
            }
            Topic::Sharded(own) => name.strip_prefix(self.prefix.sharded()) == Some(own),
            Topic::Control => name == self.prefix.control(),
        }
    }
}

impl Wire for Redis {
    fn open(&mut self, out: &mut Vec<u8>) {
        let Credentials { user, password, .. } = &self.credentials;
        let name: [&[u8]; 2] = [b"SETNAME", b"millrace"];
        match password {
            Some(password) => {
                let user = user.as_deref().unwrap_or("default").as_bytes();
                let [set_name, name] = name;
                command(
                    out,
                    &[
                        b"HELLO",
                        b"3",
                        b"AUTH",
                        user,
                        password.as_bytes(),
                        set_name,
                        name,
                    ],
                );
            }
            None => command(out, &[b"HELLO", b"3", name[0], name[1]]),
        }
        self.expected.push_back(Expected::Hello);
        if self.is_cluster {
            self.ask_slots(out);
        }
    }

    fn subscribe(&mut self, topic: &Topic, out: &mut Vec<u8>) -> bool {
        self.about([b"SUBSCRIBE", b"SSUBSCRIBE", b"PSUBSCRIBE"], topic, out);
        self.expected.push_back(Expected::Subscribed(topic.clone()));
        true
    }

    fn unsubscribe(&mut self, topic: &Topic, out: &mut Vec<u8>) {
        self.about(
            [b"UNSUBSCRIBE", b"SUNSUBSCRIBE", b"PUNSUBSCRIBE"],
            topic,
            out,
        );
        self.expected
            .push_back(Expected::Unsubscribed(topic.clone()));
    }

    fn publish(&mut self, message: &Outgoing, out: &mut Vec<u8>) -> bool {
        let name: &[u8] = if message.is_sharded || self.is_cluster {
            b"SPUBLISH"
        } else {
            b"PUBLISH"
        };
        let is_control = message.content == envelope::Content::Control;
        let front = match (is_control, message.is_sharded) {
            (true, _) => self.prefix.control(),
            (false, true) => self.prefix.sharded(),
            (false, false) => self.prefix.channels(),
        };
        let head = envelope::head(message.content, message.stamp);
        out.extend_from_slice(b"*3\r\n");
        put(out, &[name]);
        put(out, &[front, &message.channel]);
        put(out, &[&head, &message.body]);
        if is_control {
            self.expected.push_back(Expected::Anything);
        } else {
            self.expected.push_back(Expected::Published);
            self.unconfirmed += 1;
        }
        true
    }

    fn refresh(&mut self, out: &mut Vec<u8>) {
        self.ask_slots(out);
    }

    fn settle(&mut self, _out: &mut Vec<u8>) {}

    fn ping(&mut self, out: &mut Vec<u8>) {
        command(out, &[b"PING"]);
        self.expected.push_back(Expected::Anything);
    }

    fn read(
        &mut self,
        input: &[u8],
        _out: &mut Vec<u8>,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<usize, WireError> {
        let mut used = self.to_skip.min(input.len());
        self.to_skip -= used;
        while let Some(rest) = input.get(used..).filter(|rest| !rest.is_empty()) {
            match reply::parse(rest, self.longest)? {
                Parsed::Part => break,
                Parsed::TooLong(long) => {
                    self.pass_over(long, rest.first() == Some(&b'>'), each)?;
                    let behind = long.start.saturating_add(long.length).saturating_add(2);
                    let here = behind.min(rest.len());
                    self.to_skip = behind - here;
                    used += here;
                }
                Parsed::Whole(_, length) if self.to_drop > 0 => {
                    self.to_drop -= 1;
                    used += length;
                }
                Parsed::Whole(Value::Push(items), length) => {
                    self.push(&items, each)?;
                    used += length;
                }
                Parsed::Whole(value, length) => {
                    self.reply(&value, each)?;
                    used += length;
                }
            }
        }
        Ok(used)
    }

    fn unconfirmed(&self) -> u64 {
        self.unconfirmed
    }

    fn unanswered(&self) -> usize {
        self.expected.len()
    }
}

/// The number of parts of a message for a pattern.
const PARTS_OF_A_MESSAGE: usize = 4;

#[cfg(test)]
mod tests;
