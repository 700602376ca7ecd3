//! The members of all nodes on Redis or Valkey. Owns the links, and what the answers mean.

mod replies;

use std::task::{Context, Poll, ready};
use std::time::Instant;

use ahash::AHashSet;
use redis::{PushKind, Value};

use super::super::link::{self, Fault};
use super::super::links::Links;
use super::super::names::Names;
use super::message;
use super::register::{Event, Part, Place, Register, Request};
use super::roll::Seat;
use super::scripts::{LEASES, Scripts};
use super::session::Session;
use crate::config::{Config, Protocol, Server};
use crate::link_error::LinkError;
use crate::tls::Encryption;
use replies::reply;

/// See the module.
pub(super) struct RedisRegister {
    links: Links<Sent>,
    scripts: Scripts,
    subscribed: AHashSet<Box<[u8]>>,
    /// The channels whose subscriptions are being ended.
    ending: Vec<Box<[u8]>>,
    /// How many scripts were sent once more and are not answered.
    loading: usize,
}

/// What a command was sent for.
enum Sent {
    Asked(Request),
    FollowSessions,
    End(Box<[u8]>),
    Load,
    /// The answer shows only that the store lives.
    Other,
}

impl RedisRegister {
    pub(super) async fn connect(
        config: &Config,
        server: &Server,
        encryption: Option<&Encryption>,
    ) -> Result<Self, LinkError> {
        let is_cluster = config.protocol == Protocol::RedisCluster;
        let mut register = Self {
            links: Links::connect(config, server, encryption).await?,
            scripts: Scripts::new(Names::new(&config.prefix), is_cluster),
            subscribed: AHashSet::new(),
            ending: Vec::new(),
            loading: 0,
        };
        register.load(Instant::now());
        Ok(register)
    }

    /// Puts the scripts into the store.
    fn load(&mut self, now: Instant) {
        if self.loading > 0 {
            return;
        }
        for place in 0..self.links.count() {
            for command in Scripts::load() {
                self.loading += 1;
                self.links.send(place, Sent::Load, (command, 0), now);
            }
        }
    }

    /// The place of what concerns all sessions.
    fn home(&self) -> usize {
        self.links.place(LEASES)
    }

    fn event(&mut self, event: link::Event<Sent>) -> Option<Event> {
        match event {
            link::Event::Message(topic, bytes) => {
                let told = message::parse(&bytes);
                if topic == self.scripts.topic(None) {
                    return Some(Event::Told(None, told));
                }
                let channel = self.scripts.names().member_channel(&topic)?;
                Some(Event::Told(Some(channel.into()), told))
            }
            link::Event::Ended(topic) => {
                self.ended(&topic);
                None
            }
            link::Event::Answer(sent, answer) => self.answered(sent, answer),
        }
    }

    /// A subscription has ended, which the node wanted or which has moved to another server.
    fn ended(&mut self, topic: &[u8]) {
        let is_of_sessions = topic == self.scripts.topic(None);
        let channel = self.scripts.names().member_channel(topic);
        let is_wanted = channel.is_some_and(|channel| {
            let is_ending = self.ending.iter().any(|ending| **ending == *channel);
            !is_ending && self.subscribed.contains(&*channel)
        });
        if is_of_sessions || is_wanted {
            self.links.fail("a slot has moved to another server");
        }
    }

    fn answered(&mut self, sent: Sent, answer: Result<Value, Fault>) -> Option<Event> {
        let mut answer = answer;
        if let Ok(value) = &answer
            && !self.belongs(&sent, value)
        {
            // the library has taken something else for the answer, and all that follow would be wrong
            self.links.fail("an answer belongs to another command");
            answer = Err(Fault::Lost);
        }
        match &answer {
            Err(Fault::Unfit(why)) => self.links.retire(why.clone()),
            Err(Fault::NoScript) => self.load(Instant::now()),
            _ => {}
        }
        match sent {
            Sent::Asked(request) => {
                let reply = answer.map(|value| reply(&request, value));
                return Some(Event::Answer(request, reply));
            }
            Sent::Load => self.loading = self.loading.saturating_sub(1),
            Sent::End(channel) => {
                let place = self.ending.iter().position(|ending| *ending == channel);
                place.map(|place| self.ending.swap_remove(place));
            }
            Sent::FollowSessions | Sent::Other => {}
        }
        match answer {
            Err(Fault::Refused(why) | Fault::Untold(why)) => Some(Event::Refused(why)),
            _ => None,
        }
    }

    /// Whether a value can be the answer to a command: only subscriptions are confirmed by a push.
    fn belongs(&self, sent: &Sent, value: &Value) -> bool {
        let begins = [PushKind::Subscribe, PushKind::SSubscribe];
        let (channel, kinds) = match sent {
            Sent::FollowSessions => (None, begins),
            Sent::Asked(Request::Subscribe(place)) => (Some(&*place.channel), begins),
            Sent::End(channel) => (
                Some(&**channel),
                [PushKind::Unsubscribe, PushKind::SUnsubscribe],
            ),
            _ => return !matches!(value, Value::Push { .. }),
        };
        let Value::Push { kind, data } = value else {
            return false;
        };
        let topic = self.scripts.topic(channel);
        kinds.contains(kind)
            && matches!(data.first(), Some(Value::BulkString(told)) if *told == topic)
    }

    fn ask(&mut self, channel: &[u8], request: Request, command: redis::Cmd, now: Instant) {
        let at = self.links.place(channel);
        self.links.send(at, Sent::Asked(request), (command, 0), now);
    }
}

impl Register for RedisRegister {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, LinkError>> {
        loop {
            let event = ready!(self.links.poll(cx))?;
            if let Some(event) = self.event(event) {
                return Poll::Ready(Ok(event));
            }
        }
    }

    fn due(&mut self) -> Option<Instant> {
        self.links.due()
    }

    fn cut(&mut self) {
        self.links.cut();
    }

    fn overdue(&mut self, now: Instant) -> Result<Option<Event>, LinkError> {
        while let Some(sent) = self.links.overdue(now)? {
            if !matches!(sent, Sent::Other | Sent::Load | Sent::End(_)) {
                self.links.retire("a command took too long".to_owned());
            }
            if let Some(event) = self.answered(sent, Err(Fault::Late)) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn servers(&self) -> Vec<Server> {
        Vec::new()
    }

    fn is_idle(&self) -> bool {
        self.links.is_idle()
    }

    fn has_room(&self) -> bool {
        self.loading == 0 && self.links.has_room()
    }

    fn has_much_room(&self) -> bool {
        self.links.has_much_room()
    }

    fn follow_sessions(&mut self, now: Instant) {
        let command = (self.scripts.subscribe(None), 0);
        self.links
            .send(self.home(), Sent::FollowSessions, command, now);
    }

    fn subscribe(&mut self, place: Place, now: Instant) {
        self.subscribed.insert(place.channel.clone());
        let command = self.scripts.subscribe(Some(&place.channel));
        let channel = place.channel.clone();
        self.ask(&channel, Request::Subscribe(place), command, now);
    }

    fn unsubscribe(&mut self, channel: &[u8], now: Instant) {
        self.subscribed.remove(channel);
        self.ending.push(channel.into());
        let command = (self.scripts.unsubscribe(channel), 0);
        let at = self.links.place(channel);
        self.links.send(at, Sent::End(channel.into()), command, now);
    }

    fn beat(&mut self, session: Session, begins: bool, now: Instant) {
        let beat = (self.scripts.beat(session, begins), 0);
        self.links
            .send(self.home(), Sent::Asked(Request::Beat), beat, now);
    }

    /// The session is in one place: whether other servers have lost their data is seen by marks.
    fn mark(&mut self, session: Session, was_marked: bool, now: Instant) {
        if self.links.count() == 1 {
            return;
        }
        for (place, tag) in self.links.tags() {
            let mark = (self.scripts.mark(&tag, session), 0);
            let what = Sent::Asked(Request::Mark(session, was_marked));
            self.links.send(place, what, mark, now);
        }
    }

    fn index(&mut self, (place, look): (Place, u32), _: Vec<Session>, now: Instant) {
        let command = self.scripts.index(&place.channel);
        let channel = place.channel.clone();
        self.ask(&channel, Request::Index(place, look), command, now);
    }

    fn page(&mut self, place: Place, (session, mark): (Session, u32), cursor: &str, now: Instant) {
        let command = self.scripts.page(&place.channel, session, cursor);
        let channel = place.channel.clone();
        let what = Request::Page(place, session, mark);
        self.ask(&channel, what, command, now);
    }

    fn check(&mut self, (channel, session): (&[u8], Session), version: u64, now: Instant) {
        let what = Request::Check(channel.into(), session, version);
        self.ask(channel, what, self.scripts.version(channel, session), now);
        let at = self.links.place(channel);
        for command in self.scripts.prolong(channel, session) {
            self.links.send(at, Sent::Other, (command, 0), now);
        }
    }

    fn change(
        &mut self,
        (channel, session): (&[u8], Session),
        numbers: (u64, u64),
        (seats, _): (&[Result<Seat, u64>], bool),
        now: Instant,
    ) {
        let command = self.scripts.change(channel, session, numbers, seats);
        let bytes = seats.iter().flatten().map(Seat::bytes).sum();
        let at = self.links.place(channel);
        let what = Sent::Asked(Request::Write(channel.into(), session));
        self.links.send(at, what, (command, bytes), now);
    }

    fn write(&mut self, (channel, session): (&[u8], Session), part: Part<'_>, now: Instant) {
        let command = self.scripts.write(channel, session, part);
        let bytes = part.seats.iter().map(Seat::bytes).sum();
        let at = self.links.place(channel);
        let what = Sent::Asked(Request::Write(channel.into(), session));
        self.links.send(at, what, (command, bytes), now);
    }

    fn purge(&mut self, (channel, session): (&[u8], Session), now: Instant) {
        let at = self.links.place(channel);
        for command in self.scripts.purge(channel, session) {
            self.links.send(at, Sent::Other, (command, 0), now);
        }
    }

    fn leave(&mut self, session: Session, now: Instant) {
        for command in self.scripts.leave(session) {
            self.links.send(self.home(), Sent::Other, (command, 0), now);
        }
    }
}
