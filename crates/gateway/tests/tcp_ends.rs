//! Half-closed raw TCP connections: peers that have sent their last byte, and what is written to them after that.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use millrace_gateway::limits::ListenerLimits;
use millrace_gateway::{Handlers, ShardSet};
use support::echo;
use support::manual::{Manual, eventually, manual, send_all};
use support::tcp::{
    BEYOND_THE_KERNEL, QUIET, close_code, connect, enter, framing, is_close, length, line, server,
    server_with,
};
use support::wire::rest;

#[test]
fn input_before_the_end_is_answered_before_the_close() {
    let server = server(framing("line"));
    let worker = echo(&server.gateway, QUIET);
    let mut stream = connect(&server);
    let lines: Vec<u8> = (0..1000)
        .flat_map(|number| format!("{number}\n").into_bytes())
        .collect();
    stream.write_all(&lines).unwrap();
    stream.write_all(b"last").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(
        rest(&mut stream).as_bytes(),
        [&lines[..], b"last\n"].concat()
    );
    worker.until(|events| is_close(events.last(), 1005));
}

/// Waits for the event that the client has sent its last byte, and handles it.
fn handle_end(worker: &Manual) {
    let mut batch = None;
    assert!(eventually(|| {
        worker.worker.begin_drain();
        batch = worker.worker.take();
        batch.is_some()
    }));
    let batch = batch.unwrap();
    let word = |at: usize| u32::from_le_bytes(batch.bytes[at..at + 4].try_into().unwrap());
    let (kind, event) = (word(0) & 15, word(8));
    assert_eq!((kind, event, batch.bytes.len()), (9, 1, 16), "one End");
    worker.worker.finish(batch);
}

#[test]
fn a_worker_that_handles_ends_may_write_until_it_closes() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, QUIET | Handlers::END);
    let (mut stream, socket) = enter(&server, &worker);
    stream.write_all(b"first\n").unwrap();
    assert_eq!(worker.expect(1).len(), 1);
    stream.shutdown(Shutdown::Write).unwrap();
    handle_end(&worker);
    for number in 0..100 {
        let text = number.to_string();
        send_all(&server.gateway, socket, [text.as_str()]);
        assert_eq!(line(&mut stream), text);
    }
    let sent = "y".repeat(BEYOND_THE_KERNEL);
    send_all(&server.gateway, socket, [sent.as_str()]);
    let mut dirty = ShardSet::default();
    assert!(server.gateway.close(socket, 4001, "", &mut dirty));
    server.gateway.wake(&mut dirty);
    assert_eq!(rest(&mut stream), sent + "\n");
    assert_eq!(close_code(&worker), 4001);
}

#[test]
fn the_idle_timeout_closes_a_half_closed_client() {
    let idle = |limits: &mut ListenerLimits| limits.idle_timeout = Duration::from_secs(2);
    let server = server_with(length(1), |_| {}, idle);
    let worker = manual(&server.gateway, QUIET | Handlers::END);
    let (mut stream, _) = enter(&server, &worker);
    stream.shutdown(Shutdown::Write).unwrap();
    handle_end(&worker);
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1000);
    // an end within a message has no event to be handled
    let (mut stream, _) = enter(&server, &worker);
    stream.write_all(b"\x02a").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1006);
}

#[test]
fn a_cut_message_is_dropped_and_the_code_reports_it() {
    let server = server(length(2));
    let worker = manual(&server.gateway, QUIET);
    for cut in [&b"\0"[..], b"\0\x05", b"\0\x05four"] {
        let (mut stream, _) = enter(&server, &worker);
        stream.write_all(cut).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut stream), "");
        assert_eq!(close_code(&worker), 1006);
    }
    let (stream, _) = enter(&server, &worker);
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(close_code(&worker), 1005);
}

#[test]
fn an_application_closes_with_its_code_and_nothing_sent_is_lost() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket) = enter(&server, &worker);
    // input that is unread at the time of the close causes no reset
    stream.write_all(&vec![b'x'; 100_000]).unwrap();
    let mut dirty = ShardSet::default();
    let sent = "y".repeat(1 << 20);
    send_all(&server.gateway, socket, [sent.as_str()]);
    assert!(server.gateway.close(socket, 4001, "bye", &mut dirty));
    server.gateway.wake(&mut dirty);
    stream.write_all(&vec![b'x'; 100_000]).unwrap();
    assert_eq!(rest(&mut stream), sent + "\n");
    drop(stream);
    assert_eq!(close_code(&worker), 4001);
    assert!(eventually(|| server.gateway.stats().connections == 0));
}

#[test]
fn a_last_line_without_its_end_holds_no_memory_once_it_is_passed_on() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, QUIET | Handlers::END);
    let (mut stream, _) = enter(&server, &worker);
    stream.write_all(&vec![b'a'; 100_000]).unwrap();
    assert!(eventually(|| server.gateway.stats().inbound_bytes > 0));
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(eventually(|| {
        while let Some(batch) = worker.worker.take() {
            worker.worker.finish(batch);
        }
        server.gateway.stats().inbound_bytes == 0
    }));
    assert_eq!(server.gateway.stats().sockets, 1);
}

#[test]
fn a_last_line_without_a_handler_cuts_no_answer() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, QUIET.without(Handlers::BINARY));
    let (mut stream, socket) = enter(&server, &worker);
    stream.write_all(b"hello\n\xff").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut batch = None;
    assert!(eventually(|| {
        batch = worker.worker.take();
        batch.is_some()
    }));
    send_all(&server.gateway, socket, ["answer"]);
    worker.worker.finish(batch.unwrap());
    server.gateway.wake(&mut ShardSet::default());
    assert_eq!(rest(&mut stream), "answer\n");
    assert_eq!(close_code(&worker), 1011);
}
