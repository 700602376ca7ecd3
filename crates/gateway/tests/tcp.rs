//! Raw TCP from the accepted connection to its end: messages in every framing, and limits. Half-closed peers are in
//! `tcp_ends.rs`, and what JavaScript handlers see is in `__test__/tcp/tcp.test.mjs`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use millrace_gateway::limits::OutboxPolicy;
use support::manual::{eventually, eventually_within, manual, send_all};
use support::tcp::{
    BEYOND_THE_KERNEL, QUIET, close_code, connect, enter, framing, is_close, length, line, read,
    server, server_with,
};
use support::wire::{narrow, rest};
use support::{ALL, Event, echo};

#[test]
fn valid_lines_are_text_and_are_sent_as_lines() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket) = enter(&server, &worker);
    stream
        .write_all(b"one\r\n\n\xc3\xa9\n\xff\xfe\ntwo\r\r\nun")
        .unwrap();
    let told = worker.expect(5);
    let is_text = |event: &Event, expected: &str| matches!(event, Event::Text { text, .. } if text == expected);
    assert!(is_text(&told[0], "one") && is_text(&told[1], "") && is_text(&told[2], "\u{e9}"));
    assert!(matches!(&told[3], Event::Binary { data, .. } if data == b"\xff\xfe"));
    assert!(is_text(&told[4], "two\r"));
    stream.write_all(b"done\n").unwrap();
    assert!(is_text(&worker.expect(1)[0], "undone"));
    send_all(&server.gateway, socket, ["a\r\nQUIT", "", "b"]);
    assert_eq!(read(&mut stream, 11), b"a  QUIT\n\nb\n");
}

#[test]
fn messages_with_a_length_of_any_width_are_bytes() {
    for width in [1, 2, 4] {
        let server = server(length(width));
        let worker = manual(&server.gateway, QUIET);
        let (mut stream, socket) = enter(&server, &worker);
        let head = |length: u8| {
            let mut head = vec![0; usize::try_from(width).unwrap()];
            *head.last_mut().unwrap() = length;
            head
        };
        let sent = [&head(2)[..], b"hi", &head(0), &head(200), &[7; 200]].concat();
        let (first, second) = sent.split_at(100);
        stream.write_all(first).unwrap();
        stream.write_all(second).unwrap();
        let told = worker.expect(3);
        for (event, expected) in told.iter().zip([&b"hi"[..], b"", &[7; 200]]) {
            assert!(matches!(event, Event::Binary { data, .. } if data == expected));
        }
        send_all(&server.gateway, socket, ["text\r\n", ""]);
        let expected = [&head(6)[..], b"text\r\n", &head(0)].concat();
        assert_eq!(read(&mut stream, expected.len()), expected);
    }
}

#[test]
fn without_a_framing_bytes_pass_as_they_are() {
    let server = server_with(framing("none"), |_| {}, |limits| limits.message_bytes = 100);
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket) = enter(&server, &worker);
    let sent: Vec<u8> = (0..=255).cycle().take(1000).collect();
    stream.write_all(&sent).unwrap();
    let mut told = Vec::new();
    while told.len() < sent.len() {
        for event in worker.expect(1) {
            let Event::Binary { data, .. } = event else {
                panic!("the event was {event:?}")
            };
            assert!((1..=100).contains(&data.len()));
            told.extend(data);
        }
    }
    assert_eq!(told, sent);
    send_all(&server.gateway, socket, ["a", "", "b\r\n"]);
    assert_eq!(read(&mut stream, 4), b"ab\r\n");
    assert_eq!(server.gateway.stats().sockets, 1);
}

#[test]
fn a_message_that_is_too_long_closes_only_its_connection() {
    let limited = |options| server_with(options, |_| {}, |limits| limits.message_bytes = 1000);
    let line = vec![b'x'; 1001];
    let announced = 1001u32.to_be_bytes();
    for (options, good, bad) in [
        (framing("line"), &b"good\n"[..], &line[..]),
        (length(4), b"\0\0\0\x04good", &announced[..]),
        (length(2), b"\0\x04good", &announced[2..]),
    ] {
        let server = limited(options);
        let worker = echo(&server.gateway, ALL);
        let mut other = connect(&server);
        let mut stream = connect(&server);
        worker.opened(2);
        stream.write_all(&[good, bad].concat()).unwrap();
        // messages before it are handled and answered before the close
        assert_eq!(rest(&mut stream).as_bytes(), good);
        worker.until(|events| is_close(events.last(), 1009));
        other.write_all(good).unwrap();
        assert_eq!(read(&mut other, good.len()), good);
    }
}

#[test]
fn handle_open_is_called_at_once_and_a_refusal_sends_nothing() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, ALL);
    let mut stream = connect(&server);
    let socket = worker.opened();
    send_all(&server.gateway, socket, ["never seen"]);
    worker.refuse(socket);
    assert_eq!(rest(&mut stream), "");
    assert!(eventually(|| server.gateway.stats().connections == 0));
    assert!(worker.take().is_empty(), "the connection was never open");
    assert_eq!(server.gateway.stats().traffic.refused, 1);

    let mut stream = connect(&server);
    stream.write_all(b"early\n").unwrap();
    let socket = worker.opened();
    send_all(&server.gateway, socket, ["welcome"]);
    worker.accept(socket);
    assert_eq!(line(&mut stream), "welcome");
    assert!(matches!(&worker.expect(1)[0], Event::Text { text, .. } if text == "early"));
}

#[test]
fn a_late_answer_closes_without_output() {
    let server = server_with(
        framing("line"),
        |_| {},
        |limits| limits.handshake_timeout = Duration::from_secs(1),
    );
    let worker = manual(&server.gateway, ALL);
    let mut stream = connect(&server);
    let socket = worker.opened();
    assert_eq!(rest(&mut stream), "");
    worker.accept(socket);
    assert_eq!(close_code(&worker), 1006);
}

#[test]
fn silence_is_allowed() {
    let server = server_with(
        framing("line"),
        |_| {},
        |limits| {
            limits.handshake_timeout = Duration::from_millis(300);
            limits.ping_interval = Duration::from_millis(100);
            limits.pong_timeout = Duration::from_millis(100);
        },
    );
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, socket) = enter(&server, &worker);
    let is_gone = || server.gateway.stats().sockets == 0;
    assert!(!eventually_within(Duration::from_millis(900), is_gone));
    send_all(&server.gateway, socket, ["still here"]);
    assert_eq!(line(&mut stream), "still here", "and nothing before it");
}

#[test]
fn an_idle_connection_is_closed_if_there_is_a_limit() {
    let server = server_with(
        framing("line"),
        |_| {},
        |limits| limits.idle_timeout = Duration::from_secs(2),
    );
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, _) = enter(&server, &worker);
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1000);
}

#[test]
fn a_line_that_arrives_too_slowly_closes_the_connection() {
    let server = server_with(
        framing("line"),
        |_| {},
        |limits| limits.message_deadline = Duration::from_millis(300),
    );
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, _) = enter(&server, &worker);
    stream.write_all(b"begun").unwrap();
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1008);
}

#[test]
fn a_message_rate_pauses_reading() {
    let server = server_with(
        framing("line"),
        |_| {},
        |limits| limits.messages_per_second = 20,
    );
    let worker = echo(&server.gateway, QUIET);
    let mut stream = connect(&server);
    let begun = std::time::Instant::now();
    stream.write_all(&b"x\n".repeat(50)).unwrap();
    for _ in 0..50 {
        assert_eq!(line(&mut stream), "x");
    }
    // the messages of one second may arrive at once
    assert!(begun.elapsed() >= Duration::from_secs(1));
    drop(worker);
}

#[test]
fn a_client_that_does_not_read_is_closed_without_missing_messages() {
    let server = server_with(
        framing("line"),
        |limits| {
            limits.outbox_bytes = 256 * 1024;
            limits.close_timeout = Duration::MAX;
        },
        |_| {},
    );
    let worker = manual(&server.gateway, QUIET);
    let mut stalled = narrow(&server.address);
    let socket = worker.opened();
    let closed = || server.gateway.stats().traffic.overflow_closes == 1;
    for number in 0..20_000 {
        if closed() {
            break;
        }
        send_all(
            &server.gateway,
            socket,
            [format!("{number:010000}").as_str()],
        );
    }
    assert!(closed());
    assert_eq!(close_code(&worker), 1013);
    let all = rest(&mut stalled);
    let mut seen = 0;
    for (number, line) in all.lines().enumerate() {
        assert_eq!(line.parse::<usize>().unwrap(), number);
        seen += 1;
    }
    assert!(all.ends_with('\n') && seen > 10, "{seen}");
}

#[test]
fn dropping_policies_drop_whole_messages() {
    for policy in [OutboxPolicy::DropNewest, OutboxPolicy::DropOldest] {
        let server = server_with(
            length(4),
            |limits| {
                limits.outbox_bytes = 256 * 1024;
                limits.outbox_policy = policy;
            },
            |_| {},
        );
        let worker = manual(&server.gateway, QUIET);
        let (mut other, other_socket) = enter(&server, &worker);
        let mut stalled = narrow(&server.address);
        let socket = worker.opened();
        let dropped = || server.gateway.stats().traffic.dropped_by_overflow;
        let mut sent = 0;
        while dropped() < 10 {
            assert!(sent < 20_000);
            send_all(&server.gateway, socket, [format!("{sent:010000}").as_str()]);
            sent += 1;
        }
        for _ in 0..2 {
            // when the second message has arrived, the turn that wrote the first one is over, and everything is counted
            send_all(&server.gateway, other_socket, [""]);
            assert_eq!(read(&mut other, 4), [0; 4]);
        }
        let (dropped, mut last) = (usize::try_from(dropped()).unwrap(), None);
        for _ in 0..sent - dropped {
            assert_eq!(read(&mut stalled, 4), 10_000u32.to_be_bytes());
            let text = String::from_utf8(read(&mut stalled, 10_000)).unwrap();
            let number: usize = text.parse().unwrap();
            assert!(last.is_none_or(|last| last < number), "in order");
            last = Some(number);
        }
    }
}

/// Its answers wait until the client reads, and its input waits until they are written.
#[test]
fn a_client_that_asks_and_does_not_read_is_not_read() {
    let server = server(framing("line"));
    let worker = echo(&server.gateway, QUIET);
    let mut stream = narrow(&server.address);
    let mut writing = stream.try_clone().unwrap();
    let line = [&vec![b'x'; 99_999][..], b"\n"].concat();
    let lines = 3 * BEYOND_THE_KERNEL / line.len();
    let writer = std::thread::spawn(move || {
        (0..lines).for_each(|_| writing.write_all(&line).unwrap());
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let all = u64::try_from(lines).unwrap();
    let all_read = || server.gateway.stats().traffic.messages_in == all;
    assert!(!eventually_within(Duration::from_millis(500), all_read));
    assert_eq!(rest(&mut stream).len(), lines * 100_000);
    writer.join().unwrap();
    assert_eq!(server.gateway.stats().traffic.overflow_closes, 0);
    drop(worker);
}
