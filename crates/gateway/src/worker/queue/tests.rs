//! Tests the queue on one thread: batches, slots, closes and the bell.

use std::borrow::Cow;

use super::*;
use crate::event::record::NO_SLOT;
use crate::event::{Event, Opening};
use crate::limits::{ASCII_SIDECAR_BYTES, SIDECAR_BYTES};

const UNLIMITED: (usize, usize) = (usize::MAX, usize::MAX);

fn shard(index: u8) -> ShardIndex {
    ShardIndex::new(index).unwrap()
}

/// Hands over a parcel with what `append` puts into it.
fn parcel<R>(queue: &Queue, of: u8, append: impl FnOnce(&mut Parcel) -> R) -> R {
    let mut parcel = Parcel::new(shard(of), queue, UNLIMITED, 1);
    let result = append(&mut parcel);
    queue.hand_over(&mut parcel, UNLIMITED);
    result
}

fn message(queue: &Queue, kind: RecordKind, ascii: bool, payload: &[u8]) -> u64 {
    parcel(queue, 0, |parcel| {
        parcel.message(kind, 0, ascii, Cow::Borrowed(payload))
    })
}

#[test]
fn batches_are_bounded_and_keep_their_order() {
    let queue = Queue::new();
    let payload = vec![b'x'; 16 * 1024];
    for _ in 0..40 {
        message(&queue, RecordKind::Text, false, &payload);
    }
    let mut total = 0;
    while let Some((batch, _)) = queue.take() {
        assert!(batch.bytes.len() <= BATCH_BYTES);
        total += batch.bytes.len() / record::record_bytes(payload.len());
        let before = queue.handled(shard(0));
        queue.finish(batch);
        assert!(queue.handled(shard(0)) > before);
    }
    assert_eq!(total, 40);
    assert_eq!(queue.backlog(), (0, 0));
    assert_eq!(queue.handled(shard(0)), 40);
}

#[test]
fn buffers_are_freed_when_no_event_has_come_for_a_while() {
    let queue = Queue::new();
    let burst = || {
        for _ in 0..20 {
            message(&queue, RecordKind::Text, false, &[b'x'; 1000]);
        }
        while let Some((batch, _)) = queue.take() {
            queue.finish(batch);
        }
    };
    let spare = || -> usize {
        let state = queue.state.lock();
        state.spare.iter().map(Vec::capacity).sum()
    };
    burst();
    queue.trim();
    assert!(spare() >= 20_000);
    burst();
    queue.trim();
    assert!(spare() >= 20_000, "events have come since the last time");
    queue.trim();
    assert_eq!(spare(), 0);
}

#[test]
fn the_buffer_of_a_parcel_is_freed_when_no_event_has_come_for_a_while() {
    let queue = Queue::new();
    let mut parcel = Parcel::new(shard(0), &queue, UNLIMITED, 1);
    let burst = |parcel: &mut Parcel| {
        for _ in 0..20 {
            let payload = Cow::Borrowed(&[b'x'; 1000][..]);
            parcel.message(RecordKind::Text, 0, false, payload);
        }
        queue.hand_over(parcel, UNLIMITED);
        while let Some((batch, _)) = queue.take() {
            queue.finish(batch);
        }
    };
    burst(&mut parcel);
    burst(&mut parcel);
    parcel.trim();
    assert!(parcel.kept_bytes() >= 20_000, "events have come");
    let payload = Cow::Borrowed(&b"waits"[..]);
    let number = parcel.message(RecordKind::Text, 0, false, payload);
    parcel.trim();
    assert!(!parcel.is_empty());
    queue.hand_over(&mut parcel, UNLIMITED);
    parcel.trim();
    assert!(parcel.kept_bytes() > 0, "an event has come");
    parcel.trim();
    assert_eq!(parcel.kept_bytes(), 0);
    let payload = Cow::Borrowed(&b"next"[..]);
    assert_eq!(
        parcel.message(RecordKind::Text, 0, false, payload),
        number + 1
    );
}

#[test]
fn small_parcels_of_several_shards_share_a_batch_and_come_back_to_each() {
    let queue = Queue::new();
    let say = |of, text: &[u8]| {
        parcel(&queue, of, |parcel| {
            parcel.message(RecordKind::Text, u32::from(of), true, Cow::Borrowed(text))
        })
    };
    assert_eq!(say(3, b"a"), 1);
    assert_eq!(say(63, b"b"), 1);
    assert_eq!(say(3, b"c"), 2);
    let (batch, _) = queue.take().unwrap();
    assert!(queue.take().is_none());
    let mut expected = Vec::new();
    for (slot, text) in [(3, b"a"), (63, b"b"), (3, b"c")] {
        record::append_message(&mut expected, RecordKind::Text, slot, true, text);
    }
    assert_eq!(batch.bytes, expected);
    let handled = || [3, 63, 0].map(|of| queue.handled(shard(of)));
    assert_eq!(handled(), [0, 0, 0]);
    queue.finish(batch);
    assert_eq!(handled(), [2, 1, 0]);
    // a shard that starts again goes on counting
    assert_eq!(say(3, b"d"), 3);
}

#[test]
fn a_parcel_is_handed_over_at_a_part_of_the_limits() {
    let queue = Queue::new();
    let limits = (16 * 2 * 40, 16 * 2 * 1000);
    let mut parcel = Parcel::new(shard(0), &queue, limits, 2);
    let mut say = |length: usize| {
        let payload = Cow::Owned(vec![b'x'; length]);
        parcel.message(RecordKind::Binary, 0, false, payload);
        assert!(queue.accepts_more(&mut parcel, limits));
        queue.backlog().0
    };
    let waiting: Vec<usize> = (0..40).map(|_| say(1)).collect();
    assert_eq!(waiting[38..], [0, 40], "as many events");
    assert_eq!([say(1), say(1000)], [40, 42], "as many bytes");
}

#[test]
fn the_queue_and_the_parcels_stay_within_the_limits_together() {
    for (limit, shards) in [
        (1, 1),
        (16, 2),
        (1023, 4),
        (1024, 1),
        (2048, 8),
        (16_384, 64),
    ] {
        let (queue, limits) = (Queue::new(), (limit, usize::MAX));
        let mut parcels: Vec<Parcel> = (0..shards)
            .map(|of| Parcel::new(shard(of), &queue, limits, usize::from(shards)))
            .collect();
        let mut said = 0;
        let mut say = |parcel: &mut Parcel| {
            said += 1;
            parcel.message(RecordKind::Text, 0, true, Cow::Borrowed(b""));
            queue.accepts_more(parcel, limits)
        };
        // the first fills the queue, and the others do not know that
        while say(&mut parcels[0]) {}
        for parcel in &mut parcels[1..] {
            while say(parcel) {}
        }
        let most = limit + usize::from(shards) - 1;
        assert!(said >= limit - limit / 16, "{said} of {limit}");
        assert!(said <= most, "{said} of {limit}");
        assert!(!queue.has_room(limit, usize::MAX));
    }
}

#[test]
fn a_retired_worker_gets_no_parcel() {
    let queue = Queue::new();
    let mut parcel = Parcel::new(shard(0), &queue, UNLIMITED, 1);
    parcel.message(RecordKind::Text, 0, true, Cow::Borrowed(b"late"));
    assert!(!queue.is_retired());
    drop(queue.retire());
    assert!(queue.is_retired());
    assert!(!queue.hand_over(&mut parcel, UNLIMITED));
    assert!(parcel.is_empty() && queue.is_empty());
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
        let number = parcel(&queue, 0, |parcel| {
            parcel.event(4, Event::Probe, b"fields", Cow::Borrowed(&payload))
        });
        let (batch, _) = queue.take().unwrap();
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
        assert_eq!(queue.handled(shard(0)), number);
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
    assert!(queue.is_retired());
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
