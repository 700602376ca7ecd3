//! Random operations on the channel, and what must hold behind each.

use std::sync::Arc;

use millrace_core::{
    Core, Cursor, EnterError, Epoch, InStore, Position, Progress, Room, SocketId, Start, Target,
};
use proptest::prelude::*;

use super::shards::Shards;
use super::{KEPT, ROOM, apply, at, core, enter_with, kept, open};

#[derive(Clone, Debug)]
pub(super) enum Step {
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

pub(super) fn steps() -> impl Strategy<Value = Step> {
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
pub(super) struct World {
    core: Core<Arc<str>>,
    shards: Shards,
    sockets: Vec<SocketId>,
    epoch: u64,
    newest: u64,
}

impl World {
    pub(super) fn new() -> Self {
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

    pub(super) fn step(&mut self, step: &Step) {
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
    pub(super) fn end(mut self) {
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
