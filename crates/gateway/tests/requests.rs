//! Requests to workers as a worker sees them: which records it gets, and what is left when a request is over.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use millrace_gateway::{
    AnswerHead, GatewayConfig, Handlers, ListenerConfig, Notice, ShardSet, Step, TransferId,
};
use support::manual::{Manual, eventually, manual};
use support::{SOON, Server, serve};

const FETCH: Handlers = Handlers::REQUEST;

fn server(worker_queue_events: usize) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config.limits.worker_queue_events = worker_queue_events;
    serve(config, ListenerConfig::default())
}

fn connect(server: &Server, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    stream
}

/// The records that a worker got: the kind of each, and its request.
fn told(worker: &Manual) -> Vec<(u32, u64)> {
    let mut records = Vec::new();
    worker.worker.begin_drain();
    while let Some(batch) = worker.worker.take() {
        let word = |at: usize| u32::from_le_bytes(batch.bytes[at..at + 4].try_into().unwrap());
        let mut at = 0;
        while at < batch.bytes.len() {
            let length = usize::try_from(word(at) >> 8).unwrap();
            let id = u64::from(word(at + 8)) | u64::from(word(at + 12)) << 32;
            records.push((word(at) & 15, id));
            at += 8 + length.next_multiple_of(4);
        }
        worker.worker.finish(batch);
    }
    records
}

const REQUEST: u32 = 6;

/// Waits for one request and returns its id.
fn asked(worker: &Manual) -> u64 {
    let mut records = Vec::new();
    assert!(eventually(|| {
        records.extend(told(worker));
        !records.is_empty()
    }));
    let [(REQUEST, id), ..] = records[..] else {
        panic!("records were {records:?}")
    };
    id
}

fn answer(worker: &Manual, request: u64) {
    let head = AnswerHead::parse(401, "", 0, false).unwrap();
    let mut dirty = ShardSet::default();
    let whole = head.whole("no".into());
    worker
        .worker
        .step(TransferId::new(request), whole, &mut dirty);
    worker.gateway.wake(&mut dirty);
}

/// Answers half an upload: no task may wait forever for the other half, with everything that it holds.
#[test]
fn an_upload_that_is_answered_early_leaves_nothing_behind() {
    let server = server(1000);
    let worker = manual(&server.gateway, FETCH);
    for body in [
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "Content-Length: 100000\r\n\r\nhello",
    ] {
        let mut client = connect(&server, &format!("POST / HTTP/1.1\r\nHost: x\r\n{body}"));
        answer(&worker, asked(&worker));
        let mut seen = String::new();
        client.read_to_string(&mut seen).unwrap();
        assert!(seen.starts_with("HTTP/1.1 401 "), "{seen}");
    }
    let Manual { worker, .. } = worker;
    worker.retire();
    // a task that waits for a body holds the worker that the body is for
    assert!(
        eventually(|| Arc::strong_count(&worker) == 1),
        "{} others hold the worker",
        Arc::strong_count(&worker) - 1
    );
    server.stop();
}

/// Clients that send a request and leave while a worker is busy must not fill its queue beyond the limit.
#[test]
fn a_client_that_leaves_before_its_request_is_queued_is_not_reported() {
    let server = server(1);
    let worker = manual(&server.gateway, FETCH);
    let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut first = connect(&server, get);
    let asked_for = || worker.worker.requests();
    assert!(eventually(|| asked_for() == 1));
    let others: Vec<_> = (0..20).map(|_| connect(&server, get)).collect();
    assert!(eventually(|| asked_for() == 21));
    for other in others {
        // a reset, because a client that only ends its sending side still gets an answer
        socket2::SockRef::from(&other)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }
    assert!(eventually(|| asked_for() == 1));
    let records = told(&worker);
    let [(REQUEST, id)] = records[..] else {
        panic!("records were {records:?}")
    };
    answer(&worker, id);
    let mut head = [0; 12];
    first.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 401");
    server.stop();
}

/// The bytes of the first batch with a request. The batch is not finished.
fn first_batch(worker: &Manual) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(eventually(|| {
        worker.worker.begin_drain();
        bytes = worker
            .worker
            .take()
            .map_or_else(Vec::new, |batch| batch.bytes);
        !bytes.is_empty()
    }));
    bytes
}

/// A body that has already arrived needs no record of its own, and one that has not is not waited for.
#[test]
fn a_small_body_travels_with_its_request_only_if_it_arrived_with_it() {
    for (body, travels) in [
        ("a small body".to_owned(), true),
        ("x".repeat(16_000), true),
        ("half".to_owned(), false),
    ] {
        let server = server(1000);
        let worker = manual(&server.gateway, FETCH);
        let length = if travels { body.len() } else { 1000 };
        let _client = connect(
            &server,
            &format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"),
        );
        let bytes = first_batch(&worker);
        let size =
            usize::try_from(u32::from_le_bytes(bytes[..4].try_into().unwrap()) >> 8).unwrap();
        let request = &bytes[..bytes.len().min(8 + size)];
        let is_there = request
            .windows(body.len())
            .any(|part| part == body.as_bytes());
        assert_eq!(is_there, travels, "a body of {length} bytes");
        server.stop();
    }
}

/// An answer that was begun before the stop, and announced that more requests may follow, is completed. Its connection
/// then closes without a further check.
#[test]
fn a_connection_that_turns_idle_during_a_stop_ends() {
    let server = server(1000);
    let worker = manual(&server.gateway, FETCH);
    let mut client = connect(&server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let request = asked(&worker);
    let step = |step: Step| {
        let mut dirty = ShardSet::default();
        worker
            .worker
            .step(TransferId::new(request), step, &mut dirty);
        worker.gateway.wake(&mut dirty);
    };
    step(AnswerHead::parse(200, "", 0, false).unwrap().begin());
    step(Step::Piece(Box::new("one".into())));
    let mut seen = String::new();
    while !seen.contains("one") {
        let mut buffer = [0; 1024];
        let count = client.read(&mut buffer).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    assert!(seen.contains("connection: keep-alive"), "{seen}");
    let drain = Duration::from_secs(3600);
    let ticket = server.gateway.stop_listeners(&[server.listener], drain);
    // the listener is closed once the stop has begun
    assert!(eventually(|| TcpStream::connect(&server.address).is_err()));
    step(Step::Piece(Box::new("two".into())));
    step(Step::End);
    client.read_to_string(&mut seen).unwrap();
    assert!(seen.ends_with("two\r\n0\r\n\r\n"), "{seen}");
    let notice = server.notice(|notice| matches!(notice, Notice::ListenersStopped { .. }));
    assert_eq!(notice, Notice::ListenersStopped { ticket, cut: 0 });
}

/// Takes the worker's next request, and waits for a record of this kind.
fn request_and(worker: &Manual, kind: u32) -> u64 {
    let mut records = Vec::new();
    assert!(eventually(|| {
        records.extend(told(worker));
        records.iter().any(|(known, _)| *known == kind)
    }));
    let request = records.iter().find(|(kind, _)| *kind == REQUEST);
    request.unwrap().1
}

const PIECE: u32 = 7;

/// Sends a whole answer in pieces, without having asked for more of the request's body.
fn stream_answer(worker: &Manual, request: u64) {
    let mut dirty = ShardSet::default();
    for step in [
        AnswerHead::parse(200, "", 0, false).unwrap().begin(),
        Step::Piece(Box::new("one".into())),
        Step::End,
    ] {
        worker
            .worker
            .step(TransferId::new(request), step, &mut dirty);
    }
    worker.gateway.wake(&mut dirty);
}

/// The worker takes none of a body beyond its first credit, and streams its answer: nobody will read the rest of the body,
/// so that the connection ends behind the answer.
#[test]
fn a_streamed_answer_beside_half_a_body_ends_the_connection() {
    let server = server(1000);
    let worker = manual(&server.gateway, FETCH);
    let body = "x".repeat(200_000);
    let chunk = format!("{:x}\r\n{body}\r\n", body.len());
    for head in [
        format!("Content-Length: 10000000\r\n\r\n{body}"),
        format!("Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}"),
    ] {
        let mut client = connect(&server, &format!("POST / HTTP/1.1\r\nHost: x\r\n{head}"));
        stream_answer(&worker, request_and(&worker, PIECE));
        let mut seen = String::new();
        client.read_to_string(&mut seen).unwrap();
        assert!(seen.contains("connection: close"), "{seen}");
        assert!(seen.ends_with("one\r\n0\r\n\r\n"), "{seen}");
        drop(client);
        assert!(eventually(|| server.gateway.stats().connections == 0));
    }
    server.stop();
}

/// The same, but the whole body has arrived: the connection serves the next request.
#[test]
fn a_streamed_answer_beside_an_unread_body_is_followed_by_the_next_answer() {
    let server = server(1000);
    let worker = manual(&server.gateway, FETCH);
    let first = format!("10000\r\n{}\r\n", "x".repeat(65_536));
    let others = "1\r\ny\r\n".repeat(200);
    let post = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut client = connect(&server, &format!("{post}{first}{others}0\r\n\r\n"));
    stream_answer(&worker, request_and(&worker, PIECE));
    let mut seen = String::new();
    let mut buffer = [0; 1024];
    while !seen.ends_with("one\r\n0\r\n\r\n") {
        let count = client.read(&mut buffer).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    if seen.contains("connection: keep-alive") {
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .unwrap();
        answer(&worker, request_and(&worker, REQUEST));
    }
    seen.clear();
    client.read_to_string(&mut seen).unwrap();
    assert!(
        seen.is_empty() || seen.starts_with("HTTP/1.1 401 "),
        "{seen}"
    );
    drop(client);
    assert!(eventually(|| server.gateway.stats().connections == 0));
    server.stop();
}
