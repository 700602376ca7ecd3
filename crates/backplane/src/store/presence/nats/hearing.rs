//! What comes from a NATS server: which answer belongs to what, and what its errors mean.

use std::time::Instant;

use super::super::super::jetstream::answers::{self, Failure};
use super::super::super::jetstream::link;
use super::super::super::jetstream::wire::Message;
use super::super::super::link::Fault;
use super::super::message;
use super::super::register::{Event, Place, Request};
use super::writing::Write;
use super::{NatsRegister, Sent, record};

impl NatsRegister {
    pub(super) fn heard(&mut self, event: link::Event<Sent>, now: Instant) {
        match event {
            link::Event::Answer(sent, message) => self.answered(sent, &message, now),
            link::Event::Told(message) => self.told(&message),
            link::Event::Forbidden {
                is_publish,
                subject,
                text,
            } => self.forbidden(is_publish, &subject, &text),
        }
    }

    fn answered(&mut self, sent: Sent, message: &Message, now: Instant) {
        match sent {
            Sent::Life(session) => self.life_seen(session, message, now),
            Sent::LifeKept(session) => self.life_kept(session, message, now),
            Sent::Lives(is_beat) => self.lives(is_beat, message, now),
            Sent::Index(look, session) => self.seen(look, session, message),
            Sent::Page(place, session, mark, asked) => {
                self.paged(place, (session, mark, asked), message);
            }
            Sent::Check(channel, session, version) => {
                self.checked((channel, session, version), message);
            }
            Sent::Newest(write) => self.newest(write, message, now),
            Sent::Kept(write) => self.kept(write, message, now),
            Sent::Emptied(write) => self.emptied(write, message),
            Sent::Other => {
                if let Some((_, failure)) = answers::failure(message)
                    && let Fault::Refused(why) = self.fault(failure)
                {
                    self.out.push_back(Event::Refused(why));
                }
            }
        }
    }

    /// What an error means.
    pub(super) fn fault(&mut self, failure: Failure) -> Fault {
        match failure {
            Failure::Refused(why) => Fault::Refused(why),
            Failure::Away => {
                self.link.fail(answers::AWAY);
                Fault::Lost
            }
        }
    }

    fn told(&mut self, told: &Message) {
        if told.subscription == self.ends {
            let told = message::parse(&told.payload);
            return self.out.push_back(Event::Told(None, told));
        }
        let Some(place) = self.subscriptions.get(&told.subscription) else {
            return;
        };
        let channel = place.channel.clone();
        // only the server tells what it has kept
        let record = told.sequence.and_then(|_| record::parse(&told.payload));
        let told = record.map(|record| record.told);
        self.out.push_back(Event::Told(Some(channel), told));
    }

    /// The server does not let us publish to a subject, or subscribe to one.
    fn forbidden(&mut self, is_publish: bool, subject: &[u8], text: &str) {
        let names = &self.names;
        if is_publish {
            let is_it =
                |write: &Write| names.log(&write.channel, write.session).as_bytes() == subject;
            let mut writes = self.writes.iter();
            let write = writes.find(|(_, write)| is_it(write));
            if let Some(write) = write.map(|(number, _)| *number) {
                return self.written(write, Err(Fault::Refused(text.to_owned())));
            }
        } else {
            let is_it = |place: &Place| {
                let told = names.told(&place.channel);
                told.is_some_and(|told| told.as_bytes() == subject)
            };
            let mut all = self.subscriptions.iter();
            let subscription = all.find(|(_, place)| is_it(place));
            let subscription = subscription.map(|(number, _)| *number);
            if let Some(place) = subscription.and_then(|number| self.subscriptions.remove(&number))
            {
                self.numbers.remove(&place.channel);
                return self.refuse(place, text.to_owned());
            }
        }
        // what is needed for every channel
        self.link.fail(text);
    }

    pub(super) fn refuse(&mut self, place: Place, why: String) {
        let what = Request::Subscribe(place);
        let answer = Err(Fault::Refused(why));
        self.out.push_back(Event::Answer(what, answer));
    }
}
