//! NATS on one connection. The server confirms nothing by itself, so a `PING` after each batch does: its `PONG` comes
//! after the effects of everything before it. Our patterns are not wildcards of NATS: while there is a pattern,
//! everything below the prefix is received, and the node filters. Owns what is not confirmed.

pub(crate) mod info;
pub(crate) mod line;
pub(crate) mod login;
mod subscriptions;

use std::collections::VecDeque;
use std::net::IpAddr;

use super::command::put_number;
use super::{Event, Source, Wire, WireError, shown, subject};
use crate::config::{Credentials, Server};
use crate::envelope::{self, Content, HEAD_BYTES};
use crate::outlet::Outgoing;
use crate::topic::{Prefix, Topic};
use info::{Info, server};
use line::message_line;
use login::Purpose;
use subscriptions::{EVERYTHING, Subscriptions};

/// See the module.
#[derive(Debug)]
pub(crate) struct Nats {
    prefix: Prefix,
    credentials: Credentials,
    /// What the outstanding `PONG`s will confirm.
    expected: VecDeque<Barrier>,
    /// What the next `PONG` will confirm.
    next: Barrier,
    subscriptions: Subscriptions,
    unconfirmed: u64,
    /// What the server wants us to sign; empty if it wants nothing.
    nonce: String,
    /// The other servers of its cluster that it has reported, until they are passed on.
    servers: Option<Vec<Server>>,
    /// The most bytes of a message that the server accepts.
    most: usize,
    longest: usize,
    /// The number of changes that no `PONG` has confirmed yet.
    changes: usize,
    /// The remaining bytes of a message that is skipped because it is too long.
    to_skip: usize,
    is_ready: bool,
}

#[derive(Debug, Default)]
struct Barrier {
    published: u64,
    changes: Vec<(Topic, bool)>,
}

impl Nats {
    /// `info` is the server's first line, which was read already. `longest` is the most bytes of one message.
    pub(crate) fn new(prefix: &str, credentials: Credentials, info: &[u8], longest: usize) -> Self {
        let mut wire = Self {
            prefix: Prefix::new(prefix, '.', ';'),
            credentials,
            expected: VecDeque::new(),
            next: Barrier::default(),
            subscriptions: Subscriptions::default(),
            unconfirmed: 0,
            nonce: String::new(),
            servers: None,
            most: LEAST_PAYLOAD,
            longest: longest.saturating_add(HEAD_BYTES),
            changes: 0,
            to_skip: 0,
            is_ready: false,
        };
        wire.info(info);
        // The first line is never encrypted, so anybody on the way may have written it. An address is safe, because its
        // certificate must have the name of a configured server.
        if let Some(servers) = &mut wire.servers {
            servers.retain(|server| server.host.parse::<IpAddr>().is_ok());
        }
        wire
    }

    /// Parses the server's information, which it may send again.
    fn info(&mut self, line: &[u8]) {
        let info = Info::parse(line);
        if let Some(most) = info.max_payload {
            self.most = most;
        }
        if let Some(nonce) = info.nonce {
            self.nonce = nonce;
        }
        if let Some(urls) = info.connect_urls {
            self.servers = Some(urls.iter().filter_map(|url| server(url)).collect());
        }
    }

    fn subject(&self, topic: &Topic) -> Vec<u8> {
        match topic {
            Topic::Channel(name) => subject::behind(self.prefix.channels(), name),
            Topic::Sharded(name) => subject::behind(self.prefix.sharded(), name),
            Topic::Pattern(_) => [self.prefix.channels(), b">"].concat(),
            Topic::Control => self.prefix.control().to_vec(),
        }
    }

    fn pong(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<(), WireError> {
        let Some(barrier) = self.expected.pop_front() else {
            return Err(WireError::Protocol("a PONG without a PING"));
        };
        if !std::mem::replace(&mut self.is_ready, true) {
            each(Event::Ready);
        } else if let Some(servers) = self.servers.take() {
            each(Event::Servers(servers));
        }
        self.changes -= barrier.changes.len();
        for (topic, is_on) in barrier.changes {
            each(if is_on {
                Event::Subscribed(topic)
            } else {
                Event::Unsubscribed(topic)
            });
        }
        if barrier.published > 0 {
            self.unconfirmed -= barrier.published;
            each(Event::Published(barrier.published));
        }
        Ok(())
    }

    fn message(&self, id: u64, subject: &[u8], payload: &[u8], each: &mut dyn FnMut(Event<'_>)) {
        if id == EVERYTHING {
            let name = subject
                .strip_prefix(self.prefix.channels())
                .and_then(subject::decode);
            if let Some(name) = name {
                each(Event::Message(Source::Any(&name), payload));
            }
            return;
        }
        let source = match self.subscriptions.topic(id) {
            Some(Topic::Channel(name)) => Source::Channel(name),
            Some(Topic::Sharded(name)) => Source::Sharded(name),
            Some(Topic::Control) => Source::Control,
            // the message was on its way when we unsubscribed
            Some(Topic::Pattern(_)) | None => return,
        };
        each(Event::Message(source, payload));
    }

    fn error(&mut self, text: &[u8], each: &mut dyn FnMut(Event<'_>)) -> Result<(), WireError> {
        let subject = text.split(|byte| *byte == b'"').nth(1);
        let text = shown(text);
        let lower = text.to_ascii_lowercase();
        if lower.contains("permissions violation for publish") {
            // the message belongs to a batch that is not confirmed yet
            let batch = self.expected.iter_mut().find(|batch| batch.published > 0);
            let batch = batch.unwrap_or(&mut self.next);
            if batch.published > 0 {
                batch.published -= 1;
                self.unconfirmed -= 1;
                each(Event::NotPublished(&text));
            }
            return Ok(());
        }
        if lower.contains("permissions violation") {
            for topic in self.refused(subject.unwrap_or_default()) {
                each(Event::Refused(topic, &text));
            }
            return Ok(());
        }
        // a subject may contain these words, too
        if lower.contains("authorization") || lower.contains("authentication") {
            return Err(WireError::Refused(text));
        }
        Err(WireError::Ended(text))
    }
}

impl Nats {
    /// The topics of a subject that the server refuses. All patterns share one subject.
    fn refused(&mut self, subject: &[u8]) -> Vec<Topic> {
        let topics = self
            .topic(subject)
            .map(|topic| self.subscriptions.refused(&topic))
            .unwrap_or_default();
        // the `PONG` that confirms other changes does not confirm these
        for barrier in self.expected.iter_mut().chain([&mut self.next]) {
            let before = barrier.changes.len();
            let is_kept = |change: &(Topic, bool)| !topics.contains(&change.0);
            barrier.changes.retain(is_kept);
            self.changes -= before - barrier.changes.len();
        }
        topics
    }

    /// The topic of one of our subjects. A subject does not contain a pattern's text.
    fn topic(&self, subject: &[u8]) -> Option<Topic> {
        let decoded = |name| subject::decode(name).map(Vec::into_boxed_slice);
        if subject == self.prefix.control() {
            Some(Topic::Control)
        } else if let Some(name) = subject.strip_prefix(self.prefix.sharded()) {
            decoded(name).map(Topic::Sharded)
        } else {
            match subject.strip_prefix(self.prefix.channels())? {
                b">" => Some(Topic::Pattern(Box::default())),
                name => decoded(name).map(Topic::Channel),
            }
        }
    }

    /// Records a change that the next `PONG` confirms.
    fn change(&mut self, topic: &Topic, is_on: bool) {
        self.changes += 1;
        self.next.changes.push((topic.clone(), is_on));
    }
}

impl Wire for Nats {
    fn open(&mut self, out: &mut Vec<u8>) {
        login::connect(&self.credentials, &self.nonce, Purpose::Plain, out);
        self.ping(out);
    }

    fn subscribe(&mut self, topic: &Topic, out: &mut Vec<u8>) -> bool {
        let subject = self.subject(topic);
        if subject.len() > LONGEST_SUBJECT {
            return false;
        }
        self.change(topic, true);
        if let Some(id) = self.subscriptions.add(topic) {
            out.extend_from_slice(b"SUB ");
            out.extend_from_slice(&subject);
            out.extend_from_slice(format!(" {id}\r\n").as_bytes());
        }
        true
    }

    fn unsubscribe(&mut self, topic: &Topic, out: &mut Vec<u8>) {
        self.change(topic, false);
        if let Some(id) = self.subscriptions.remove(topic) {
            out.extend_from_slice(format!("UNSUB {id}\r\n").as_bytes());
        }
    }

    fn publish(&mut self, message: &Outgoing, out: &mut Vec<u8>) -> bool {
        let head = envelope::head(message.content, message.stamp);
        let length = head.len() + message.body.len();
        if length > self.most {
            return false;
        }
        let before = out.len();
        out.extend_from_slice(b"PUB ");
        match (message.content, message.is_sharded) {
            (Content::Control, _) => out.extend_from_slice(self.prefix.control()),
            (_, true) => {
                out.extend_from_slice(self.prefix.sharded());
                subject::encode(&message.channel, out);
            }
            (_, false) => {
                out.extend_from_slice(self.prefix.channels());
                subject::encode(&message.channel, out);
            }
        }
        if out.len() - before > LONGEST_SUBJECT {
            out.truncate(before);
            return false;
        }
        out.push(b' ');
        put_number(out, length);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&head);
        out.extend_from_slice(&message.body);
        out.extend_from_slice(b"\r\n");
        if message.content != Content::Control {
            self.next.published += 1;
            self.unconfirmed += 1;
        }
        true
    }

    fn settle(&mut self, out: &mut Vec<u8>) {
        if self.next.published > 0 || !self.next.changes.is_empty() {
            self.ping(out);
        }
    }

    fn ping(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"PING\r\n");
        self.expected.push_back(std::mem::take(&mut self.next));
    }

    fn read(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<usize, WireError> {
        let mut used = self.to_skip.min(input.len());
        self.to_skip -= used;
        while let Some(rest) = input.get(used..).filter(|rest| !rest.is_empty()) {
            let Some(end) = rest
                .iter()
                .take(LONGEST_LINE)
                .position(|byte| *byte == b'\n')
            else {
                if rest.len() >= LONGEST_LINE {
                    return Err(WireError::Protocol("a line is too long"));
                }
                break;
            };
            let (line, behind) = rest.split_at(end + 1);
            let line = line.trim_ascii();
            let (verb, rest_of_line) = match line.iter().position(u8::is_ascii_whitespace) {
                Some(space) => line.split_at(space),
                None => (line, &b""[..]),
            };
            let rest_of_line = rest_of_line.trim_ascii_start();
            let mut length = 0;
            if verb.eq_ignore_ascii_case(b"MSG") {
                let Some((id, subject, size)) = message_line(rest_of_line) else {
                    return Err(WireError::Protocol("a MSG without its parts"));
                };
                length = size
                    .checked_add(2)
                    .ok_or(WireError::Protocol("a MSG too long"))?;
                if size > self.longest {
                    each(Event::TooLong);
                    let here = length.min(behind.len());
                    self.to_skip = length - here;
                    length = here;
                } else {
                    let Some(payload) = behind.get(..length) else {
                        break;
                    };
                    let Some(payload) = payload.strip_suffix(b"\r\n") else {
                        return Err(WireError::Protocol("a MSG without its end"));
                    };
                    self.message(id, subject, payload, each);
                }
            } else if verb.eq_ignore_ascii_case(b"PING") {
                out.extend_from_slice(b"PONG\r\n");
            } else if verb.eq_ignore_ascii_case(b"PONG") {
                self.pong(each)?;
            } else if verb.eq_ignore_ascii_case(b"INFO") {
                self.info(rest_of_line);
            } else if verb.eq_ignore_ascii_case(b"-ERR") {
                self.error(rest_of_line, each)?;
            } else if !verb.eq_ignore_ascii_case(b"+OK") && !verb.is_empty() {
                return Err(WireError::Protocol("an unknown line"));
            }
            used += end + 1 + length;
        }
        Ok(used)
    }

    fn unconfirmed(&self) -> u64 {
        self.unconfirmed
    }

    fn unanswered(&self) -> usize {
        self.expected.len() + self.changes
    }
}

/// The most bytes of a message for a server that does not report its limit.
pub(crate) const LEAST_PAYLOAD: usize = 64 * 1024;

/// The most bytes of a subject. By default a server accepts lines of 4 KiB and closes the connection on a longer one,
/// and it does not report its limit.
pub(crate) const LONGEST_SUBJECT: usize = 4000;

/// The most bytes of a line. The server's first line is the longest.
pub(crate) const LONGEST_LINE: usize = 64 * 1024;

#[cfg(test)]
mod tests;
