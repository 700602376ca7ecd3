//! Tests the queue on one thread: batches, slots, closes and the bell.

use super::*;
use crate::event::Opening;
use crate::event::record::NO_SLOT;

fn message(queue: &Queue, kind: RecordKind, ascii: bool, payload: &[u8]) -> u64 {
    queue
        .appender()
        .unwrap()
        .message(kind, 0, ascii, Cow::Borrowed(payload))
}

#[test]
fn batches_are_bounded_and_keep_their_order() {
    let queue = Queue::new();
    let payload = vec![b'x'; 16 * 1024];
    for _ in 0..40 {
        message(&queue, RecordKind::Text, false, &payload);
    }
    let mut total = 0;
    let mut last = 0;
    while let Some((batch, _)) = queue.take() {
        assert!(batch.bytes.len() <= BATCH_BYTES);
        assert!(batch.seq > last);
        last = batch.seq;
        total += batch.bytes.len() / record::record_bytes(payload.len());
        queue.finish(batch);
    }
    assert_eq!(total, 40);
    assert_eq!(queue.backlog(), (0, 0));
    assert_eq!(queue.handled(), last);
}

#[test]
fn large_payloads_travel_beside_the_batch() {
    let queue = Queue::new();
    let kinds = [
        (RecordKind::Text, true, ASCII_SIDECAR_BYTES),
        (RecordKind::Text, false, SIDECAR_BYTES),
        (RecordKind::Binary, true, SIDECAR_BYTES),
    ];
    for (kind, ascii, most) in kinds {
        message(&queue, kind, ascii, &vec![b'y'; most + 1]);
        let (batch, _) = queue.take().unwrap();
        assert_eq!(batch.sidecars[0].payload().len(), most + 1);
        let ascii_text = kind == RecordKind::Text && ascii;
        assert_eq!(matches!(batch.sidecars[0], Sidecar::Text(_)), ascii_text);
        assert_eq!(batch.bytes.len(), record::record_bytes(8));
        assert!(!batch.has_binary, "no handler sees the records in place");
        assert_eq!(queue.backlog(), (0, 0));
        queue.finish(batch);
        message(&queue, kind, ascii, &vec![b'y'; most]);
        let (batch, _) = queue.take().unwrap();
        assert!(batch.sidecars.is_empty());
        assert_eq!(batch.has_binary, kind == RecordKind::Binary);
        queue.finish(batch);
    }
}

#[test]
fn large_payloads_of_events_travel_beside_the_batch() {
    let queue = Queue::new();
    for length in [SIDECAR_BYTES, SIDECAR_BYTES + 1] {
        let payload = vec![b'y'; length];
        let mut appender = queue.appender().unwrap();
        let seq = appender.event(4, Event::Probe, b"fields", Cow::Borrowed(&payload));
        drop(appender);
        let (batch, _) = queue.take().unwrap();
        assert_eq!(batch.seq, seq);
        assert!(!batch.has_binary, "no handler sees the records in place");
        let mut expected = Vec::new();
        if length > SIDECAR_BYTES {
            let place = (0, u32::try_from(length).unwrap());
            record::append_event_beside(&mut expected, 4, Event::Probe, b"fields", place);
            assert_eq!(batch.sidecars[0].payload(), payload);
        } else {
            record::append_event(&mut expected, 4, Event::Probe, b"fields", &payload);
            assert!(batch.sidecars.is_empty());
        }
        assert_eq!(batch.bytes, expected);
        queue.finish(batch);
    }
    assert_eq!(queue.backlog(), (0, 0));
}

#[test]
fn a_close_is_claimed_once_and_passed_on_if_it_was_not() {
    let queue = Queue::new();
    let id = |n| SocketId::new(n).unwrap();
    let close = |n| PendingClose {
        socket: id(n),
        code: 1000,
        reason: "".into(),
        token: None,
    };
    queue.close(NO_SLOT, close(1), true).unwrap();
    queue.close(NO_SLOT, close(2), true).unwrap();
    assert!(queue.claim_close(id(1)));
    assert!(!queue.claim_close(id(1)));
    let left = queue.retire();
    assert_eq!(
        left.iter().map(|close| close.socket).collect::<Vec<_>>(),
        [id(2)]
    );
    assert!(!queue.claim_close(id(2)));
    assert!(queue.close(NO_SLOT, close(3), true).is_err());
    assert!(queue.appender().is_none());
}

#[test]
fn slots_are_reused_after_the_close_record() {
    let queue = Queue::new();
    let socket = SocketId::new(1).unwrap();
    let opening = Opening {
        socket,
        target: "/",
        ..Opening::unseen(socket)
    };
    assert_eq!(queue.open(&opening, (100, 1000)), Some((0, false)));
    assert_eq!(queue.open(&opening, (100, 1000)), Some((1, false)));
    queue
        .close(
            0,
            PendingClose {
                socket,
                code: 1005,
                reason: "".into(),
                token: None,
            },
            false,
        )
        .unwrap();
    assert_eq!(queue.open(&opening, (100, 1000)), Some((0, false)));
}

#[test]
fn an_open_finds_no_room_while_others_opens_and_closes_wait() {
    let queue = Queue::new();
    let socket = SocketId::new(1).unwrap();
    let opening = Opening {
        socket,
        target: "/",
        ..Opening::unseen(socket)
    };
    let close = PendingClose {
        socket,
        code: 1005,
        reason: "".into(),
        token: None,
    };
    let bounds = (3, 1000);
    // messages have a limit of their own
    for _ in 0..5 {
        message(&queue, RecordKind::Text, true, b"a message");
    }
    assert_eq!(queue.open(&opening, bounds), Some((0, false)));
    queue.close(0, close.clone(), false).unwrap();
    assert_eq!(queue.open(&opening, bounds), Some((0, false)));
    assert!(!queue.has_room_to_open(bounds.0, bounds.1));
    assert_eq!(queue.open(&opening, bounds), None);
    assert_eq!(queue.connections(), 1);
    // a close is never refused
    queue.close(0, close, false).unwrap();
    let (batch, _) = queue.take().unwrap();
    queue.finish(batch);
    assert!(queue.has_room_to_open(bounds.0, bounds.1));
    // one always fits, even with the smallest limit
    assert_eq!(queue.open(&opening, (0, 0)), Some((0, false)));
    assert_eq!(queue.open(&opening, (100, 1)), None);
    drop(queue.retire());
    assert_eq!(queue.open(&opening, bounds), None);
}

#[test]
fn the_bell_is_rung_once_until_it_is_answered() {
    let queue = Queue::new();
    assert!(queue.start_ringing());
    assert!(!queue.start_ringing());
    queue.stop_ringing();
    assert!(queue.start_ringing());
}
