//! Clients that do not read: what they cost, what they miss, and that no other client is affected. Over 400 lines
//! because each way of not reading has a test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::time::Duration;

use millrace_gateway::limits::{GatewayLimits, OutboxPolicy};
use millrace_gateway::{
    GatewayConfig, HEAD_ROOM, Kind, ListenerConfig, ShardSet, SocketId, Target,
};
use support::client::{Client, Received, frame, request};
use support::manual::{Manual, eventually, eventually_within, manual, send_all};
use support::wire::narrow_client;
use support::{ALL, Event, SOON, Server, decode, echo, serve};

const MIB: usize = 1024 * 1024;

/// More bytes than the kernel accepts for a client that does not read.
const BEYOND_THE_KERNEL: usize = 10 * MIB;

fn server(limits: impl FnOnce(&mut GatewayLimits)) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    // a client that does not read has to be closed for the reason that a test is about
    config.limits.write_timeout = Duration::MAX;
    config.limits.close_timeout = Duration::MAX;
    limits(&mut config.limits);
    serve(config, ListenerConfig::default())
}

fn numbered(number: usize, length: usize) -> String {
    format!("{number:0length$}")
}

/// Sends numbered texts one by one until the condition holds; returns how many.
fn flood(server: &Server, socket: SocketId, length: usize, until: impl Fn() -> bool) -> usize {
    for number in 0..20_000 {
        if until() {
            return number;
        }
        send_all(&server.gateway, socket, [numbered(number, length).as_str()]);
    }
    panic!("no limit was met");
}

/// The numbers received before anything else.
fn numbers(client: &mut Client) -> (Vec<usize>, Received) {
    let mut numbers = Vec::new();
    loop {
        match client.next() {
            Received::Text(text) => numbers.push(text.parse().unwrap()),
            Received::Ping(_) => {}
            other => return (numbers, other),
        }
    }
}

#[test]
fn a_stalled_reader_misses_nothing_before_1013() {
    let server = server(|limits| limits.outbox_bytes = 256 * 1024);
    let worker = echo(&server.gateway, ALL);
    let mut stalled = narrow_client(&server.address);
    let socket = worker.opened(1)[0];
    let gateway = &server.gateway;
    flood(&server, socket, 10_000, || {
        gateway.stats().traffic.overflow_closes == 1
    });
    let (received, end) = numbers(&mut stalled);
    assert!(received.iter().copied().eq(0..received.len()));
    assert_eq!(
        end,
        Received::Close(Some(1013), "Outgoing queue is full".into())
    );
    drop(stalled);
    server.stop();
    assert_eq!(server.gateway.stats().outbox_bytes, 0);
}

#[test]
fn dropping_policies_keep_the_order_and_count() {
    for policy in [OutboxPolicy::DropNewest, OutboxPolicy::DropOldest] {
        let server = server(|limits| {
            limits.outbox_bytes = 256 * 1024;
            limits.outbox_policy = policy;
        });
        let worker = echo(&server.gateway, ALL);
        let mut stalled = narrow_client(&server.address);
        let socket = worker.opened(1)[0];
        let gateway = &server.gateway;
        let sent = flood(&server, socket, 10_000, || {
            gateway.stats().traffic.dropped_by_overflow >= 10
        });
        assert!(gateway.stats().outbox_bytes < MIB);
        // an echo marks the end: it fits into the outbox once the client reads
        let marker = frame(millrace_protocol::websocket::Opcode::Text, b"999999");
        let mut received = Vec::new();
        while received.last() != Some(&999_999) {
            match stalled.next() {
                Received::Text(text) => received.push(text.parse::<usize>().unwrap()),
                Received::Ping(_) => {}
                other => panic!("{policy:?}: {other:?}"),
            }
            if received.len() == 20 {
                stalled.send(&marker);
            }
        }
        assert!(received.windows(2).all(|pair| pair[0] < pair[1]));
        let dropped = usize::try_from(gateway.stats().traffic.dropped_by_overflow).unwrap();
        assert_eq!(received.len() + dropped, sent + 1, "{policy:?}");
        drop(stalled);
        server.stop();
    }
}

#[test]
fn all_outboxes_together_are_limited_with_any_policy() {
    for policy in [
        OutboxPolicy::Close,
        OutboxPolicy::DropNewest,
        OutboxPolicy::DropOldest,
    ] {
        let server = server(|limits| {
            limits.outbox_bytes = 64 * MIB;
            limits.outboxes_total_bytes = 2 * MIB;
            limits.outbox_policy = policy;
        });
        let worker = echo(&server.gateway, ALL);
        let mut stalled = narrow_client(&server.address);
        let socket = worker.opened(1)[0];
        let gateway = &server.gateway;
        // an answer lies behind what was posted in the inbox, of which one turn of the thread takes everything
        let other = RefCell::new(Client::connect(&server.address, b""));
        flood(&server, socket, 10_000, || {
            let other = &mut *other.borrow_mut();
            other.text("x");
            while other.next() != Received::Text("x".to_owned()) {}
            let stats = gateway.stats();
            assert!(stats.outbox_bytes < 4 * MIB, "{policy:?}: {stats:?}");
            stats.traffic.overflow_closes == 1
        });
        let (received, end) = numbers(&mut stalled);
        assert!(received.iter().copied().eq(0..received.len()));
        assert!(matches!(end, Received::Close(Some(1013), _)), "{end:?}");
        drop((stalled, other));
        server.stop();
    }
}

/// Only output that the reader fails to keep up with counts as waiting; a long message takes time with every reader.
#[test]
fn a_message_that_is_being_written_does_not_fill_the_outbox() {
    for policy in [
        OutboxPolicy::Close,
        OutboxPolicy::DropNewest,
        OutboxPolicy::DropOldest,
    ] {
        let server = server(|limits| {
            limits.outbox_bytes = 256 * 1024;
            limits.outbox_policy = policy;
        });
        let worker = echo(&server.gateway, ALL);
        let mut reader = narrow_client(&server.address);
        let socket = worker.opened(1)[0];
        let long = "x".repeat(8 * MIB);
        let behind = [numbered(1, 1000), numbered(2, 1000)];
        let texts = [long.as_str(), &behind[0], &behind[1]];
        send_all(&server.gateway, socket, texts);
        for text in texts {
            assert_eq!(reader.next(), Received::Text(text.into()), "{policy:?}");
        }
        let traffic = server.gateway.stats().traffic;
        assert_eq!(
            (traffic.overflow_closes, traffic.dropped_by_overflow),
            (0, 0)
        );
        drop(reader);
        server.stop();
    }
}

/// A connection that is closing already is cut instead of getting another close.
#[test]
fn a_closing_connection_is_cut_when_all_outboxes_are_full() {
    let server = server(|limits| {
        limits.outbox_bytes = 64 * MIB;
        limits.outboxes_total_bytes = BEYOND_THE_KERNEL + 4 * MIB;
    });
    let worker = echo(&server.gateway, ALL);
    let closing = narrow_client(&server.address);
    let socket = worker.opened(1)[0];
    let gateway = &server.gateway;
    flood(&server, socket, 10_000, || {
        gateway.stats().outbox_bytes > BEYOND_THE_KERNEL
    });
    let mut dirty = ShardSet::default();
    gateway.close(socket, 1000, "", &mut dirty);
    gateway.wake(&mut dirty);
    let _other = narrow_client(&server.address);
    let socket = worker.opened(2)[1];
    flood(&server, socket, 10_000, || {
        gateway.stats().traffic.overflow_closes == 1 || gateway.stats().connections == 1
    });
    assert!(eventually(|| gateway.stats().connections == 1));
    drop(closing);
}

/// The outbox is full and the peer reads only a few bytes from time to time: closing takes no longer than otherwise.
#[test]
fn a_closing_peer_that_reads_single_bytes_is_cut_in_time() {
    let server = server(|limits| {
        limits.outbox_bytes = 64 * MIB;
        limits.close_timeout = Duration::from_millis(300);
    });
    let worker = echo(&server.gateway, ALL);
    let mut slow = narrow_client(&server.address);
    let socket = worker.opened(1)[0];
    let gateway = &server.gateway;
    flood(&server, socket, 10_000, || {
        gateway.stats().outbox_bytes > BEYOND_THE_KERNEL
    });
    let mut dirty = ShardSet::default();
    gateway.close(socket, 1000, "", &mut dirty);
    gateway.wake(&mut dirty);
    let mut taken = 0;
    assert!(eventually(|| {
        taken += slow.stream.read(&mut [0; 200]).unwrap_or(0);
        gateway.stats().connections == 0
    }));
    assert!(taken < BEYOND_THE_KERNEL, "{taken}");
}

/// A stop has its own timeout for queued output.
#[test]
fn an_outbox_drains_while_a_listener_stops_even_with_a_short_close_timeout() {
    let server = server(|limits| {
        limits.outbox_bytes = 64 * MIB;
        limits.close_timeout = Duration::from_millis(100);
    });
    let worker = echo(&server.gateway, ALL);
    let mut slow = narrow_client(&server.address);
    let socket = worker.opened(1)[0];
    let gateway = &server.gateway;
    let sent = flood(&server, socket, 10_000, || {
        gateway.stats().outbox_bytes > BEYOND_THE_KERNEL
    });
    gateway.stop_listeners(&[server.listener], SOON);
    let cut = || gateway.stats().connections == 0;
    assert!(!eventually_within(Duration::from_millis(500), cut));
    let (received, end) = numbers(&mut slow);
    assert!(received.into_iter().eq(0..sent));
    assert_eq!(end, Received::Close(Some(1001), String::new()));
    // everything is written: from now on the close timeout applies
    assert_eq!(slow.next(), Received::End);
}

/// Nothing can be written before `handleOpen` has answered, so the limit is met without the peer's fault. What the peer
/// gets then is complete, or it gets nothing.
#[test]
fn too_much_output_before_the_admission_closes_without_missing_messages() {
    let server = server(|limits| limits.outbox_bytes = 100_000);
    let worker = manual(&server.gateway, ALL);
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    stream.write_all(request("/").as_bytes()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let socket = worker.opened();
    for number in 0..30 {
        send_all(&server.gateway, socket, [numbered(number, 10_000).as_str()]);
        let posted = u64::try_from(number + 1).unwrap();
        assert!(eventually(|| server.gateway.stats().deliveries == posted));
    }
    worker.accept(socket);
    let mut client = Client::upgraded(stream);
    let (received, end) = numbers(&mut client);
    assert!(received.iter().copied().eq(0..received.len()));
    assert!(matches!(end, Received::Close(Some(1013), _)), "{end:?}");
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { code: 1013, .. }]));
}

#[test]
fn a_write_without_progress_ends_with_1013_for_the_application() {
    let server = server(|limits| {
        limits.outbox_bytes = 64 * MIB;
        limits.write_timeout = Duration::from_millis(200);
    });
    let worker = echo(&server.gateway, ALL);
    let stalled = narrow_client(&server.address);
    let socket = worker.opened(1)[0];
    flood(&server, socket, 10_000, || {
        let stats = server.gateway.stats();
        stats.outbox_bytes > BEYOND_THE_KERNEL || stats.sockets == 0
    });
    worker.until(|events| {
        events
            .iter()
            .any(|event| matches!(event, Event::Close { code: 1013, .. }))
    });
    drop(stalled);
    server.stop();
}

/// One turn writes to more connections than tokio's budget of one task allows.
#[test]
fn many_readers_that_keep_up_do_not_count_as_slow() {
    let server = server(|limits| limits.outbox_bytes = 5000);
    let worker = echo(&server.gateway, ALL);
    let mut clients: Vec<_> = (0..200)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    let who: Vec<_> = worker.opened(200).into_iter().map(Target::Socket).collect();
    let mut dirty = ShardSet::default();
    let gateway = &server.gateway;
    gateway.subscribe(&who, b"all", 1, &mut dirty).unwrap();
    for number in 0..4 {
        let text = numbered(number, 4000);
        let target = [Target::Channel(b"all")];
        gateway.send(&target, Kind::Text, text.as_bytes(), &[], &mut dirty);
    }
    gateway.wake(&mut dirty);
    for client in &mut clients {
        for number in 0..4 {
            assert_eq!(client.next(), Received::Text(numbered(number, 4000)));
        }
    }
    drop(clients);
    server.stop();
}

/// A connection that a worker accepts, which the test drives.
fn accepted(server: &Server, worker: &Manual) -> (SocketId, Client) {
    let stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    worker.accept(socket);
    (socket, Client::upgraded(stream))
}

/// The outbox limits what waits for each reader, and the high-water mark limits what waits for the I/O thread.
#[test]
fn broadcasts_to_readers_that_never_read_hold_little_memory() {
    let server = server(|_| {});
    let (gateway, worker) = (&server.gateway, manual(&server.gateway, ALL));
    let (_, sender) = accepted(&server, &worker);
    let mut dirty = ShardSet::default();
    let mut readers = Vec::new();
    for _ in 0..20 {
        let (socket, client) = accepted(&server, &worker);
        let who = [Target::Socket(socket)];
        gateway.subscribe(&who, b"all", 1, &mut dirty).unwrap();
        readers.push(client);
    }
    let asking = std::thread::spawn(move || {
        let mut sender = sender;
        (0..BROADCASTS).for_each(|_| sender.text("one more"));
        sender
    });
    let (mut published, mut most) = (0, 0);
    while published < BROADCASTS {
        assert!(worker.bell.wait(), "{published} were published");
        worker.worker.begin_drain();
        while let Some(batch) = worker.worker.take() {
            for event in decode(&batch.bytes, &batch.sidecars) {
                if matches!(event, Event::Text { .. }) {
                    let all = [Target::Channel(b"all")];
                    let bytes = vec![0; HEAD_ROOM + 64 * 1024];
                    gateway.send_in_place(&all, Kind::Binary, bytes, &[], &mut dirty);
                    published += 1;
                }
            }
            most = most.max(gateway.stats().outbox_bytes);
            worker.worker.finish(batch);
        }
        gateway.wake(&mut dirty);
    }
    assert!(most < 16 * MIB, "{} MiB", most / MIB);
    assert_eq!(gateway.stats().deliveries_refused, 0);
    drop((asking.join().unwrap(), readers));
}

/// The same from one handler, which wakes no shard until it ends: the I/O thread begins meanwhile. Its progress depends
/// on the load of the machine, so the best of several rounds counts.
#[test]
fn broadcasts_of_one_handler_are_written_while_it_runs() {
    let hold = || {
        let server = server(|_| {});
        let (gateway, worker) = (&server.gateway, manual(&server.gateway, ALL));
        let all = [Target::Channel(b"all")];
        let mut dirty = ShardSet::default();
        let mut readers = Vec::new();
        for _ in 0..20 {
            let (socket, client) = accepted(&server, &worker);
            let who = [Target::Socket(socket)];
            gateway.subscribe(&who, b"all", 1, &mut dirty).unwrap();
            readers.push(client);
        }
        gateway.send(&all, Kind::Text, b"begin", &[], &mut dirty);
        gateway.wake(&mut dirty);
        for reader in &mut readers {
            assert_eq!(reader.next(), Received::Text("begin".into()));
        }
        // the I/O thread goes to sleep, and from now on only the publications wake it
        assert!(!eventually_within(Duration::from_millis(200), || false));
        let mut most = 0;
        for _ in 0..BROADCASTS {
            let bytes = vec![0; HEAD_ROOM + 64 * 1024];
            gateway.send_in_place(&all, Kind::Binary, bytes, &[], &mut dirty);
            most = most.max(gateway.stats().outbox_bytes);
        }
        gateway.wake(&mut dirty);
        most
    };
    let much = BROADCASTS * 64 * 1024 / 2;
    let rounds: Vec<_> = (0..10)
        .map(|_| hold())
        .take_while(|most| *most >= much)
        .collect();
    assert!(rounds.len() < 10, "{rounds:?}");
}

const BROADCASTS: usize = 3000;

/// A client that sends and never reads stops itself: its echoes fill its outbox, and then it is not read.
#[test]
fn clients_that_send_and_never_read_stop_themselves() {
    let server = server(|_| {});
    let _worker = echo(&server.gateway, ALL);
    let message = frame(
        millrace_protocol::websocket::Opcode::Binary,
        &vec![1; 10_000],
    );
    let stalled: Vec<_> = (0..10)
        .map(|_| {
            let mut client = narrow_client(&server.address);
            client.stream.set_nonblocking(true).unwrap();
            let mut sent = 0;
            // until the kernel accepts nothing for a while, because the server has stopped reading
            while eventually_within(Duration::from_millis(300), || {
                let rest = &message[sent % message.len()..];
                client.stream.write(rest).is_ok_and(|count| {
                    sent += count;
                    true
                })
            }) {}
            assert!(sent < 16 * MIB, "{sent}");
            client
        })
        .collect();
    let stats = server.gateway.stats();
    assert_eq!(stats.traffic.overflow_closes, 0);
    assert!(stats.outbox_bytes < 10 * 2 * MIB, "{stats:?}");
    let mut other = Client::connect(&server.address, b"");
    other.text("still here");
    assert_eq!(other.next(), Received::Text("still here".into()));
    drop(stalled);
}
