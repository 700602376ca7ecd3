//! Tests what a session does apart from messages, and how it is called apart from input.

use super::harness::Harness;
use super::probe::Probe;
use crate::close::CloseReason;
use crate::socket::env::millis;
use crate::stats::Traffic;

const OPEN: u32 = 1;
const TEXT: u32 = 2;
const CLOSE: u32 = 4;
const EVENT: u32 = 9;

#[test]
fn several_uses_of_a_waker_cause_one_wake_up() {
    let harness = Harness::probe();
    for round in 0..3 {
        harness.feed(b"/watch\n");
        harness.drive();
        harness.written();
        assert_eq!(harness.take_posted(), 1, "{round}");
        assert_eq!(harness.written(), "posted\n");
        assert_eq!(harness.take_posted(), 0);
    }
}

#[test]
fn a_wake_up_after_the_close_has_no_effect() {
    let harness = Harness::probe();
    harness.feed(b"/watch\n");
    harness.drive();
    harness.close(&CloseReason::GOING_AWAY);
    assert_eq!(harness.take_posted(), 1);
    assert_eq!(harness.written(), "opened\nclosed 1001\n");
}

#[test]
fn a_half_closed_session_is_woken_and_gets_instructions() {
    let harness = Harness::probe();
    harness.feed(b"/watch\n");
    harness.feed_end();
    harness.drive();
    assert!(harness.tell("a", "b"));
    assert_eq!(harness.take_posted(), 2);
    assert_eq!(harness.written(), "opened\nended\nposted\ntold a b\n");
    assert!(harness.tell("", "leave"));
    harness.take_posted();
    assert_eq!(harness.written(), "closed 1000\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [CLOSE]);
    harness.assert_gone();
}

#[test]
fn instructions_of_handle_open_come_first() {
    let harness = Harness::pending_with(|_| Box::new(Probe::default()));
    harness.peer.borrow_mut().room = usize::MAX;
    harness.tell("early", "1");
    harness.take_posted();
    harness.send(b"sent\n");
    harness.tell("early", "2");
    harness.take_posted();
    harness.admit();
    harness.begin();
    assert_eq!(
        harness.written(),
        "told early 1\nsent\ntold early 2\nopened\n"
    );
    assert_eq!(harness.handle_all(), [OPEN]);
}

#[test]
fn the_opening_of_a_session_precedes_what_handle_open_sends() {
    let harness = Harness::pending_with(|_| Box::new(Probe::greeting()));
    harness.peer.borrow_mut().room = usize::MAX;
    harness.send(b"sent\n");
    harness.admit();
    harness.begin();
    assert_eq!(harness.written(), "hello\nsent\n");
}

#[test]
fn the_opening_of_a_session_is_sent_without_other_output() {
    let harness = Harness::probe_with(Probe::greeting());
    assert_eq!(harness.written(), "hello\n");
}

#[test]
fn a_refused_peer_does_not_get_the_opening() {
    let harness = Harness::pending_with(|_| Box::new(Probe::greeting()));
    harness.env.refuse(&harness.connection, 403, "no");
    assert_eq!(harness.handle_all(), [OPEN]);
    assert_eq!(harness.written(), "");
    harness.assert_gone();
}

#[test]
fn a_session_that_ends_during_handle_open_keeps_no_slot() {
    let harness = Harness::pending_with(|_| Box::new(Probe::default()));
    harness.peer.borrow_mut().room = usize::MAX;
    harness.tell("", "leave");
    harness.take_posted();
    harness.admit();
    harness.pass(millis(harness.env.limits().close_timeout) + 1);
    harness.handle_all();
    harness.assert_gone();
}

#[test]
fn instructions_after_the_last_message_take_effect_before_the_close() {
    let harness = Harness::probe();
    harness.feed(b"question\n/wrong\n");
    harness.drive();
    assert_eq!(harness.written(), "opened\n");
    harness.tell("the", "answer");
    harness.take_posted();
    assert_eq!(harness.handle_all(), [TEXT]);
    assert_eq!(harness.written(), "told the answer\nclosed 1002\n");
    harness.tell("too", "late");
    harness.take_posted();
    assert_eq!(harness.written(), "");
}

#[test]
fn a_full_inbox_refuses_instructions() {
    let harness = Harness::probe();
    let payload = "x".repeat(1 << 20);
    let mut told = 0;
    while harness.tell("", &payload) {
        told += 1;
        assert!(told < 1 << 10, "the inbox is bounded");
    }
    assert!(told > 0);
    assert_eq!(harness.take_posted(), told);
    assert!(harness.tell("", ""));
}

#[test]
fn an_instruction_for_a_closed_socket_is_dropped() {
    let harness = Harness::probe();
    harness.close(&CloseReason::ABNORMAL);
    harness.drive();
    assert!(
        harness.tell("", ""),
        "the worker is told of the close instead"
    );
    assert_eq!(harness.take_posted(), 0);
}

#[test]
fn a_session_may_check_itself_whether_its_peer_is_alive() {
    let harness = Harness::probe_with(Probe::minding());
    harness.pass(10 * 60 * 1000);
    assert_eq!(harness.written(), "opened\n", "no ping is sent");
    harness.feed(b"/mind\n");
    harness.drive();
    harness.pass(999);
    assert_eq!(harness.written(), "");
    harness.pass(1);
    assert_eq!(harness.written(), "silent\n");
}

#[test]
fn silence_of_a_peer_that_is_not_read_does_not_count() {
    let harness = Harness::probe_with(Probe::minding());
    harness.written();
    harness.feed(b"/mind\n");
    harness.feed(
        "message\n"
            .repeat(harness.env.limits().unhandled_events.try_into().unwrap())
            .as_bytes(),
    );
    harness.drive();
    harness.pass(1000);
    assert_eq!(harness.written(), "not read\n");
}

#[test]
fn events_keep_their_order_among_messages_and_use_credit() {
    let harness = Harness::probe();
    harness.feed(b"message\n/event\nmessage\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [TEXT, EVENT, TEXT]);
    let most = usize::try_from(harness.env.limits().unhandled_events).unwrap();
    harness.feed("/event\n".repeat(most + 1).as_bytes());
    harness.drive();
    assert_eq!(harness.handle_all(), vec![EVENT; most]);
    harness.env.resume_read_queue();
    harness.drive();
    assert_eq!(harness.handle_all(), [EVENT]);
}

#[test]
fn an_empty_event_is_passed_on_and_is_not_counted_as_a_message() {
    let harness = Harness::probe();
    harness.feed(b"/event\n/sign\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [EVENT, EVENT]);
    let mut traffic = Traffic::default();
    traffic.add(&harness.env.stats);
    assert_eq!(traffic.messages_in, 1);
}

#[test]
fn the_end_waits_for_the_event_before_it() {
    let harness = Harness::probe();
    harness.feed(b"/event\n/wrong\n");
    harness.drive();
    assert_eq!(harness.written(), "opened\n");
    assert_eq!(harness.handle_all(), [EVENT]);
    assert_eq!(harness.written(), "closed 1002\n");
}
