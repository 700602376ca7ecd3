//! Tests output of a session on behalf of its worker, against the limits of the outbox.

use bytes::Bytes;

use super::harness::Harness;
use crate::event::{Step, TransferId};
use crate::limits::{GatewayLimits, OutboxPolicy};
use crate::socket::moment::Moment;
use crate::stats::Traffic;

const CLOSE: u32 = 4;

/// The first transfer of the first shard.
const ID: TransferId = TransferId::new(64);

/// A probe with an open transfer whose peer reads nothing. Behind what is being written there is room for five short
/// messages, each with its charge.
fn stalled(outbox_policy: OutboxPolicy) -> Harness {
    let harness = Harness::probe_within(GatewayLimits {
        outbox_bytes: 300,
        outbox_policy,
        ..GatewayLimits::default()
    });
    harness.feed(b"/open\n");
    harness.drive();
    assert_eq!(harness.written(), "opened\ntransfer 64\n");
    harness.peer.borrow_mut().room = 1;
    harness.send(b"first\n");
    harness.flush();
    harness
}

/// What the peer receives once it reads.
fn read(harness: &Harness) -> String {
    harness.peer.borrow_mut().room = usize::MAX;
    harness.drive();
    harness.written()
}

fn tell(harness: &Harness, payload: &str) {
    assert!(harness.tell("", payload));
    harness.take_posted();
    harness.flush();
}

fn piece(harness: &Harness, text: &'static str) {
    harness.step(
        ID,
        Step::Piece(Box::new(Bytes::from_static(text.as_bytes()))),
    );
    harness.flush();
}

fn traffic(harness: &Harness) -> Traffic {
    let mut traffic = Traffic::default();
    traffic.add(&harness.env.stats);
    traffic
}

#[test]
fn output_of_instructions_counts_like_messages() {
    let harness = stalled(OutboxPolicy::Close);
    (0..5).for_each(|_| tell(&harness, "x"));
    assert!(
        harness.handle_all().is_empty(),
        "there is room for this many"
    );
    tell(&harness, "x");
    assert_eq!(read(&harness), "first\nclosed 1013\n");
    assert_eq!(harness.handle_all().last(), Some(&CLOSE));
    assert_eq!(traffic(&harness).dropped_by_overflow, 6);
}

#[test]
fn pieces_of_transfers_count_like_messages() {
    let harness = stalled(OutboxPolicy::Close);
    (0..6).for_each(|_| piece(&harness, "piece\n"));
    assert_eq!(read(&harness), "first\nclosed 1013\n");
    assert_eq!(
        traffic(&harness).dropped_by_overflow,
        0,
        "pieces are not messages"
    );
}

#[test]
fn a_reply_does_not_count() {
    let harness = stalled(OutboxPolicy::Close);
    let reply = "x".repeat(500);
    harness.feed(b"/ping\n");
    harness.drive();
    harness.flush();
    harness
        .connection
        .io
        .borrow_mut()
        .outbox
        .append_control(harness.env.ledger(), |out| {
            out.extend_from_slice(reply.as_bytes());
        });
    harness.flush();
    tell(&harness, "x");
    assert_eq!(read(&harness), format!("first\npong\n{reply}told  x\n"));
}

#[test]
fn a_policy_drops_messages_and_no_part_of_something_longer() {
    for (policy, left) in [
        (
            OutboxPolicy::DropOldest,
            "told  2\ntold  3\ntold  4\npiece\ntold  5\n",
        ),
        (
            OutboxPolicy::DropNewest,
            "told  1\ntold  2\ntold  3\ntold  4\npiece\n",
        ),
    ] {
        let harness = stalled(policy);
        for number in ["1", "2", "3", "4"] {
            tell(&harness, number);
        }
        piece(&harness, "piece\n");
        tell(&harness, "5");
        assert_eq!(read(&harness), format!("first\n{left}"), "{policy:?}");
        assert_eq!(traffic(&harness).dropped_by_overflow, 1);
    }
}

#[test]
fn parts_beyond_the_limit_close_the_connection() {
    for policy in [OutboxPolicy::DropOldest, OutboxPolicy::DropNewest] {
        let harness = stalled(policy);
        tell(&harness, "x");
        (0..6).for_each(|_| piece(&harness, "piece\n"));
        assert_eq!(read(&harness), "first\nclosed 1013\n", "{policy:?}");
    }
}

#[test]
fn output_of_instructions_counts_as_activity() {
    let harness = Harness::probe();
    harness.written();
    harness.pass(5);
    tell(&harness, "x");
    let io = harness.connection.io.borrow();
    assert_eq!(io.times.message, Moment::at(harness.env.now()));
}

#[test]
fn nothing_is_sent_after_a_close() {
    let harness = Harness::probe();
    harness.written();
    harness.feed(b"question\n/wrong\n");
    harness.drive();
    harness.handle_all();
    assert_eq!(harness.written(), "closed 1002\n");
    harness.tell("too", "late");
    harness.take_posted();
    assert_eq!(harness.written(), "");
}
