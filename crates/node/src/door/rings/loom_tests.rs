//! Every interleaving of rings with a thread that answers, stops and is woken again.

use std::cell::Cell;
use std::sync::Arc;

use loom::sync::Notify;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

use super::Rings;

/// What the threads of a model share.
struct Shared {
    rings: Rings,
    waiting: AtomicUsize,
    /// A signal that the event loop has not seen yet.
    is_pending: AtomicBool,
    wake: Notify,
}

impl Shared {
    fn signal(&self) {
        // as libuv does, by an exchange
        self.is_pending.swap(true, Ordering::SeqCst);
        self.wake.notify();
    }

    /// The event loop looks for a signal, which it gives to its handler once.
    fn has_signal(&self) -> bool {
        self.is_pending.swap(false, Ordering::SeqCst)
    }
}

/// Two threads have something for a third one and ring; that one takes it all and sleeps when nothing rings. `most`: how
/// often it looks before it leaves the rest to its next wake-up. `looks`: it looks again before it stops, which is right.
/// `is_nested`: its handlers run the event loop, which may see the next signal then.
fn every_ring_is_answered(most: usize, looks: bool, is_nested: bool) {
    loom::model(move || {
        let shared = Arc::new(Shared {
            rings: Rings::new(),
            waiting: AtomicUsize::new(0),
            is_pending: AtomicBool::new(false),
            wake: Notify::new(),
        });
        let ringers: Vec<_> = (0..2)
            .map(|source| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.waiting.fetch_add(1, Ordering::Relaxed);
                    if shared.rings.ring(source) {
                        shared.signal();
                    }
                })
            })
            .collect();
        let answering = Cell::new(false);
        let mut seen = 0;
        while seen < 2 {
            shared.wake.wait();
            if !shared.has_signal() {
                continue;
            }
            let is_left = shared.rings.answer(&answering, most, |_| {
                seen += shared.waiting.swap(0, Ordering::Relaxed);
                if is_nested && shared.has_signal() {
                    let left = shared.rings.answer(&answering, most, |_| panic!("nested"));
                    assert!(!left, "that is known when everything is answered");
                }
            });
            if is_left && looks {
                shared.signal();
            }
        }
        for ringer in ringers {
            ringer.join().expect("it rings and ends");
        }
    });
}

#[test]
fn a_ring_is_answered_by_a_thread_that_looks_again() {
    every_ring_is_answered(3, true, false);
}

#[test]
fn a_ring_is_answered_by_a_thread_that_leaves() {
    every_ring_is_answered(1, true, false);
}

#[test]
fn a_ring_is_answered_whose_signal_comes_within_a_handler() {
    every_ring_is_answered(3, true, true);
    every_ring_is_answered(1, true, true);
}

#[test]
fn a_thread_that_leaves_without_a_look_would_sleep_for_ever() {
    let outcome = std::panic::catch_unwind(|| every_ring_is_answered(1, false, false));
    assert!(outcome.is_err(), "the model should see the lost ring");
}
