//! Writing the members of this node on JetStream. Owns the writes that are under way, one of each channel.

use std::time::Instant;

use super::super::super::jetstream::answers::{self, Outcome};
use super::super::super::jetstream::api::{self, EXPECTED};
use super::super::super::jetstream::wire::Message;
use super::super::super::link::Fault;
use super::super::own::Written;
use super::super::register::{Event, Reply, Request};
use super::super::session::Session;
use super::log::{Log, Next, What};
use super::record::{self, Found};
use super::{NatsRegister, Sent, unix_ms};

/// A write that is under way.
pub(super) struct Write {
    pub(super) channel: Box<[u8]>,
    pub(super) session: Session,
    pub(super) what: What,
}

impl NatsRegister {
    pub(super) fn begin(&mut self, write: Write, now: Instant) {
        self.last += 1;
        let number = self.last;
        let log = self.logs.get(&write.channel);
        let is_known = log.is_some_and(|log| log.session() == write.session);
        let subject = self.names.log(&write.channel, write.session);
        self.writes.insert(number, write);
        if is_known {
            return self.put(number, now);
        }
        let (api, body) = api::newest(&self.names.members(), &subject);
        let what = Sent::Newest(number);
        self.link.request(what, &api, &[], &[&body], now);
    }

    /// The newest record of a log, before anything is written behind it.
    pub(super) fn newest(&mut self, number: u64, message: &Message, now: Instant) {
        let Some(write) = self.writes.get(&number) else {
            return;
        };
        let of = (&*write.channel, write.session);
        match record::found(message, of) {
            Ok(found) => {
                let log = Log::new(write.session, &found);
                self.logs.insert(write.channel.clone(), log);
                self.put(number, now);
            }
            Err(failure) => {
                let fault = self.fault(failure);
                self.written(number, Err(fault));
            }
        }
    }

    /// Sends the next record of a write.
    fn put(&mut self, number: u64, now: Instant) {
        let Some(write) = self.writes.get(&number) else {
            return;
        };
        let log = self.logs.get_mut(&write.channel);
        let log = log.filter(|log| log.session() == write.session);
        let Some((log, record)) = log.and_then(|log| {
            log.record(&write.what, unix_ms())
                .map(|record| (log, record))
        }) else {
            return self.written(number, Ok(Written::Doubtful));
        };
        let subject = self.names.log(&write.channel, write.session);
        let expected = log.newest().to_string();
        let headers = [(EXPECTED, &*expected)];
        self.link
            .request(Sent::Kept(number), &subject, &headers, &[&record], now);
    }

    /// A record was kept, or not.
    pub(super) fn kept(&mut self, number: u64, message: &Message, now: Instant) {
        let Some(write) = self.writes.get_mut(&number) else {
            return;
        };
        let of = (write.channel.clone(), write.session);
        let sequence = match answers::outcome(message) {
            Outcome::Kept(sequence) | Outcome::Repeated(sequence) => sequence,
            outcome => {
                self.logs.remove(&of.0);
                let written = match outcome {
                    Outcome::Failed(failure) => Err(self.fault(failure)),
                    _ => Ok(Written::Doubtful),
                };
                return self.written(number, written);
            }
        };
        let log = self.logs.get_mut(&of.0);
        let Some(log) = log.filter(|log| log.session() == of.1) else {
            return self.written(number, Ok(Written::Doubtful));
        };
        let old = match &write.what {
            What::Part { last, .. } => last.and_then(|last| last.old),
            What::Change { .. } => None,
        };
        let next = log.kept(&mut write.what, sequence);
        if next != Next::More
            && let Some(old) = old
        {
            self.purge_session(old, now);
        }
        match next {
            Next::More => self.put(number, now),
            Next::Done(written, before) => {
                // servers take 0 and 1 for everything, and nothing is in front of them
                let before = before.filter(|before| *before > 1);
                if before.is_some() {
                    self.purge_log((&of.0, of.1), before, (Sent::Other, now));
                }
                self.written(number, Ok(written));
            }
            Next::Empty => self.purge_log((&of.0, of.1), None, (Sent::Emptied(number), now)),
        }
    }

    /// A log was removed, because no member is left.
    pub(super) fn emptied(&mut self, number: u64, message: &Message) {
        let Some(write) = self.writes.get(&number) else {
            return;
        };
        let failure = answers::failure(message);
        let log = self.logs.get_mut(&write.channel);
        if let Some(log) = log.filter(|log| log.session() == write.session) {
            log.emptied(failure.is_none());
        }
        if let Some((_, failure)) = failure
            && let Fault::Refused(why) = self.fault(failure)
        {
            // it goes with its age
            self.out.push_back(Event::Refused(why));
        }
        self.written(number, Ok(Written::Emptied));
    }

    /// Ends a write.
    pub(super) fn written(&mut self, number: u64, written: Result<Written, Fault>) {
        let Some(write) = self.writes.remove(&number) else {
            return;
        };
        let is_forgotten = match written {
            Ok(written) => written != Written::Done,
            Err(_) => true,
        };
        let log = self.logs.get(&write.channel);
        if is_forgotten && log.is_some_and(|log| log.session() == write.session) {
            // it is looked up before the next write
            self.logs.remove(&write.channel);
        }
        let what = Request::Write(write.channel, write.session);
        let reply = written.map(Reply::Written);
        self.out.push_back(Event::Answer(what, reply));
    }

    /// Removes what a session has written in a channel, or what is in front of this number.
    fn purge_log(
        &mut self,
        (channel, session): (&[u8], Session),
        before: Option<u64>,
        (what, now): (Sent, Instant),
    ) {
        let subject = self.names.log(channel, session);
        let (api, body) = api::purge(&self.names.members(), &subject, before);
        self.link.request(what, &api, &[], &[&body], now);
    }

    /// Removes everything that a session has written, once.
    pub(super) fn purge_session(&mut self, session: Session, now: Instant) {
        if self.purged.len() >= MOST_PURGED {
            self.purged.clear();
        }
        if Some(session) != self.own && self.purged.insert(session) {
            self.purge_logs(session, now);
        }
    }

    pub(super) fn purge_logs(&mut self, session: Session, now: Instant) {
        let (api, body) = api::purge(&self.names.members(), &self.names.logs(session), None);
        self.link.request(Sent::Other, &api, &[], &[&body], now);
    }

    /// What a check has found.
    pub(super) fn checked(
        &mut self,
        (channel, session, version): (Box<[u8]>, Session, u64),
        message: &Message,
    ) {
        let reply = match record::found(message, (&channel, session)) {
            Ok(found) => {
                let complete = match &found {
                    Found::Record(sequence, record) => record.complete(*sequence),
                    Found::Nothing | Found::Foreign(_) => None,
                };
                let is_writing = self.writes.values().any(|write| write.channel == channel);
                if !is_writing && !self.logs.contains_key(&channel) {
                    self.logs.insert(channel.clone(), Log::new(session, &found));
                }
                Ok(Reply::Version(complete.map(|(version, _)| version)))
            }
            Err(failure) => Err(self.fault(failure)),
        };
        let what = Request::Check(channel, session, version);
        self.out.push_back(Event::Answer(what, reply));
    }
}

/// So many sessions are remembered whose members were removed.
const MOST_PURGED: usize = 1024;
