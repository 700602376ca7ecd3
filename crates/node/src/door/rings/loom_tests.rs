//! Every interleaving of rings with a thread that answers, stops and is woken again.

use std::sync::Arc;

use loom::sync::Notify;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::Rings;

/// Two threads have something for a third one and ring; that one takes it all and sleeps when nothing rings. `most`: how
/// often it looks before it leaves the rest to its next wake-up. `looks`: it looks again before it stops, which is right.
fn every_ring_is_answered(most: usize, looks: bool) {
    loom::model(move || {
        let shared = Arc::new((Rings::new(), AtomicUsize::new(0), Notify::new()));
        let ringers: Vec<_> = (0..2)
            .map(|source| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (rings, waiting, wake) = &*shared;
                    waiting.fetch_add(1, Ordering::Relaxed);
                    if rings.ring(source) {
                        wake.notify();
                    }
                })
            })
            .collect();
        let (rings, waiting, wake) = &*shared;
        let mut seen = 0;
        while seen < 2 {
            wake.wait();
            let mut left = most;
            loop {
                for _place in rings.take() {
                    seen += waiting.swap(0, Ordering::Relaxed);
                }
                if rings.rest() {
                    break;
                }
                left -= 1;
                if left == 0 {
                    if rings.leave() && looks {
                        wake.notify();
                    }
                    break;
                }
            }
        }
        for ringer in ringers {
            ringer.join().expect("it rings and ends");
        }
    });
}

#[test]
fn a_ring_is_answered_by_a_thread_that_looks_again() {
    every_ring_is_answered(3, true);
}

#[test]
fn a_ring_is_answered_by_a_thread_that_leaves() {
    every_ring_is_answered(1, true);
}

#[test]
fn a_thread_that_leaves_without_a_look_would_sleep_for_ever() {
    let outcome = std::panic::catch_unwind(|| every_ring_is_answered(1, false));
    assert!(outcome.is_err(), "the model should see the lost ring");
}
