//! Tests closes in each phase: the worker is told once, and nothing is left.

use super::harness::Harness;
use crate::close::CloseReason;
use crate::frame::{Encodings, Message};
use millrace_core::Kind;

const OPEN: u32 = 1;
const TEXT: u32 = 2;
const CLOSE: u32 = 4;

/// A WebSocket text frame `a`, masked with zeros.
const A: &[u8] = &[0x81, 0x81, 0, 0, 0, 0, b'a'];

/// A WebSocket close frame with code 1000.
const GOODBYE: &[u8] = &[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8];

fn cut(harness: &Harness) {
    harness.close(&CloseReason::ABNORMAL);
    harness.drive();
}

#[test]
fn the_worker_gets_no_close_of_a_refused_connection() {
    let harness = Harness::pending();
    harness.env.refuse(&harness.connection, 403, "no");
    assert_eq!(harness.handle_all(), [OPEN]);
    harness.assert_gone();
}

#[test]
fn a_close_between_admission_and_stream_is_reported_once() {
    let harness = Harness::pending();
    harness.admit();
    cut(&harness);
    harness.env.lost(&harness.connection);
    assert_eq!(harness.handle_all(), [OPEN, CLOSE]);
    harness.assert_gone();
}

#[test]
fn a_close_of_an_open_connection_is_reported_once() {
    let harness = Harness::open();
    cut(&harness);
    assert_eq!(harness.handle_all(), [OPEN, CLOSE]);
    harness.assert_gone();
}

#[test]
fn a_cut_while_closing_is_not_reported_again() {
    let harness = Harness::open();
    harness.close(&CloseReason::GOING_AWAY);
    cut(&harness);
    assert_eq!(harness.handle_all(), [OPEN, CLOSE]);
    harness.assert_gone();
}

#[test]
fn a_close_waits_for_the_message_before_it_and_is_reported_once() {
    let harness = Harness::open();
    harness.peer.borrow_mut().room = usize::MAX;
    harness.feed(A);
    harness.feed(GOODBYE);
    harness.drive();
    assert_eq!(harness.handle_all(), [OPEN, TEXT]);
    harness.flush();
    harness.drive();
    assert_eq!(harness.handle_all(), [CLOSE]);
    assert_eq!(harness.peer.borrow().from_gateway, [0x88, 2, 0x03, 0xe8]);
    harness.assert_gone();
}

#[test]
fn a_worker_that_retires_before_an_end_is_handled_leaves_nothing_behind() {
    let harness = Harness::open();
    harness.feed(A);
    harness.feed(GOODBYE);
    harness.drive();
    harness.worker.retire();
    harness.env.forget_endings(harness.worker.id());
    harness
        .env
        .close_of_worker(harness.worker.id(), &CloseReason::WORKER_DOWN);
    harness.peer.borrow_mut().room = usize::MAX;
    harness.flush();
    harness.drive();
    assert!(
        harness.handle_all().is_empty(),
        "the worker takes nothing more"
    );
    harness.assert_gone();
}

#[test]
fn a_write_that_stalls_at_each_byte_loses_and_repeats_nothing() {
    let harness = Harness::open();
    let mut expected = Vec::new();
    for payload in [&b"first"[..], &[b'x'; 300], b"last"] {
        let message = Message {
            kind: Kind::Text,
            payload,
            via: None,
        };
        Encodings::append_lead(&message, &mut expected);
        let io = &mut *harness.connection.io.borrow_mut();
        io.outbox.append(harness.env.ledger(), |out| {
            Encodings::append_lead(&message, out);
        });
        harness.env.flush(&harness.connection, io);
    }
    for written in 1..=expected.len() {
        harness.peer.borrow_mut().room = 1;
        harness.drive();
        assert_eq!(harness.peer.borrow().from_gateway, expected[..written]);
    }
    cut(&harness);
    harness.assert_gone();
}
