//! Tests a Sockety session with a small outbox and a slow peer: everything that the worker sends reaches the peer.

use bytes::Bytes;
use millrace_protocol::sockety::{Decoder, DecoderConfig, Item};

use super::harness::Harness;
use super::sockety::{event, hear, opened_within, send};
use super::sockety_down::{STREAM, TURN, begin};
use crate::event::{Step, TransferId};
use crate::frame::SharedBytes;
use crate::limits::GatewayLimits;

const WRITTEN: u32 = 9;

/// Numbers of operations.
const NOTE: u32 = 3;
const SEND_SHARED: u32 = 9;

const OUTBOXES: [usize; 6] = [1, 100, 1 << 10, 64 << 10, 256 << 10, 1 << 20];

/// A session whose peer reads nothing yet.
fn ready(outbox_bytes: usize) -> Harness {
    let limits = GatewayLimits {
        outbox_bytes,
        ..GatewayLimits::default()
    };
    let harness = opened_within(limits, 1 << 24);
    hear(&harness, &[0xe3]);
    harness.peer.borrow_mut().room = 0;
    harness
}

/// This many bytes that show their position.
fn marked(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

/// Sends a whole body at once, like a worker that does not wait for room.
fn pour(harness: &Harness, id: TransferId, body: &[u8], pieces: usize) {
    for piece in body.chunks(pieces) {
        let piece = Box::new(Bytes::copy_from_slice(piece));
        harness.step(id, Step::Piece(piece));
        harness.flush();
    }
    harness.step(id, Step::End);
    harness.flush();
}

fn note(harness: &Harness) {
    assert!(harness.tell_operation(NOTE, b"", b""));
    harness.take_posted();
}

/// What the peer has received.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    data: Vec<Vec<u8>>,
    stream: Vec<u8>,
    file: Vec<u8>,
    ended: usize,
    actions: Vec<String>,
}

/// A peer that reads this many bytes at a time, until the worker is told that everything is written.
fn hear_all(harness: &Harness, at_once: usize) -> Heard {
    let (mut decoder, mut wire) = (Decoder::new(), vec![0xe3]);
    let (mut heard, mut is_written) = (Heard::default(), false);
    while !is_written {
        harness.peer.borrow_mut().room = at_once;
        harness.take_posted();
        harness.drive();
        harness.flush();
        wire.extend(harness.written_bytes());
        let mut input = &wire[..];
        while let Some(item) = decoder.next(&mut input, &DecoderConfig::default()).unwrap() {
            match item {
                Item::Message { head, .. } => {
                    heard.actions.push(format!("{:?}", head.subject));
                    heard.data.push(Vec::new());
                }
                Item::Data { bytes, .. } => heard.data.last_mut().unwrap().extend(bytes),
                Item::Stream { bytes, .. } => heard.stream.extend(bytes),
                Item::File { bytes, .. } => heard.file.extend(bytes),
                Item::FileEnd { .. } | Item::StreamEnd { .. } => heard.ended += 1,
                _ => {}
            }
        }
        wire = input.to_vec();
        assert!(
            harness.connection.io.borrow().is_live(),
            "the connection is not closed"
        );
        for record in harness.handle_records() {
            is_written |= event(&record).0 == WRITTEN;
        }
    }
    heard
}

#[test]
fn contents_of_any_length_reach_a_slow_peer() {
    for outbox_bytes in OUTBOXES {
        for pieces in [10_000, 64 << 10, 1 << 20] {
            let harness = ready(outbox_bytes);
            let body = marked((5 << 18) + 77);
            let size = u64::try_from(body.len()).unwrap();
            let ids = begin(&harness, STREAM, size, &[("file", size)]);
            for id in ids {
                pour(&harness, id, &body, pieces);
            }
            note(&harness);
            let heard = hear_all(&harness, 50_000);
            let what = format!("{outbox_bytes} bytes, in pieces of {pieces}");
            assert!(heard.data == [&body[..]], "{what}");
            assert!(heard.stream == body && heard.file == body, "{what}");
            assert_eq!(heard.ended, 2, "{what}");
        }
    }
}

#[test]
fn messages_wait_for_room_too() {
    for outbox_bytes in OUTBOXES {
        let harness = ready(outbox_bytes);
        let body = marked(60_000);
        for _ in 0..30 {
            send(&harness, 0, b"whole", &body);
        }
        let fields = [&[0; 4][..], &[1; 16], &[2; 16], b"shared"].concat();
        let shared = SharedBytes::new(&marked(1 << 20));
        for _ in 0..3 {
            assert!(harness.tell_shared(SEND_SHARED, &fields, &shared));
            harness.take_posted();
        }
        note(&harness);
        let heard = hear_all(&harness, 50_000);
        assert_eq!(heard.data.len(), 33, "{outbox_bytes} bytes");
        assert!(heard.data[..30].iter().all(|data| *data == body));
        assert!(heard.data[30..].iter().all(|data| data.len() == 1 << 20));
    }
}

#[test]
fn an_aborted_message_waits_no_longer() {
    let harness = ready(1 << 10);
    let ids = begin(&harness, STREAM, 0, &[]);
    pour(&harness, ids[0], &marked(100_000), 1000);
    let others = begin(&harness, STREAM, 0, &[]);
    harness.step(others[0], Step::Piece(Box::new(marked(50_000).into())));
    harness.step(ids[0], Step::Abort);
    harness.step(others[0], Step::End);
    note(&harness);
    let heard = hear_all(&harness, 50_000);
    assert!(heard.stream.len() < 55_000, "{}", heard.stream.len());
    assert!(heard.stream.ends_with(&marked(50_000)));
    assert_eq!(heard.ended, 1);
}

#[test]
fn a_worker_that_waits_for_room_is_told_of_it() {
    for outbox_bytes in OUTBOXES {
        let harness = ready(outbox_bytes);
        let id = begin(&harness, STREAM, 0, &[])[0];
        for _ in 0..30 {
            let piece = Box::new(Bytes::from(marked(100_000)));
            harness.step(id, Step::Piece(piece));
            harness.step(id, Step::WantRoom);
            let mut rounds = 0;
            while harness.handle_all() != [TURN] {
                harness.peer.borrow_mut().room = 50_000;
                harness.drive();
                harness.flush();
                rounds += 1;
                assert!(rounds < 5, "{outbox_bytes} bytes");
            }
            assert!(harness.connection.io.borrow().is_live());
        }
    }
}
