//! A follower beside a store that executes its reads at any moment, and a link on which messages may be lost. In the end it
//! knows exactly the members that are there.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::roll::Seat;
use super::*;

/// Members with what they say.
type Members = BTreeMap<u64, String>;

/// What a session has in the store.
#[derive(Clone, Debug, Default)]
struct Stored {
    version: u64,
    members: Members,
}

/// What comes on the link.
#[derive(Clone, Debug)]
enum Event {
    Told(Told),
    Index(u32, Vec<(Session, Option<u64>)>),
    Page(Session, u32, Page),
    /// Which of the sessions that were known then are dead.
    Beat(Vec<Session>),
}

#[derive(Default)]
struct World {
    stored: BTreeMap<Session, Stored>,
    versions: u64,
    follower: Follower,
    /// Reads that were not sent yet.
    wanted: VecDeque<Step>,
    /// Commands that the store has not executed yet.
    sent: VecDeque<Event>,
    /// What the store has said: messages, and answers with the number of messages in front of them.
    messages: VecDeque<Told>,
    answers: VecDeque<(usize, Event)>,
    /// How many messages were delivered or lost.
    delivered: usize,
    published: usize,
    view: BTreeMap<(u64, u64), (String, u32)>,
    filled: Option<Vec<u64>>,
    is_lossy: bool,
}

#[derive(Clone, Debug)]
enum Op {
    Change(u64, u64, u8),
    Rewrite(u64),
    Again(u64),
    /// The node asks who lives.
    Beat,
    /// The index is read once more, whatever is on its way.
    Look,
    Send,
    Execute,
    Message,
    Answer,
    Lose,
    Link,
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..4_u64, 1..7_u64, any::<u8>()).prop_map(|(node, socket, what)| Op::Change(node, socket, what)),
        1 => (1..4_u64).prop_map(Op::Rewrite),
        1 => (1..4_u64).prop_map(Op::Again),
        1 => Just(Op::Beat),
        1 => Just(Op::Look),
        4 => Just(Op::Send),
        4 => Just(Op::Execute),
        5 => Just(Op::Message),
        4 => Just(Op::Answer),
        1 => Just(Op::Lose),
        1 => Just(Op::Link),
    ]
}

pub(super) fn seat(socket: u64, info: &str) -> Seat {
    Seat {
        socket,
        since_ms: 0,
        info: Some(info.into()),
    }
}

impl World {
    fn session(&self, node: u64) -> Session {
        let last = self.stored.keys().rfind(|session| session.node == node);
        last.copied().unwrap_or(Session { node, number: 1 })
    }

    fn publish(&mut self, told: Told) {
        self.messages.push_back(told);
        self.published += 1;
    }

    fn change(&mut self, node: u64, socket: u64, what: u8) {
        let session = self.session(node);
        self.versions += 1;
        let stored = self.stored.entry(session).or_default();
        let before = stored.version;
        let seats = if what < 100 {
            if stored.members.remove(&socket).is_none() {
                return;
            }
            vec![Err(socket)]
        } else {
            let info = format!("{what}");
            stored.members.insert(socket, info.clone());
            vec![Ok(seat(socket, &info))]
        };
        let is_empty = stored.members.is_empty();
        stored.version = if is_empty { 0 } else { self.versions };
        let version = self.versions;
        self.publish(Told::Change(Change {
            session,
            before,
            version,
            seats,
            is_empty,
        }));
    }

    /// All members of a session are written anew, or by another one.
    fn rewrite(&mut self, node: u64, is_again: bool) {
        let old = self.session(node);
        let Some(stored) = self.stored.remove(&old) else {
            return;
        };
        let number = old.number + u64::from(is_again);
        let session = Session { node, number };
        self.versions += 1;
        let is_empty = stored.members.is_empty();
        let version = if is_empty { 0 } else { self.versions };
        let members = stored.members;
        self.stored.insert(session, Stored { version, members });
        let version = self.versions;
        self.publish(Told::Reset {
            session,
            version,
            is_empty,
        });
    }

    fn send(&mut self) {
        match self.wanted.pop_front() {
            Some(Step::Index) => {
                if let Some(look) = self.follower.index_sent() {
                    self.sent.push_back(Event::Index(look, Vec::new()));
                }
            }
            Some(Step::Page(session) | Step::Repair(session)) => {
                if let Some((cursor, mark)) = self.follower.sent(session) {
                    let page = Page {
                        changes: Vec::new(),
                        seats: Vec::new(),
                        next: Some(cursor),
                    };
                    self.sent.push_back(Event::Page(session, mark, page));
                }
            }
            _ => {}
        }
    }

    fn execute(&mut self) {
        let Some(command) = self.sent.pop_front() else {
            return;
        };
        let answer = match command {
            Event::Index(look, _) => {
                let there = self.stored.iter().filter(|(_, stored)| stored.version > 0);
                let there = there.map(|(id, stored)| (*id, Some(stored.version)));
                Event::Index(look, there.collect())
            }
            Event::Beat(mut seen) => {
                seen.retain(|session| !self.stored.contains_key(session));
                Event::Beat(seen)
            }
            Event::Page(session, mark, page) => {
                let cursor = page.next.unwrap().parse::<u64>().unwrap();
                let members = self.stored.get(&session).map(|stored| &stored.members);
                let behind = members.into_iter().flat_map(|all| all.range(cursor + 1..));
                let found: Vec<_> = behind.take(2).map(|(id, info)| seat(*id, info)).collect();
                let last = found.last().filter(|_| found.len() == 2);
                let next = last.map(|last| last.socket.to_string().into());
                Event::Page(
                    session,
                    mark,
                    Page {
                        seats: found,
                        changes: Vec::new(),
                        next,
                    },
                )
            }
            Event::Told(_) => return,
        };
        self.answers.push_back((self.published, answer));
    }

    fn message(&mut self, is_lost: bool) {
        let Some(told) = self.messages.pop_front() else {
            return;
        };
        self.delivered += 1;
        if is_lost {
            self.is_lossy = true;
        } else {
            self.hear(Event::Told(told));
        }
    }

    fn answer(&mut self) {
        let first = self.answers.front().map(|(behind, _)| *behind);
        while first.is_some_and(|behind| self.delivered < behind) {
            self.message(false);
        }
        if let Some((_, answer)) = self.answers.pop_front() {
            self.hear(answer);
        }
    }

    fn hear(&mut self, event: Event) {
        let mut steps = Vec::new();
        match event {
            Event::Told(told) => self.follower.told(told, &mut steps),
            Event::Index(look, index) => self.follower.index(look, &index, &mut steps),
            Event::Beat(dead) => {
                for session in dead {
                    self.follower.dead(session, &mut steps);
                }
            }
            Event::Page(session, mark, page) => {
                self.follower.page(session, mark, page, &mut steps);
            }
        }
        self.take(steps);
    }

    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Index | Step::Page(_) | Step::Repair(_) => self.wanted.push_back(step),
                Step::Put { node, mark, seats } => {
                    for seat in seats {
                        let info = seat.info.unwrap().into();
                        self.view.insert((node, seat.socket), (info, mark));
                    }
                }
                Step::Left { node, sockets } => {
                    for socket in sockets {
                        self.view.remove(&(node, socket));
                    }
                }
                Step::Sweep { node, mark } => {
                    self.view
                        .retain(|(of, _), (_, last)| *of != node || *last == mark);
                }
                Step::Filled(nodes) => {
                    self.view.retain(|(of, _), _| nodes.contains(of));
                    self.filled = Some(nodes);
                }
            }
        }
    }

    fn beat(&mut self) {
        let seen = self.follower.sessions().collect();
        self.sent.push_back(Event::Beat(seen));
    }

    fn look(&mut self) {
        let mut steps = Vec::new();
        self.follower.begin(&mut steps);
        self.take(steps);
    }

    /// The link is lost, and there is another one.
    fn link(&mut self) {
        self.wanted.clear();
        self.sent.clear();
        self.answers.clear();
        self.delivered += self.messages.len();
        self.messages.clear();
        self.is_lossy = false;
        self.follower.lost();
        self.look();
    }

    fn settle(&mut self) {
        for _ in 0..10_000 {
            let is_quiet = self.wanted.is_empty()
                && self.sent.is_empty()
                && self.answers.is_empty()
                && self.messages.is_empty();
            if is_quiet {
                return;
            }
            self.send();
            self.execute();
            self.message(false);
            self.answer();
        }
        panic!("it never settles");
    }

    fn check(&self) {
        let mut expected = BTreeMap::new();
        for (session, stored) in &self.stored {
            for (socket, info) in &stored.members {
                expected.insert((session.node, *socket), info.clone());
            }
        }
        let view: BTreeMap<_, _> = self
            .view
            .iter()
            .map(|(id, (info, _))| (*id, info.clone()))
            .collect();
        assert_eq!(view, expected);
        assert!(self.follower.is_filled() && self.filled.is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_follower_knows_the_members_that_are_there(ops in prop::collection::vec(ops(), 0..120)) {
        let mut world = World::default();
        world.link();
        for op in ops {
            match op {
                Op::Change(node, socket, what) => world.change(node, socket, what),
                Op::Rewrite(node) => world.rewrite(node, false),
                Op::Again(node) => world.rewrite(node, true),
                Op::Beat => world.beat(),
                Op::Look => world.look(),
                Op::Send => world.send(),
                Op::Execute => world.execute(),
                Op::Message => world.message(false),
                Op::Answer => world.answer(),
                Op::Lose => world.message(true),
                Op::Link => world.link(),
            }
        }
        world.settle();
        if world.is_lossy {
            // whatever comes next shows the loss, for those who say something
            for node in 1..4 {
                world.change(node, 1, 200);
            }
            world.settle();
        }
        world.check();
    }
}
