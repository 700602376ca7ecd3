//! Raw TCP from the accepted connection to its end: messages in every framing, bounds, and peers that have sent their last
//! byte. Over 400 lines because every bound has a test. What handlers in JavaScript see is in `__test__/tcp.test.mjs`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use millrace_gateway::limits::{GatewayLimits, ListenerLimits, OutboxPolicy};
use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig, Options, ShardSet, SocketId};
use support::manual::{Manual, eventually, eventually_within, manual, send_all};
use support::wire::{narrow, rest};
use support::{ALL, Event, SOON, Server, echo, serve};

fn framing(name: &str) -> Options {
    Options::new().text("framing", name)
}

fn length(bytes: i32) -> Options {
    framing("length").number("lengthBytes", bytes)
}

fn server_with(
    options: Options,
    gateway: impl FnOnce(&mut GatewayLimits),
    listener: impl FnOnce(&mut ListenerLimits),
) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config.limits.write_timeout = Duration::MAX;
    gateway(&mut config.limits);
    let mut listening = ListenerConfig {
        protocol: "tcp".to_owned(),
        options,
        ..ListenerConfig::default()
    };
    listener(&mut listening.limits);
    serve(config, listening)
}

fn server(options: Options) -> Server {
    server_with(options, |_| {}, |_| {})
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Connects, is let in, and says nothing.
fn enter(server: &Server, worker: &Manual) -> (TcpStream, SocketId) {
    let stream = connect(server);
    (stream, worker.opened())
}

fn read(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn line(stream: &mut TcpStream) -> String {
    let mut line = Vec::new();
    loop {
        match read(stream, 1)[0] {
            b'\n' => return String::from_utf8(line).unwrap(),
            byte => line.push(byte),
        }
    }
}

fn close_code(worker: &Manual) -> u32 {
    let events = worker.expect(1);
    let [Event::Close { code, .. }] = events[..] else {
        panic!("events were {events:?}")
    };
    code
}

fn is_close(event: Option<&Event>, code: u32) -> bool {
    matches!(event, Some(Event::Close { code: seen, .. }) if *seen == code)
}

/// Without `handleOpen`, so that connecting needs no answer.
const QUIET: Handlers = ALL.without(Handlers::OPEN).without(Handlers::DRAIN);

#[test]
fn lines_are_text_where_they_can_be_and_go_out_as_lines() {
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
fn lengths_in_front_are_bytes_in_every_width() {
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
                panic!("it was {event:?}")
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
fn what_is_too_long_closes_its_connection_and_hurts_no_other() {
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
        // what came before is handled and answered before the end
        assert_eq!(rest(&mut stream).as_bytes(), good);
        worker.until(|events| is_close(events.last(), 1009));
        other.write_all(good).unwrap();
        assert_eq!(read(&mut other, good.len()), good);
    }
}

#[test]
fn handle_open_comes_at_once_and_a_refusal_says_nothing() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, ALL);
    let mut stream = connect(&server);
    let socket = worker.opened();
    send_all(&server.gateway, socket, ["never seen"]);
    worker.refuse(socket);
    assert_eq!(rest(&mut stream), "");
    assert!(eventually(|| server.gateway.stats().connections == 0));
    assert!(worker.take().is_empty(), "it was never open");
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
fn no_answer_in_time_closes_without_a_word() {
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
            limits.first_request_timeout = Duration::from_millis(300);
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
fn idleness_closes_where_it_is_bounded() {
    let server = server_with(
        framing("line"),
        |_| {},
        |limits| limits.idle_timeout = Duration::from_millis(300),
    );
    let worker = manual(&server.gateway, QUIET);
    let (mut stream, _) = enter(&server, &worker);
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1000);
}

#[test]
fn a_line_that_comes_too_slowly_closes() {
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
    // a second's worth may come at once
    assert!(begun.elapsed() >= Duration::from_secs(1));
    drop(worker);
}

/// More than the kernel takes for a reader that does not read.
const BEYOND_THE_KERNEL: usize = 10 << 20;

#[test]
fn a_reader_that_does_not_read_is_closed_without_a_hole() {
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
            // when the second is here, the turn that wrote the first is over, and all is counted
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

/// Its answers wait for it, and it for its answers.
#[test]
fn who_asks_and_does_not_read_is_left_unread() {
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

#[test]
fn what_came_before_an_end_is_answered_before_we_close() {
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

/// Waits for the event that the client has sent its last byte, and takes it as handled.
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
fn a_worker_that_handles_ends_goes_on_writing_until_it_closes() {
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
fn an_ended_client_is_idle_in_the_end() {
    let idle = |limits: &mut ListenerLimits| limits.idle_timeout = Duration::from_secs(1);
    let server = server_with(length(1), |_| {}, idle);
    let worker = manual(&server.gateway, QUIET | Handlers::END);
    let (mut stream, _) = enter(&server, &worker);
    stream.shutdown(Shutdown::Write).unwrap();
    handle_end(&worker);
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1000);
    // within a message there is no end to be handled
    let (mut stream, _) = enter(&server, &worker);
    stream.write_all(b"\x02a").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), "");
    assert_eq!(close_code(&worker), 1006);
}

#[test]
fn a_cut_message_is_dropped_and_told_in_the_code() {
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
    // what is not read by the time of the close resets nothing
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
fn a_last_line_without_its_end_holds_nothing_once_it_is_told() {
    let server = server(framing("line"));
    let worker = manual(&server.gateway, QUIET | Handlers::END);
    let (mut stream, _) = enter(&server, &worker);
    stream.write_all(&[b'a'; 100_000]).unwrap();
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
fn a_last_line_that_nobody_handles_cuts_no_answer() {
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
