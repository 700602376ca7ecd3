//! Every interleaving of rings with a look that is followed by sleep.

use std::sync::Arc;

use loom::sync::Notify;
use loom::thread;

use super::{Awake, Counts};

/// Two threads ring; a third one answers each ring that it finds, and sleeps when there is none. `counts_first`: counts
/// each ring before it wakes the thread, which is the right order.
fn every_ring_is_seen(counts_first: bool) {
    loom::model(move || {
        // loom's model of parking and unparking
        let shared = Arc::new((Counts::default(), Awake::default(), Notify::new()));
        let ringers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (counts, awake, sleep) = &*shared;
                    if counts_first {
                        counts.ring();
                    }
                    if awake.rung() {
                        sleep.notify();
                    }
                    if !counts_first {
                        counts.ring();
                    }
                })
            })
            .collect();
        let (counts, awake, sleep) = &*shared;
        let mut seen = 0;
        while seen < 2 {
            awake.look_begins();
            if counts.waiting().is_some() {
                counts.answer();
                seen += 1;
                continue;
            }
            while !awake.is_rung() {
                sleep.wait();
            }
        }
        for ringer in ringers {
            ringer.join().expect("it rings and ends");
        }
        assert_eq!(counts.waiting(), None);
    });
}

#[test]
fn no_ring_is_missed_by_sleeping() {
    every_ring_is_seen(true);
}

#[test]
fn counting_a_ring_after_it_is_wrong() {
    let outcome = std::panic::catch_unwind(|| every_ring_is_seen(false));
    assert!(outcome.is_err(), "the model should find the lost ring");
}
