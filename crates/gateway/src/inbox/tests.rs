//! Tests the inbox on one thread: its limit, its high-water mark, its sizes.

use super::*;
use crate::hub::{Outgoing, Poster};
use millrace_core::{ChannelId, Match, Name, Post, Route, SocketId, Space};
use model::{Op, SHARDS};
use proptest::prelude::*;

fn shard() -> ShardIndex {
    ShardIndex::new(0).unwrap()
}

fn send(inboxes: &Inboxes, payload: &[u8]) -> bool {
    let mut dirty = ShardSet::default();
    let mut poster = Poster::new(inboxes, &mut dirty, None);
    let route = Route {
        shard: shard(),
        slot: 0,
        socket: SocketId::new(1).unwrap(),
    };
    poster.direct(route, None, &Outgoing::new(Kind::Text, payload))
}

#[test]
fn a_full_inbox_refuses_and_counts() {
    let inboxes = Inboxes::new();
    inboxes.open(1, 1000);
    let mut accepted = 0;
    while send(&inboxes, &[b'x'; 100]) {
        accepted += 1;
    }
    assert!(accepted > 1);
    assert_eq!(inboxes.posted().deliveries, accepted);
    assert_eq!(inboxes.posted().refused, 1);
    assert!(inboxes.congested());
    let mut mail = Mail::default();
    inboxes.take(shard(), &mut mail);
    assert!(
        !send(&inboxes, &[b'x'; 100]),
        "commands that are being processed still count"
    );
    assert!(inboxes.processed(shard(), &mut mail));
    assert!(!inboxes.congested());
    assert!(send(&inboxes, &[b'x'; 100]));
}

#[test]
fn one_message_always_fits_an_empty_inbox() {
    let inboxes = Inboxes::new();
    inboxes.open(1, 10);
    assert!(send(&inboxes, &vec![b'x'; 100_000]));
    assert!(!send(&inboxes, b"y"));
}

/// The inbox holds it once, regardless of how many of the shard's sockets and lists it is for.
#[test]
fn a_publication_is_charged_once_per_shard() {
    const MIB: usize = 1 << 20;
    let inboxes = Inboxes::new();
    inboxes.open(2, 4 * MIB);
    let payload = vec![b'x'; MIB];
    let mut dirty = ShardSet::default();
    let mut poster = Poster::new(&inboxes, &mut dirty, None);
    let name = Name::new(Space::Channel, b"c");
    for round in 0..4 {
        let message = Outgoing::new(Kind::Binary, &payload);
        let fits = round < 3;
        for number in 1..=1000 {
            let route = Route {
                shard: ShardIndex::new(u8::from(number > 500)).unwrap(),
                slot: 0,
                socket: SocketId::new(number).unwrap(),
            };
            assert_eq!(
                poster.direct(route, None, &message),
                fits,
                "{round} {number}"
            );
        }
        let list = ChannelId::new(1);
        let matched = Match {
            pattern: list,
            channel: &name,
            terms: None,
        };
        assert_eq!(poster.publish(shard(), list, &message, &[], 9), fits);
        assert_eq!(
            poster.publish_match(shard(), matched, &message, &[], 9),
            fits
        );
    }
    assert_eq!(inboxes.posted().deliveries, 3 * 1018);
    assert_eq!(inboxes.posted().refused, 1018);
}

/// The mark is limited even with a large inbox: what waits there takes memory and is late.
#[test]
fn workers_stop_taking_events_from_4_mib_on() {
    let inboxes = Inboxes::new();
    inboxes.open(1, 256 << 20);
    let payload = vec![b'x'; 64 * 1024];
    let mut posted = 0;
    while !inboxes.congested() {
        assert!(send(&inboxes, &payload));
        posted += payload.len();
    }
    assert_eq!(posted, 4 << 20);
}

#[test]
fn the_memory_of_a_burst_is_given_back_when_less_is_needed() {
    let inboxes = Inboxes::new();
    inboxes.open(1, LARGEST_BOUND);
    let mut mail = Mail::default();
    let mut turn = |messages| {
        for _ in 0..messages {
            assert!(send(&inboxes, &[b'x'; 32]));
        }
        inboxes.take(shard(), &mut mail);
        assert_eq!(mail.commands.drain(..).count(), messages);
        inboxes.processed(shard(), &mut mail);
    };
    turn(20_000);
    turn(20_000);
    turn(500);
    let mut trim = || {
        inboxes.trim(shard(), &mut mail);
        let state = inboxes.at(shard()).state.lock();
        [&mail, &state.mail].map(|mail| (mail.commands.capacity(), mail.arena.capacity()))
    };
    for (commands, arena) in trim() {
        assert!(commands >= 20_000, "a burst was part of this time");
        assert!(arena >= 20_000 * 32);
    }
    assert_eq!(trim(), [(FEW_COMMANDS, SMALL_ARENA); 2]);
}

#[test]
fn an_inbox_without_a_shard_accepts_nothing() {
    assert!(!send(&Inboxes::new(), b"x"));
}

#[test]
fn a_command_stays_small() {
    assert!(size_of::<Command>() <= 48, "{}", size_of::<Command>());
}

fn ops() -> impl Strategy<Value = Op> {
    let shard = || 0..SHARDS;
    let length = || prop_oneof![0..60_usize, 0..3_000_usize];
    prop_oneof![
        4 => shard().prop_map(Op::Post),
        4 => (shard(), prop_oneof![9 => length(), 1 => 0..3_000_000_usize], 0..5_u32)
            .prop_map(|(shard, charge, count)| Op::Deliver(shard, charge, count)),
        4 => (shard(), prop::collection::vec(length(), 0..6))
            .prop_map(|(shard, lengths)| Op::Texts(shard, lengths)),
        8 => shard().prop_map(Op::Turn),
        1 => (shard(), 0..10).prop_map(|(shard, chance)| match chance {
            0 => Op::Shut(shard),
            _ => Op::Turn(shard),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_counts_of_an_inbox_are_never_wrong(
        bound in prop_oneof![0..200_usize, 0..20_000_usize, 16_000_000..17_000_000_usize],
        ops in prop::collection::vec(ops(), 0..200),
    ) {
        model::run(bound, ops);
    }
}
