//! Single cases of nodes that know the members of all in the end.

use std::sync::atomic::Ordering;

use super::{CHANNELS, Event, World};
use crate::store::presence::register::{Reply, Request};

/// A node stands still until the others have removed its members, and goes on.
#[test]
fn a_node_that_was_declared_dead_has_its_members_again() {
    let mut world = World::new();
    for at in 0..3 {
        world.follow(at, CHANNELS[0]);
        world.change(at, CHANNELS[0], 7, Some("x".to_owned()));
    }
    world.settle(2);
    world.check();
    for _ in 0..12 {
        world.ms += 1000;
        for at in 1..3 {
            world.run(at);
            while world.execute(at) {}
            while world.hear(at, false) {}
        }
    }
    let others = |at: usize| world.nodes[at].rooms.all().others.len();
    assert_eq!([others(0), others(1), others(2)], [2, 1, 1]);
    world.settle(1);
    world.check();
}

/// A channel is forgotten and followed again before the node's task looks. What comes until then is for the earlier one.
#[test]
fn nothing_stays_of_what_came_before_a_channel_was_followed_again() {
    let mut world = World::new();
    let room = CHANNELS[0];
    world.follow(1, room);
    world.change(0, room, 7, Some("x".to_owned()));
    world.settle(2);
    world.forget(1, room);
    world.follow(1, room);
    world.change(0, room, 8, Some("x".to_owned()));
    world.run(0);
    while world.execute(0) {}
    while world.hear(1, true) {}
    world.run(1);
    assert!(world.execute(1), "it has ended its subscription");
    for socket in [7, 8] {
        world.change(0, room, socket, None);
    }
    world.run(0);
    while world.hear(0, false) {}
    world.run(0);
    while world.execute(0) {}
    while world.hear(0, false) {}
    while world.execute(1) {}
    // the index has nobody, and the next member is told of in front of it
    world.change(0, room, 9, Some("x".to_owned()));
    world.run(0);
    while world.execute(0) {}
    while world.hear(1, true) {}
    world.settle(2);
    world.check();
}

/// A channel is forgotten and followed again. What came between the end of one subscription and the beginning of the next one
/// is missing, and what came in front of that is heard when the index is being read.
#[test]
fn what_an_earlier_subscription_told_is_not_newer_than_the_index() {
    let mut world = World::new();
    let room = CHANNELS[0];
    world.follow(1, room);
    world.settle(2);
    world.forget(1, room);
    world.follow(1, room);
    world.run(1);
    world.change(0, room, 7, Some("x".to_owned()));
    world.run(0);
    while world.execute(0) {}
    assert!(world.execute(1), "it has ended its subscription");
    while world.hear(0, false) {}
    world.change(0, room, 7, None);
    world.run(0);
    while world.execute(0) {}
    while world.hear(0, false) {}
    while world.execute(1) {}
    while world.hear(1, true) {}
    world.settle(2);
    world.check();
}

/// What an earlier following has come to names that one.
#[test]
fn what_becomes_of_a_channel_is_told_with_the_number_of_its_following() {
    let mut world = World::new();
    let room = CHANNELS[0];
    world.change(0, room, 7, Some("x".to_owned()));
    world.settle(1);
    world.follow(1, room);
    world.run(1);
    while world.execute(1) {}
    world.hear(1, false);
    world.hear(1, false);
    world.run(1);
    while world.execute(1) {}
    // its members have been read, but the node follows it anew
    world.forget(1, room);
    world.follow(1, room);
    while world.hear(1, false) {}
    assert!(world.nodes[1].rooms.all().known.is_empty());
    world.settle(1);
    world.check();
}

/// A server loses what it has while a beat is on its way to another one.
#[test]
fn a_beat_of_the_session_before_does_not_begin_the_next_one() {
    let mut world = World::new();
    for at in 0..2 {
        world.follow(at, CHANNELS[0]);
        world.change(at, CHANNELS[0], 7, Some("x".to_owned()));
    }
    world.settle(2);
    world.ms += 3000;
    world.run(0);
    while world.execute(0) {}
    let (now, worker) = (world.now(), &mut world.nodes[0].worker);
    let mark = Request::Mark(worker.lease.own(), true);
    let lost = Event::Answer(mark, Ok(Reply::Lost));
    worker.handle(lost, &mut world.links[0], now);
    world.settle(2);
    world.check();
    let sessions = &world.nodes[0].shared.counters.sessions;
    assert_eq!(sessions.load(Ordering::Relaxed), 2);
}
