//! A follower beside a naive model of a store and its link.

mod world;

use proptest::prelude::*;

use super::*;
use world::{KEPT, Sent, World};

fn settled(messages: usize) -> World {
    let mut world = World::default();
    for _ in 0..messages {
        world.publish();
    }
    world.settle();
    world.check();
    world
}

#[test]
fn a_channel_is_filled_and_then_goes_on() {
    let mut world = settled(4);
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), 4);
    for _ in 0..20 {
        world.publish();
    }
    world.settle();
    world.check();
    assert_eq!((world.fills, world.repairs), (1, 0));
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), 24);
}

#[test]
fn what_arrives_while_a_channel_is_read_comes_once() {
    let mut world = World::default();
    world.publish();
    world.connect();
    world.publish();
    world.send();
    world.publish();
    world.handle();
    world.publish();
    world.settle();
    world.check();
    assert_eq!((world.fills, world.repairs), (1, 0));
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), 4);
}

#[test]
fn what_was_missed_is_read_if_it_is_kept() {
    let mut world = settled(3);
    world.cut();
    for _ in 0..KEPT {
        world.publish();
    }
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (1, 0));
    // one that is lost on the way
    world.publish();
    world.wire.clear();
    world.publish();
    world.settle();
    world.check();
    assert_eq!((world.fills, world.repairs), (1, 1));
}

#[test]
fn what_is_not_kept_any_more_is_a_gap() {
    let mut world = settled(3);
    world.cut();
    for _ in 0..=KEPT {
        world.publish();
    }
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (2, 0));
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), KEPT);
    // all are too old, but no number is missing
    world.gone = world.log.len();
    world.cut();
    world.settle();
    world.check();
    assert_eq!(world.fills, 2);
}

#[test]
fn other_messages_under_known_numbers_end_the_epoch() {
    for published in 0..=2 * KEPT {
        let mut world = settled(3);
        world.fail_over(2);
        for _ in 0..published {
            world.publish();
        }
        world.settle();
        world.check();
        assert_eq!(world.fills, 2, "{published}");
        // a gap ends nothing: no position of the lost numbers can go on behind it
        assert_eq!(
            world.renewals,
            usize::from(published < KEPT + 3),
            "{published}"
        );
    }
}

#[test]
fn a_channel_that_was_not_followed_meanwhile_gets_a_new_epoch_if_known_messages_are_lost() {
    for published in 0..=2 * KEPT {
        let mut world = settled(3);
        world.forget();
        world.fail_over(2);
        for _ in 0..published {
            world.publish();
        }
        world.settle();
        world.check();
        let is_renewed = usize::from(published < KEPT + 3);
        assert_eq!(world.renewals, is_renewed, "{published}");
    }
    // nothing is lost
    let mut world = settled(3);
    for published in 0..=2 * KEPT {
        world.forget();
        for _ in 0..published {
            world.publish();
        }
        world.settle();
        world.check();
    }
    world.forget();
    world.flush();
    world.settle();
    world.check();
    assert_eq!(world.renewals, 0);
}

#[test]
fn an_epoch_ends_although_the_link_is_lost_before_it_does() {
    for forgets in [false, true] {
        let mut world = settled(3);
        if forgets {
            world.forget();
        }
        world.fail_over(1);
        world.publish();
        world.connect();
        while world.renewals == 0 {
            world.send();
            world.handle();
            world.receive();
        }
        world.cut();
        world.settle();
        world.check();
        assert_eq!(world.renewals, 2);
    }
}

#[test]
fn lost_data_and_renewals_of_others_are_read_afresh() {
    let mut world = settled(3);
    world.flush();
    world.settle();
    // the next message tells it
    world.publish();
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (2, 0));
    world.renew(world.epoch);
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (3, 0));
}

#[test]
fn a_follower_that_was_refused_reads_nothing_until_it_is_tried_again() {
    let mut world = settled(3);
    // one that is lost on the way
    world.publish();
    world.wire.clear();
    world.publish();
    world.receive();
    assert!(world.asks());
    world.refuse();
    for _ in 0..3 {
        world.tell(Sent::Renewed);
        world.publish();
        world.receive();
        world.receive();
        assert!(!world.asks());
    }
    world.settle();
    world.check();
    assert_eq!((world.fills, world.repairs), (1, 1));
}

#[test]
fn what_is_held_back_is_bounded() {
    let mut world = settled(0);
    world.cut();
    world.connect();
    world.send();
    for _ in 0..2 * MOST_HELD / HEAD_BYTES {
        world.publish();
        world.receive();
        assert!(world.follower.held_bytes <= MOST_HELD);
    }
    world.settle();
    world.check();
}

#[derive(Clone, Debug)]
enum Op {
    Publish(usize),
    Send,
    Handle,
    Receive(usize),
    Cut,
    Refuse,
    Connect,
    FailOver(usize),
    Forget,
    Flush,
    Renew,
    Expire(usize),
    Replay,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1_usize..4).prop_map(Op::Publish),
        4 => Just(Op::Send),
        4 => Just(Op::Handle),
        4 => (1_usize..4).prop_map(Op::Receive),
        2 => Just(Op::Connect),
        1 => Just(Op::Cut),
        1 => Just(Op::Refuse),
        1 => (1_usize..4).prop_map(Op::FailOver),
        1 => Just(Op::Forget),
        1 => Just(Op::Flush),
        1 => Just(Op::Renew),
        1 => (1_usize..KEPT).prop_map(Op::Expire),
        1 => Just(Op::Replay),
    ]
}

proptest! {
    #[test]
    fn nothing_is_missing_double_or_out_of_order(ops in proptest::collection::vec(op(), 0..80)) {
        let mut world = World::default();
        for op in ops {
            match op {
                Op::Publish(count) => (0..count).for_each(|_| world.publish()),
                Op::Send => world.send(),
                Op::Handle => world.handle(),
                Op::Receive(count) => (0..count).for_each(|_| world.receive()),
                Op::Cut => world.cut(),
                Op::Refuse => world.refuse(),
                Op::Connect => world.connect(),
                Op::FailOver(lost) => world.fail_over(lost),
                Op::Forget => world.forget(),
                Op::Flush => world.flush(),
                Op::Renew => world.renew(world.epoch),
                Op::Expire(count) => world.gone = (world.gone + count).min(world.log.len()),
                // another program publishes what it has received
                Op::Replay => {
                    let seen = world.log.get(world.log.len() / 2).cloned();
                    if let Some(message) = seen {
                        world.tell(Sent::Message(message));
                    }
                }
            }
        }
        // data that was lost without a cut link is noticed with the next message
        world.publish();
        world.settle();
        world.check();
    }
}
