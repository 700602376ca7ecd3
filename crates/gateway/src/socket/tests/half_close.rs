//! Tests a peer that has sent its last byte and still reads.

use super::harness::Harness;
use crate::close::CloseReason;

const TEXT: u32 = 2;
const CLOSE: u32 = 4;

fn half_closed() -> Harness {
    let harness = Harness::probe();
    harness.feed_end();
    harness.drive();
    assert_eq!(harness.written(), "opened\nended\n");
    harness
}

fn is_half_closed(harness: &Harness) -> bool {
    harness.connection.half_closed.get()
}

#[test]
fn writing_continues_until_one_side_closes_and_nothing_is_read() {
    let harness = half_closed();
    let reads = harness.peer.borrow().reads;
    for _ in 0..3 {
        harness.send(b"more\n");
        assert_eq!(harness.written(), "more\n");
        harness.drive();
    }
    assert_eq!(
        harness.peer.borrow().reads,
        reads,
        "the end of its stream is not reported again"
    );
    harness.close(&CloseReason::GOING_AWAY);
    assert_eq!(harness.written(), "closed 1001\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [CLOSE]);
    harness.assert_gone();
}

#[test]
fn input_before_the_end_is_handled_before_it() {
    let harness = Harness::probe();
    let lines = 300;
    harness.feed("message\n".repeat(lines).as_bytes());
    harness.feed_end();
    let mut handled = 0;
    for _ in 0..lines {
        harness.drive();
        if is_half_closed(&harness) {
            break;
        }
        let told = harness.handle_all();
        assert!(told.iter().all(|kind| *kind == TEXT));
        handled += told.len();
        harness.env.resume_read_queue();
    }
    handled += harness.handle_all().len();
    assert_eq!(handled, lines);
    assert_eq!(harness.written(), "opened\nended\n");
}

#[test]
fn an_end_waits_while_input_is_paused() {
    let harness = Harness::probe();
    harness.peer.borrow_mut().room = 0;
    harness.send(&vec![
        b'x';
        harness.env.limits().outbox_read_pause_bytes + 1
    ]);
    harness.flush();
    harness.feed_end();
    harness.drive();
    assert!(!is_half_closed(&harness));
    harness.peer.borrow_mut().room = usize::MAX;
    harness.drive();
    assert!(is_half_closed(&harness));
    assert!(harness.written().ends_with("xended\n"));
}

#[test]
fn a_session_that_closes_at_the_peer_s_end_waits_for_the_answers() {
    let harness = Harness::probe();
    harness.feed(b"question\n/leave\n");
    harness.feed_end();
    harness.drive();
    assert_eq!(harness.written(), "opened\n");
    harness.send(b"answer\n");
    assert_eq!(harness.handle_all(), [TEXT]);
    assert_eq!(harness.written(), "answer\nclosed 1000\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [CLOSE]);
    harness.assert_gone();
}

#[test]
fn a_peer_without_pending_answers_gets_the_close_at_once() {
    let harness = Harness::probe();
    harness.feed(b"/leave\n");
    harness.feed_end();
    harness.drive();
    assert_eq!(harness.written(), "opened\nclosed 1000\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [CLOSE]);
    harness.assert_gone();
}

#[test]
fn silence_no_longer_counts_after_the_end_of_the_stream() {
    let harness = Harness::probe();
    harness.feed(b"begun");
    harness.feed_end();
    harness.drive();
    harness.pass(10 * 60 * 1000);
    assert_eq!(harness.written(), "opened\nended\n");
    assert!(harness.handle_all().is_empty());
    harness.close(&CloseReason::GOING_AWAY);
}

#[test]
fn a_peer_that_does_not_read_is_cut() {
    let harness = half_closed();
    harness.peer.borrow_mut().room = 0;
    harness.send(b"more\n");
    harness.flush();
    let timeout = u64::try_from(harness.env.write_timeout().as_millis()).unwrap();
    harness.pass(timeout - 1000);
    assert!(harness.handle_all().is_empty());
    harness.pass(2000);
    harness.drive();
    assert_eq!(harness.handle_all(), [CLOSE]);
    harness.assert_gone();
}

#[test]
fn queued_output_is_sent_although_the_peer_ends_its_stream() {
    let harness = Harness::probe();
    harness.peer.borrow_mut().room = 0;
    harness.send(b"last\n");
    harness.flush();
    harness.close(&CloseReason::GOING_AWAY);
    harness.feed_end();
    harness.drive();
    harness.peer.borrow_mut().room = usize::MAX;
    harness.drive();
    assert_eq!(harness.written(), "opened\nlast\nclosed 1001\n");
    harness.drive();
    harness.assert_gone();
}

#[test]
fn a_peer_that_still_sends_is_waited_for_after_a_close() {
    let harness = Harness::probe();
    harness.close(&CloseReason::GOING_AWAY);
    assert_eq!(harness.written(), "opened\nclosed 1001\n");
    assert!(harness.peer.borrow().shut, "the stream is shut down");
    harness.feed(b"on its way\n");
    harness.drive();
    assert_eq!(harness.handle_all(), [CLOSE]);
    assert!(!harness.env.connections.borrow().is_empty());
    harness.feed_end();
    harness.drive();
    harness.assert_gone();
}
