//! Connections whose messages refer to earlier ones: whatever is sent, queued and dropped, each message that arrives can be
//! read.

use std::time::{Duration, Instant};

use millrace_core::{ShardSet, Target};

use super::{Subscriber, json, terms};
use crate::frame::CompressionTerms;
use crate::limits::OutboxPolicy;
use crate::shard::compression::INLINE_BYTES;
use crate::shard::stage::Stage;

fn takeover() -> CompressionTerms {
    CompressionTerms {
        takeover: true,
        ..terms(15)
    }
}

fn open(stage: &Stage) -> Subscriber {
    let mut subscriber = stage.compressing(takeover());
    subscriber.client.takeover = true;
    subscriber
}

/// Runs until this many messages have arrived.
fn arrived(stage: &Stage, subscriber: &mut Subscriber, count: usize) -> Vec<Vec<u8>> {
    let start = Instant::now();
    let mut got = Vec::new();
    loop {
        stage.run();
        got.extend(subscriber.messages());
        if got.len() >= count {
            return got;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{} arrived",
            got.len()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_message_refers_to_earlier_ones_of_its_connection() {
    let stage = Stage::new(|_| {});
    let mut subscribers = [open(&stage), open(&stage)];
    stage.subscribe(&subscribers[0].actor, b"news", 1);
    stage.subscribe(&subscribers[1].actor, b"news", 1);
    stage.send(&subscribers[1].actor, &json(3000));
    stage.run();
    assert_eq!(subscribers[1].messages(), [json(3000)]);
    let before = stage.hub.stats().compression;
    stage.publish(b"news", &json(3000));
    stage.run();
    let after = stage.hub.stats().compression;
    assert_eq!(after.messages - before.messages, 2, "one for each");
    for subscriber in &mut subscribers {
        assert_eq!(subscriber.messages(), [json(3000)]);
    }
    // the same text again takes a few bytes
    let bytes = after.bytes_after;
    stage.publish(b"news", &json(3000));
    stage.run();
    let again = stage.hub.stats().compression;
    assert!(again.bytes_after - bytes < 100, "{again:?} after {after:?}");
    for subscriber in &mut subscribers {
        assert_eq!(subscriber.messages(), [json(3000)]);
    }
}

#[test]
fn long_and_short_messages_keep_their_order_while_a_thread_has_the_text() {
    let stage = Stage::new(|_| {});
    let mut subscriber = open(&stage);
    let lengths = [
        300,
        INLINE_BYTES + 1,
        200,
        50,
        100_000,
        40_000,
        1000,
        90,
        INLINE_BYTES,
        20_000,
        500,
    ];
    let mut expected = Vec::new();
    for round in 0..5 {
        for length in lengths {
            let text = json(length + round);
            stage.send(&subscriber.actor, &text);
            expected.push(text);
            if round % 2 == 0 {
                stage.run();
            }
        }
    }
    let got = arrived(&stage, &mut subscriber, expected.len());
    assert!(got == expected, "in order and complete");
    assert_eq!(subscriber.client.compressed, 5 * 9);
    stage.hub.end_compressing();
    assert_eq!(stage.hub.ledgers().held(), 0);
}

#[test]
fn a_close_follows_every_message_that_waits_for_the_text() {
    let stage = Stage::new(|_| {});
    let mut subscriber = open(&stage);
    let expected = [json(100_000), json(300), json(50_000), json(400)];
    for text in &expected {
        stage.send(&subscriber.actor, text);
    }
    stage.close(&subscriber.actor, 4000);
    assert_eq!(arrived(&stage, &mut subscriber, 4), expected);
    assert_eq!(subscriber.client.controls.len(), 1);
    stage.hub.end_compressing();
    stage.assert_nothing_left();
}

#[test]
fn nothing_is_left_of_a_connection_that_is_lost_while_messages_wait_for_the_text() {
    let stage = Stage::new(|_| {});
    let subscriber = open(&stage);
    stage.send(&subscriber.actor, &json(300));
    stage.run();
    {
        // as if a thread had it
        let io = &mut *subscriber.actor.connection.io.borrow_mut();
        let takeover = io.extra.as_deref_mut().unwrap().takeover.as_deref_mut();
        assert!(takeover.unwrap().lend().is_some());
    }
    for length in [400, 50_000, 500] {
        stage.send(&subscriber.actor, &json(length));
    }
    stage.run();
    assert!(subscriber.actor.connection.io.borrow().outbox.has_lates());
    stage.assert_nothing_left();
    assert!(stage.shard.awaits_no_frame());
}

#[test]
fn the_text_returns_from_a_queue_that_is_full() {
    let stage = Stage::new(|limits| limits.compression_queue_bytes = 1000);
    stage.hub.compressing().occupy(1000);
    let mut subscriber = open(&stage);
    let expected = [json(300), json(30_000), json(300)];
    for text in &expected {
        stage.send(&subscriber.actor, text);
    }
    stage.run();
    assert_eq!(subscriber.messages(), expected);
    assert_eq!(subscriber.client.compressed, 2);
    assert_eq!(stage.hub.stats().compression.skipped, 1);
}

/// A dropped message is part of no text that later ones refer to.
#[test]
fn what_arrives_can_be_read_whatever_a_policy_drops() {
    for policy in [OutboxPolicy::DropNewest, OutboxPolicy::DropOldest] {
        let stage = Stage::new(|limits| {
            limits.outbox_frames = 4;
            limits.outbox_bytes = 60_000;
            limits.outbox_policy = policy;
        });
        let mut subscriber = open(&stage);
        let mut seed = 7_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        let mut sent = 0_u64;
        let mut read = 0_u64;
        subscriber.actor.peer.borrow_mut().room = 0;
        for _ in 0..2000 {
            match random(10) {
                0 => subscriber
                    .actor
                    .peer
                    .borrow_mut()
                    .give_room(usize::try_from(random(1500)).unwrap()),
                1 => {
                    stage.run();
                }
                2 if random(4) == 0 => {
                    stage.send(&subscriber.actor, &json(20_000));
                    sent += 1;
                }
                _ => {
                    let length = usize::try_from(random(2000)).unwrap();
                    let mut dirty = ShardSet::default();
                    let to = [Target::Socket(subscriber.actor.socket)];
                    let kind = millrace_core::Kind::Text;
                    stage.hub.send(&to, kind, &json(length), &[], &mut dirty);
                    stage.hub.wake(&mut dirty);
                    sent += 1;
                }
            }
            read += u64::try_from(subscriber.messages().len()).unwrap();
        }
        subscriber.actor.read_all();
        let start = Instant::now();
        loop {
            stage.run();
            read += u64::try_from(subscriber.messages().len()).unwrap();
            let dropped = stage.hub.stats().traffic.dropped_by_overflow;
            if read + dropped == sent {
                assert!(
                    dropped > 100 && read > 100,
                    "{read} read, {dropped} dropped"
                );
                break;
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{read} + {dropped} of {sent}"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        stage.hub.end_compressing();
    }
}
