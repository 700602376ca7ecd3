//! The members of all nodes on NATS with JetStream. Owns the link, the subscriptions, and what is asked.
//!
//! A session has a log in each channel, which is a subject of one stream: changes, each behind the record before it
//! ([`log`]), from which all members are read by going back ([`record`]). What the server has kept it tells on another
//! subject, to which followers subscribe. The life of a session is a message in a stream that keeps it for nine seconds, and
//! is extended by the next one, which the server takes only if the last one is still there.

mod hearing;
mod log;
mod looking;
mod names;
mod record;
mod writing;

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ahash::{AHashMap, AHashSet};

use super::super::jetstream::api;
use super::super::jetstream::link::Link;
use super::super::jetstream::setup;
use super::message;
use super::register::{Event, Part, Place, Register};
use super::roll::Seat;
use super::session::Session;
use crate::config::{Config, Server};
use crate::link_error::LinkError;
use crate::tls::Encryption;
use log::{Last, Log, What};
use looking::Looks;
use names::Names;
use writing::Write;

/// See the module.
pub(super) struct NatsRegister {
    link: Link<Sent>,
    names: Names,
    /// When the stream of members was made.
    era: Box<[u8]>,
    /// The channels of the link's subscriptions, and the other way round.
    subscriptions: AHashMap<u64, Place>,
    numbers: AHashMap<Box<[u8]>, u64>,
    /// The subscription to what sessions say.
    ends: u64,
    /// That of this node.
    own: Option<Session>,
    /// The number of the last record of its life, if it is known.
    life: Option<(Session, u64)>,
    live: AHashSet<Session>,
    looks: Looks,
    logs: AHashMap<Box<[u8]>, Log>,
    writes: AHashMap<u64, Write>,
    /// The sessions whose members were removed.
    purged: AHashSet<Session>,
    /// The last number of a write or a look.
    last: u64,
    out: VecDeque<Event>,
}

/// What a request was sent for.
enum Sent {
    /// Where the record of a session's life is.
    Life(Session),
    /// The life of a session is extended.
    LifeKept(Session),
    /// Who lives. True: after a beat.
    Lives(bool),
    /// The newest record of a session, for a look.
    Index(u64, Session),
    /// A record, by its number; 0: the newest one.
    Page(Place, Session, u32, u64),
    Check(Box<[u8]>, Session, u64),
    /// The newest record of a log, for a write.
    Newest(u64),
    /// A record of a write.
    Kept(u64),
    /// The log is removed after a write.
    Emptied(u64),
    /// Only an error is of interest.
    Other,
}

impl NatsRegister {
    pub(super) async fn connect(
        config: &Config,
        server: &Server,
        encryption: Option<&Encryption>,
    ) -> Result<Self, LinkError> {
        let mut link = Link::connect(config, server, encryption).await?;
        if link.most() < LEAST_MOST {
            let why = format!("its max_payload is less than the {LEAST_MOST} that members need");
            return Err(link.unfit(why));
        }
        let names = Names::new(&config.prefix);
        let made = setup::prepare(&mut link, &names.plans(), || Sent::Other).await?;
        let era = made.into_iter().next().unwrap_or_default();
        Ok(Self::new(link, names, era))
    }

    fn new(link: Link<Sent>, names: Names, era: Box<[u8]>) -> Self {
        Self {
            link,
            names,
            era,
            subscriptions: AHashMap::new(),
            numbers: AHashMap::new(),
            ends: 0,
            own: None,
            life: None,
            live: AHashSet::new(),
            looks: Looks::default(),
            logs: AHashMap::new(),
            writes: AHashMap::new(),
            purged: AHashSet::new(),
            last: 0,
            out: VecDeque::new(),
        }
    }
}

impl Register for NatsRegister {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, LinkError>> {
        loop {
            // room comes from answers, and from what was written
            if self.may_look() {
                self.begin_looks(Instant::now());
            }
            if let Some(event) = self.out.pop_front() {
                return Poll::Ready(Ok(event));
            }
            match self.link.poll(cx) {
                Poll::Ready(event) => self.heard(event?, Instant::now()),
                Poll::Pending if self.may_look() => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn due(&mut self) -> Option<Instant> {
        self.link.due()
    }

    fn cut(&mut self) {
        self.link.cut();
    }

    fn overdue(&mut self, now: Instant) -> Result<Option<Event>, LinkError> {
        while let Some(sent) = self.link.overdue(now)? {
            let is_over = match &sent {
                Sent::Kept(write) => !self.writes.contains_key(write),
                sent => matches!(sent, Sent::Other),
            };
            if !is_over {
                self.link.fail("a request took too long");
            }
        }
        Ok(None)
    }

    fn servers(&self) -> Vec<Server> {
        self.link.servers()
    }

    fn is_idle(&self) -> bool {
        self.link.is_idle() && self.out.is_empty() && self.looks.is_empty()
    }

    fn has_room(&self) -> bool {
        self.link.has_room() && self.writes.len() < MOST_WRITES
    }

    fn has_much_room(&self) -> bool {
        self.link.has_room() && self.link.in_flight() < MOST_IN_FLIGHT
    }

    fn follow_sessions(&mut self, _: Instant) {
        self.ends = self.link.subscribe(&self.names.ends());
    }

    fn subscribe(&mut self, place: Place, _: Instant) {
        if let Some(number) = self.numbers.get(&place.channel) {
            // it is tried again
            self.subscriptions.insert(*number, place);
            return;
        }
        match self.names.told(&place.channel) {
            Some(told) => {
                let number = self.link.subscribe(&told);
                self.numbers.insert(place.channel.clone(), number);
                self.subscriptions.insert(number, place);
            }
            None => self.refuse(place, "the channel's name is too long for it".to_owned()),
        }
    }

    fn unsubscribe(&mut self, channel: &[u8], _: Instant) {
        if let Some(number) = self.numbers.remove(channel) {
            self.subscriptions.remove(&number);
            self.link.unsubscribe(number);
        }
    }

    fn beat(&mut self, session: Session, begins: bool, now: Instant) {
        if self.link.was_disturbed() {
            self.out.push_back(Event::Disturbed);
        }
        self.own = Some(session);
        let life = self.life.filter(|(of, _)| *of == session);
        if begins {
            self.extend(session, None, now);
        } else if let Some((_, sequence)) = life {
            self.extend(session, Some(sequence), now);
        } else {
            let (api, body) = api::newest(&self.names.sessions(), &self.names.life(session));
            self.link
                .request(Sent::Life(session), &api, &[], &[&body], now);
        }
    }

    /// There is one server, and [`era`](Self::era) tells what it has lost.
    fn mark(&mut self, _: Session, _: bool, _: Instant) {}

    fn index(&mut self, of: (Place, u32), known: Vec<Session>, now: Instant) {
        self.await_look(of, known);
        self.look(now);
    }

    fn page(&mut self, place: Place, (session, mark): (Session, u32), cursor: &str, now: Instant) {
        let stream = self.names.members();
        let sequence = cursor.parse().unwrap_or(0);
        let (api, body) = match sequence {
            0 => api::newest(&stream, &self.names.log(&place.channel, session)),
            sequence => api::numbered(&stream, sequence),
        };
        let what = Sent::Page(place, session, mark, sequence);
        self.link.request(what, &api, &[], &[&body], now);
    }

    fn check(&mut self, (channel, session): (&[u8], Session), version: u64, now: Instant) {
        let subject = self.names.log(channel, session);
        let (api, body) = api::newest(&self.names.members(), &subject);
        let what = Sent::Check(channel.into(), session, version);
        self.link.request(what, &api, &[], &[&body], now);
    }

    fn change(
        &mut self,
        (channel, session): (&[u8], Session),
        numbers: (u64, u64),
        (seats, is_empty): (&[Result<Seat, u64>], bool),
        now: Instant,
    ) {
        let mut message = message::change(session, numbers, seats);
        message.push(u8::from(is_empty));
        let what = What::Change {
            numbers,
            message,
            count: u32::try_from(seats.len()).unwrap_or(u32::MAX),
            is_empty,
        };
        let channel = channel.into();
        let write = Write {
            channel,
            session,
            what,
        };
        self.begin(write, now);
    }

    fn write(&mut self, (channel, session): (&[u8], Session), part: Part<'_>, now: Instant) {
        let last = |version| Last {
            version,
            follows: part.follows,
            old: part.old,
        };
        let what = What::Part {
            is_first: part.is_first,
            seats: part.seats.to_vec(),
            last: part.version.map(last),
        };
        let channel = channel.into();
        let write = Write {
            channel,
            session,
            what,
        };
        self.begin(write, now);
    }

    fn purge(&mut self, (_, session): (&[u8], Session), now: Instant) {
        self.purge_session(session, now);
    }

    fn leave(&mut self, session: Session, now: Instant) {
        self.link.tell(&self.names.ends(), &message::gone(session));
        let life = self.names.life(session);
        let (api, body) = api::purge(&self.names.sessions(), &life, None);
        self.link.request(Sent::Other, &api, &[], &[&body], now);
        self.purge_logs(session, now);
    }

    fn is_long(&self, channel: &[u8]) -> bool {
        let log = self.logs.get(channel);
        log.is_some_and(|log| log.is_long(unix_ms()))
    }

    fn is_split(&self) -> bool {
        true
    }

    fn era(&self) -> Option<&[u8]> {
        Some(&self.era)
    }
}

/// The time of this node's clock, in milliseconds of Unix time.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The least that a server must accept as a message: the longest record.
const LEAST_MOST: usize = 320 * 1024;

/// The most writes that are under way.
const MOST_WRITES: usize = 256;

/// From this many requests without an answer on, nothing is read or followed.
const MOST_IN_FLIGHT: usize = 512;

#[cfg(test)]
mod tests;
