//! Applies operations to a core with history and to the naive model, and compares everything that can be observed. Over 400 lines
//! because each operation has its comparison beside it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use millrace_core::{
    ChannelTerms, Core, Cursor, Entrance, Epoch, HistoryBounds, HistoryTerms, Manner, Pattern,
    Progress, Room, ShardIndex, ShardSet, SocketId, SocketInfo, Start, Step, Target, Topic,
};
use millrace_testkit::history::{Channel, Model, Terms};

use super::readers::Readers;

/// One operation: a verb, and bytes that choose its arguments.
pub(crate) type Op = [u8; 5];

struct Driver {
    core: Core<Arc<str>>,
    model: Model,
    readers: Readers,
    sockets: Vec<SocketId>,
    /// The epoch of each channel's numbers, by how often they were lost before.
    epochs: BTreeMap<(Vec<u8>, u64), Epoch>,
    said: usize,
}

const NAMES: [&[u8]; 5] = [b"room:1", b"room:2", b"room:3", b"last", b"plain"];
/// An epoch that no channel has.
const STRANGE: &[u8] = b"0123456789abcdef";
const BYTES: u64 = 2500;
const IDLE: usize = 2;

pub(crate) fn run(ops: &[Op]) {
    let mut driver = Driver::new();
    for op in ops {
        driver.apply(*op);
        driver.readers.settle();
        driver.compare();
    }
    driver.end();
}

fn terms(name: &[u8]) -> Option<Terms> {
    match name {
        b"plain" => None,
        b"last" => Some(Terms {
            messages: 1,
            age: 50,
        }),
        _ => Some(Terms {
            messages: 5,
            age: 200,
        }),
    }
}

impl Driver {
    fn new() -> Self {
        let core = Core::new();
        let of = |pattern: &[u8], name: &[u8]| ChannelTerms {
            pattern: Pattern::new(pattern).expect("short"),
            history: terms(name).map(|terms| HistoryTerms {
                messages: u32::try_from(terms.messages).expect("few"),
                age_ms: terms.age,
            }),
        };
        let all = vec![
            of(b"room:*", b"room:1"),
            of(b"plain", b"plain"),
            of(b"l*", b"last"),
        ];
        let bounds = HistoryBounds {
            bytes: BYTES,
            channels: u64::try_from(IDLE).expect("few"),
        };
        core.set_terms(all, bounds);
        Self {
            core,
            model: Model::new(BYTES, IDLE),
            readers: Readers::default(),
            sockets: Vec::new(),
            epochs: BTreeMap::new(),
            said: 0,
        }
    }

    fn apply(&mut self, [verb, a, b, c, d]: Op) {
        let name = NAMES[usize::from(a) % NAMES.len()];
        match verb % 16 {
            0..=5 => self.publish(name, b, c, d),
            6..=8 => self.enter(name, b, c, d),
            9..=10 => self.read_on(b, c),
            11 => self.subscribe(name, b),
            12 => self.unsubscribe(name, b),
            13 => self.close(b),
            14 => self.open(b),
            _ => self.expire(b),
        }
    }

    fn open(&mut self, a: u8) {
        let shard = ShardIndex::new(a % 3).expect("below 3");
        let info = SocketInfo {
            address: None,
            worker: 0,
        };
        self.sockets.push(self.core.open(shard, 7, info));
    }

    fn pick(&self, a: u8) -> Option<SocketId> {
        let index = usize::from(a).checked_rem(self.sockets.len())?;
        self.sockets.get(index).copied()
    }

    fn publish(&mut self, name: &[u8], b: u8, c: u8, d: u8) {
        self.said += 1;
        // one message is larger than all histories may be
        let length = if b == 255 { 3000 } else { usize::from(b) };
        let text = format!("{}{}", self.said, "x".repeat(length));
        let key = c
            .is_multiple_of(3)
            .then(|| vec![c % 4; usize::from(c % 4) + 1]);
        let except: Vec<SocketId> = self.pick(c).filter(|_| c > 128).into_iter().collect();
        self.readers.full = ShardSet::default();
        if d > 230 {
            self.readers
                .full
                .insert(ShardIndex::new(d % 3).expect("below 3"));
        }
        let (now, plain) = (self.readers.now, self.readers.plain);
        let manner = Manner {
            except: &except,
            from: self.pick(d),
            key: key.as_deref(),
            ..Manner::default()
        };
        let published = self
            .core
            .publish_as(name, text.as_str(), &manner, &mut self.readers);
        if let Some(terms) = terms(name) {
            let text = (text.as_str(), key.as_deref());
            let model = self.model.publish(name, terms, text, now);
            let position = published.position.expect("the channel has history");
            assert_eq!((position.offset, published.is_repeated), model);
            assert_eq!(self.readers.plain, plain);
        } else {
            assert_eq!((published.position, published.is_repeated), (None, false));
            assert_eq!(self.readers.plain, plain + published.deliveries);
        }
        self.readers.now += u64::from(d % 16);
    }

    fn enter(&mut self, name: &[u8], b: u8, c: u8, d: u8) {
        let Some(id) = self.pick(b) else { return };
        let past = self
            .core
            .history(name, (Start::Next, false), 0, self.readers.now);
        let start = match (c % 4, past) {
            (0, _) => Start::Next,
            (1, _) => Start::Last(u32::from(d % 8)),
            (2, Some(past)) => Start::Since(millrace_core::Position {
                offset: past.position.offset.saturating_sub(u64::from(d % 8)),
                ..past.position
            }),
            _ => Start::since(STRANGE, u64::from(d)),
        };
        if let Some(terms) = terms(name) {
            self.model.expire(self.readers.now, |_| terms, Some(name));
        }
        let entrance = Entrance {
            start,
            known: None,
            references: 1,
            own: false,
            tag: u64::from(d),
        };
        let entered = self
            .core
            .enter_at(id, name, entrance, 100, &mut self.readers);
        let entered = entered.expect("the socket is open");
        let told = self.readers.last_entered.take().expect("the shard is told");
        assert_eq!((told.entered, told.tag), (entered, u64::from(d)));
        if terms(name).is_none() {
            assert_eq!((entered.position, told.cursor), (None, None));
            return;
        }
        let before = self.model.channels.get(name).cloned().unwrap_or_default();
        self.model.subscribe(name, id.get());
        assert_eq!(entered.is_new, !before.subscribers.contains(&id.get()));
        assert_eq!(
            entered.position.map(|position| position.offset),
            Some(before.newest)
        );
        let (recovered, next) = begin(&before, start);
        assert_eq!(entered.recovered, recovered);
        assert_eq!(told.cursor.map(|cursor| cursor.next), next);
    }

    /// One of the subscribers that are behind makes a step.
    fn read_on(&mut self, b: u8, c: u8) {
        let all = self.readers.all.iter();
        let behind =
            all.filter_map(|(place, reader)| Some((*place, reader.cursor?, reader.name.clone())));
        let behind: Vec<_> = behind.collect();
        let Some((place, cursor, name)) = usize::from(b)
            .checked_rem(behind.len())
            .map(|index| behind[index].clone())
        else {
            return;
        };
        let mut out = Vec::new();
        // every fourth has little room for the first message
        let room = Room {
            first: if c.is_multiple_of(4) { 200 } else { u64::MAX },
            all: u64::from(c) * 4,
            beside: u64::from(c % 3),
        };
        // a stranger's cursor does nothing
        let strange = Cursor {
            id: cursor.id + 1_000_000,
            ..cursor
        };
        let step = self.core.read_on(
            (place.0, &name),
            (place.1, strange),
            room,
            &mut out,
            &mut self.readers,
        );
        assert_eq!((step.progress, out.len()), (Progress::Ended, 0));
        let step: Step = self.core.read_on(
            (place.0, &name),
            (place.1, cursor),
            room,
            &mut out,
            &mut self.readers,
        );
        let name = name.as_bytes().to_vec();
        let terms = terms(&name).expect("it has history");
        self.model.expire(self.readers.now, |_| terms, Some(&name));
        let first = self.model.channels[&name].first();
        assert_eq!(
            step.gap.map(|gap| gap.offset),
            (first > cursor.next).then(|| first - 1)
        );
        if let Some(last) = step.gap {
            self.readers.miss(place, last);
        }
        for kept in &out {
            self.readers.get(place, &kept.number);
        }
        let next = self.readers.all[&place].next;
        match step.progress {
            Progress::Behind(more) => {
                assert_eq!(more, next);
                let charges = out.iter().map(|kept| {
                    u64::try_from(kept.message.len() + 128).expect("short") + room.beside
                });
                let is_short = charges.sum::<u64>() <= room.all.max(room.first);
                assert!(is_short && (!out.is_empty() || step.gap.is_some() || room.first == 200));
                let reader = self.readers.all.get_mut(&place).expect("found above");
                reader.cursor = Some(Cursor {
                    next: more,
                    ..cursor
                });
            }
            Progress::Live => assert_eq!(next, self.model.channels[&name].newest + 1),
            Progress::Absent { .. } => panic!("no store has it"),
            Progress::Ended => panic!("it is subscribed"),
        }
    }

    /// Subscribes a socket without a position.
    fn subscribe(&mut self, name: &[u8], b: u8) {
        let Some(id) = self.pick(b) else { return };
        let before = self.model.channels.get(name).cloned().unwrap_or_default();
        self.readers.last_entered = None;
        let new = self
            .core
            .subscribe(&[Target::Socket(id)], name, 1, &mut self.readers);
        let told = self.readers.last_entered.take();
        let told = told.map(|told| (told.entered.position, told.tag));
        let now = self.readers.now;
        let past = self.core.history(name, (Start::Next, false), 0, now);
        let newest = past.map(|past| (Some(past.position), 0));
        assert_eq!(told, newest.filter(|_| !new.is_empty()));
        if terms(name).is_some() {
            assert_eq!(new.is_empty(), before.subscribers.contains(&id.get()));
            self.model.subscribe(name, id.get());
        }
    }

    fn unsubscribe(&mut self, name: &[u8], b: u8) {
        let Some(id) = self.pick(b) else { return };
        self.core.exit(id, Topic::Channel(name), &mut self.readers);
        self.model.unsubscribe(name, id.get());
    }

    fn close(&mut self, b: u8) {
        let Some(id) = self.pick(b) else { return };
        self.sockets.retain(|open| *open != id);
        self.core.close(id, &mut self.readers);
        for name in NAMES {
            self.model.unsubscribe(name, id.get());
        }
    }

    fn expire(&mut self, b: u8) {
        self.readers.now += u64::from(b);
        // full shards are told later
        self.core.expire_history(&mut self.readers);
        self.readers.full = ShardSet::default();
        self.core.expire_history(&mut self.readers);
        let of = |name: &[u8]| terms(name).expect("only channels with history");
        self.model.expire(self.readers.now, of, None);
        self.model.keep_bounds();
        assert_eq!(self.core.history_size(), self.model.size());
        let all = self.readers.all.values();
        for reader in all.filter(|reader| reader.cursor.is_none()) {
            let newest = self.model.channels[reader.name.as_bytes()].newest;
            assert_eq!(reader.next, newest + 1, "every gap is told in the end");
        }
    }

    fn compare(&mut self) {
        let now = self.readers.now;
        let of = |name: &[u8]| terms(name).expect("only channels with history");
        self.model.expire(now, of, None);
        for name in NAMES {
            let all = self
                .core
                .history(name, (Start::Last(u32::MAX), false), 100, now);
            if terms(name).is_none() {
                assert_eq!(all, None);
                continue;
            }
            let all = all.expect("the channel has history");
            let channel = self.model.channels.get(name).cloned().unwrap_or_default();
            assert_eq!(all.position.offset, channel.newest);
            let kept = all.messages.iter().map(|kept| {
                let number = &kept.number;
                assert_eq!(number.position.epoch, all.position.epoch);
                (
                    number.position.offset,
                    number.unix_ms,
                    kept.message.to_string(),
                )
            });
            let kept: Vec<_> = kept.collect();
            let expected = channel
                .kept
                .iter()
                .map(|entry| (entry.offset, entry.time, entry.text.clone()));
            assert_eq!(kept, expected.collect::<Vec<_>>());
            if channel.newest > 0 {
                let lost = self.model.lost.get(name).copied().unwrap_or(0);
                let epoch = all.position.epoch;
                assert_eq!(
                    *self.epochs.entry((name.to_vec(), lost)).or_insert(epoch),
                    epoch
                );
            }
            let mut back = self
                .core
                .history(name, (Start::Last(2), true), 100, now)
                .expect("as before");
            back.messages.reverse();
            assert_eq!(
                back.messages,
                all.messages[all.messages.len().saturating_sub(2)..]
            );
        }
        assert_eq!(self.core.history_size(), self.model.size());
        assert!(self.model.size().0 <= BYTES);
        let mut seen = HashMap::new();
        for ((name, lost), epoch) in &self.epochs {
            let before = seen.insert((name, epoch), lost);
            assert_eq!(before, None, "an epoch of {name:?} comes twice");
        }
    }

    fn end(mut self) {
        while !self.sockets.is_empty() {
            self.close(0);
        }
        self.expire(255);
        assert_eq!(self.core.history_size(), (0, 0));
        assert_eq!(self.core.counts().channels, 0);
        assert!(self.readers.all.is_empty() && self.readers.joined.is_empty());
    }
}

/// Whether a subscriber is told that nothing is missing, and the first message that it gets of the past.
fn begin(channel: &Channel, start: Start) -> (Option<bool>, Option<u64>) {
    let (newest, first) = (channel.newest, channel.first());
    let from = |next: u64| (next <= newest).then_some(next);
    match start {
        Start::Next => (None, None),
        Start::Last(most) => (
            None,
            from(first.max((newest + 1).saturating_sub(u64::from(most)))),
        ),
        Start::Since(position)
            if Some(position.epoch) != Epoch::parse(STRANGE) && position.offset + 1 >= first =>
        {
            (Some(true), from(position.offset + 1))
        }
        Start::Since(_) | Start::Gone => (Some(false), None),
    }
}
