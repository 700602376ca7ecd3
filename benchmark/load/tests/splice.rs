//! The generator must detect every way in which a multiplexer can violate its guarantees. The tests pass
//! messages to the scenarios directly, without a socket.

use std::net::{Ipv4Addr, SocketAddr};

use millrace_load::io::{Ending, Handler, Io};
use millrace_load::scenario::splice::Splice;
use millrace_load::scenario::splice_flow::{SpliceFlow, Writes};
use millrace_load::scenario::splice_sessions::Sessions;
use millrace_load::stamp;
use millrace_load::window::Windowed;

fn io() -> Io {
    Io::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))).expect("an epoll instance")
}

fn sessions(connections: usize, targets: usize) -> Sessions {
    Sessions::new(
        connections,
        targets,
        SocketAddr::from((Ipv4Addr::LOCALHOST, 2)),
    )
}

fn control(json: &str) -> Vec<u8> {
    [&[0xff, 0xff], json.as_bytes()].concat()
}

fn connected(number: usize) -> Vec<u8> {
    control(&format!(
        r#"{{"id":{number},"type":"reply","result":{{"index":{number},"protocol":""}}}}"#
    ))
}

/// The message that the target of a lane sends back.
fn echo(index: [u8; 2], lane: usize, number: u32) -> Vec<u8> {
    let mut payload = stamp::payload(b'e', lane, SIZE - 2);
    let digits = format!("{number:010}");
    payload[stamp::NUMBER_AT..stamp::STAMP].copy_from_slice(digits.as_bytes());
    [&index[..], &payload].concat()
}

const SIZE: usize = 64;

/// Two sessions of two targets each, all connected, a message outstanding for each.
fn splice(io: &mut Io) -> Splice {
    let mut splice = Splice::new(sessions(2, 2), SIZE);
    for id in 0..2 {
        // replies come in any order
        splice.binary(io, id, &connected(1)).expect("connected");
        splice.binary(io, id, &connected(0)).expect("connected");
    }
    splice.start(io).expect("it can start");
    splice.stop();
    splice
}

#[test]
fn echoes_under_their_index_are_counted() {
    let mut io = io();
    let mut splice = splice(&mut io);
    assert_eq!(splice.outstanding(), 4);
    splice.binary(&mut io, 1, &echo([0, 1], 3, 0)).unwrap();
    splice.binary(&mut io, 0, &echo([0, 0], 0, 0)).unwrap();
    splice.message(&mut io, 0, &echo([0, 1], 1, 0)).unwrap();
    splice.binary(&mut io, 1, &echo([0, 0], 2, 0)).unwrap();
    assert_eq!(splice.outstanding(), 0);
    assert_eq!(splice.meter().incoming, 4);
}

#[test]
fn a_wrong_echo_of_a_target_is_a_violation() {
    let mut altered = echo([0, 0], 0, 0);
    altered[50] ^= 1;
    let mut short = echo([0, 0], 0, 0);
    short.pop();
    let wrong = [
        ("under the index of another target", echo([0, 1], 0, 0)),
        ("of another session", echo([0, 0], 2, 0)),
        ("under an index that is not there", echo([0, 2], 0, 0)),
        ("under an index far away", echo([1, 0], 0, 0)),
        ("lost or early", echo([0, 0], 0, 1)),
        ("altered", altered),
        ("cut short", short),
        ("without an index", vec![0]),
        ("empty", vec![]),
    ];
    for (what, message) in wrong {
        let mut io = io();
        let mut splice = splice(&mut io);
        assert!(splice.binary(&mut io, 0, &message).is_err(), "{what}");
    }
    let mut io = io();
    let mut splice = splice(&mut io);
    splice.binary(&mut io, 0, &echo([0, 0], 0, 0)).unwrap();
    let again = echo([0, 0], 0, 0);
    assert!(splice.binary(&mut io, 0, &again).is_err(), "repeated");
    let unasked = echo([0, 0], 0, 1);
    assert!(splice.binary(&mut io, 0, &unasked).is_err(), "never sent");
    assert!(splice.closed(&mut io, 0, Ending::Closed(1000)).is_err());
}

#[test]
fn a_control_channel_that_says_anything_but_connected_is_a_violation() {
    let wrong = [
        r#"{"id":0,"type":"reply","error":{"code":4007,"message":"refused","path":"url"}}"#,
        r#"{"id":0,"type":"method","method":"onSocketDisconnect","params":{"index":0,"code":1006}}"#,
        r#"{"id":0,"type":"method","method":"warn","params":{"code":4004,"message":"none"}}"#,
        r#"{"id":0,"type":"reply","result":{"index":2}}"#,
        r#"{"id":0,"type":"reply","result":{"index":-1}}"#,
        "no JSON",
        "",
    ];
    for json in wrong {
        let mut io = io();
        let mut splice = Splice::new(sessions(1, 2), SIZE);
        assert!(splice.binary(&mut io, 0, &control(json)).is_err(), "{json}");
    }
    let mut io = io();
    let mut splice = Splice::new(sessions(1, 2), SIZE);
    splice.binary(&mut io, 0, &connected(0)).unwrap();
    let twice = splice.binary(&mut io, 0, &connected(0));
    assert!(twice.is_err(), "an index that is taken");
    let early = splice.binary(&mut io, 0, &echo([0, 1], 1, 0));
    assert!(early.is_err(), "a target that is not connected");
}

#[test]
fn a_direct_connection_has_no_index() {
    let mut io = io();
    let mut direct = Splice::new(sessions(2, 0), SIZE);
    direct.start(&mut io).unwrap();
    direct.stop();
    direct.binary(&mut io, 1, &echo([0, 0], 1, 0)[2..]).unwrap();
    assert_eq!(direct.outstanding(), 1);
    assert!(direct.binary(&mut io, 0, &echo([0, 0], 0, 0)).is_err());
}

/// A session of one target, with two writes of messages in flight.
fn flow(io: &mut Io, size: usize) -> SpliceFlow {
    let mut flow = SpliceFlow::new(sessions(1, 1), size, Writes::Together);
    flow.binary(io, 0, &connected(0)).expect("connected");
    flow.start(io).expect("it can start");
    flow.stop();
    flow
}

fn count(messages: u64, bytes: u64) -> Vec<u8> {
    [&[0, 0], format!("c{messages:010}{bytes:020}").as_bytes()].concat()
}

#[test]
fn one_way_counts_what_the_target_reports() {
    let mut io = io();
    let mut small = flow(&mut io, SIZE);
    assert_eq!(small.outstanding(), 64);
    small.binary(&mut io, 0, &count(32, 32 * 62)).unwrap();
    assert_eq!(small.meter().incoming, 32);
    small.binary(&mut io, 0, &count(64, 64 * 62)).unwrap();
    assert_eq!(small.outstanding(), 0);
    let mut apart = SpliceFlow::new(sessions(1, 0), SIZE, Writes::Apart);
    apart.start(&mut io).unwrap();
    apart.binary(&mut io, 0, &count(32, 32 * 62)[2..]).unwrap();
    assert_eq!(apart.outstanding(), 64);
    // the bytes in flight are bounded, too
    let large = flow(&mut io, 4098);
    assert!(large.outstanding() * 4098 <= 64 * 1024);
}

#[test]
fn a_wrong_count_is_a_violation() {
    let wrong = [
        ("a message lost", count(31, 31 * 62)),
        ("a message repeated", count(33, 33 * 62)),
        ("a byte lost", count(32, 32 * 62 - 1)),
        ("the index not taken off", count(32, 32 * 64)),
        ("no count", echo([0, 0], 0, 0)),
    ];
    for (what, message) in wrong {
        let mut io = io();
        let mut flow = flow(&mut io, SIZE);
        assert!(flow.binary(&mut io, 0, &message).is_err(), "{what}");
    }
    let mut io = io();
    let mut flow = flow(&mut io, SIZE);
    for batch in 1..=2 {
        let count = count(32 * batch, 32 * batch * 62);
        flow.binary(&mut io, 0, &count).unwrap();
    }
    let more = flow.binary(&mut io, 0, &count(96, 96 * 62));
    assert!(more.is_err(), "more than was sent");
}
