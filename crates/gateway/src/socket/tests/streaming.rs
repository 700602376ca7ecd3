//! Tests messages that are sent in parts: the frames, whose turn it is, who is told, and what happens at a close.

use std::sync::Arc;

use bytes::Bytes;
use millrace_core::{Kind, ShardSet, SocketId};

use super::harness::Harness;
use crate::close::CloseReason;
use crate::doorbell::Doorbell;
use crate::event::{Answers, Reply};
use crate::hub::Sending;

struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

/// A socket and a thread that streams to it.
struct Stage {
    harness: Harness,
    answers: Arc<Answers>,
}

impl Stage {
    fn of(harness: Harness) -> Self {
        harness.peer.borrow_mut().room = usize::MAX;
        harness.handle_all();
        Self {
            harness,
            answers: Answers::new(Arc::new(Silent)),
        }
    }

    /// Begins a message whose turn has this number, and whose end the next one.
    fn begin(&self, number: u32) -> Sending {
        let (hub, socket) = (&self.harness.env.hub, self.harness.connection.socket);
        let dirty = &mut ShardSet::default();
        let begun = hub.begin_stream(socket, (number, number + 1), &self.answers, dirty);
        self.turn();
        begun.unwrap().unwrap().0
    }

    fn part(&self, sending: &Sending, number: u32, kind: Kind, part: &[u8]) {
        let asked = (number, &self.answers);
        let part = (kind, Bytes::copy_from_slice(part));
        let dirty = &mut ShardSet::default();
        let hub = &self.harness.env.hub;
        assert!(hub.stream_part(sending, part, asked, dirty).is_some());
        self.turn();
    }

    fn end(&self, sending: &Sending, kind: Kind) {
        let dirty = &mut ShardSet::default();
        self.harness.env.hub.end_stream(sending, kind, dirty);
        self.turn();
    }

    fn abort(&self, sending: &Sending) {
        let dirty = &mut ShardSet::default();
        self.harness.env.hub.abort_stream(sending, dirty);
        self.turn();
    }

    fn turn(&self) {
        self.harness.take_posted();
        self.harness.flush();
    }

    fn told(&self) -> Vec<(u32, Reply)> {
        self.answers.take()
    }
}

fn stage() -> Stage {
    Stage::of(Harness::open())
}

#[test]
fn parts_are_the_frames_of_one_message() {
    let stage = stage();
    let sending = stage.begin(1);
    assert_eq!(stage.told(), [(1, Reply::Yes)]);
    stage.part(&sending, 3, Kind::Text, b"one");
    stage.part(&sending, 4, Kind::Binary, b"two");
    assert_eq!(stage.told(), [(3, Reply::Yes), (4, Reply::Yes)]);
    stage.harness.send(b"behind");
    stage.end(&sending, Kind::Text);
    assert_eq!(stage.told(), [(2, Reply::Yes)]);
    assert_eq!(
        stage.harness.written_bytes(),
        b"\x01\x03one\x00\x03two\x80\x00behind"
    );
    let extra = stage.harness.connection.io.borrow_mut().extra.take();
    assert!(extra.is_some_and(|extra| extra.message_streams.is_none()));
}

#[test]
fn a_message_without_parts_is_empty() {
    let stage = stage();
    for (kind, frame) in [(Kind::Text, b"\x81\x00"), (Kind::Binary, b"\x82\x00")] {
        let sending = stage.begin(1);
        stage.end(&sending, kind);
        assert_eq!(stage.told(), [(1, Reply::Yes), (2, Reply::Yes)]);
        assert_eq!(stage.harness.written_bytes(), frame);
    }
}

#[test]
fn there_is_room_when_the_peer_has_read() {
    let stage = stage();
    stage.harness.peer.borrow_mut().room = 0;
    let sending = stage.begin(1);
    let mark = stage.harness.env.drained_bytes();
    stage.part(&sending, 3, Kind::Binary, &vec![0; mark]);
    stage.part(&sending, 4, Kind::Binary, b"x");
    assert_eq!(stage.told(), [(1, Reply::Yes)]);
    // what others send has no influence
    stage.harness.send(&vec![0; 2 * mark]);
    stage.harness.peer.borrow_mut().room = usize::MAX;
    stage.harness.drive();
    stage.harness.flush();
    assert_eq!(stage.told(), [(3, Reply::Yes), (4, Reply::Yes)]);
}

#[test]
fn the_next_message_has_its_turn_unless_its_sender_has_given_up() {
    let stage = stage();
    let first = stage.begin(1);
    let second = stage.begin(3);
    let third = stage.begin(5);
    stage.part(&third, 7, Kind::Text, b"not yet");
    assert_eq!(stage.told(), [(1, Reply::Yes), (7, Reply::Closed)]);
    stage.abort(&second);
    stage.harness.send(b"behind");
    assert_eq!(stage.harness.written_bytes(), b"");
    stage.end(&first, Kind::Text);
    let told = stage.told();
    assert!(told.contains(&(2, Reply::Yes)) && told.contains(&(5, Reply::Yes)));
    assert!(told.contains(&(4, Reply::Closed)), "{told:?}");
    stage.abort(&third);
    assert_eq!(stage.told(), [(6, Reply::Closed)]);
    assert_eq!(stage.harness.written_bytes(), b"\x81\x00behind");
    assert!(stage.harness.connection.io.borrow().phase.is_open());
}

#[test]
fn a_message_that_was_begun_cannot_be_given_up() {
    let stage = stage();
    let sending = stage.begin(1);
    stage.part(&sending, 3, Kind::Text, b"a");
    stage.harness.send(b"behind");
    stage.abort(&sending);
    assert_eq!(
        stage.told(),
        [(1, Reply::Yes), (3, Reply::Yes), (2, Reply::Closed)]
    );
    let written = stage.harness.written_bytes();
    assert_eq!(written[..6], *b"\x01\x01a\x88\x22\x03");
    assert!(!written.ends_with(b"behind"));
}

#[test]
fn senders_are_told_of_a_close() {
    let stage = stage();
    let first = stage.begin(1);
    stage.begin(3);
    stage.part(&first, 5, Kind::Text, b"a");
    stage.told();
    stage.harness.close(&CloseReason::ABNORMAL);
    let mut told = stage.told();
    told.sort_by_key(|(number, _)| *number);
    assert_eq!(told, [2, 3, 4].map(|number| (number, Reply::Closed)));
    stage.part(&first, 6, Kind::Text, b"late");
    assert_eq!(stage.told(), [(6, Reply::Closed)]);
    stage.harness.drive();
    stage.harness.assert_gone();
}

#[test]
fn other_protocols_have_no_messages_in_parts() {
    let stage = Stage::of(Harness::probe());
    stage.begin(1);
    let mut told = stage.told();
    told.sort_by_key(|(number, _)| *number);
    assert_eq!(told, [(1, Reply::Unable), (2, Reply::Unable)]);
    stage.harness.send(b"still open");
    assert!(stage.harness.written().ends_with("still open"));
}

#[test]
fn a_message_to_no_socket_takes_no_place_of_those_that_wait() {
    let stage = stage();
    let hub = &stage.harness.env.hub;
    let nobody = SocketId::new(u64::from(u32::MAX)).unwrap();
    let dirty = &mut ShardSet::default();
    let begun = hub.begin_stream(nobody, (1, 2), &stage.answers, dirty);
    assert!(begun.is_some_and(|begun| begun.is_none()));
    assert_eq!(hub.waiting_questions(), 0);
}
