//! Random operations on channels with history. After each step what is kept must be what the naive model keeps, and
//! every subscriber must have got consecutive numbers, or have been told of exactly the gap.
#![cfg(not(loom))]

#[path = "history/driver.rs"]
mod driver;
#[path = "history/readers.rs"]
mod readers;

use std::sync::Arc;

use millrace_core::{
    ChannelTerms, Core, Entrance, HistoryBounds, HistoryTerms, Manner, Pattern, ShardIndex,
    ShardSet, SocketInfo, Start, Target, Topic,
};
use proptest::prelude::*;
use readers::Readers;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn history_is_what_the_model_keeps(ops in prop::collection::vec(any::<driver::Op>(), 0..200)) {
        driver::run(&ops);
    }
}

/// Opens a socket that subscribes to this many channels, publishes in each, and closes it.
fn leave_behind(core: &Core<Arc<str>>, channels: u32, readers: &mut Readers) {
    let shard = ShardIndex::new(0).expect("the first is one");
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    let socket = core.open(shard, 7, info);
    for number in 0..channels {
        let name = format!("channel {number}");
        core.subscribe(&[Target::Socket(socket)], name.as_bytes(), 1, readers);
        core.publish_as(name.as_bytes(), "text", &Manner::default(), readers);
    }
    core.close(socket, readers);
}

/// A core in which every channel has history.
fn core() -> Core<Arc<str>> {
    let core = Core::new();
    let terms = ChannelTerms {
        pattern: Pattern::new(b"*").expect("short"),
        history: Some(HistoryTerms {
            messages: 5,
            age_ms: 1000,
        }),
    };
    let bounds = HistoryBounds {
        bytes: 10_000_000,
        channels: 10,
    };
    core.set_terms(vec![terms], bounds);
    core
}

#[test]
fn a_sharded_channel_of_the_same_name_leaves_the_gap_of_each_shard() {
    let (core, mut readers) = (core(), Readers::default());
    let shards = [0, 1].map(|index| ShardIndex::new(index).expect("below 2"));
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    let sockets = shards.map(|shard| core.open(shard, 7, info));
    let entrance = Entrance {
        start: Start::Next,
        known: None,
        references: 0,
        own: true,
        tag: 0,
    };
    for socket in sockets {
        let entered = core.enter_at(socket, b"room", entrance, 10, &mut readers);
        entered.expect("it has no subscription");
        readers.settle();
    }
    let publish = |text, readers: &mut Readers| {
        core.publish_as(b"room", text, &Manner::default(), readers);
    };
    publish("1", &mut readers);
    for shard in shards {
        readers.full.insert(shard);
    }
    publish("nobody gets it", &mut readers);
    readers.full = ShardSet::default();
    let who = sockets.map(Target::Socket);
    let subscribed = core.subscribe_to(&who, Topic::Sharded(b"room"), 1, &mut readers);
    assert_eq!(subscribed, Ok(sockets.to_vec()));
    publish("3", &mut readers);
    // a reader whose next number is missing, and who was not told, would have failed
    let next: Vec<u64> = readers.all.values().map(|reader| reader.next).collect();
    assert_eq!(next, [4, 4]);
}

#[test]
fn one_publication_does_not_drop_the_history_of_many_channels() {
    let core = core();
    let mut readers = Readers::default();
    leave_behind(&core, 5000, &mut readers);
    let idle = || core.history_size().1;
    assert_eq!(idle(), 5000);
    let before = idle();
    core.publish_as(b"more", "text", &Manner::default(), &mut readers);
    assert!((1..100).contains(&(before - idle())), "{} are left", idle());
    core.expire_history(&mut readers);
    assert!((1000..4900).contains(&idle()), "{} are left", idle());
    for _ in 0..200 {
        core.publish_as(b"more", "text", &Manner::default(), &mut readers);
    }
    assert_eq!(idle(), 10);
    // a long publication makes room for all its bytes
    leave_behind(&core, 10, &mut readers);
    let long = "x".repeat(9_990_000);
    core.publish_as(b"long", long.as_str(), &Manner::default(), &mut readers);
    assert!(core.history_size().0 <= 10_000_000);
}
