//! Random operations on channels with presence. After each step the members must be those of the naive model; after each
//! batch every subscriber that was told must know exactly them, or have been told their number only.
#![cfg(not(loom))]

#[path = "presence/driver.rs"]
mod driver;
#[path = "presence/viewers.rs"]
mod viewers;

use millrace_core::{Maker, MemberId, PresenceBounds, SocketInfo, Target};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_subscriber_knows_the_members_of_the_model(ops in prop::collection::vec(any::<driver::Op>(), 0..200)) {
        driver::run(&ops);
    }
}

/// The members of a channel are as many as its subscribers, are read in pages, and each costs little to come and go.
#[test]
fn a_hundred_thousand_members_are_counted_paged_and_gone_with_their_sockets() {
    const ALL: usize = 100_000;
    let core = viewers::core(PresenceBounds {
        events: 1000,
        bytes: 1 << 26,
    });
    let mut viewers = viewers::Viewers::default();
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    let mut ids: Vec<_> = (0..ALL)
        .map(|_| core.open(viewers::shard(0), 7, info))
        .collect();
    ids.sort_unstable();
    for id in &ids {
        core.enter_own(*id, b"room", usize::MAX, &mut viewers)
            .unwrap();
        let info = core
            .info(&format!("{{\"user\":{}}}", id.get() % 100))
            .unwrap();
        core.make_members(&[*id], b"room", (Maker::Client, Some(&info)), &mut viewers);
    }
    viewers.tell(&core);
    // all of them were told at once, and only how many they are
    assert_eq!(viewers.take_told(), ["count 100000"]);
    let count = core.member_count(b"room").unwrap();
    assert_eq!((count.members, count.sockets), (100, ALL));
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = core.members(b"room", 0, after, 1000).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(MemberId::here(last.socket));
        seen.extend(page.iter().map(|member| member.socket));
    }
    assert!(seen == ids);
    for id in &ids[500..] {
        core.close(*id, &mut viewers);
    }
    viewers.tell(&core);
    assert_eq!(viewers.take_told(), ["count 500"]);
    core.close(ids[0], &mut viewers);
    viewers.tell(&core);
    assert_eq!(viewers.take_told(), ["left 1"]);
    core.subscribe(&[Target::Channel(b"room")], b"room", -1, &mut viewers);
    for id in &ids[1..500] {
        core.exit_own(*id, b"room", &mut viewers);
    }
    viewers.tell(&core);
    assert!(core.is_deserted());
    assert_eq!(core.presence_bytes(), 0);
}
