//! Compare-and-set in every interleaving.
#![cfg(loom)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use loom::sync::{Arc, Mutex};
use loom::thread;
use millrace_core::{Core, Update};

const A: Bytes = Bytes::from_static(b"a");
const B: Bytes = Bytes::from_static(b"b");

/// Fails if it is called: without expiry times the core does not ask for the time.
fn never() -> u64 {
    panic!("nothing expires")
}

#[test]
fn only_one_of_two_first_writers_wins() {
    loom::model(|| {
        let core = Arc::new(Core::<()>::new());
        let other = thread::spawn({
            let core = Arc::clone(&core);
            move || core.set_key_if(b"k", Some(A), None, never)
        });
        let here = core.set_key_if(b"k", Some(B), None, never);
        let there = other.join().expect("does not panic");
        assert!(here != there, "exactly one of them wins");
        assert_eq!(core.key(b"k", never), Some(if here { B } else { A }));
    });
}

#[test]
fn a_value_is_taken_once() {
    loom::model(|| {
        let core = Arc::new(Core::<()>::new());
        core.set_key(b"k", Some(A), never);
        let other = thread::spawn({
            let core = Arc::clone(&core);
            move || core.set_key(b"k", None, never)
        });
        let here = core.set_key_if(b"k", None, Some(b"a"), never);
        let there = other.join().expect("does not panic");
        assert_eq!(here, there.is_none());
        assert_eq!(core.key(b"k", never), None);
    });
}

#[test]
fn an_expired_key_is_written_once() {
    loom::model(|| {
        let core = Arc::new(Core::<()>::new());
        core.update_key(b"k", never, |_| {
            let until = Some(5);
            (Update::Set { value: A, until }, ())
        });
        let other = thread::spawn({
            let core = Arc::clone(&core);
            move || core.set_key_if(b"k", Some(A), None, || 5)
        });
        let here = core.set_key_if(b"k", Some(B), None, || 5);
        assert!(
            here != other.join().expect("does not panic"),
            "exactly one of them wins"
        );
        assert_eq!(core.key(b"k", never), Some(if here { B } else { A }));
    });
}

/// A small copy of the protocol: comparing and writing under one lock or under two.
fn small_set_if(atomic: bool) {
    let value = Arc::new(Mutex::new(None));
    let set = move |value: &Mutex<Option<u8>>, new: u8| {
        let mut present = value.lock().expect("no thread panics");
        let allowed = present.is_none();
        if !atomic {
            drop(present);
            present = value.lock().expect("no thread panics");
        }
        if allowed {
            *present = Some(new);
        }
        allowed
    };
    let other = thread::spawn({
        let value = Arc::clone(&value);
        move || set(&value, 1)
    });
    let here = set(&value, 2);
    assert!(
        here != other.join().expect("does not panic"),
        "exactly one of them wins"
    );
}

fn breaks(model: impl Fn() + Send + Sync + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| loom::model(model))).is_err()
}

#[test]
fn the_model_finds_comparing_outside_the_lock_wrong() {
    assert!(!breaks(|| small_set_if(true)));
    assert!(breaks(|| small_set_if(false)));
}
