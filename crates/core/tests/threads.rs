//! Many threads work at once, with real locks. Whatever they do, the core and the recipient lists are
//! empty in the end.
#![cfg(not(loom))]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use millrace_core::{
    Annotation, ChannelId, Core, Counts, Match, Name, Post, Recipient, Route, ShardIndex, SocketId,
    SocketInfo, Target, Topic,
};

const SHARDS: u64 = 4;
const THREADS: u64 = 8;
const ROUNDS: u64 = 2_000;

/// One inbox per shard. It is replayed while it is filled, which the contract allows because replaying
/// neither waits nor calls back.
#[derive(Clone)]
struct Shards {
    inboxes: Arc<[Mutex<Lists>]>,
    /// The names that other nodes were told to be wanted: patterns, and channels.
    wanted: Arc<Mutex<Wanted>>,
}

type Wanted = BTreeSet<(bool, Vec<u8>)>;

type Lists = BTreeMap<ChannelId, BTreeSet<SocketId>>;

impl Shards {
    fn with<R>(&self, shard: ShardIndex, apply: impl FnOnce(&mut Lists) -> R) -> R {
        apply(
            &mut self.inboxes[shard.get()]
                .lock()
                .expect("no assertion failed"),
        )
    }
}

impl Post for Shards {
    type Message = str;
    type Kept = ();

    fn keep(&mut self, _: &str) -> ((), usize) {
        ((), 0)
    }

    fn join(&mut self, channel: ChannelId, _: &Name, recipient: Recipient) {
        let new = self.with(recipient.route.shard, |lists| {
            lists
                .entry(channel)
                .or_default()
                .insert(recipient.subscriber)
        });
        assert!(new, "a subscriber joined twice");
    }

    fn leave(&mut self, channel: ChannelId, subscriber: SocketId, route: Route) {
        self.with(route.shard, |lists| {
            let list = lists.get_mut(&channel).expect("joined before");
            assert!(list.remove(&subscriber), "a subscriber left twice");
            if list.is_empty() {
                lists.remove(&channel);
            }
        });
    }

    fn publish(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        _: &str,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        let reached = self.with(shard, |lists| {
            let list = lists.get(&channel).expect("has recipients");
            list.iter()
                .filter(|id| except.binary_search(id).is_err())
                .count()
        });
        assert_eq!(usize::try_from(recipients), Ok(reached));
        true
    }

    fn publish_match(
        &mut self,
        shard: ShardIndex,
        matched: Match<'_>,
        message: &str,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        assert!(matched.channel.as_bytes().len() < 2);
        self.publish(shard, matched.pattern, message, except, recipients)
    }

    fn direct(&mut self, _: Route, _: Option<&Arc<Annotation>>, _: &str) -> bool {
        true
    }

    fn wanted(&mut self, _: ChannelId, name: &Name, wanted: bool) {
        let mut names = self.wanted.lock().expect("no assertion failed");
        let key = (
            name.space() == millrace_core::Space::Pattern,
            name.as_bytes().to_vec(),
        );
        let changed = if wanted {
            names.insert(key)
        } else {
            names.remove(&key)
        };
        assert!(changed, "{name:?} is {wanted} already");
    }
}

/// A random number generator with a seed, so that a run can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Ids that any thread may use, even after their sockets are gone.
struct Known(Mutex<Vec<SocketId>>);

impl Known {
    fn add(&self, id: SocketId) {
        self.0.lock().expect("no assertion failed").push(id);
    }

    fn pick(&self, dice: &mut Dice) -> SocketId {
        let ids = self.0.lock().expect("no assertion failed");
        let recent = u64::try_from(ids.len().min(64)).expect("small");
        let back = usize::try_from(dice.roll(recent)).expect("small");
        ids[ids.len() - 1 - back]
    }
}

fn open(core: &Core, dice: &mut Dice) -> SocketId {
    let shard = u8::try_from(dice.roll(SHARDS)).expect("small");
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    core.open(ShardIndex::new(shard).expect("below 64"), 0, info)
}

fn round(core: &Core, shards: &mut Shards, known: &Known, dice: &mut Dice) {
    let id = known.pick(dice);
    let names: [&[u8]; 4] = [b"a", b"b", b"c", b""];
    let name = names[usize::try_from(dice.roll(4)).expect("small")];
    let patterns: [&[u8]; 4] = [b"*", b"a*", b"[bc]", b"?"];
    let pattern = Topic::Pattern(patterns[usize::try_from(dice.roll(4)).expect("small")]);
    match dice.roll(14) {
        0 | 1 => known.add(open(core, dice)),
        2 => known.add(core.create_virtual(id, Some(Annotation::UserData(1)))),
        3 => {
            core.close(id, shards);
        }
        4 => {
            core.delete_virtual(id, None, shards);
        }
        5..=7 => {
            core.subscribe(
                &[Target::Socket(id), Target::Channel(names[1])],
                name,
                1,
                shards,
            );
        }
        8 => {
            core.subscribe(&[Target::Socket(id)], name, -1, shards);
        }
        9 => {
            core.publish(name, "m", &[id], shards);
        }
        10 => {
            core.publish(name, "m", &[], shards);
            core.send(id, "m", &[known.pick(dice)], shards);
        }
        11 | 12 => {
            let delta = if dice.roll(2) == 0 { 1 } else { -1 };
            let who = [Target::Socket(id)];
            let changed = core.subscribe_to(&who, pattern, delta, shards);
            assert!(changed.is_ok_and(|ids| ids.len() < 2));
        }
        _ => {
            let stored = core.set_token(id, Bytes::from_static(b"t")).is_ok();
            assert!(
                stored || core.token(id).is_none(),
                "an id is not used again"
            );
            assert!(core.channels_of(id, 10).len() <= names.len());
        }
    }
}

#[test]
fn whatever_threads_do_at_once_the_core_ends_empty() {
    let core = Core::new();
    let shards = Shards {
        inboxes: (0..SHARDS).map(|_| Mutex::default()).collect(),
        wanted: Arc::default(),
    };
    let known = Known(Mutex::new(vec![open(&core, &mut Dice(1))]));
    std::thread::scope(|scope| {
        for seed in 1..=THREADS {
            let (core, known, mut shards) = (&core, &known, shards.clone());
            scope.spawn(move || {
                let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                for _ in 0..ROUNDS {
                    round(core, &mut shards, known, &mut dice);
                }
            });
        }
    });
    let ids = known.0.into_inner().expect("no assertion failed");
    assert_eq!(
        ids.iter().collect::<BTreeSet<_>>().len(),
        ids.len(),
        "no id was allocated twice"
    );
    let mut post = shards.clone();
    for &id in &ids {
        core.close(id, &mut post);
    }
    for &id in &ids {
        core.delete_virtual(id, None, &mut post);
    }
    assert_eq!(core.counts(), Counts::default());
    assert!(
        shards
            .inboxes
            .iter()
            .all(|lists| lists.lock().expect("no assertion failed").is_empty())
    );
    assert_eq!(
        *shards.wanted.lock().expect("no assertion failed"),
        BTreeSet::new()
    );
}
