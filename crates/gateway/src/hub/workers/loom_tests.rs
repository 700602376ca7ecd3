//! Checks every interleaving of workers that are activated, leave and die: a close always reaches exactly one of them.

use std::sync::Weak;

use loom::sync::Arc as LoomArc;
use loom::thread;
use millrace_core::SocketId;

use super::*;
use crate::doorbell::Doorbell;
use crate::event::Handlers;

struct Silence;

impl Doorbell for Silence {
    fn ring(&self) {}
}

fn worker(id: u32) -> Arc<Worker> {
    Arc::new(Worker::new(
        id,
        Handlers::CLOSE,
        Arc::new(Silence),
        Weak::new(),
    ))
}

fn socket() -> SocketId {
    SocketId::new(1).expect("1 is an id")
}

/// A close that no handler has begun.
fn close() -> PendingClose {
    PendingClose {
        socket: socket(),
        code: 1006,
        reason: "".into(),
        token: None,
    }
}

/// A worker with `handleClose`.
fn told(id: u32) -> Arc<Worker> {
    let worker = worker(id);
    let delivered = worker.queue().close(NO_SLOT, close(), true);
    assert!(delivered.is_ok());
    worker
}

/// Retires a worker like [`Worker::retire`], which needs a gateway.
fn die(workers: &Workers, worker: &Arc<Worker>, listed_last: bool) {
    worker.retire();
    let closes = if listed_last {
        let closes = worker.queue().retire();
        workers.remove(worker.id());
        closes
    } else {
        workers.remove(worker.id());
        worker.queue().retire()
    };
    workers.inherit(closes);
}

#[test]
fn a_worker_activated_while_another_dies_gets_its_close() {
    loom::model(|| {
        let workers = LoomArc::new(Workers::new());
        let (old, new) = (told(1), worker(2));
        workers.activate(&old);
        let death = {
            let workers = LoomArc::clone(&workers);
            thread::spawn(move || die(&workers, &old, false))
        };
        workers.activate(&new);
        death.join().expect("the thread ends");
        assert_eq!(
            workers.drop_orphans(),
            0,
            "a close waits although there is a worker"
        );
        assert!(new.queue().claim_close(socket()));
        assert!(!new.queue().claim_close(socket()));
    });
}

#[test]
fn a_close_goes_to_a_leaving_worker_or_to_the_next() {
    loom::model(|| {
        let workers = LoomArc::new(Workers::new());
        let (old, leaving, next) = (told(1), worker(2), worker(3));
        workers.activate(&old);
        workers.activate(&leaving);
        let death = {
            let workers = LoomArc::clone(&workers);
            thread::spawn(move || die(&workers, &old, false))
        };
        workers.leave(leaving.id());
        death.join().expect("the thread ends");
        workers.activate(&next);
        assert_eq!(workers.drop_orphans(), 0);
        let claimed = [leaving, next].map(|worker| worker.queue().claim_close(socket()));
        assert_eq!(claimed.iter().filter(|claimed| **claimed).count(), 1);
    });
}

/// A worker that dies in the moment in which it inherits a close.
fn both_die(listed_last: bool) {
    loom::model(move || {
        let workers = LoomArc::new(Workers::new());
        let (one, other) = (told(1), worker(2));
        workers.activate(&one);
        workers.activate(&other);
        let death = {
            let workers = LoomArc::clone(&workers);
            thread::spawn(move || die(&workers, &one, false))
        };
        die(&workers, &other, listed_last);
        death.join().expect("the thread ends");
        assert_eq!(
            workers.drop_orphans(),
            1,
            "the close waits for a worker, once"
        );
    });
}

#[test]
fn a_close_waits_for_the_next_worker_if_the_one_that_inherits_it_dies() {
    both_die(false);
}

#[test]
fn retiring_before_leaving_the_list_would_loop_forever() {
    let outcome = std::panic::catch_unwind(|| both_die(true));
    assert!(outcome.is_err(), "the model should see the endless loop");
}
