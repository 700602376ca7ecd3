//! Tests the marks of an outbox: what other threads see, who is told, and who waits for room.

use std::sync::Arc;

use millrace_core::ShardSet;

use super::harness::Harness;
use crate::close::CloseReason;
use crate::doorbell::Doorbell;
use crate::event::{Answers, Place, Reply};
use crate::hub::SHOWN_BYTES;
use crate::limits::{ENTRY_CHARGE, FixedLimits};
use crate::socket::connection::Swelling;

struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

fn answers() -> Arc<Answers> {
    Answers::new(Arc::new(Silent))
}

/// An open socket whose peer reads nothing more.
fn stalled() -> Harness {
    let harness = Harness::open();
    harness.handle_all();
    harness.peer.borrow_mut().room = 0;
    harness
}

fn send(harness: &Harness, bytes: usize) {
    harness.send(&vec![b'x'; bytes]);
    harness.flush();
}

fn read_all(harness: &Harness) {
    harness.peer.borrow_mut().room = usize::MAX;
    harness.drive();
    harness.written_bytes();
}

fn ask(harness: &Harness, number: u32, answers: &Arc<Answers>) -> Arc<Place> {
    let socket = harness.connection.socket;
    let mut dirty = ShardSet::default();
    let hub = &harness.env.hub;
    let place = hub.when_drained(socket, (number, answers), &mut dirty);
    harness.take_posted();
    harness.flush();
    place.unwrap()
}

#[test]
fn other_threads_see_a_large_outbox_until_it_is_written_or_dropped() {
    let harness = stalled();
    let seen = || harness.env.hub.outbox_bytes(harness.connection.socket);
    send(&harness, SHOWN_BYTES - ENTRY_CHARGE);
    assert_eq!(seen(), 0);
    send(&harness, 1);
    assert_eq!(seen(), SHOWN_BYTES + 1 + ENTRY_CHARGE);
    read_all(&harness);
    assert_eq!(seen(), 0);
    harness.peer.borrow_mut().room = 0;
    send(&harness, 2 * SHOWN_BYTES);
    assert_eq!(seen(), 2 * SHOWN_BYTES + ENTRY_CHARGE);
    harness.close(&CloseReason::ABNORMAL);
    assert_eq!(seen(), 0, "there is no such socket any more");
    harness.drive();
    assert!(!harness.connection.is_shown.get(), "its entry is removed");
    harness.assert_gone();
}

#[test]
fn who_waits_for_room_is_answered_when_there_is_some() {
    let harness = stalled();
    let answers = answers();
    ask(&harness, 1, &answers);
    assert_eq!(answers.take(), [(1, Reply::Yes)], "there is room");
    send(&harness, harness.env.drained_bytes() + 1);
    ask(&harness, 2, &answers);
    ask(&harness, 3, &answers);
    assert!(answers.take().is_empty());
    read_all(&harness);
    assert_eq!(answers.take(), [(2, Reply::Yes), (3, Reply::Yes)]);
    assert_eq!(harness.connection.io.borrow().swelling, Swelling::None);
}

#[test]
fn who_waits_for_a_socket_that_is_closed_is_told() {
    let harness = stalled();
    let answers = answers();
    send(&harness, harness.env.drained_bytes() + 1);
    ask(&harness, 1, &answers);
    harness.close(&CloseReason::ABNORMAL);
    assert_eq!(answers.take(), [(1, Reply::Closed)]);
    ask(&harness, 2, &answers);
    assert_eq!(answers.take(), [(2, Reply::Closed)]);
}

#[test]
fn a_question_that_was_posted_before_a_close_is_answered() {
    let harness = stalled();
    let answers = answers();
    let socket = harness.connection.socket;
    let hub = &harness.env.hub;
    let asked = hub.when_drained(socket, (1, &answers), &mut ShardSet::default());
    harness.close(&CloseReason::ABNORMAL);
    harness.take_posted();
    assert!(asked.is_some_and(|place| !place.free()), "it was answered");
    assert_eq!(answers.take(), [(1, Reply::Closed)]);
}

#[test]
fn questions_that_are_taken_back_leave_nothing_behind() {
    let harness = stalled();
    let answers = answers();
    send(&harness, harness.env.drained_bytes() + 1);
    for number in 0..1000 {
        assert!(ask(&harness, number, &answers).free());
    }
    let kept = || {
        let io = harness.connection.io.borrow();
        let waits = io.extra.as_ref().unwrap().drain_waits.as_ref();
        waits.map_or(0, |waits| waits.len())
    };
    assert!(kept() <= 16, "{} are kept", kept());
    read_all(&harness);
    assert!(answers.take().is_empty());
}

#[test]
fn so_many_may_wait_in_all() {
    let harness = stalled();
    let answers = answers();
    send(&harness, harness.env.drained_bytes() + 1);
    let most = u32::try_from(FixedLimits::default().drain_waits).unwrap();
    for number in 0..most {
        ask(&harness, number, &answers);
    }
    let (hub, socket) = (&harness.env.hub, harness.connection.socket);
    let dirty = &mut ShardSet::default();
    assert!(hub.when_drained(socket, (most, &answers), dirty).is_none());
    read_all(&harness);
    assert_eq!(answers.take().len(), FixedLimits::default().drain_waits);
    assert!(hub.when_drained(socket, (most, &answers), dirty).is_some());
}
