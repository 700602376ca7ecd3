//! Tests a Sockety session: its header, its heads and replies, heartbeats and closing. Over 400 lines because it also
//! has what the other Sockety tests share.

use std::sync::Arc;

use millrace_protocol::sockety::{
    Decoder, DecoderConfig, FileList, Head, Id, Item, Sender, Subject, append_fast_reply,
    append_header,
};

use super::harness::{Harness, Record};
use crate::adapter::SocketyOnStage;
use crate::close::CloseReason;
use crate::frame::Encodings;
use crate::limits::GatewayLimits;

pub(super) const OPEN: u32 = 1;
pub(super) const CLOSE: u32 = 4;
pub(super) const EVENT: u32 = 9;

/// Numbers of events.
pub(super) const MESSAGE: u32 = 2;
pub(super) const FAST_REPLY: u32 = 5;
const GO_AWAY: u32 = 6;
const WRITTEN: u32 = 9;
const END: u32 = 10;
pub(super) const READY: u32 = 12;
const TIMEOUT: u32 = 13;
const HEARTBEAT: u32 = 14;
pub(super) const REFUSED: u32 = 7;

/// Numbers of operations.
const SEND: u32 = 1;
const SEND_FAST_REPLY: u32 = 2;
const NOTE: u32 = 3;
const SEND_HEARTBEAT: u32 = 5;
const CUT: u32 = 6;

pub(super) const ID: Id = Id::new([7; 16]);

/// A session in which this many bytes of contents may wait, before it has received anything.
pub(super) fn opened(buffered_bytes: usize) -> Harness {
    opened_within(GatewayLimits::default(), buffered_bytes)
}

/// The same with these limits.
pub(super) fn opened_within(limits: GatewayLimits, buffered_bytes: usize) -> Harness {
    let protocol = SocketyOnStage::new(&Arc::new(Encodings::new()));
    let harness = Harness::pending_within(limits, |_| protocol.session_on_stage(buffered_bytes));
    harness.peer.borrow_mut().room = usize::MAX;
    harness.admit();
    harness.begin();
    assert_eq!(
        harness.handle_all(),
        [OPEN, EVENT],
        "the events that the connection opened"
    );
    assert_eq!(harness.written_bytes(), [0xe3], "the header comes first");
    harness
}

/// Passes a header to the session, and asserts the events for it.
pub(super) fn hear(harness: &Harness, header: &[u8]) {
    feed(harness, header);
    let records = harness.handle_records();
    let told: Vec<_> = records.iter().map(|record| event(record).0).collect();
    assert_eq!(told, [READY]);
}

/// A session that has received a header.
pub(super) fn ready() -> Harness {
    let harness = opened(1 << 20);
    hear(&harness, &[0xe3]);
    harness
}

pub(super) fn feed(harness: &Harness, bytes: &[u8]) {
    harness.feed(bytes);
    harness.drive();
}

/// A head without contents.
pub(super) fn head(action: &str) -> Head<'_> {
    Head {
        subject: Subject::Action(action),
        id: ID,
        expects_response: false,
        has_stream: false,
        data_size: 0,
        files: FileList::default(),
    }
}

/// A message with all of its data.
pub(super) fn message(sender: &mut Sender, action: &str, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = Head {
        data_size: u64::try_from(data.len()).unwrap(),
        ..head(action)
    };
    let channel = sender.begin(&head, &mut out).unwrap().unwrap();
    let mut rest = data;
    while !rest.is_empty() {
        rest = &rest[sender.data(channel, rest, &mut out).unwrap()..];
    }
    out
}

/// The number, the fields and the payload of an event.
pub(super) fn event(record: &Record) -> (u32, &[u8], &[u8]) {
    assert_eq!(record.kind, EVENT);
    let word = |at: usize| u32::from_ne_bytes(record.payload[at..at + 4].try_into().unwrap());
    let length = usize::try_from(word(4)).unwrap();
    let (fields, behind) = record.payload[8..].split_at(length);
    let padding = length.next_multiple_of(4) - length;
    (word(0), fields, &behind[padding..])
}

/// The contents of a message's event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) flags: u32,
    pub(super) files: u32,
    pub(super) number: u64,
    pub(super) id: Id,
    pub(super) parent: Id,
    pub(super) data_size: u64,
    pub(super) data: u64,
    pub(super) stream: u64,
    pub(super) action: String,
    pub(super) payload: Vec<u8>,
}

pub(super) fn told(record: &Record) -> Told {
    let (number, fields, payload) = event(record);
    assert_eq!(number, MESSAGE);
    let word = |at: usize| u32::from_le_bytes(fields[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_le_bytes(fields[at..at + 8].try_into().unwrap());
    let id = |at: usize| Id::new(fields[at..at + 16].try_into().unwrap());
    let end = 84 + usize::try_from(word(80)).unwrap();
    Told {
        flags: word(0),
        files: word(4),
        number: long(8),
        id: id(16),
        parent: id(32),
        data_size: long(48),
        data: long(64),
        stream: long(72),
        action: String::from_utf8(fields[84..end].to_vec()).unwrap(),
        payload: payload.to_vec(),
    }
}

/// A description of everything that a peer of the session received; the first is the header.
pub(super) fn heard(bytes: &[u8]) -> Vec<String> {
    let (mut decoder, mut input) = (Decoder::new(), bytes);
    let mut heard = Vec::new();
    while let Some(item) = decoder.next(&mut input, &DecoderConfig::default()).unwrap() {
        heard.push(match item {
            Item::Message { channel, head, .. } => match head.subject {
                Subject::Action(action) => format!("{action} on {channel}"),
                Subject::Parent(parent) => format!("response to {parent} on {channel}"),
            },
            Item::Data { channel, bytes, .. } => {
                format!("{} bytes on {channel}", bytes.len())
            }
            other => format!("{other:?}"),
        });
    }
    assert!(!decoder.is_busy());
    heard
}

pub(super) fn send(harness: &Harness, flags: u32, action: &[u8], data: &[u8]) {
    let fields = [&flags.to_le_bytes()[..], &[1; 16], &[2; 16], action].concat();
    assert!(harness.tell_operation(SEND, &fields, data));
    harness.take_posted();
}

#[test]
fn the_header_precedes_what_handle_open_sends() {
    let protocol = SocketyOnStage::new(&Arc::new(Encodings::new()));
    let harness = Harness::pending_with(|_| protocol.session_on_stage(1 << 20));
    harness.peer.borrow_mut().room = usize::MAX;
    send(&harness, 0, b"hello", b"early");
    harness.admit();
    harness.begin();
    let written = harness.written_bytes();
    let heard = heard(&written);
    assert_eq!(heard[1..], ["hello on 0", "5 bytes on 0"]);
}

#[test]
fn a_message_without_contents_is_one_event() {
    let harness = ready();
    let mut sender = Sender::new(4096);
    feed(&harness, &message(&mut sender, "ping", b""));
    let records = harness.handle_records();
    let expected = Told {
        flags: 0,
        files: 0,
        number: 1,
        id: ID,
        parent: Id::new([0; 16]),
        data_size: 0,
        data: 0,
        stream: 0,
        action: "ping".to_owned(),
        payload: Vec::new(),
    };
    assert_eq!(records.iter().map(told).collect::<Vec<_>>(), [expected]);
}

#[test]
fn data_that_arrives_at_once_is_the_payload_of_the_event() {
    let harness = ready();
    let mut sender = Sender::new(4096);
    let long = vec![b'x'; 20_000];
    let wire = [
        message(&mut sender, "a", b"data"),
        message(&mut sender, "b", &long),
        message(&mut sender, "c", b""),
    ]
    .concat();
    feed(&harness, &wire);
    let records = harness.handle_records();
    let told: Vec<_> = records.iter().map(told).collect();
    assert!(told.iter().all(|told| told.data == 0 && told.stream == 0));
    let payloads: Vec<_> = told.iter().map(|told| &told.payload[..]).collect();
    assert_eq!(payloads, [&b"data"[..], &long, b""]);
}

#[test]
fn a_response_has_the_id_of_the_message_that_it_answers() {
    let harness = ready();
    let mut out = Vec::new();
    let response = Head {
        subject: Subject::Parent(Id::new([9; 16])),
        expects_response: true,
        ..head("")
    };
    Sender::new(4096).begin(&response, &mut out).unwrap();
    feed(&harness, &out);
    let records = harness.handle_records();
    let told = told(&records[0]);
    assert_eq!((told.flags, told.parent), (3, Id::new([9; 16])));
}

#[test]
fn small_packets_are_events_too() {
    let harness = ready();
    let mut wire = vec![0xa0, 0xb0, 0xa0];
    append_fast_reply(300, ID, &mut wire).unwrap();
    feed(&harness, &wire);
    let records = harness.handle_records();
    let events: Vec<_> = records.iter().map(event).collect();
    let reply = [&300_u32.to_le_bytes()[..], ID.as_bytes()].concat();
    let expected = [
        (GO_AWAY, &[][..], &[][..]),
        (FAST_REPLY, &reply, &[]),
        (HEARTBEAT, &[2, 0, 0, 0], &[]),
    ];
    assert_eq!(events, expected);
}

#[test]
fn output_of_the_worker_leaves_channel_0_to_publications() {
    let harness = ready();
    send(&harness, 2, b"question", b"data");
    // a publication between both messages
    harness.send(&[&[0][..], &message(&mut Sender::new(1), "publish", b"p")].concat());
    send(&harness, 1, b"", &vec![0; 3 << 20]);
    send(&harness, 0, b"", b"");
    let fields = [&4095_u32.to_le_bytes()[..], &[1; 16]].concat();
    harness.tell_operation(SEND_FAST_REPLY, &fields, b"");
    harness.take_posted();
    let mut wire = vec![0xe3];
    wire.extend(harness.written_bytes());
    let parent = Id::new([2; 16]);
    let heard = heard(&wire);
    assert_eq!(
        heard[1..5],
        [
            "question on 1",
            "4 bytes on 1",
            "publish on 0",
            "1 bytes on 0"
        ]
    );
    assert_eq!(heard[5], format!("response to {parent} on 1"));
    assert_eq!(heard[6..9], ["1048576 bytes on 1"; 3]);
    assert_eq!(heard[9], " on 1");
    assert!(heard[10].starts_with("FastReply { code: 4095"));
    assert_eq!(heard.len(), 11);
}

#[test]
fn the_worker_is_told_when_what_it_sent_is_written() {
    let harness = ready();
    let note = || {
        assert!(harness.tell_operation(NOTE, b"", b""));
        harness.take_posted();
    };
    let told = || {
        let records = harness.handle_records();
        records
            .iter()
            .map(|record| event(record).0)
            .collect::<Vec<_>>()
    };
    note();
    assert_eq!(told(), [WRITTEN], "nothing was sent");
    harness.peer.borrow_mut().room = 100;
    send(&harness, 0, b"long", &[0; 1000]);
    note();
    send(&harness, 0, b"behind", &[0; 1000]);
    harness.written_bytes();
    assert_eq!(told(), [], "a part is written");
    harness.peer.borrow_mut().room = 1000;
    harness.drive();
    assert_eq!(told(), [WRITTEN], "what was sent after the note is not");
}

#[test]
fn a_peer_with_one_channel_gets_everything_there() {
    let harness = opened(1 << 20);
    hear(&harness, &[0xe0]);
    send(&harness, 0, b"one", b"data");
    let mut wire = vec![0xe3];
    wire.extend(harness.written_bytes());
    assert_eq!(heard(&wire)[1..], ["one on 0", "4 bytes on 0"]);
}

#[test]
fn the_worker_is_told_what_cannot_be_sent() {
    let harness = ready();
    send(&harness, 0, &vec![b'x'; 70_000], b"");
    send(&harness, 4, b"", b"");
    harness.tell_operation(SEND_FAST_REPLY, &4096_u32.to_le_bytes(), b"");
    harness.take_posted();
    assert!(harness.written_bytes().is_empty());
    let records = harness.handle_records();
    assert_eq!(records.len(), 3);
    for record in &records[..2] {
        let (number, fields, _) = event(record);
        assert_eq!((number, &fields[4..]), (REFUSED, &[1; 16][..]));
    }
}

#[test]
fn a_peer_without_a_header_is_closed_after_a_timeout() {
    let harness = opened(1 << 20);
    harness.pass(9_999);
    assert!(harness.connection.io.borrow().phase.is_open());
    harness.pass(2);
    assert_eq!(close_code(&harness), 1002);
    assert!(harness.written_bytes().is_empty(), "the peer gets nothing");
}

#[test]
fn heartbeats_are_sent_and_a_silent_peer_is_closed() {
    let harness = ready();
    harness.pass(44_999);
    assert!(harness.written_bytes().is_empty());
    harness.pass(1);
    assert_eq!(harness.written_bytes(), [0xa0]);
    feed(&harness, &[0xa0]);
    assert_eq!(harness.handle_all(), [EVENT]);
    harness.pass(44_000);
    send(&harness, 0, b"", b"");
    harness.written_bytes();
    harness.pass(15_999);
    assert!(harness.written_bytes().is_empty(), "something was sent");
    assert!(harness.connection.io.borrow().phase.is_open());
    harness.pass(1_100);
    let records = harness.handle_records();
    assert_eq!(event(&records[0]).0, TIMEOUT);
    let close = records.iter().find(|record| record.kind == CLOSE);
    assert_eq!(close.map_or_else(|| close_code(&harness), code_of), 1006);
}

#[test]
fn a_connection_may_be_cut_although_output_waits() {
    let harness = ready();
    harness.peer.borrow_mut().room = 0;
    send(&harness, 0, b"long", &[0; 1000]);
    assert!(harness.tell_operation(CUT, b"", b""));
    harness.take_posted();
    assert_eq!(close_code(&harness), 1006);
    assert!(harness.written_bytes().is_empty());
}

#[test]
fn the_worker_may_send_heartbeats() {
    let harness = ready();
    assert!(harness.tell_operation(SEND_HEARTBEAT, &3_u32.to_le_bytes(), b""));
    harness.take_posted();
    assert_eq!(harness.written_bytes(), [0xa0; 3]);
}

#[test]
fn invalid_input_closes_the_connection_after_earlier_input() {
    for (mistake, code) in [
        (&[0xf0][..], 1002),
        (&[0x80], 1002),
        (&[0xe0, 1, b'x'], 1002),
        (&[0x2c, 0xff, 0xff, 0xff, 0x7f], 1009),
    ] {
        let harness = ready();
        let wire = [&message(&mut Sender::new(1), "last", b"")[..], mistake].concat();
        feed(&harness, &wire);
        let records = harness.handle_records();
        assert_eq!(told(&records[0]).action, "last");
        assert_eq!(close_code(&harness), code, "{mistake:?}");
        assert!(harness.written_bytes().is_empty());
    }
    let harness = opened(1 << 20);
    feed(&harness, b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(close_code(&harness), 1002);
}

#[test]
fn a_peer_gets_a_go_away_before_the_close() {
    let harness = ready();
    harness.close(&CloseReason::GOING_AWAY);
    assert_eq!(harness.written_bytes(), [0xb0]);
}

#[test]
fn a_peer_that_leaves_is_distinguished_from_one_that_is_cut_off() {
    let begun = &message(&mut Sender::new(1), "begun", b"data")[..];
    for (sent, code) in [
        (begun, 1005),
        (&begun[..begun.len() - 1], 1006),
        (&begun[..5], 1006),
        (&[], 1005),
    ] {
        let harness = ready();
        harness.feed(sent);
        harness.feed_end();
        harness.drive();
        let records = harness.handle_records();
        let told: Vec<_> = records
            .iter()
            .filter(|record| record.kind == EVENT)
            .collect();
        let (number, fields, _) = event(told.last().unwrap());
        let is_cut = u8::from(code == 1006);
        assert_eq!((number, fields), (END, &[is_cut][..]), "{sent:?}");
        let close = records.iter().find(|record| record.kind == CLOSE);
        let told = close.map_or_else(|| close_code(&harness), code_of);
        assert_eq!(told, code, "{sent:?}");
    }
}

/// The close code that the worker gets at the end.
pub(super) fn close_code(harness: &Harness) -> u32 {
    for _ in 0..3 {
        harness.flush();
        harness.drive();
        let records = harness.handle_records();
        let close = records.iter().find(|record| record.kind == CLOSE);
        if let Some(close) = close {
            return code_of(close);
        }
    }
    panic!("the connection is open")
}

pub(super) fn code_of(close: &Record) -> u32 {
    u32::from_ne_bytes(close.payload[8..12].try_into().unwrap())
}

#[test]
fn a_header_contains_the_number_of_channels() {
    let mut header = Vec::new();
    append_header(2, &mut header);
    let harness = opened(1 << 20);
    feed(&harness, &header[..1]);
    feed(&harness, &header[1..]);
    send(&harness, 0, b"x", b"");
    let mut wire = vec![0xe3];
    wire.extend(harness.written_bytes());
    assert_eq!(heard(&wire)[1..], ["x on 1"]);
}
