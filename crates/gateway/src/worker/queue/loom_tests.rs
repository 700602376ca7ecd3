//! Checks every interleaving of the queue's protocols, each also with its steps in the wrong order.

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

/// Two producers; the one that finds the flag clear owes a drain, which runs on the consumer.
fn nothing_is_left_behind(clear_first: bool) {
    loom::model(move || {
        let queue = Arc::new(Queue::new());
        let producer = |queue: Arc<Queue>| {
            move || {
                queue.drained(0);
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

/// A shard without credit announces itself while the worker finishes the batch.
fn a_pause_ends(look_again: bool) {
    loom::model(move || {
        let queue = Arc::new(Queue::new());
        queue.drained(0);
        let (batch, _) = queue.take().expect("one batch");
        let seq = batch.seq;
        let worker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.finish(batch).1)
        };
        let mut reads = queue.handled() >= seq;
        if !reads {
            queue.pause(1);
            reads = look_again && queue.handled() >= seq;
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
