//! Sockety from the accepted connection to its end: messages and answers, publications, large data with a slow worker,
//! invalid input. The details of sessions are tested in `src/socket/tests/sockety*.rs`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use millrace_gateway::{Kind, Options, ShardSet, Step, Target, TransferId};
use millrace_protocol::sockety::Id;
use support::manual::{Manual, eventually, manual};
use support::sockety::{Client, Heard, Told, fast_reply, respond, server, server_with, tell, told};
use support::tcp::{QUIET, is_close};
use support::{Event, Server};

const ID: Id = Id::new([3; 16]);

fn enter(server: &Server, worker: &Manual) -> (Client, millrace_gateway::SocketId) {
    let client = Client::connect(server);
    (client, worker.opened())
}

#[test]
fn a_message_is_answered_with_data_and_with_a_code() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let (mut client, socket) = enter(&server, &worker);
    for length in [0, 1, 1000, 20_000] {
        let data = vec![b'x'; length];
        client.send("echo", ID, &data);
        let message = whole(&worker);
        assert_eq!((&*message.action, message.id), ("echo", ID));
        assert_eq!(message.payload, data);
        respond(&worker, socket, ID, &data);
        fast_reply(&worker, socket, ID, 5);
        let response = Heard::Response { parent: ID, data };
        assert_eq!(client.hear(), Some(response));
        assert_eq!(client.hear(), Some(Heard::FastReply(5, ID)));
    }
}

/// The close code of a connection, after the event for the end of its input if the peer has ended it.
fn close_code(worker: &Manual) -> u32 {
    loop {
        for event in worker.expect(1) {
            if let Event::Close { code, .. } = event {
                return code;
            }
        }
    }
}

/// The next message with all of its data. More of a body is requested when everything so far was taken.
fn whole(worker: &Manual) -> Told {
    let mut events = VecDeque::from(worker.expect(1));
    let mut message = told(&events.pop_front().unwrap());
    let (mut unasked, mut last) = (0, message.data == 0);
    while !last {
        let Some(event) = events.pop_front() else {
            let came = worker.take();
            if came.is_empty() && unasked > 0 {
                pull(worker, message.data, std::mem::take(&mut unasked));
            }
            events.extend(came);
            continue;
        };
        let Event::Piece {
            id,
            data,
            last: is_last,
        } = event
        else {
            panic!("the event was {event:?}")
        };
        assert_eq!(id, message.data);
        message.payload.extend_from_slice(&data);
        unasked += data.len();
        last = is_last;
    }
    message
}

fn pull(worker: &Manual, id: u64, bytes: usize) {
    let mut dirty = ShardSet::default();
    let step = Step::Pull(u32::try_from(bytes).unwrap());
    worker.worker.step(TransferId::new(id), step, &mut dirty);
    worker.gateway.wake(&mut dirty);
}

#[test]
fn every_byte_may_come_alone() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _) = enter(&server, &worker);
    let wire = client.message("slow", ID, b"data");
    for byte in wire {
        client.stream.write_all(&[byte]).unwrap();
    }
    let message = whole(&worker);
    assert_eq!((&*message.action, message.data_size), ("slow", 4));
    assert_eq!(message.payload, b"data");
}

#[test]
fn publications_reach_all_clients_with_one_id_between_answers() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let mut clients: Vec<_> = (0..2).map(|_| enter(&server, &worker)).collect();
    let mut dirty = ShardSet::default();
    for (_, socket) in &clients {
        let target = [Target::Socket(*socket)];
        let subscribed = server.gateway.subscribe(&target, b"news", 1, &mut dirty);
        subscribed.unwrap();
    }
    server.gateway.wake(&mut dirty);
    for (_, socket) in &clients {
        respond(&worker, *socket, ID, b"first");
    }
    let target = [Target::Channel(b"news")];
    server
        .gateway
        .send(&target, Kind::Text, b"hello", &[], &mut dirty);
    server.gateway.wake(&mut dirty);
    for (_, socket) in &clients {
        respond(&worker, *socket, ID, b"last");
    }
    let mut ids = Vec::new();
    for (client, _) in &mut clients {
        for expected in [Some(&b"first"[..]), None, Some(b"last")] {
            match (client.hear().unwrap(), expected) {
                (Heard::Response { data, .. }, Some(expected)) => assert_eq!(data, expected),
                (
                    Heard::Message {
                        channel,
                        id,
                        action,
                        data,
                    },
                    None,
                ) => {
                    assert_eq!((channel, &*action), (0, "publish"));
                    assert_eq!(data, b"\x92\xa4news\xa5hello");
                    ids.push(id);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn a_raw_publication_is_its_payload() {
    let options = Options::new().text("publishForm", "raw");
    let server = server_with(options, |_| {});
    let worker = manual(&server.gateway, QUIET);
    let (mut client, socket) = enter(&server, &worker);
    support::manual::send_all(&server.gateway, socket, ["hello"]);
    let heard = client.hear();
    assert!(
        matches!(&heard, Some(Heard::Message { data, .. }) if data == b"hello"),
        "{heard:?}"
    );
}

#[test]
fn large_data_reaches_a_slow_worker_unchanged() {
    let server = server_with(Options::new(), |listener| {
        listener.set_limit("bufferedBytes", 100_000).unwrap();
    });
    let worker = manual(&server.gateway, QUIET);
    let (mut client, socket) = enter(&server, &worker);
    let data: Vec<u8> = (0..2_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let wire = client.message("long", ID, &data);
    let mut stream = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || stream.write_all(&wire).unwrap());
    let message = whole(&worker);
    assert!(
        message.payload == data,
        "{} bytes came",
        message.payload.len()
    );
    sending.join().unwrap();
    respond(&worker, socket, ID, &data);
    let response = client.hear();
    assert!(matches!(response, Some(Heard::Response { data: back, .. }) if back == data));
}

#[test]
fn invalid_input_closes_only_its_own_connection() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let (mut other, socket) = enter(&server, &worker);
    for (wire, code) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], 1002),
        (b"\x00", 1002),
        (b"\xe2\x00\x00", 1002),
        (b"\xe3\xf0", 1002),
        (b"\xe3\x80", 1002),
        (b"\xe3\x20\x14\x00................\x02\xff\xff", 1007),
        (b"\xe3\x2c\xff\xff\xff\xff", 1009),
    ] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(support::SOON)).unwrap();
        worker.opened();
        stream.write_all(wire).unwrap();
        // the close waits until the worker was told of it
        let mut events = worker.expect(1);
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, [0xe3], "the client gets nothing but the header");
        while !is_close(events.last(), code) {
            events.extend(worker.expect(1));
        }
    }
    fast_reply(&worker, socket, ID, 0);
    assert_eq!(other.hear(), Some(Heard::FastReply(0, ID)));
}

#[test]
fn a_peer_that_leaves_gets_the_answers_to_its_messages() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let (mut client, socket) = enter(&server, &worker);
    client.send("question", ID, b"");
    client.stream.shutdown(Shutdown::Write).unwrap();
    // the answer is in the shard's inbox before the batch is finished
    let mut events = Vec::new();
    let answered = eventually(|| {
        worker.worker.begin_drain();
        let Some(batch) = worker.worker.take() else {
            return false;
        };
        let mut came = support::decode(&batch.bytes, &batch.sidecars);
        came.retain(|event| matches!(event, Event::Told { number: 2, .. }));
        let is_there = !came.is_empty();
        if is_there {
            fast_reply(&worker, socket, ID, 7);
        }
        events.extend(came);
        worker.worker.finish(batch);
        is_there
    });
    assert!(answered);
    assert_eq!(told(&events[0]).action, "question");
    assert_eq!(client.hear(), Some(Heard::FastReply(7, ID)));
    assert_eq!(client.hear(), None);
    assert_eq!(close_code(&worker), 1005);
}

#[test]
fn a_peer_gets_a_go_away_before_the_close() {
    for (options, told) in [
        (Options::new(), Some(Heard::GoAway)),
        (Options::new().flag("sendGoAway", false), None),
    ] {
        let server = server_with(options, |_| {});
        let worker = manual(&server.gateway, QUIET);
        let (mut client, socket) = enter(&server, &worker);
        let mut dirty = ShardSet::default();
        server.gateway.close(socket, 1000, "", &mut dirty);
        server.gateway.wake(&mut dirty);
        assert_eq!(client.hear(), told);
    }
}

#[test]
fn heartbeats_keep_a_connection_and_silence_ends_it() {
    let server = server_with(Options::new(), |listener| {
        listener.set_limit("silenceTimeoutMs", 1000).unwrap();
    });
    let worker = manual(&server.gateway, QUIET);
    let (mut client, _) = enter(&server, &worker);
    for _ in 0..3 {
        assert_eq!(client.hear(), Some(Heard::Heartbeat));
        client.stream.write_all(&[0xa0]).unwrap();
    }
    while let Some(heard) = client.hear() {
        assert_eq!(heard, Heard::Heartbeat);
    }
    assert_eq!(close_code(&worker), 1006);
}

#[test]
fn a_peer_without_a_header_is_closed() {
    let server = server_with(Options::new(), |listener| {
        listener.set_limit("headerTimeoutMs", 50).unwrap();
    });
    let worker = manual(&server.gateway, QUIET);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(support::SOON)).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, [0xe3]);
    let events = worker.expect(2);
    assert!(
        matches!(events[1], Event::Close { code: 1002, .. }),
        "{events:?}"
    );
}

#[test]
fn the_worker_is_told_what_cannot_be_sent() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let (_client, socket) = enter(&server, &worker);
    tell(&worker, socket, 77, (b"fields", b""));
    let events = worker.expect(1);
    assert!(
        matches!(&events[0], Event::Told { number: 7, fields, .. } if fields == b"fields"),
        "{events:?}"
    );
}
