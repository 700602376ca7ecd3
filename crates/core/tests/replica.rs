//! A channel whose messages a store numbers. Each subscriber gets every number from its beginning on, in order and once, or is
//! told exactly what is missing, in whatever order the node is filled, messages arrive and subscribers enter and read on.
#![cfg(not(loom))]

#[path = "replica/shards.rs"]
mod shards;
#[path = "replica/world.rs"]
mod world;

use std::sync::Arc;

use millrace_core::{
    ChannelTerms, Core, EnterError, Entrance, Epoch, HistoryBounds, HistoryTerms, InStore, Manner,
    Pattern, Position, ShardIndex, SocketId, SocketInfo, Start, Stored, Target,
};
use proptest::prelude::*;
use shards::Shards;
use world::{World, steps};

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
