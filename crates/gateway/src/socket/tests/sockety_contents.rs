//! Tests a Sockety session: data, files and streams on their way to the worker.

use millrace_protocol::sockety::{FileListBuf, Head, Sender, append_begin, append_body};

use super::harness::Harness;
use super::sockety::{
    CLOSE, EVENT, close_code, code_of, event, feed, head, hear, message, opened, ready,
};
use super::sockety_assembly::{Assembly, END};
use crate::event::{FIRST_CREDIT, Step, TransferId};
use crate::socket::Wake;
use crate::socket::connection::Phase;

/// Bytes in which no section repeats.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take(length)
    .collect()
}

/// A message with all contents, and one with data behind it, on two channels at once.
fn everything() -> Vec<u8> {
    let mut files = FileListBuf::new();
    files.push("a", 3).unwrap();
    files.push("b", 0).unwrap();
    let mut sender = Sender::new(4096);
    let mut out = Vec::new();
    let head = Head {
        has_stream: true,
        data_size: 4,
        files: files.as_list(),
        ..head("all")
    };
    let channel = sender.begin(&head, &mut out).unwrap().unwrap();
    sender.file(channel, 0, b"fi", &mut out).unwrap();
    out.extend(message(&mut sender, "other", b"others"));
    sender.stream(channel, &[b"st"], false, &mut out).unwrap();
    sender.data(channel, b"data", &mut out).unwrap();
    sender.end_file(channel, 1, &mut out).unwrap();
    sender.stream(channel, &[b"ream"], true, &mut out).unwrap();
    out.extend(message(&mut sender, "next", b"more"));
    sender.file(channel, 0, b"l", &mut out).unwrap();
    sender.end_file(channel, 0, &mut out).unwrap();
    out
}

fn assert_everything(assembly: &Assembly) {
    assert_eq!(assembly.whole("all data"), b"data");
    assert_eq!(assembly.whole("all stream"), b"stream");
    assert_eq!(assembly.whole("all 0"), b"fil");
    assert_eq!(assembly.whole("all 1"), b"");
    assert_eq!(assembly.whole("other data"), b"others");
    assert_eq!(assembly.whole("next data"), b"more");
    assert!(assembly.turns.is_empty());
}

#[test]
fn contents_arrive_complete_wherever_they_are_cut() {
    let wire = everything();
    for cut in 0..=wire.len() {
        let harness = ready();
        let mut assembly = Assembly::default();
        for part in [&wire[..cut], &wire[cut..]] {
            feed(&harness, part);
            assembly.take(&harness, true);
        }
        assert_everything(&assembly);
    }
    let harness = ready();
    let mut assembly = Assembly::default();
    for byte in &wire {
        feed(&harness, std::slice::from_ref(byte));
        assembly.take(&harness, true);
    }
    assert_everything(&assembly);
    harness.feed_end();
    harness.drive();
    assert_eq!(close_code(&harness), 1005);
    harness.drive();
    harness.assert_gone();
}

#[test]
fn a_body_that_is_not_read_does_not_hold_up_others() {
    let harness = ready();
    let mut sender = Sender::new(4096);
    let data = noise(500_000);
    feed(&harness, &message(&mut sender, "long", &data));
    let mut assembly = Assembly::default();
    (0..20).for_each(|_| harness.drive());
    assembly.take(&harness, false);
    let length = assembly.length("long data");
    assert!((1..FIRST_CREDIT).contains(&length), "{length} bytes");
    feed(&harness, &message(&mut sender, "short", b"data"));
    assembly.take(&harness, false);
    assert_eq!(assembly.whole("short data"), b"data");
    let id = *assembly.names.keys().next().unwrap();
    let count = u32::try_from(FIRST_CREDIT).unwrap();
    harness.step(TransferId::new(id), Step::Pull(count));
    assembly.take(&harness, true);
    assert!(assembly.whole("long data") == data);
}

#[test]
fn input_waits_until_the_worker_knows_the_messages_of_its_contents() {
    let harness = ready();
    harness.handle_records();
    let data = noise(500_000);
    feed(&harness, &message(&mut Sender::new(1), "long", &data));
    (0..20).for_each(|_| harness.drive());
    let held = harness.env.hub.inbound().bytes();
    assert!(held < 300_000, "{held} bytes");
    assert!(harness.peer.borrow().unread() > 0);
    // the worker may handle the contents later
    let mut assembly = Assembly::default();
    for _ in 0..20 {
        assembly.take(&harness, false);
        harness.drive();
    }
    assert!(harness.peer.borrow().unread() == 0);
}

#[test]
fn input_waits_once_too_many_bytes_wait() {
    let harness = opened(200_000);
    hear(&harness, &[0xe3]);
    let data = noise(2_000_000);
    let wire = message(&mut Sender::new(1), "long", &data);
    harness.feed(&wire);
    let mut assembly = Assembly::default();
    for _ in 0..100 {
        harness.drive();
        assembly.take(&harness, false);
    }
    let read = wire.len() - harness.peer.borrow().unread();
    assert!(read > 200_000, "{read}");
    assert!(read < 200_000 + FIRST_CREDIT + 300_000, "{read}");
    // a pause of our reading does not count as silence of the peer
    harness.pass(10 * 60 * 1000);
    assert!(harness.connection.io.borrow().phase.is_open());
    let id = *assembly.names.keys().next().unwrap();
    let count = u32::try_from(FIRST_CREDIT).unwrap();
    harness.step(TransferId::new(id), Step::Pull(count));
    for _ in 0..200 {
        harness.drive();
        assembly.take(&harness, true);
    }
    assert!(assembly.whole("long data") == data);
}

#[test]
fn the_end_waits_for_contents_without_room() {
    let harness = ready();
    let data = noise(300_000);
    harness.feed(&message(&mut Sender::new(1), "long", &data));
    harness.feed_end();
    let mut assembly = Assembly::default();
    for _ in 0..20 {
        harness.drive();
        assembly.take(&harness, false);
    }
    harness.pass(10 * 60 * 1000);
    assert!(harness.connection.io.borrow().phase.is_open());
    let id = *assembly.names.keys().next().unwrap();
    harness.step(TransferId::new(id), Step::Pull(300_000));
    wake_for_room(&harness);
    assembly.take(&harness, true);
    assert!(assembly.whole("long data") == data);
    assert_eq!(assembly.ended, Some(false), "nothing is missing");
    harness.flush();
    harness.drive();
    harness.assert_gone();
}

/// Wakes the session like a worker with room; handlers are waited for anyway.
fn wake_for_room(harness: &Harness) {
    let io = &mut *harness.connection.io.borrow_mut();
    harness
        .env
        .tell_session(&harness.connection, io, Wake::Room);
    assert!(matches!(io.phase, Phase::Ending(_)));
}

#[test]
fn discarded_contents_are_dropped() {
    let harness = ready();
    let mut sender = Sender::new(4096);
    let data = noise(500_000);
    harness.feed(&message(&mut sender, "long", &data));
    let mut assembly = Assembly::default();
    for _ in 0..20 {
        harness.drive();
        assembly.take(&harness, false);
    }
    let id = *assembly.names.keys().next().unwrap();
    harness.step(TransferId::new(id), Step::Abort);
    harness.step(TransferId::new(id), Step::Pull(500_000));
    feed(&harness, &message(&mut sender, "next", b"data"));
    assembly.take(&harness, false);
    assert_eq!(assembly.whole("next data"), b"data");
    let length = assembly.length("long data");
    assert!((1..FIRST_CREDIT).contains(&length), "{length} bytes");
    assert!(harness.env.transfers.owner(TransferId::new(id)).is_none());
}

#[test]
fn contents_discarded_before_they_arrive_are_dropped() {
    let harness = ready();
    let wire = message(&mut Sender::new(1), "long", &noise(1000));
    let mut assembly = Assembly::default();
    feed(&harness, &wire[..100]);
    assembly.take(&harness, false);
    let id = *assembly.names.keys().next().unwrap();
    harness.step(TransferId::new(id), Step::Abort);
    feed(&harness, &wire[100..]);
    feed(&harness, &message(&mut Sender::new(1), "next", b"data"));
    assembly.take(&harness, false);
    assert_eq!(assembly.whole("next data"), b"data");
    assert!(assembly.length("long data") < 100);
}

#[test]
fn the_worker_is_told_of_an_aborted_message() {
    let harness = ready();
    let mut sender = Sender::new(4096);
    let mut out = Vec::new();
    let head = Head {
        has_stream: true,
        data_size: 4,
        ..head("half")
    };
    let channel = sender.begin(&head, &mut out).unwrap().unwrap();
    sender.stream(channel, &[b"st"], false, &mut out).unwrap();
    sender.abort(channel, &mut out).unwrap();
    out.extend(message(&mut sender, "next", b"data"));
    feed(&harness, &out);
    let mut assembly = Assembly::default();
    assembly.take(&harness, true);
    assert_eq!(assembly.aborted, [1]);
    assert_eq!(
        assembly.turns.len(),
        1,
        "the turn is that of the stream, which had begun"
    );
    assert_eq!(assembly.whole("next data"), b"data");
}

#[test]
fn a_complete_waiting_file_is_dropped_with_its_aborted_message() {
    let harness = ready();
    let (mut sender, mut files, mut out) = (Sender::new(2), FileListBuf::new(), Vec::new());
    files.push("a", 200_000).unwrap();
    let head = Head {
        has_stream: true,
        files: files.as_list(),
        ..head("half")
    };
    let channel = sender.begin(&head, &mut out).unwrap().unwrap();
    sender.file(channel, 0, &noise(200_000), &mut out).unwrap();
    sender.end_file(channel, 0, &mut out).unwrap();
    sender.abort(channel, &mut out).unwrap();
    feed(&harness, &out);
    let mut assembly = Assembly::default();
    assembly.take(&harness, false);
    assert_eq!((&assembly.aborted[..], assembly.turns.len()), (&[1][..], 1));
    harness.feed_end();
    harness.drive();
    assembly.take(&harness, false);
    harness.flush();
    harness.drive();
    harness.assert_gone();
}

#[test]
fn files_may_arrive_before_the_rest_of_their_head() {
    let mut files = FileListBuf::new();
    files.push("first", 3).unwrap();
    files.push("second", 0).unwrap();
    let head = Head {
        files: files.as_list(),
        ..head("early")
    };
    let mut body = Vec::new();
    append_body(&head, &mut body).unwrap();
    // the header of the second file follows the first file
    let (begun, rest) = body.split_at(body.len() - 4);
    let mut wire = Vec::new();
    append_begin(&head, begun, &mut wire).unwrap();
    wire.extend_from_slice(b"\xc0\x02fi\xc0\x01l\xd0");
    let length = u8::try_from(rest.len()).unwrap();
    wire.extend_from_slice(&[0x60, length]);
    wire.extend_from_slice(rest);
    wire.extend_from_slice(b"\xd1\x01");
    for cut in 0..wire.len() {
        let harness = ready();
        let mut assembly = Assembly::default();
        feed(&harness, &wire[..cut]);
        feed(&harness, &wire[cut..]);
        assembly.take(&harness, true);
        assert_eq!(assembly.whole("early 0"), b"fil", "{cut}");
        assert_eq!(assembly.whole("early 1"), b"");
    }
}

/// Handlers may wait for contents that do not arrive any more, and the close waits for handlers.
#[test]
fn too_many_early_bytes_of_files_are_reported_as_an_end() {
    let harness = ready();
    // a head without that of its second file, and the first file byte by byte: each piece takes more memory than a byte
    let mut wire = [&b"\x20\x1d\x14"[..], &[b'i'; 16]].concat();
    wire.extend_from_slice(b"\x01f\x02\xff\xff\xff\x08\xff\xff\xff\x01x");
    wire.extend(b"\xc0\x01x".repeat(500_000));
    harness.feed(&wire);
    let mut records = Vec::new();
    for _ in 0..1_000 {
        harness.env.resume_read_queue();
        harness.drive();
        records.extend(harness.handle_records());
        if records.last().is_some_and(|last| last.kind == CLOSE) {
            break;
        }
    }
    let [end, close] = &records[..] else {
        panic!("{} records", records.len())
    };
    assert_eq!(event(end), (END, &[1][..], &[][..]));
    assert_eq!(code_of(close), 1009);
}

#[test]
fn many_channels_may_be_busy_at_once() {
    let harness = ready();
    let (mut sender, mut out) = (Sender::new(4096), Vec::new());
    let head = Head {
        has_stream: true,
        ..head("streams")
    };
    let channels: Vec<u16> = (0..4096)
        .map(|_| sender.begin(&head, &mut out).unwrap().unwrap())
        .collect();
    for channel in &channels {
        let text = channel.to_string();
        sender
            .stream(*channel, &[text.as_bytes()], true, &mut out)
            .unwrap();
    }
    harness.feed(&out);
    let mut told = Vec::new();
    let mut ended = 0;
    for _ in 0..1000 {
        harness.env.resume_read_queue();
        harness.drive();
        for record in harness.handle_records() {
            match record.kind {
                EVENT => told.push(super::sockety::told(&record).stream),
                _ => ended += usize::from(record.is_last),
            }
        }
    }
    assert_eq!((told.len(), ended), (4096, 4096));
    told.dedup();
    assert_eq!(told.len(), 4096);
}

#[test]
fn contents_that_wait_for_the_worker_count_against_the_total() {
    let harness = ready();
    let held = || harness.env.hub.inbound().bytes();
    let data = noise(500_000);
    let mut assembly = Assembly::default();
    for action in ["first", "second"] {
        // nothing is left that could be completed later
        feed(&harness, &message(&mut Sender::new(1), action, &data));
        for _ in 0..20 {
            assembly.take(&harness, false);
            harness.drive();
        }
        assert!(harness.peer.borrow().unread() == 0);
    }
    let waiting = 2 * data.len() - assembly.bytes();
    assert!(waiting > data.len());
    assert_eq!(held(), waiting);
    let id = *assembly.names.keys().next().unwrap();
    harness.step(TransferId::new(id), Step::Pull(100_000));
    assembly.take(&harness, false);
    assert_eq!(held(), 2 * data.len() - assembly.bytes());
    assert!(held() < waiting);
    harness.step(TransferId::new(id), Step::Abort);
    assert!(held() < data.len());
    harness.close(&crate::close::CloseReason::ABNORMAL);
    assert_eq!(close_code(&harness), 1006);
    assert_eq!(held(), 0);
}
