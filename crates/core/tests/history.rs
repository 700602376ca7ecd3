//! Random operations on channels with history. After each step what is kept must be what the naive model keeps, and
//! every subscriber must have got consecutive numbers, or have been told of exactly the gap.
#![cfg(not(loom))]

#[path = "history/driver.rs"]
mod driver;
#[path = "history/readers.rs"]
mod readers;

use std::sync::Arc;

use millrace_core::{
    ChannelTerms, Core, HistoryBounds, HistoryTerms, Manner, Pattern, ShardIndex, SocketInfo,
    Target,
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

#[test]
fn one_publication_does_not_drop_the_history_of_many_channels() {
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
