//! Tests a Sockety session: data, files and streams on their way to the peer.

use bytes::Bytes;
use millrace_protocol::sockety::{Decoder, DecoderConfig, Head, Id, Item, Sender};

use super::harness::Harness;
use super::sockety::{
    CLOSE, EVENT, READY, REFUSED, event, feed, head, hear, heard, message, opened, ready, send,
};
use crate::close::CloseReason;
use crate::event::{Step, TransferId};
use crate::frame::SharedBytes;

pub(super) const TURN: u32 = 8;

/// Numbers of events.
const BEGAN: u32 = 8;

/// Numbers of operations.
const BEGIN: u32 = 4;

const SEND_SHARED: u32 = 9;

pub(super) const STREAM: u32 = 1 << 2;

pub(super) fn begin_as(
    harness: &Harness,
    number: u8,
    flags: u32,
    data_size: u64,
    files: &[(&str, u64)],
) {
    let mut fields = [
        &flags.to_le_bytes()[..],
        &[number; 16],
        &[0; 16],
        &data_size.to_le_bytes(),
        &5_u32.to_le_bytes(),
        b"begun",
    ]
    .concat();
    for (name, size) in files {
        fields.extend_from_slice(&size.to_le_bytes());
        fields.extend_from_slice(&u32::try_from(name.len()).unwrap().to_le_bytes());
        fields.extend_from_slice(name.as_bytes());
    }
    assert!(harness.tell_operation(BEGIN, &fields, b""));
    harness.take_posted();
}

/// The transfers of messages that have begun since the last call, by the ids of their messages.
pub(super) fn begun(harness: &Harness) -> Vec<(u8, Vec<TransferId>)> {
    let mut records = harness.handle_records();
    records.retain(|record| record.kind != EVENT || event(record).0 != READY);
    let told = records.iter().map(|record| {
        let (number, fields, _) = event(record);
        assert_eq!(number, BEGAN);
        let (ids, rest) = fields[16..].as_chunks::<8>();
        assert!(rest.is_empty());
        let ids = ids
            .iter()
            .map(|id| TransferId::new(u64::from_le_bytes(*id)));
        (fields[0], ids.collect())
    });
    told.collect()
}

/// Begins a message, and returns its transfers.
pub(super) fn begin(
    harness: &Harness,
    flags: u32,
    data_size: u64,
    files: &[(&str, u64)],
) -> Vec<TransferId> {
    begin_as(harness, 1, flags, data_size, files);
    let mut begun = begun(harness);
    assert_eq!(begun.len(), 1);
    begun.remove(0).1
}

fn piece(harness: &Harness, id: TransferId, bytes: &[u8]) {
    let bytes = Box::new(Bytes::copy_from_slice(bytes));
    harness.step(id, Step::Piece(bytes));
}

/// The ids of messages that could not be sent.
fn refused(harness: &Harness) -> Vec<u8> {
    let records = harness.handle_records();
    let ids = records.iter().map(|record| {
        let (number, fields, _) = event(record);
        assert_eq!(number, REFUSED);
        fields[4]
    });
    ids.collect()
}

/// What the peer was sent after its header.
pub(super) fn written(harness: &Harness) -> Vec<u8> {
    [&[0xe3][..], &harness.written_bytes()].concat()
}

fn publication() -> Vec<u8> {
    [&[0][..], &message(&mut Sender::new(1), "publish", b"p")].concat()
}

#[test]
fn contents_reach_the_peer_between_publications() {
    let harness = ready();
    let ids = begin(&harness, STREAM, 6, &[("a", 3), ("b", 0)]);
    let [data, stream, first, second] = ids[..] else {
        panic!("{ids:?}")
    };
    for (id, bytes) in [
        (stream, &b"st"[..]),
        (first, b"f"),
        (data, b"da"),
        (stream, b"ream"),
        (first, b"il"),
        (data, b"ta.."),
    ] {
        harness.send(&publication());
        piece(&harness, id, bytes);
    }
    for id in [second, first, data, stream] {
        harness.send(&publication());
        harness.step(id, Step::End);
        assert!(harness.env.transfers.owner(id).is_none());
    }
    let wire = written(&harness);
    let (mut decoder, mut input) = (Decoder::new(), &wire[..]);
    let (mut data, mut stream, mut file, mut ended) = (vec![], vec![], vec![], vec![]);
    let mut publications = 0;
    let config = DecoderConfig::default();
    while let Some(item) = decoder.next(&mut input, &config).unwrap() {
        match item {
            Item::Message { channel: 0, .. } => publications += 1,
            Item::Header { .. } | Item::Data { channel: 0, .. } => {}
            Item::Message { channel, head, .. } => {
                assert_eq!((channel, head.id), (1, Id::new([1; 16])));
                assert!(head.has_stream && head.files.count() == 2);
            }
            Item::Data { bytes, .. } => data.extend_from_slice(bytes),
            Item::Stream { bytes, .. } => stream.extend_from_slice(bytes),
            Item::File { bytes, index, .. } => {
                assert_eq!(index, 0);
                file.extend_from_slice(bytes);
            }
            Item::FileEnd { index, .. } => ended.push(index),
            Item::StreamEnd { finished, .. } => assert!(finished),
            other => panic!("{other:?}"),
        }
    }
    assert!(!decoder.is_busy());
    assert_eq!((&data[..], &stream[..]), (&b"data.."[..], &b"stream"[..]));
    assert_eq!((&file[..], &ended[..]), (&b"fil"[..], &[1, 0][..]));
    assert_eq!(publications, 10);
}

#[test]
fn large_data_is_sent_in_complete_packets() {
    let harness = ready();
    let size = 5 << 19;
    let ids = begin(&harness, 0, u64::try_from(size).unwrap(), &[]);
    for _ in 0..size / 50_000 {
        piece(&harness, ids[0], &vec![b'x'; 50_000]);
        harness.send(&publication());
        harness.flush();
    }
    piece(&harness, ids[0], &vec![b'x'; size % 50_000]);
    assert!(
        harness.env.transfers.owner(ids[0]).is_none(),
        "the transfer has ended"
    );
    let heard = heard(&written(&harness));
    let packets = heard.iter().filter(|item| item.ends_with("bytes on 1"));
    assert_eq!(
        packets.collect::<Vec<_>>(),
        [
            "1048576 bytes on 1",
            "1048576 bytes on 1",
            "524288 bytes on 1"
        ]
    );
}

#[test]
fn contents_that_differ_from_their_announcement_abort_the_message() {
    for (flags, data_size, file, wrong) in [
        (STREAM, 3, None, Some(&b"four"[..])),
        (STREAM, 3, None, None),
        (0, 0, Some(2), Some(b"four")),
        (0, 0, Some(2), None),
    ] {
        let harness = ready();
        let files: Vec<_> = file.iter().map(|size| ("f", *size)).collect();
        let ids = begin(&harness, flags, data_size, &files);
        match wrong {
            Some(bytes) => piece(&harness, ids[0], bytes),
            None => harness.step(ids[0], Step::End),
        }
        assert_eq!(refused(&harness), [1]);
        for id in &ids {
            assert!(harness.env.transfers.owner(*id).is_none());
        }
        send(&harness, 0, b"next", b"");
        let heard = heard(&written(&harness));
        assert_eq!(
            heard.last().unwrap(),
            "next on 2",
            "the message uses another channel"
        );
        assert!(heard[heard.len() - 2].starts_with("Abort { channel: 1"));
    }
}

#[test]
fn the_worker_may_abort_a_message() {
    let harness = ready();
    let ids = begin(&harness, STREAM, 3, &[]);
    piece(&harness, ids[1], b"str");
    harness.step(ids[1], Step::Abort);
    assert!(
        harness.handle_all().is_empty(),
        "the worker knows that it aborted the message"
    );
    assert!(harness.env.transfers.owner(ids[0]).is_none());
    let heard = heard(&written(&harness));
    assert!(heard.last().unwrap().starts_with("Abort"));
}

#[test]
fn no_message_stays_open_on_the_channel_of_publications() {
    let harness = opened(1 << 20);
    hear(&harness, &[0xe0]);
    begin_as(&harness, 1, STREAM, 0, &[]);
    assert_eq!(refused(&harness), [1]);
    assert!(harness.written_bytes().is_empty());
}

#[test]
fn messages_without_a_channel_wait_in_order() {
    let harness = opened(10_000);
    // one channel for publications, one for everything else
    hear(&harness, &[0xe1, 2]);
    let ids = begin(&harness, STREAM, 0, &[]);
    send(&harness, 0, b"second", b"data");
    begin_as(&harness, 3, STREAM, 0, &[]);
    send(&harness, 0, b"fourth", b"");
    send(&harness, 0, b"too much", &[0; 10_000]);
    assert_eq!(refused(&harness), [1]);
    let mut wire = written(&harness);
    harness.step(ids[0], Step::End);
    let begun = begun(&harness);
    assert_eq!(begun[0].0, 3);
    harness.step(begun[0].1[0], Step::End);
    wire.extend(harness.written_bytes());
    let heard = heard(&wire);
    let kinds: Vec<&str> = heard[1..]
        .iter()
        .map(|item| item.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "begun",
            "StreamEnd",
            "second",
            "4",
            "begun",
            "StreamEnd",
            "fourth"
        ]
    );
}

#[test]
fn a_message_begun_before_the_peer_s_header_waits_for_it() {
    let harness = opened(1 << 20);
    begin_as(&harness, 1, STREAM, 0, &[]);
    assert!(harness.handle_all().is_empty());
    feed(&harness, &[0xe3]);
    let begun = begun(&harness);
    harness.step(begun[0].1[0], Step::End);
    assert_eq!(heard(&written(&harness))[1], "begun on 1");
}

#[test]
fn the_worker_is_told_of_room_and_of_the_end() {
    let harness = ready();
    let ids = begin(&harness, STREAM, 3, &[]);
    harness.step(ids[1], Step::WantRoom);
    assert_eq!(harness.handle_all(), [TURN], "the session has room");
    harness.peer.borrow_mut().room = 0;
    piece(&harness, ids[1], &vec![0; harness.env.drained_bytes() + 1]);
    harness.step(ids[1], Step::WantRoom);
    harness.flush();
    assert!(harness.handle_all().is_empty());
    harness.peer.borrow_mut().room = usize::MAX;
    harness.drive();
    assert_eq!(harness.handle_all(), [TURN]);
    harness.close(&CloseReason::ABNORMAL);
    assert_eq!(harness.handle_all(), [TURN, TURN, CLOSE]);
    harness.drive();
    harness.assert_gone();
}

#[test]
fn invalid_fields_of_a_message_are_refused() {
    let harness = ready();
    assert!(harness.tell_operation(BEGIN, &[0; 47], b""));
    harness.take_posted();
    let records = harness.handle_records();
    assert_eq!(records[0].kind, EVENT);
    assert_eq!(event(&records[0]).0, REFUSED);
}

/// Sends like `send`, with data that is not copied.
fn send_shared(harness: &Harness, action: &[u8], data: &[u8]) {
    let fields = [&[0; 4][..], &[1; 16], &[2; 16], action].concat();
    assert!(harness.tell_shared(SEND_SHARED, &fields, &SharedBytes::new(data)));
    harness.take_posted();
}

#[test]
fn data_that_is_not_copied_is_the_same_on_the_wire() {
    for length in [1, 100_000, (1 << 20) + (64 << 10) - 1] {
        let data: Vec<u8> = (0..=250).cycle().take(length).collect();
        let [copied, shared] = [false, true].map(|is_shared| {
            let harness = ready();
            harness.handle_records();
            send(&harness, 0, b"before", b"b");
            if is_shared {
                send_shared(&harness, b"action", &data);
            } else {
                send(&harness, 0, b"action", &data);
            }
            send(&harness, 0, b"behind", b"b");
            assert_eq!(refused(&harness), []);
            written(&harness)
        });
        assert!(copied == shared, "{length} bytes");
    }
}

#[test]
fn data_that_is_not_copied_is_one_packet() {
    for length in [0, (1 << 20) + (64 << 10)] {
        let harness = ready();
        harness.handle_records();
        send_shared(&harness, b"action", &vec![0; length]);
        assert_eq!(refused(&harness), [1], "{length} bytes");
        assert_eq!(written(&harness), [0xe3]);
    }
}

#[test]
fn data_that_is_not_copied_waits_for_a_channel() {
    let harness = opened(1 << 20);
    // two channels, one of them for publications
    hear(&harness, &[0xe1, 2]);
    let ids = begin(&harness, STREAM, 0, &[]);
    send_shared(&harness, b"action", b"data");
    assert!(!written(&harness).ends_with(b"data"));
    harness.step(ids[0], Step::End);
    assert!(written(&harness).ends_with(b"data"));
}

#[test]
fn without_a_channel_messages_are_refused_until_the_peer_aborts_one_too() {
    let harness = opened(1 << 20);
    // one channel for publications, and one for messages
    hear(&harness, &[0xe1, 2]);
    let stream = begin(&harness, STREAM, 0, &[])[0];
    harness.step(stream, Step::Abort);
    harness.handle_records();
    send(&harness, 0, b"whole", b"");
    begin_as(&harness, 3, STREAM, 0, &[]);
    let records = harness.handle_records();
    let told: Vec<_> = records.iter().map(event).collect();
    assert_eq!(told.len(), 2);
    for (number, _, why) in told {
        assert_eq!((number, why), (REFUSED, &b"no channel"[..]));
    }
    let (mut theirs, mut wire) = (Sender::new(1), Vec::new());
    let head = Head {
        has_stream: true,
        ..head("theirs")
    };
    theirs.begin(&head, &mut wire).unwrap();
    theirs.abort(0, &mut wire).unwrap();
    feed(&harness, &wire);
    harness.handle_records();
    harness.written_bytes();
    begin_as(&harness, 4, STREAM, 0, &[]);
    let ids = begun(&harness).remove(0).1;
    harness.step(ids[0], Step::End);
    assert_eq!(heard(&written(&harness))[1], "begun on 1");
}
