//! Tests transfers of a session, to the worker and from it, with credit in both directions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use bytes::Bytes;

use super::harness::Harness;
use crate::close::CloseReason;
use crate::event::{FIRST_CREDIT, Step, TransferId};

const TEXT: u32 = 2;
const CLOSE: u32 = 4;
const PIECE: u32 = 7;
const TURN: u32 = 8;

/// The first transfer of the first shard.
const ID: TransferId = TransferId::new(64);

fn opened() -> Harness {
    let harness = Harness::probe();
    harness.feed(b"/open\n");
    harness.drive();
    assert_eq!(harness.written(), "opened\ntransfer 64\n");
    harness
}

fn stalls(harness: &Harness) -> bool {
    let io = harness.connection.io.borrow();
    io.extra.as_ref().unwrap().stalls()
}

#[test]
fn pieces_reach_the_worker_while_it_has_room_and_then_input_waits() {
    let harness = opened();
    let piece = FIRST_CREDIT / 4 * 3;
    harness.feed(format!("/piece {piece}\n").repeat(3).as_bytes());
    harness.feed(b"message\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [PIECE, PIECE]);
    harness.drive();
    assert!(
        harness.handle_all().is_empty(),
        "the worker has more than it asked for"
    );
    harness.step(ID, Step::Pull(100));
    harness.drive();
    assert!(
        harness.handle_all().is_empty(),
        "bytes sent beyond the credit are subtracted first"
    );
    harness.step(ID, Step::Pull(u32::try_from(FIRST_CREDIT).unwrap()));
    harness.drive();
    assert_eq!(harness.handle_all(), [PIECE]);
    harness.step(ID, Step::Pull(u32::try_from(FIRST_CREDIT).unwrap()));
    harness.drive();
    assert_eq!(harness.handle_all(), [TEXT]);
    harness.feed(b"/piece end\n/close\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [PIECE], "the last piece was sent");
}

#[test]
fn a_session_sees_how_much_the_worker_has_room_for() {
    let harness = opened();
    harness.feed(b"/piece 36\n/credit\n");
    harness.drive();
    assert_eq!(harness.written(), format!("{}\n", FIRST_CREDIT - 36));
    harness.step(ID, Step::Pull(36));
    harness.feed(b"/credit\n");
    harness.drive();
    assert_eq!(harness.written(), format!("pulled 36\n{FIRST_CREDIT}\n"));
}

#[test]
fn input_waits_for_a_session_that_holds_it_back() {
    let harness = opened();
    let woken = Arc::new(Woken::default());
    harness.feed(b"/hold\n/ping\n");
    harness.drive();
    harness.pass(10 * 60 * 1000);
    harness.drive();
    assert_eq!(harness.written(), "", "no ping is sent either");
    let waker = Waker::from(Arc::clone(&woken));
    harness.connection.task.set(Some(Box::new(waker)));
    assert!(harness.tell("", "go on"));
    harness.take_posted();
    assert!(
        woken.0.load(Ordering::SeqCst),
        "the connection would never be read again"
    );
    harness.drive();
    assert_eq!(harness.written(), "told  go on\npong\n");
}

#[test]
fn room_for_a_body_does_not_end_a_wait_for_the_session() {
    let harness = opened();
    harness.feed(format!("/piece {FIRST_CREDIT}\n").as_bytes());
    harness.drive();
    harness.feed(b"/hold\n/ping\n");
    harness.step(ID, Step::Pull(u32::try_from(FIRST_CREDIT).unwrap()));
    harness.drive();
    assert_eq!(harness.written(), format!("pulled {FIRST_CREDIT}\n"));
    harness.step(ID, Step::Pull(1));
    harness.drive();
    assert!(stalls(&harness));
    assert_eq!(harness.written(), "pulled 1\n");
}

#[test]
fn the_worker_is_told_of_a_body_that_breaks_off() {
    let harness = opened();
    harness.feed(b"/piece 3\n/close\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [PIECE, TURN]);
    harness.step(ID, Step::Pull(1));
    assert_eq!(harness.written(), "", "the step came too late");
}

#[test]
fn the_end_of_input_waits_behind_a_body() {
    let harness = opened();
    harness.feed(format!("/piece {FIRST_CREDIT}\n").as_bytes());
    harness.feed_end();
    harness.drive();
    harness.handle_all();
    harness.drive();
    assert!(stalls(&harness) && !harness.connection.half_closed.get());
    harness.step(ID, Step::Pull(1));
    harness.drive();
    assert_eq!(harness.written(), "pulled 1\nended\n");
}

#[test]
fn a_peer_that_is_not_read_gets_no_ping() {
    let harness = opened();
    harness.feed(format!("/piece {FIRST_CREDIT}\n").as_bytes());
    harness.drive();
    harness.handle_all();
    harness.pass(10 * 60 * 1000);
    assert_eq!(harness.written(), "");
    harness.step(ID, Step::Pull(1));
    harness.pass(60 * 1000);
    assert_eq!(harness.written(), "pulled 1\nalive?\n");
}

#[test]
fn pieces_reach_the_session_and_the_worker_is_told_of_room() {
    let harness = opened();
    harness.step(ID, Step::Piece(Box::new(Bytes::from_static(b"down\n"))));
    harness.step(ID, Step::WantRoom);
    assert_eq!(harness.handle_all(), [TURN], "there is room");
    assert_eq!(harness.written(), "down\n");
    harness.peer.borrow_mut().room = 0;
    let much = vec![b'd'; harness.env.drained_bytes() + 1];
    harness.step(ID, Step::Piece(Box::new(much.into())));
    harness.step(ID, Step::WantRoom);
    harness.flush();
    assert!(harness.handle_all().is_empty());
    harness.peer.borrow_mut().room = usize::MAX;
    harness.drive();
    assert_eq!(harness.handle_all(), [TURN]);
    harness.step(ID, Step::End);
    assert!(harness.written().ends_with("dEnd\n"));
    harness.step(ID, Step::WantRoom);
    assert!(harness.handle_all().is_empty());
}

#[test]
fn the_worker_is_told_of_transfers_that_end_with_their_connection() {
    let harness = opened();
    harness.close(&CloseReason::ABNORMAL);
    assert_eq!(harness.handle_all(), [TURN, CLOSE]);
    harness.step(ID, Step::End);
    assert!(harness.env.transfers.owner(ID).is_none());
    harness.drive();
    harness.assert_gone();
}

#[test]
fn steps_of_the_last_answer_are_sent_before_the_close() {
    let harness = opened();
    harness.feed(b"question\n/wrong\n");
    harness.drive();
    harness.step(ID, Step::Piece(Box::new(Bytes::from_static(b"answer\n"))));
    harness.step(ID, Step::End);
    assert_eq!(harness.handle_all(), [TEXT]);
    assert_eq!(harness.written(), "answer\nEnd\nclosed 1002\n");
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn input_continues_when_the_body_that_it_waits_for_is_aborted() {
    let harness = opened();
    harness.feed(format!("/piece {FIRST_CREDIT}\n").as_bytes());
    harness.drive();
    assert!(stalls(&harness));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    harness.connection.task.set(Some(Box::new(waker)));
    harness.step(ID, Step::Abort);
    assert!(!stalls(&harness));
    assert!(
        woken.0.load(Ordering::SeqCst),
        "the connection would never be read again"
    );
}
