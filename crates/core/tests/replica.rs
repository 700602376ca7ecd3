//! Random operations on a channel whose messages a store numbers. Each subscriber gets every number from its beginning on, in
//! order and once, or is told exactly what is missing, in whatever order the node is filled, messages arrive and
//! subscribers enter and read on.
//!
//! Over 400 lines because the operations and what is checked beside them belong together.
#![cfg(not(loom))]

#[path = "replica/shards.rs"]
mod shards;

use std::sync::Arc;

use millrace_core::{
    ChannelTerms, Core, Cursor, EnterError, Entrance, Epoch, HistoryBounds, HistoryTerms, InStore,
    Manner, Pattern, Position, Progress, Room, ShardIndex, SocketId, SocketInfo, Start, Stored,
    Target,
};
use proptest::prelude::*;
use shards::Shards;

const ROOM: &[u8] = b"room:1";
const KEPT: usize = 4;

fn core() -> Core<Arc<str>> {
    let core = Core::new();
    let terms = ChannelTerms {
        pattern: Pattern::new(b"room:*").expect("short"),
        history: Some(HistoryTerms {
            messages: KEPT.try_into().expect("few"),
            age_ms: 1000,
        }),
    };
    let bounds = HistoryBounds {
        bytes: 100_000,
        channels: 10,
    };
    core.set_terms(vec![terms], bounds);
    core
}

fn open(core: &Core<Arc<str>>, shard: u8) -> SocketId {
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    core.open(ShardIndex::new(shard).expect("few"), 7, info)
}

fn stored(offset: u64) -> Stored<Arc<str>> {
    let message: Arc<str> = format!("message {offset}").into();
    Stored {
        offset,
        unix_ms: 0,
        from: None,
        length: message.len(),
        message,
    }
}

fn at(epoch: u64, offset: u64) -> Position {
    Position {
        epoch: Epoch::new(epoch),
        offset,
    }
}

/// The last messages that a store keeps.
fn kept(newest: u64, most: usize) -> Vec<Stored<Arc<str>>> {
    let first = (newest + 1)
        .saturating_sub(most.try_into().expect("few"))
        .max(1);
    (first..=newest).map(stored).collect()
}

fn enter(core: &Core<Arc<str>>, id: SocketId, start: Start, shards: &mut Shards) -> Option<bool> {
    enter_with(core, id, (start, None), shards).expect("it is open, and all is known")
}

fn enter_with(
    core: &Core<Arc<str>>,
    id: SocketId,
    (start, known): (Start, Option<InStore>),
    shards: &mut Shards,
) -> Result<Option<bool>, EnterError> {
    let entrance = Entrance {
        start,
        known,
        references: 1,
        own: false,
        tag: 0,
    };
    let entered = core.enter_at(id, ROOM, entrance, 100, shards)?;
    Ok(entered.recovered)
}

fn apply(core: &Core<Arc<str>>, offset: u64, shards: &mut Shards) -> Option<usize> {
    core.apply(ROOM, stored(offset), ("text", &[]), shards)
}

#[test]
fn a_message_is_handed_over_and_comes_back_with_the_number_of_the_store() {
    let core = core();
    let mut shards = Shards {
        stores: true,
        ..Shards::default()
    };
    let ids = [open(&core, 0), open(&core, 1)];
    assert!(core.fill(ROOM, (at(7, 9), kept(9, 3)), || true, &mut shards));
    assert_eq!(
        enter(&core, ids[0], Start::Since(at(7, 7)), &mut shards),
        Some(true)
    );
    assert_eq!(
        shards
            .entered
            .and_then(|told| told.cursor)
            .map(|cursor| cursor.next),
        Some(8)
    );
    assert_eq!(enter(&core, ids[1], Start::Next, &mut shards), None);
    let manner = Manner {
        except: &ids[..1],
        ticket: 5,
        ..Manner::default()
    };
    let published = core.publish_as(ROOM, "text", &manner, &mut shards);
    assert_eq!((published.deliveries, published.position), (1, None));
    assert!(published.is_stored && !published.is_repeated);
    assert_eq!(core.publish(ROOM, "text", &[], &mut shards), 2);
    assert_eq!(shards.handed, [(5, 1), (0, 0)]);
    let past = core
        .history(ROOM, (Start::Last(9), false), 9, 0)
        .expect("it has history");
    assert_eq!(
        (past.position, past.messages.len()),
        (at(7, 9), 3),
        "nothing was numbered here"
    );
    assert_eq!(apply(&core, 10, &mut shards), Some(1), "only one is live");
    assert_eq!(shards.readers[&ids[1]].at, (Epoch::new(7), 11));
    assert_eq!(apply(&core, 10, &mut shards), None, "it was there");
    assert_eq!(core.followed(ROOM), Some((at(7, 10), true)));
    assert_eq!(shards.gaps, 0);
}

#[test]
fn what_is_followed_stays_until_it_is_unfollowed_without_a_subscriber() {
    let core = core();
    let mut shards = Shards::default();
    let id = open(&core, 0);
    assert_eq!(apply(&core, 1, &mut shards), None, "nobody follows it");
    assert!(!core.fill(b"plain", (at(7, 9), Vec::new()), || true, &mut shards));
    assert!(!core.fill(ROOM, (at(7, 9), Vec::new()), || false, &mut shards));
    assert_eq!(core.followed(ROOM), None);
    // nothing was published so far, and nobody is subscribed
    assert!(core.fill(ROOM, (at(7, 0), Vec::new()), || true, &mut shards));
    core.expire_history(&mut shards);
    assert_eq!(core.followed(ROOM), Some((at(7, 0), true)));
    assert_eq!(apply(&core, 1, &mut shards), Some(0));
    core.subscribe(&[Target::Socket(id)], ROOM, 1, &mut shards);
    assert!(!core.unfollow(ROOM, || panic!("it has a subscriber")));
    core.subscribe(&[Target::Socket(id)], ROOM, -1, &mut shards);
    assert!(!core.unfollow(ROOM, || false));
    assert_eq!(core.history_size().1, 1);
    assert!(core.unfollow(ROOM, || true));
    assert_eq!((core.followed(ROOM), core.history_size()), (None, (0, 0)));
    assert_eq!(apply(&core, 2, &mut shards), None);
}

#[test]
fn those_who_subscribe_before_the_channel_is_followed_learn_their_position() {
    let core = core();
    let mut shards = Shards::default();
    let id = open(&core, 0);
    core.subscribe(&[Target::Socket(id)], ROOM, 1, &mut shards);
    assert!(core.fill(ROOM, (at(7, 9), kept(9, 3)), || true, &mut shards));
    assert_eq!(
        (shards.gaps, shards.readers[&id].at),
        (1, (Epoch::new(7), 10))
    );
    assert!(core.fill(ROOM, (at(7, 9), kept(9, 3)), || true, &mut shards));
    assert_eq!(apply(&core, 10, &mut shards), Some(1));
    assert_eq!(
        (shards.gaps, shards.readers[&id].at),
        (1, (Epoch::new(7), 11))
    );
}

#[test]
fn what_does_not_fit_is_not_taken_for_all_that_is_kept() {
    let core = core();
    let mut shards = Shards::default();
    let long = |offset| Stored {
        length: 60_000,
        ..stored(offset)
    };
    assert!(core.fill(
        ROOM,
        (at(7, 2), vec![long(1), long(2)]),
        || true,
        &mut shards
    ));
    assert_eq!(core.followed(ROOM), Some((at(7, 2), false)));
    assert_eq!(core.history_size(), (0, 0));
    assert!(core.fill(ROOM, (at(7, 3), kept(3, 9)), || true, &mut shards));
    assert_eq!(core.followed(ROOM), Some((at(7, 3), true)));
    // a hole in front, and more than the terms allow
    let entries = vec![stored(1), stored(3), stored(4)];
    assert!(core.fill(ROOM, (at(7, 4), entries), || true, &mut shards));
    let offsets = || {
        let past = core
            .history(ROOM, (Start::Last(99), false), 99, 0)
            .expect("it has history");
        let offsets = past.messages.iter().map(|kept| kept.number.position.offset);
        offsets.collect::<Vec<_>>()
    };
    assert_eq!(offsets(), [3, 4]);
    assert!(core.fill(ROOM, (at(7, 9), kept(9, 9)), || true, &mut shards));
    assert_eq!(offsets(), [6, 7, 8, 9]);
    assert!(core.fill(
        ROOM,
        (at(7, 9), vec![stored(7), stored(8)]),
        || true,
        &mut shards
    ));
    assert_eq!(offsets(), [0; 0], "the newest is not there");
    assert!(!core.fill(ROOM, (at(7, u64::MAX), Vec::new()), || true, &mut shards));
    assert_eq!(apply(&core, u64::MAX, &mut shards), None);
}

#[test]
fn messages_for_patterns_are_posted_apart() {
    let core = core();
    let mut shards = Shards::default();
    let id = open(&core, 0);
    let topic = millrace_core::Topic::Pattern(b"room:*");
    core.subscribe_to(&[Target::Socket(id)], topic, 1, &mut shards)
        .expect("few");
    assert!(core.fill(ROOM, (at(7, 0), Vec::new()), || true, &mut shards));
    assert_eq!(apply(&core, 1, &mut shards), Some(0));
    assert_eq!(shards.matched, 0);
    assert_eq!(core.publish_to_patterns(ROOM, "text", &[], &mut shards), 1);
    assert_eq!(shards.matched, 1);
}

#[derive(Clone, Debug)]
enum Step {
    /// The store takes this many messages, of which the node hears so many.
    Publish {
        messages: u64,
        heard: u64,
    },
    /// The node is filled with what the store has; perhaps its numbers have begun anew, or it is more than all channels may
    /// keep.
    Fill {
        anew: bool,
        is_long: bool,
    },
    Enter {
        who: usize,
        start: u8,
        back: u64,
        /// Whether it is known what the store has.
        is_seen: bool,
    },
    ReadOn {
        who: usize,
        messages: u64,
    },
    Leave {
        who: usize,
    },
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..4_u64, 0..4_u64).prop_map(|(messages, heard)| Step::Publish { messages, heard }),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(anew, is_long)| Step::Fill { anew, is_long }),
        3 => (0..5_usize, 0..4_u8, 0..7_u64, any::<bool>())
            .prop_map(|(who, start, back, is_seen)| Step::Enter { who, start, back, is_seen }),
        3 => (0..5_usize, 1..4_u64).prop_map(|(who, messages)| Step::ReadOn { who, messages }),
        1 => (0..5_usize).prop_map(|who| Step::Leave { who }),
    ]
}

/// A store, a node that follows it, and five sockets.
struct World {
    core: Core<Arc<str>>,
    shards: Shards,
    sockets: Vec<SocketId>,
    epoch: u64,
    newest: u64,
}

impl World {
    fn new() -> Self {
        let core = core();
        let sockets = (0..5).map(|shard| open(&core, shard % 2)).collect();
        let mut world = Self {
            core,
            shards: Shards::default(),
            sockets,
            epoch: 1,
            newest: 0,
        };
        world.fill(false);
        world
    }

    fn fill(&mut self, is_long: bool) {
        let mut messages = kept(self.newest, KEPT);
        if is_long {
            for message in &mut messages {
                message.length = 200_000;
            }
        }
        let is_whole = !is_long || messages.is_empty();
        let newest = at(self.epoch, self.newest);
        let past = (newest, messages);
        assert!(self.core.fill(ROOM, past, || true, &mut self.shards));
        assert_eq!(self.core.followed(ROOM), Some((newest, is_whole)));
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Publish { messages, heard } => {
                let before = self.newest;
                self.newest += messages;
                // what is not heard is in front of what is, or comes with the next filling
                let first = self.newest + 1 - heard.min(messages);
                for offset in first.max(before + 1)..=self.newest {
                    apply(&self.core, offset, &mut self.shards);
                }
            }
            Step::Fill { anew, is_long } => {
                if anew {
                    self.epoch += 1;
                    self.newest /= 2;
                }
                self.fill(is_long);
            }
            Step::Enter {
                who,
                start,
                back,
                is_seen,
            } => self.enter(who, (start, back), is_seen),
            Step::ReadOn { who, messages } => self.read_on(who, messages),
            Step::Leave { who } => {
                let all = [Target::Socket(self.sockets[who])];
                self.core.subscribe(&all, ROOM, -1000, &mut self.shards);
            }
        }
    }

    /// The oldest message that the store keeps.
    fn oldest(&self) -> Position {
        let kept = KEPT.try_into().expect("few");
        at(self.epoch, (self.newest + 1).saturating_sub(kept).max(1))
    }

    fn enter(&mut self, who: usize, (start, back): (u8, u64), is_seen: bool) {
        let id = self.sockets[who];
        if self.shards.readers.contains_key(&id) {
            return;
        }
        let (newest, _) = self.core.followed(ROOM).expect("it is followed");
        let in_store = InStore {
            oldest: self.oldest(),
            is_all: true,
        };
        let known = is_seen.then_some(in_store);
        let since = at(newest.epoch.get(), newest.offset.saturating_sub(back));
        let start = match start {
            0 => Start::Next,
            1 => Start::Last(back.try_into().expect("few")),
            2 => Start::Since(since),
            _ => Start::Gone,
        };
        let asked = self.core.unknown_in_store(ROOM, start, known);
        let mut entered = enter_with(&self.core, id, (start, known), &mut self.shards);
        if let Err(error) = entered {
            assert_eq!(error, EnterError::Unknown(asked.expect("it is the same")));
            assert!(!is_seen && !self.shards.readers.contains_key(&id));
            let known = Some(in_store);
            entered = enter_with(&self.core, id, (start, known), &mut self.shards);
        } else {
            assert_eq!(asked, None);
        }
        let recovered = entered.expect("the store was asked");
        let reader = &self.shards.readers[&id];
        match start {
            Start::Since(since) if since.offset + 1 >= self.oldest().offset => {
                assert_eq!(recovered, Some(true), "the store has it");
                assert_eq!(reader.at, (since.epoch, since.offset + 1));
            }
            Start::Since(since) if recovered == Some(true) => {
                assert_eq!(reader.at, (since.epoch, since.offset + 1));
            }
            Start::Since(_) | Start::Gone => {
                assert_eq!(recovered, Some(false));
                assert_eq!(reader.at, (newest.epoch, newest.offset + 1));
            }
            _ => assert_eq!(recovered, None),
        }
    }

    fn read_on(&mut self, who: usize, messages: u64) {
        let id = self.sockets[who];
        let cursor = self
            .shards
            .readers
            .get(&id)
            .and_then(|reader| reader.cursor);
        let (Some(cursor), Some((list, name))) = (cursor, self.shards.list.clone()) else {
            return;
        };
        let room = Room {
            first: u64::MAX,
            all: messages * 140,
            beside: 0,
        };
        let mut out = Vec::new();
        let shards = &mut self.shards;
        let step = self
            .core
            .read_on((list, &name), (id, cursor), room, &mut out, shards);
        if let Some(last) = step.gap {
            shards.miss(id, last);
        }
        for kept in &out {
            shards.get(id, kept.number.position);
        }
        match step.progress {
            Progress::Behind(next) => {
                let reader = shards.readers.get_mut(&id).expect("it is subscribed");
                reader.cursor = Some(Cursor { next, ..cursor });
            }
            Progress::Absent { from, until } => {
                assert!(out.is_empty() && from.offset == cursor.next && until > from.offset);
                self.read_store(id, (cursor, from, until), messages);
            }
            Progress::Live => assert!(shards.joined.contains_key(&id)),
            Progress::Ended => panic!("it is subscribed, and behind"),
        }
    }

    /// The next messages of the store, up to those that the node has; what the store has not is a gap.
    fn read_store(
        &mut self,
        id: SocketId,
        (cursor, from, until): (Cursor, Position, u64),
        messages: u64,
    ) {
        let oldest = self.oldest();
        let has_it = from.epoch == oldest.epoch && from.offset >= oldest.offset;
        let next = if has_it {
            let next = until.min(from.offset + messages).min(self.newest + 1);
            for offset in from.offset..next {
                self.shards.get(id, Position { offset, ..from });
            }
            next
        } else {
            let next = if from.epoch == oldest.epoch {
                until.min(oldest.offset)
            } else {
                until
            };
            let offset = next - 1;
            self.shards.miss(id, Position { offset, ..from });
            next
        };
        let reader = self.shards.readers.get_mut(&id);
        reader.expect("it is subscribed").cursor = Some(Cursor { next, ..cursor });
    }

    /// All who have entered get to the newest message of the store.
    fn end(mut self) {
        self.fill(false);
        for who in 0..self.sockets.len() {
            for _ in 0..20 {
                self.read_on(who, 3);
            }
        }
        for (id, reader) in &self.shards.readers {
            let newest = (Epoch::new(self.epoch), self.newest + 1);
            assert_eq!((reader.cursor, reader.at), (None, newest), "{id}");
        }
        for id in std::mem::take(&mut self.sockets) {
            self.core.close(id, &mut self.shards);
        }
        assert!(self.core.unfollow(ROOM, || true));
        assert_eq!(self.core.history_size(), (0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_subscriber_gets_every_number_or_is_told_of_the_gap(steps in prop::collection::vec(steps(), 0..120)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        world.end();
    }
}
