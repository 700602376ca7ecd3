//! Checks every interleaving of the queue's protocols, each also with its steps in the wrong order.

use std::borrow::Cow;

use super::*;
use crate::event::record::NO_SLOT;
use loom::sync::Arc;
use loom::thread;

/// A JavaScript thread that was woken: clears the flag, then takes everything.
fn drain(queue: &Queue, clear_first: bool) -> usize {
    let mut events = 0;
    if clear_first {
        queue.stop_ringing();
    }
    while let Some((batch, _)) = queue.take() {
        events += batch.bytes.len() / record::record_bytes(0);
        queue.finish(batch);
    }
    if !clear_first {
        queue.stop_ringing();
    }
    events
}

const UNLIMITED: (usize, usize) = (usize::MAX, usize::MAX);

fn shard(index: u8) -> ShardIndex {
    ShardIndex::new(index).expect("below 64")
}

/// A parcel with one message without bytes; also returns its number.
fn parcel(queue: &Queue, of: u8) -> (Parcel, u64) {
    let mut parcel = Parcel::new(shard(of), queue, UNLIMITED, 1);
    let number = parcel.message(RecordKind::Text, 0, true, Cow::Borrowed(b""));
    (parcel, number)
}

/// Two producers; the one that finds the flag clear owes a drain, which runs on the consumer.
fn nothing_is_left_behind(clear_first: bool) {
    loom::model(move || {
        let queue = Arc::new(Queue::new());
        let producer = |queue: Arc<Queue>| {
            move || {
                queue.level(0, RecordKind::Drain);
                queue.start_ringing()
            }
        };
        let other = thread::spawn(producer(Arc::clone(&queue)));
        let mut seen = 0;
        if producer(Arc::clone(&queue))() {
            seen += drain(&queue, clear_first);
        }
        if other.join().expect("the producer ends") {
            seen += drain(&queue, clear_first);
        }
        assert_eq!(seen, 2, "an event waits and the bell was not rung");
    });
}

#[test]
fn the_producer_that_makes_the_queue_non_empty_rings() {
    nothing_is_left_behind(true);
}

#[test]
fn clearing_the_flag_after_the_drain_loses_a_wake_up() {
    let outcome = std::panic::catch_unwind(|| nothing_is_left_behind(false));
    assert!(outcome.is_err(), "the model should see the lost wake-up");
}

/// Two shards hand over a parcel each and ring, or ring first, which is wrong. Each gets back its own number.
fn parcels_reach_the_worker(hand_over_first: bool) {
    loom::model(move || {
        let queue = Arc::new(Queue::new());
        let shard = |of: u8, queue: Arc<Queue>| {
            move || {
                let (mut parcel, number) = parcel(&queue, of);
                assert_eq!(number, 1);
                if hand_over_first {
                    queue.hand_over(&mut parcel, UNLIMITED);
                }
                let rings = queue.start_ringing();
                let seen = if rings { drain(&queue, true) } else { 0 };
                if !hand_over_first {
                    queue.hand_over(&mut parcel, UNLIMITED);
                }
                seen
            }
        };
        let other = thread::spawn(shard(1, Arc::clone(&queue)));
        let seen = shard(0, Arc::clone(&queue))() + other.join().expect("the shard ends");
        assert_eq!(seen, 2, "a parcel waits and the bell was not rung");
        assert_eq!([0, 1].map(|of| queue.handled(self::shard(of))), [1, 1]);
    });
}

#[test]
fn parcels_are_handed_over_before_the_worker_is_rung() {
    parcels_reach_the_worker(true);
}

#[test]
fn a_worker_that_is_rung_before_the_parcel_may_miss_it() {
    let outcome = std::panic::catch_unwind(|| parcels_reach_the_worker(false));
    assert!(outcome.is_err(), "the model should see the lost parcel");
}

/// A worker that retires meanwhile gets a parcel or refuses it, and keeps nothing.
#[test]
fn a_retired_worker_keeps_no_parcel() {
    loom::model(|| {
        let queue = Arc::new(Queue::new());
        let (mut parcel, _) = parcel(&queue, 0);
        let retiring = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.retire().len())
        };
        let taken = queue.hand_over(&mut parcel, UNLIMITED);
        assert_eq!(retiring.join().expect("it ends"), 0);
        assert!(parcel.is_empty() && queue.is_empty());
        assert!(taken || queue.is_retired());
    });
}

/// A shard without credit announces itself while the worker finishes the batch.
fn a_pause_ends(look_again: bool) {
    loom::model(move || {
        let queue = Arc::new(Queue::new());
        let (mut parcel, number) = parcel(&queue, 0);
        queue.hand_over(&mut parcel, UNLIMITED);
        let (batch, _) = queue.take().expect("one batch");
        let worker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.finish(batch).1)
        };
        let mut reads = queue.handled(shard(0)) >= number;
        if !reads {
            queue.pause(1);
            reads = look_again && queue.handled(shard(0)) >= number;
        }
        let woken = worker.join().expect("the worker ends") != 0;
        assert!(reads || woken, "the connection is never read again");
    });
}

#[test]
fn a_paused_connection_is_woken_or_sees_the_credit_itself() {
    a_pause_ends(true);
}

#[test]
fn announcing_a_pause_without_checking_again_is_not_enough() {
    let outcome = std::panic::catch_unwind(|| a_pause_ends(false));
    assert!(outcome.is_err(), "the model should see the lost wake-up");
}

#[test]
fn a_close_goes_to_exactly_one() {
    loom::model(|| {
        let queue = Arc::new(Queue::new());
        let socket = SocketId::new(1).expect("1 is an id");
        let close = PendingClose {
            socket,
            code: 1006,
            reason: "".into(),
            token: None,
        };
        let delivered = queue.close(NO_SLOT, close, true);
        assert!(delivered.is_ok());
        let claimer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.claim_close(socket))
        };
        let inherited = queue.retire().len();
        let claimed = claimer.join().expect("the claimer ends");
        assert_eq!(inherited + usize::from(claimed), 1);
    });
}
