//! Checks every interleaving of posting, waking and taking.

use std::borrow::Cow;
use std::sync::Arc;
use std::task::Wake;

use loom::thread;

use super::*;
use crate::event::RecordKind;
use crate::worker::queue::{Parcel, Queue};

/// Counts wake-ups for which the shard has not yet run a turn.
struct Owed(AtomicUsize);

impl Wake for Owed {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn shard() -> ShardIndex {
    ShardIndex::new(0).expect("there is a shard 0")
}

fn post_and_wake(inboxes: &Inboxes) {
    let mut dirty = ShardSet::default();
    inboxes.post(shard(), Command::End);
    dirty.insert(shard());
    inboxes.wake(&mut dirty);
}

/// Ends a turn. If there was a wake-up, another turn is due.
fn end_turn(inboxes: &Inboxes, owed: &Owed) {
    if inboxes.turn_ends(shard()) {
        owed.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A thread posts while turns run. `looks` is the correct end of a turn.
fn mail_is_taken(looks: bool) {
    loom::model(move || {
        let inboxes = Arc::new(Inboxes::new());
        inboxes.open(1, usize::MAX);
        let owed = Arc::new(Owed(AtomicUsize::new(0)));
        inboxes.set_waker(shard(), Waker::from(Arc::clone(&owed)));
        let poster = {
            let inboxes = Arc::clone(&inboxes);
            thread::spawn(move || post_and_wake(&inboxes))
        };
        post_and_wake(&inboxes);
        let mut seen = 0;
        let turn = || {
            let mut mail = Mail::default();
            inboxes.turn_begins(shard());
            inboxes.take(shard(), &mut mail);
            if looks {
                end_turn(&inboxes, &owed);
            }
            mail.commands.len()
        };
        if owed.0.swap(0, Ordering::SeqCst) > 0 {
            seen += turn();
        }
        poster.join().expect("the poster ends");
        if owed.0.swap(0, Ordering::SeqCst) > 0 {
            seen += turn();
        }
        assert_eq!(seen, 2, "mail waits and the shard was not woken");
    });
}

#[test]
fn mail_never_waits_without_a_wake_up() {
    mail_is_taken(true);
}

#[test]
fn a_turn_that_does_not_look_at_its_end_leaves_mail() {
    let outcome = std::panic::catch_unwind(|| mail_is_taken(false));
    assert!(outcome.is_err(), "the model should see the lost wake-up");
}

/// A full inbox stops the workers; emptying it lets them continue.
#[test]
fn congestion_ends_with_the_inbox_that_caused_it() {
    loom::model(|| {
        let inboxes = Arc::new(Inboxes::new());
        inboxes.open(1, 1024);
        let poster = {
            let inboxes = Arc::clone(&inboxes);
            thread::spawn(move || inboxes.deliver(shard(), 1000, 1, |_| Command::End))
        };
        let mut mail = Mail::default();
        inboxes.turn_begins(shard());
        inboxes.take(shard(), &mut mail);
        inboxes.processed(shard(), &mut mail);
        assert!(poster.join().expect("the poster ends"));
        inboxes.turn_begins(shard());
        inboxes.take(shard(), &mut mail);
        inboxes.processed(shard(), &mut mail);
        assert!(!inboxes.congested(), "workers would wait forever");
    });
}

/// A shard's turn checks whether a worker has handled a batch, and waits for it if not. `begins_first` is the correct
/// order.
fn a_wait_for_a_batch_ends(begins_first: bool) {
    loom::model(move || {
        let inboxes = Arc::new(Inboxes::new());
        inboxes.open(1, usize::MAX);
        let owed = Arc::new(Owed(AtomicUsize::new(0)));
        inboxes.set_waker(shard(), Waker::from(Arc::clone(&owed)));
        let queue = Arc::new(Queue::new());
        let limits = (usize::MAX, usize::MAX);
        let mut parcel = Parcel::new(shard(), &queue, limits, 1);
        let parcel_number = parcel.message(RecordKind::Text, 0, true, Cow::Borrowed(b"a"));
        queue.hand_over(&mut parcel, limits);
        // the wake-up that starts the turn
        inboxes.wake_bits(1);
        let worker = {
            let (queue, inboxes) = (Arc::clone(&queue), Arc::clone(&inboxes));
            thread::spawn(move || {
                let (next, paused) = queue.take().expect("there is a batch");
                inboxes.wake_bits(paused);
                inboxes.wake_bits(queue.finish(next).1);
            })
        };
        let turn = || {
            if begins_first {
                inboxes.turn_begins(shard());
            }
            let mut handled = queue.handled(shard()) >= parcel_number;
            if !handled {
                queue.pause(1);
                handled = queue.handled(shard()) >= parcel_number;
            }
            if !begins_first {
                inboxes.turn_begins(shard());
            }
            inboxes.take(shard(), &mut Mail::default());
            end_turn(&inboxes, &owed);
            handled
        };
        let mut handled = false;
        while !handled && owed.0.swap(0, Ordering::SeqCst) > 0 {
            handled = turn();
        }
        worker.join().expect("the worker ends");
        while !handled && owed.0.swap(0, Ordering::SeqCst) > 0 {
            handled = turn();
        }
        assert!(handled, "the shard does not check again");
    });
}

#[test]
fn a_wait_for_a_batch_ends_with_it() {
    a_wait_for_a_batch_ends(true);
}

#[test]
fn checking_before_the_turn_begins_is_not_enough() {
    let outcome = std::panic::catch_unwind(|| a_wait_for_a_batch_ends(false));
    assert!(outcome.is_err(), "the model should see the lost wake-up");
}
