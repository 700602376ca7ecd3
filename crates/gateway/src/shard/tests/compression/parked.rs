//! Messages whose frames are not made yet: what follows waits, other connections do not, and no limit and no timeout takes
//! the wait for the peer's.

use std::time::{Duration, Instant};

use millrace_core::{Kind, ShardSet, Target};

use super::{Subscriber, json, terms};
use crate::close::CloseReason;
use crate::event::Handlers;
use crate::frame::{Encoding, Frame, HEAD_ROOM, Late, Publication};
use crate::limits::OutboxPolicy;
use crate::shard::compression::INLINE_BYTES;
use crate::shard::stage::{Speaks, Stage};

/// Kinds of records.
const DRAIN: u32 = 5;
const CONGESTED: u32 = 10;

/// A message that someone else is compressing.
struct Claimed {
    publication: Publication,
    late: Late,
    encoding: Encoding,
}

impl Claimed {
    fn new(stage: &Stage, payload: &[u8]) -> Self {
        let bytes = [&[0; HEAD_ROOM], payload].concat();
        let publication = Publication::in_place(Kind::Text, bytes);
        let encoding = stage.encoding(terms(15));
        let (late, first) = publication.claim(encoding);
        assert!(first);
        Self {
            publication,
            late,
            encoding,
        }
    }

    /// Sends it to a socket, in a turn.
    fn send(&self, stage: &Stage, to: &Subscriber) {
        let (slot, socket) = (to.actor.connection.slot, to.actor.socket);
        stage.shard.direct(slot, socket, |io, ledger| {
            stage
                .shard
                .append_direct((io, ledger), &self.publication, (slot, socket));
        });
        stage.run();
    }

    fn made(&self, stage: &Stage) {
        let frame: Option<Frame> = stage
            .hub
            .compress_now(&self.publication, self.encoding, &[]);
        assert!(frame.is_some());
        stage.hub.settle(&self.late, frame, None);
    }
}

/// Runs the stage until something holds, at most for a minute: other threads compress.
fn until(stage: &Stage, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    loop {
        stage.run();
        if holds() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it never holds");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_follows_a_parked_message_waits_and_others_do_not() {
    let first = Stage::new(|_| {});
    let second = first.beside(1);
    let mut parked = [first.compressing(terms(15)), second.compressing(terms(15))];
    let mut other = first.plain();
    let text = json(2000);
    let claimed = Claimed::new(&first, &text);
    for (stage, subscriber) in [(&first, &parked[0]), (&second, &parked[1])] {
        claimed.send(stage, subscriber);
        stage.send(&subscriber.actor, b"behind");
        // a ping
        let ping = [0x89, 0x81, 1, 2, 3, 4, b'x' ^ 1];
        subscriber.actor.peer.borrow_mut().feed(&ping);
        stage.run();
    }
    first.send(&other.actor, b"at once");
    first.run();
    assert_eq!(other.messages(), [b"at once"]);
    for subscriber in &mut parked {
        assert!(subscriber.actor.got().is_empty());
    }
    claimed.made(&first);
    while first.run() || second.run() {}
    for subscriber in &mut parked {
        assert_eq!(subscriber.messages(), [text.clone(), b"behind".to_vec()]);
        assert_eq!(subscriber.client.controls, [(10, b"x".to_vec())]);
        assert_eq!(subscriber.client.compressed, 1);
    }
    assert_eq!(first.compressions(), 1);
    drop(claimed);
    assert_eq!(first.hub.ledgers().held(), 0);
}

#[test]
fn frames_that_are_made_out_of_order_are_sent_in_order() {
    let stage = Stage::new(|_| {});
    let mut subscriber = stage.compressing(terms(15));
    let texts = [json(1000), json(2000), json(3000)];
    let claimed = texts.each_ref().map(|text| Claimed::new(&stage, text));
    for one in &claimed {
        one.send(&stage, &subscriber);
    }
    for (made, arrived) in [(1, 0..0), (0, 0..2), (2, 2..3)] {
        claimed[made].made(&stage);
        stage.run();
        assert_eq!(subscriber.messages(), texts[arrived]);
    }
}

#[test]
fn a_close_follows_the_parked_messages() {
    let stage = Stage::new(|_| {});
    let mut subscriber = stage.compressing(terms(15));
    let claimed = Claimed::new(&stage, &json(500));
    claimed.send(&stage, &subscriber);
    assert!(stage.close(&subscriber.actor, 4000));
    stage.run();
    assert!(subscriber.actor.got().is_empty());
    claimed.made(&stage);
    stage.run();
    assert_eq!(subscriber.messages(), [json(500)]);
    assert_eq!(subscriber.client.controls.len(), 1);
    assert_eq!(subscriber.client.controls[0].0, 8);
    drop(claimed);
    stage.assert_nothing_left();
}

#[test]
fn a_peer_that_leaves_while_its_message_is_parked_costs_nothing_later() {
    let stage = Stage::new(|_| {});
    let subscriber = stage.compressing(terms(15));
    let claimed = Claimed::new(&stage, &json(500));
    claimed.send(&stage, &subscriber);
    let late = claimed.late.clone();
    drop(claimed);
    stage.assert_nothing_left();
    assert_eq!(stage.hub.stats().traffic.dropped_by_close, 1);
    stage
        .hub
        .settle(&late, Some(Frame::uncounted(vec![1])), None);
    stage.run();
    assert_eq!(stage.hub.ledgers().held(), 0);
}

#[test]
fn no_timeout_and_no_limit_of_a_reader_counts_the_wait_for_compression() {
    let stage = Stage::new(|limits| {
        limits.outbox_bytes = 10_000;
        limits.outbox_frames = 3;
    });
    let mut subscriber = stage.compressing(terms(15));
    let claimed = Claimed::new(&stage, &json(500));
    claimed.send(&stage, &subscriber);
    for _ in 0..10 {
        stage.send(&subscriber.actor, &[b'x'; 90]);
        stage.run();
    }
    assert!(!subscriber.actor.connection.io.borrow().times.is_blocked());
    stage.pass(20_000);
    assert!(subscriber.actor.is_open());
    claimed.made(&stage);
    stage.run();
    assert_eq!(subscriber.messages().len(), 11);
    // from now on the peer is what output waits for
    subscriber.actor.peer.borrow_mut().room = 0;
    for _ in 0..10 {
        stage.send(&subscriber.actor, &[b'x'; 90]);
        stage.run();
    }
    assert!(!subscriber.actor.is_open());
    assert_eq!(stage.hub.stats().traffic.overflow_closes, 1);
}

#[test]
fn a_message_that_is_being_compressed_congests_nobody_and_still_pauses_reading() {
    let more = Handlers::CONGESTED | Handlers::DRAIN;
    let stage = Stage::handling(more, |limits| limits.outbox_read_pause_bytes = 10_000);
    let mut subscriber = stage.compressing(terms(15));
    let said = Speaks::WebSocket.said();
    let levels = || {
        let told = stage.told().into_iter();
        let levels = told.filter(|kind| [CONGESTED, DRAIN].contains(kind));
        levels.collect::<Vec<_>>()
    };
    // twice, because the first one could have spoiled something
    for length in [30_000, 40_000] {
        let claimed = Claimed::new(&stage, &json(length));
        claimed.send(&stage, &subscriber);
        subscriber.actor.peer.borrow_mut().feed(said);
        stage.run();
        assert_eq!(subscriber.actor.peer.borrow().unread(), said.len());
        claimed.made(&stage);
        stage.run();
        assert_eq!(subscriber.messages(), [json(length)]);
        assert_eq!(subscriber.actor.peer.borrow().unread(), 0);
        assert_eq!(levels(), [0; 0], "the peer keeps up");
    }
    // a peer that does not read the message is what everything waits for
    subscriber.actor.peer.borrow_mut().room = 0;
    let claimed = Claimed::new(&stage, &json(30_000));
    claimed.send(&stage, &subscriber);
    assert_eq!(levels(), [0; 0]);
    stage.hub.settle(&claimed.late, None, None);
    stage.run();
    assert_eq!(levels(), [CONGESTED]);
    subscriber.actor.read_all();
    stage.run();
    assert_eq!(levels(), [DRAIN]);
}

#[test]
fn policies_drop_parked_messages_like_others() {
    for policy in [OutboxPolicy::DropNewest, OutboxPolicy::DropOldest] {
        let stage = Stage::new(|limits| {
            limits.outbox_frames = 2;
            limits.outbox_policy = policy;
        });
        let mut subscriber = stage.compressing(terms(15));
        subscriber.actor.peer.borrow_mut().room = 0;
        stage.send(&subscriber.actor, b"begun");
        stage.run();
        let texts = [200, 300, 400, 500].map(json);
        let claimed = texts.each_ref().map(|text| Claimed::new(&stage, text));
        for one in &claimed {
            one.send(&stage, &subscriber);
        }
        assert_eq!(stage.hub.stats().traffic.dropped_by_overflow, 2);
        for one in &claimed {
            one.made(&stage);
        }
        stage.run();
        subscriber.actor.read_all();
        stage.run();
        let kept = match policy {
            OutboxPolicy::DropNewest => &texts[..2],
            _ => &texts[2..],
        };
        assert_eq!(subscriber.messages(), [&[b"begun".to_vec()], kept].concat());
        drop(claimed);
        assert_eq!(stage.hub.ledgers().held(), 0);
    }
}

#[test]
fn a_full_memory_of_all_outboxes_closes_a_parked_connection() {
    let stage = Stage::new(|limits| limits.outboxes_total_bytes = 100_000);
    let mut subscriber = stage.compressing(terms(15));
    let claimed = Claimed::new(&stage, &json(500));
    claimed.send(&stage, &subscriber);
    for _ in 0..300 {
        stage.send(&subscriber.actor, &json(5000));
        stage.run();
    }
    assert!(!subscriber.actor.is_open());
    claimed.made(&stage);
    stage.run();
    assert!(subscriber.messages().is_empty());
    let goodbye = subscriber.actor.goodbye(&CloseReason::OVERFLOW);
    assert_eq!(subscriber.client.controls, [(8, goodbye[2..].to_vec())]);
    drop(claimed);
    assert_eq!(stage.hub.ledgers().held(), 0);
}

#[test]
fn long_messages_are_compressed_on_other_threads_in_order_with_short_ones() {
    let stage = Stage::new(|_| {});
    let mut subscribers = [(); 3].map(|()| stage.compressing(terms(15)));
    let mut other = stage.compressing(terms(15));
    for subscriber in &subscribers {
        stage.subscribe(&subscriber.actor, b"news", 1);
    }
    stage.run();
    let mut expected = Vec::new();
    for length in [INLINE_BYTES + 1, 100, 400_000, 10, INLINE_BYTES, 20_000] {
        let text = json(length);
        stage.publish(b"news", &text);
        expected.push(text);
    }
    stage.send(&other.actor, &json(1000));
    stage.run();
    // nobody else waits for the long messages
    assert_eq!(other.messages(), [json(1000)]);
    for subscriber in &mut subscribers {
        let mut got = Vec::new();
        until(&stage, || {
            got.extend(subscriber.messages());
            got.len() >= expected.len()
        });
        assert_eq!(got, expected);
        assert_eq!(subscriber.client.compressed, 5);
    }
    assert_eq!(stage.compressions(), 6);
    assert!(stage.hub.compressing().threads() >= 1);
    stage.hub.end_compressing();
    assert_eq!(stage.hub.compressing().threads(), 0);
    assert_eq!(stage.hub.ledgers().held(), 0);
}

#[test]
fn a_message_for_which_the_queue_has_no_room_is_sent_uncompressed() {
    let stage = Stage::new(|limits| limits.compression_queue_bytes = 100_000);
    // as if a thread had something to do for long
    let busy = Claimed::new(&stage, &json(90_000));
    stage.hub.compressing().occupy(90_000);
    let mut subscriber = stage.compressing(terms(15));
    let texts = [json(20_000), json(200)];
    let mut dirty = ShardSet::default();
    for text in &texts {
        let to = [Target::Socket(subscriber.actor.socket)];
        stage.hub.send(&to, Kind::Text, text, &[], &mut dirty);
    }
    stage.hub.wake(&mut dirty);
    stage.run();
    assert_eq!(subscriber.messages(), texts);
    assert_eq!(subscriber.client.compressed, 1);
    assert_eq!(stage.hub.stats().compression.skipped, 1);
    drop(busy);
}
