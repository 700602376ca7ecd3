//! Tests the total limit of messages that are being received.

use std::rc::Rc;

use millrace_protocol::websocket::{self, Opcode};
use proptest::prelude::*;

use crate::close::CloseReason;
use crate::shard::stage::{Actor, CLOSE, OPEN, Speaks, Stage};

/// The kind of the records of binary messages.
const BINARY: u32 = 3;

const KIB: usize = 1024;
const TOTAL: usize = 64 * KIB;
const MOST: usize = TOTAL + TOTAL / 8;

fn stage() -> Stage {
    Stage::new(|limits| limits.inbound_total_bytes = TOTAL)
}

/// A binary message of this many zeros, from a client.
fn message(length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mask = Some([0; 4]);
    websocket::append_part(&mut bytes, Opcode::Binary, true, mask, &vec![0; length]);
    bytes
}

fn begin(stage: &Stage, length: usize, bytes: usize) -> Rc<Actor> {
    let actor = stage.open(Speaks::WebSocket);
    actor.read_all();
    let message = message(length);
    actor
        .peer
        .borrow_mut()
        .feed(&message[..message.len() - length + bytes]);
    stage.run();
    actor
}

fn feed(stage: &Stage, actor: &Actor, bytes: usize) {
    actor.peer.borrow_mut().feed(&vec![0; bytes]);
    stage.run();
}

#[test]
fn the_largest_waits_until_another_is_complete() {
    let stage = stage();
    let large = begin(&stage, 50 * KIB, 40 * KIB);
    let small = begin(&stage, 27 * KIB, 26 * KIB);
    assert_eq!(stage.hub.inbound().bytes(), 66 * KIB);
    feed(&stage, &large, 10 * KIB);
    assert_eq!(
        large.peer.borrow().unread(),
        10 * KIB,
        "the connection is not read"
    );
    stage.pass(900);
    assert_eq!(stage.hub.inbound().bytes(), 66 * KIB);
    feed(&stage, &small, KIB);
    assert_eq!(large.peer.borrow().unread(), 0, "there is room again");
    assert_eq!(stage.hub.inbound().bytes(), 0);
    assert_eq!(stage.told(), [OPEN, OPEN, BINARY, BINARY]);
    assert_eq!(stage.hub.stats().traffic.inbound_closes, 0);
    stage.assert_nothing_left();
}

#[test]
fn the_largest_is_closed_if_there_is_no_room_within_a_second() {
    let stage = stage();
    let large = begin(&stage, 50 * KIB, 40 * KIB);
    let small = begin(&stage, 27 * KIB, 26 * KIB);
    stage.pass(900);
    assert!(large.is_open() && small.is_open());
    stage.pass(200);
    assert_eq!(large.got(), small.goodbye(&CloseReason::INBOUND_OVERFLOW));
    assert_eq!(
        stage.hub.inbound().bytes(),
        26 * KIB,
        "no byte of it is counted"
    );
    feed(&stage, &large, 10 * KIB);
    assert_eq!(
        stage.hub.inbound().bytes(),
        26 * KIB,
        "nor are bytes that still arrive"
    );
    feed(&stage, &small, KIB);
    assert_eq!(stage.told(), [OPEN, OPEN, CLOSE, BINARY]);
    assert_eq!(stage.hub.stats().traffic.inbound_closes, 1);
    stage.assert_nothing_left();
}

#[test]
fn the_largest_is_closed_at_once_when_others_grow() {
    let stage = stage();
    let large = begin(&stage, 50 * KIB, 40 * KIB);
    let small = begin(&stage, 35 * KIB, 26 * KIB);
    feed(&stage, &small, 5 * KIB);
    assert!(large.is_open(), "{}", stage.hub.inbound().bytes());
    feed(&stage, &small, 2 * KIB);
    assert!(!large.is_open());
    assert_eq!(stage.hub.inbound().bytes(), 33 * KIB);
    stage.assert_nothing_left();
}

#[test]
fn a_command_that_is_being_received_counts_as_a_message_does() {
    let stage = stage();
    let resp = stage.open(Speaks::Resp);
    resp.read_all();
    resp.peer
        .borrow_mut()
        .feed(b"*2\r\n$4\r\nECHO\r\n$60000\r\n");
    feed(&stage, &resp, 50 * KIB);
    assert!(stage.hub.inbound().bytes() > 50 * KIB);
    let _other = begin(&stage, 50 * KIB, 25 * KIB);
    assert!(!resp.is_open());
    assert_eq!(stage.hub.inbound().bytes(), 25 * KIB);
    stage.assert_nothing_left();
}

/// A step of one of several connections.
#[derive(Clone, Debug)]
enum Step {
    Begin(usize),
    Goes(usize, usize),
    Goodbye(usize),
    Mistake(usize),
    End(usize),
    Vanish(usize),
    Close(usize),
    Pass(u64),
    Handle,
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..6_usize;
    prop_oneof![
        4 => (0..40 * KIB).prop_map(Step::Begin),
        8 => (who.clone(), 1..30 * KIB).prop_map(|(who, bytes)| Step::Goes(who, bytes)),
        1 => who.clone().prop_map(Step::Goodbye),
        1 => who.clone().prop_map(Step::Mistake),
        1 => who.clone().prop_map(Step::End),
        1 => who.clone().prop_map(Step::Vanish),
        1 => who.prop_map(Step::Close),
        2 => (0..1500_u64).prop_map(Step::Pass),
        2 => Just(Step::Handle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However connections end: the counted bytes are those that connections hold, they stay below the limit, and
    /// nothing is left.
    #[test]
    fn the_counted_bytes_are_those_held(steps in prop::collection::vec(step(), 0..60)) {
        let stage = stage();
        let mut actors: Vec<Rc<Actor>> = Vec::new();
        for step in steps {
            let at = |who: usize| actors.get(who % actors.len().max(1));
            match step {
                Step::Begin(bytes) => {
                    let actor = begin(&stage, 41 * KIB, bytes);
                    actors.push(actor);
                    if actors.len() > 6 {
                        actors.remove(0);
                    }
                }
                Step::Goes(who, bytes) => {
                    if let Some(actor) = at(who) {
                        feed(&stage, actor, bytes);
                    }
                }
                Step::Goodbye(who) => {
                    if let Some(actor) = at(who) {
                        actor.peer.borrow_mut().feed(&[0x88, 0x80, 0, 0, 0, 0]);
                    }
                }
                Step::Mistake(who) => {
                    if let Some(actor) = at(who) {
                        actor.peer.borrow_mut().feed(&[0xff; 20]);
                    }
                }
                Step::End(who) => {
                    if let Some(actor) = at(who) {
                        actor.peer.borrow_mut().end();
                    }
                }
                Step::Vanish(who) => {
                    if let Some(actor) = at(who) {
                        actor.peer.borrow_mut().vanish();
                    }
                }
                Step::Close(who) => {
                    if let Some(actor) = at(who) {
                        stage.close(actor, 4000);
                    }
                }
                Step::Pass(ms) => stage.pass(ms),
                Step::Handle => {
                    stage.handle();
                }
            }
            stage.run();
            let connections = stage.shard.connections.borrow();
            let mut held = 0;
            let mut counted = 0;
            for connection in connections.iter() {
                let bytes = connection.io.borrow().session.unfinished();
                held += if bytes < KIB { 0 } else { bytes };
                counted += stage.shard.unfinished_of(connection);
            }
            prop_assert_eq!(stage.hub.inbound().bytes(), held);
            prop_assert_eq!(counted, held);
            prop_assert!(held <= MOST, "{}", held);
        }
        stage.assert_nothing_left();
    }
}
