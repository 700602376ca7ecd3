//! A stand-in for Redis and for links to it: a command is executed, and what comes of it is heard, when a test says so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::{Context, Poll};
use std::time::Instant;

use super::command::{Command, Failure, Whole};
use crate::config::Server;
use crate::link_error::LinkError;
use crate::store::link::Fault;
use crate::store::presence::follow::Page;
use crate::store::presence::message::{self, Told};
use crate::store::presence::own::Written;
use crate::store::presence::register::{Event, Part, Place, Register, Reply, Request};
use crate::store::presence::roll::Seat;
use crate::store::presence::session::Session;

pub(super) type Channel = Box<[u8]>;

/// A link: what waits for the store, and what waits for the node, in its order.
#[derive(Default)]
pub(super) struct Link {
    pub(super) sent: VecDeque<Command>,
    pub(super) heard: VecDeque<Event>,
    /// The most commands that wait for the store, if there is such a bound.
    pub(super) room: Option<usize>,
    /// `None`: what is told of sessions.
    topics: BTreeSet<Option<Channel>>,
}

#[derive(Default)]
pub(super) struct Store {
    leases: BTreeMap<Session, u64>,
    index: BTreeMap<(Channel, Session), Option<u64>>,
    members: BTreeMap<(Channel, Session), BTreeMap<u64, Seat>>,
    /// How the next commands fail, and how many.
    pub(super) fails: Option<(Failure, usize)>,
}

impl Store {
    /// It has lost everything.
    pub(super) fn lose(&mut self) {
        *self = Self {
            fails: self.fails,
            ..Self::default()
        };
    }

    /// How the next command fails.
    fn failure(&mut self) -> Option<Failure> {
        let (failure, left) = self.fails.as_mut()?;
        let failure = *failure;
        *left -= 1;
        if *left == 0 {
            self.fails = None;
        }
        Some(failure)
    }

    /// Executes the next command of a link. Returns whether there was one.
    pub(super) fn execute(&mut self, links: &mut [Link], at: usize, ms: u64) -> bool {
        let Some(command) = links[at].sent.pop_front() else {
            return false;
        };
        let failure = self.failure();
        let command = match command.fail(failure) {
            Ok(command) => command,
            Err((request, fault)) => {
                let answer = request.map(|request| Event::Answer(request, Err(fault)));
                links[at].heard.extend(answer);
                return true;
            }
        };
        let is_mute = failure == Some(Failure::IsMute);
        match command {
            Command::FollowSessions => {
                links[at].topics.insert(None);
            }
            Command::Unsubscribe(channel) => {
                links[at].topics.remove(&Some(channel));
            }
            Command::Subscribe(place) => {
                links[at].topics.insert(Some(place.channel.clone()));
                links[at].answer(Request::Subscribe(place), Reply::Done);
            }
            Command::Beat(session, begins) => {
                let reply = self.beat(session, begins, ms);
                links[at].answer(Request::Beat, reply);
            }
            Command::Index(place, look) => {
                let there = self.index.iter();
                let there = there.filter(|((channel, _), _)| *channel == place.channel);
                let found = there.map(|((_, session), version)| (*session, *version));
                let reply = Reply::Index(found.collect());
                links[at].answer(Request::Index(place, look), reply);
            }
            Command::Page(place, (session, mark), cursor) => {
                let page = self.page(&place.channel, session, cursor);
                let request = Request::Page(place, session, mark);
                links[at].answer(request, Reply::Page(Some(page)));
            }
            Command::Check(channel, session, version) => {
                let found = self.index.get(&(channel.clone(), session)).copied();
                let request = Request::Check(channel, session, version);
                links[at].answer(request, Reply::Version(found.flatten()));
            }
            Command::Purge(channel, session) => self.purge(&(channel, session)),
            Command::Change(channel, session, numbers, seats) => {
                let key = (channel, session);
                let done = self.change(&key, numbers, seats);
                links_hear(links, (at, is_mute), key, done);
            }
            Command::Write(channel, session, whole) => {
                let key = (channel, session);
                let done = self.write(&key, whole);
                links_hear(links, (at, is_mute), key, done);
            }
        }
        true
    }

    fn beat(&mut self, session: Session, begins: bool, ms: u64) -> Reply {
        self.leases.retain(|_, end| *end > ms);
        let lives = begins || self.leases.contains_key(&session);
        if lives {
            self.leases.insert(session, ms + SESSION_MS);
        }
        let live = self.leases.keys().copied().collect();
        Reply::Beat { lives, live }
    }

    fn page(&self, channel: &Channel, session: Session, cursor: u64) -> Page {
        let members = self.members.get(&(channel.clone(), session));
        let behind = members.into_iter().flat_map(|all| all.range(cursor + 1..));
        let seats: Vec<_> = behind.take(2).map(|(_, seat)| seat.clone()).collect();
        let last = seats.last().filter(|_| seats.len() == 2);
        Page {
            next: last.map(|last| last.socket.to_string().into()),
            changes: Vec::new(),
            seats,
        }
    }

    fn purge(&mut self, key: &(Channel, Session)) {
        self.index.remove(key);
        self.members.remove(key);
    }

    fn change(
        &mut self,
        key: &(Channel, Session),
        (before, version): (u64, u64),
        seats: Vec<Result<Seat, u64>>,
    ) -> (Written, Option<Told>) {
        let known = self.index.get(key).copied().unwrap_or(Some(0));
        if known != Some(before) {
            return (Written::Doubtful, None);
        }
        let members = self.members.entry(key.clone()).or_default();
        if before == 0 {
            members.clear();
        }
        for seat in &seats {
            match seat {
                Ok(seat) => members.insert(seat.socket, seat.clone()),
                Err(socket) => members.remove(socket),
            };
        }
        let is_empty = self.keep(key, Some(version));
        let told = Told::Change(message::Change {
            session: key.1,
            before,
            version,
            seats,
            is_empty,
        });
        (written(is_empty), Some(told))
    }

    fn write(&mut self, key: &(Channel, Session), whole: Whole) -> (Written, Option<Told>) {
        if whole.is_first {
            self.purge(key);
        } else if self.index.get(key) != Some(&None) {
            return (Written::Doubtful, None);
        }
        let members = self.members.entry(key.clone()).or_default();
        members.extend(whole.seats.into_iter().map(|seat| (seat.socket, seat)));
        let old = whole.old.filter(|_| whole.version.is_some());
        if let Some(old) = old {
            self.purge(&(key.0.clone(), old));
        }
        let is_empty = self.keep(key, whole.version);
        let told = whole.version.map(|version| Told::Reset {
            session: key.1,
            version,
            is_empty,
        });
        (written(is_empty), told)
    }

    /// Sets the number of the last change. Returns whether there is no member.
    fn keep(&mut self, key: &(Channel, Session), version: Option<u64>) -> bool {
        let is_empty = self.members.get(key).is_none_or(BTreeMap::is_empty);
        if is_empty {
            self.purge(key);
        } else {
            self.index.insert(key.clone(), version);
        }
        is_empty
    }
}

fn written(is_empty: bool) -> Written {
    if is_empty {
        Written::Emptied
    } else {
        Written::Done
    }
}

/// What comes of a write, on all links.
fn links_hear(
    links: &mut [Link],
    (at, is_mute): (usize, bool),
    (channel, session): (Channel, Session),
    (written, told): (Written, Option<Told>),
) {
    let is_untold = is_mute && told.is_some();
    if !is_untold {
        tell(links, &channel, told);
    }
    let request = Request::Write(channel, session);
    let reply = if is_untold {
        Err(Fault::Untold(String::new()))
    } else {
        Ok(Reply::Written(written))
    };
    links[at].heard.push_back(Event::Answer(request, reply));
}

/// Publishes on the topic of a channel.
fn tell(links: &mut [Link], channel: &Channel, told: Option<Told>) {
    let Some(told) = told else { return };
    let topic = Some(channel.clone());
    for link in links {
        if link.topics.contains(&topic) {
            let told = Event::Told(topic.clone(), Some(told.clone()));
            link.heard.push_back(told);
        }
    }
}

impl Link {
    /// A new link with this [room](Self::room).
    pub(super) fn of(room: Option<usize>) -> Self {
        Self {
            room,
            ..Self::default()
        }
    }

    fn answer(&mut self, request: Request, reply: Reply) {
        self.heard.push_back(Event::Answer(request, Ok(reply)));
    }
}

impl Register for Link {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Result<Event, LinkError>> {
        Poll::Pending
    }

    fn due(&mut self) -> Option<Instant> {
        None
    }

    fn cut(&mut self) {}

    fn overdue(&mut self, _: Instant) -> Result<Option<Event>, LinkError> {
        Ok(None)
    }

    fn servers(&self) -> Vec<Server> {
        Vec::new()
    }

    fn is_idle(&self) -> bool {
        self.sent.is_empty() && self.heard.is_empty()
    }

    fn has_room(&self) -> bool {
        self.room.is_none_or(|room| self.sent.len() < room)
    }

    fn has_much_room(&self) -> bool {
        self.room
            .is_none_or(|room| self.sent.len() < room.div_ceil(2))
    }

    fn follow_sessions(&mut self, _: Instant) {
        self.sent.push_back(Command::FollowSessions);
    }

    fn subscribe(&mut self, place: Place, _: Instant) {
        self.sent.push_back(Command::Subscribe(place));
    }

    fn unsubscribe(&mut self, channel: &[u8], _: Instant) {
        self.sent.push_back(Command::Unsubscribe(channel.into()));
    }

    fn beat(&mut self, session: Session, begins: bool, _: Instant) {
        self.sent.push_back(Command::Beat(session, begins));
    }

    fn mark(&mut self, _: Session, _: bool, _: Instant) {}

    fn index(&mut self, (place, look): (Place, u32), _: Vec<Session>, _: Instant) {
        self.sent.push_back(Command::Index(place, look));
    }

    fn page(&mut self, place: Place, of: (Session, u32), cursor: &str, _: Instant) {
        let cursor = cursor.parse().expect("the store wrote it");
        self.sent.push_back(Command::Page(place, of, cursor));
    }

    fn check(&mut self, (channel, session): (&[u8], Session), version: u64, _: Instant) {
        let check = Command::Check(channel.into(), session, version);
        self.sent.push_back(check);
    }

    fn change(
        &mut self,
        (channel, session): (&[u8], Session),
        numbers: (u64, u64),
        (seats, _): (&[Result<Seat, u64>], bool),
        _: Instant,
    ) {
        let change = Command::Change(channel.into(), session, numbers, seats.to_vec());
        self.sent.push_back(change);
    }

    fn write(&mut self, (channel, session): (&[u8], Session), part: Part<'_>, _: Instant) {
        let whole = Whole {
            is_first: part.is_first,
            version: part.version,
            seats: part.seats.to_vec(),
            old: part.old,
        };
        let write = Command::Write(channel.into(), session, whole);
        self.sent.push_back(write);
    }

    fn purge(&mut self, (channel, session): (&[u8], Session), _: Instant) {
        self.sent.push_back(Command::Purge(channel.into(), session));
    }

    fn leave(&mut self, _: Session, _: Instant) {}
}

/// As long as on a server.
const SESSION_MS: u64 = 9_000;
