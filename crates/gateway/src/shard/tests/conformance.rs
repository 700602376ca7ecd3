//! What every session guarantees, in any protocol: order, limits, one close, the policy of a full outbox, slow readers,
//! and subscriptions that change between publications.

use crate::close::CloseReason;
use crate::limits::{ENTRY_CHARGE, OutboxPolicy};
use crate::shard::stage::{Actor, CLOSE, EVERY, OPEN, Speaks, Stage};

/// The indices of the frames that arrived, in order, and the bytes behind them.
fn arrived<'a>(mut bytes: &'a [u8], frames: &[Vec<u8>]) -> (Vec<usize>, &'a [u8]) {
    let mut indices = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        if let Some(rest) = bytes.strip_prefix(&frame[..]) {
            indices.push(index);
            bytes = rest;
        }
    }
    (indices, bytes)
}

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// A payload that differs for each number.
fn payload(number: usize, length: usize) -> Vec<u8> {
    format!("{number:0length$}").into_bytes()
}

/// Sends messages to a socket that does not read; each is written as far as possible.
fn send_unread(stage: &Stage, actor: &Actor, count: usize, length: usize) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for number in 0..count {
        let payload = payload(number, length);
        frames.push(stage.frame(actor, None, &payload));
        stage.send(actor, &payload);
        stage.run();
    }
    frames
}

/// The protocols whose sockets can be sent to; clients of the others only get what their session sends.
fn sent_to() -> impl Iterator<Item = Speaks> {
    EVERY.into_iter().filter(|speaks| speaks.takes_messages())
}

fn goodbye_of(stage: &Stage, speaks: Speaks, reason: &CloseReason) -> Vec<u8> {
    let another = stage.open(speaks);
    let goodbye = another.goodbye(reason);
    another.peer.borrow_mut().vanish();
    stage.run();
    goodbye
}

/// Other tests rely on this: wherever the input of stage clients is cut, it causes no error and has no answer.
#[test]
fn the_input_of_stage_clients_causes_no_error_and_no_answer() {
    for speaks in EVERY {
        for step in 1..=speaks.said().len() {
            let stage = Stage::new(|_| {});
            let actor = stage.open(speaks);
            actor.read_all();
            for piece in speaks.said().repeat(3).chunks(step) {
                actor.peer.borrow_mut().feed(piece);
                stage.run();
                stage.handle();
            }
            assert_eq!(actor.peer.borrow().unread(), 0, "{speaks:?}");
            assert!(actor.is_open(), "{speaks:?}");
            assert_eq!(actor.got(), b"", "{speaks:?}");
            assert_eq!(stage.shard.transfers.count(), 0);
            stage.assert_nothing_left();
        }
    }
}

/// Messages to the socket and to its channels arrive in the order of posting, regardless of how turns divide them.
#[test]
fn messages_arrive_in_the_order_of_posting() {
    for speaks in sent_to() {
        for together in [1, 7, 1000] {
            let stage = Stage::new(|_| {});
            let actor = stage.open(speaks);
            actor.read_all();
            for channel in [&b"a"[..], b"b"] {
                stage.subscribe(&actor, channel, 1);
            }
            let mut frames = Vec::new();
            for number in 0..300 {
                let payload = payload(number, 1 + number % 300 * 20);
                let channel = [None, Some(&b"a"[..]), Some(b"b")][number % 3];
                frames.push(stage.frame(&actor, channel, &payload));
                let posted = match channel {
                    None => stage.send(&actor, &payload),
                    Some(channel) => stage.publish(channel, &payload),
                };
                assert_eq!(posted, 1);
                if number % together == 0 {
                    stage.run();
                }
            }
            stage.run();
            let got = actor.got();
            assert_eq!(arrived(&got, &frames), (all(300), &b""[..]), "{speaks:?}");
            stage.assert_nothing_left();
        }
    }
}

/// Whether a publication between two changes of a subscription arrives depends on the order of posting.
#[test]
fn a_subscription_holds_between_its_begin_and_its_end_in_posting_order() {
    for speaks in sent_to() {
        for together in [1, 2, 3, 5, 64] {
            let stage = Stage::new(|_| {});
            let (actor, other) = (stage.open(speaks), stage.open(speaks));
            actor.read_all();
            other.read_all();
            stage.subscribe(&other, b"c", 1);
            let (mut frames, mut wanted) = (Vec::new(), Vec::new());
            let mut subscribed = 0;
            for number in 0..200_usize {
                // a pseudo-random sequence with at most two references to the subscription
                match number * 7 % 11 {
                    0..3 if subscribed < 2 => {
                        stage.subscribe(&actor, b"c", 1);
                        subscribed += 1;
                    }
                    3..6 if subscribed > 0 => {
                        stage.subscribe(&actor, b"c", -1);
                        subscribed -= 1;
                    }
                    _ => {}
                }
                let payload = payload(number, 5);
                assert!(stage.publish(b"c", &payload) > 0);
                frames.push(stage.frame(&actor, Some(b"c"), &payload));
                if subscribed > 0 {
                    wanted.push(number);
                }
                if number % together == 0 {
                    stage.run();
                }
            }
            stage.run();
            assert!(wanted.len() > 20 && wanted.len() < 180, "{}", wanted.len());
            assert_eq!(arrived(&actor.got(), &frames), (wanted, &b""[..]));
            assert_eq!(arrived(&other.got(), &frames), (all(200), &b""[..]));
            stage.assert_nothing_left();
        }
    }
}

/// A connection that unsubscribes or closes within a turn gets nothing that was posted later.
#[test]
fn nothing_arrives_behind_a_close() {
    for speaks in sent_to() {
        let stage = Stage::new(|_| {});
        let actor = stage.open(speaks);
        actor.read_all();
        stage.subscribe(&actor, b"c", 1);
        let frame = stage.frame(&actor, Some(b"c"), b"before");
        stage.publish(b"c", b"before");
        let reason = CloseReason::by_application(4000, "enough".into());
        let goodbye = actor.goodbye(&reason);
        assert!(stage.close(&actor, 4000));
        stage.publish(b"c", b"behind");
        stage.send(&actor, b"behind");
        stage.run();
        assert_eq!(actor.got(), [frame, goodbye].concat(), "{speaks:?}");
        assert_eq!(stage.publish(b"c", b"nobody"), 0);
        stage.assert_nothing_left();
    }
}

/// A reader that reads a byte at a time gets everything complete and once.
#[test]
fn a_reader_of_single_bytes_loses_and_repeats_nothing() {
    for speaks in sent_to() {
        let stage = Stage::new(|_| {});
        let actor = stage.open(speaks);
        let mut expected = Vec::new();
        for (number, length) in [1, 300, 2_100, 5, 6_000, 3].into_iter().enumerate() {
            let payload = payload(number, length);
            expected.extend(stage.frame(&actor, None, &payload));
            stage.send(&actor, &payload);
            stage.run();
        }
        for written in 1..=expected.len() {
            actor.peer.borrow_mut().give_room(1);
            stage.run();
            let peer = actor.peer.borrow();
            assert!(peer.from_gateway == expected[..written], "{speaks:?}");
        }
        stage.assert_nothing_left();
    }
}

const OUTBOX: usize = 10_000;

/// For a peer that does not read, at most the entry that is being written, the limit, and one turn's messages wait.
#[test]
fn an_outbox_is_bounded_and_no_message_in_it_is_missing() {
    for speaks in sent_to() {
        let stage = Stage::new(|limits| limits.outbox_bytes = OUTBOX);
        let actor = stage.open(speaks);
        let goodbye = goodbye_of(&stage, speaks, &CloseReason::OVERFLOW);
        actor.peer.borrow_mut().give_room(700);
        let mut frames = Vec::new();
        let mut most = 0;
        while actor.is_open() {
            let payload = payload(frames.len(), 500);
            frames.push(stage.frame(&actor, None, &payload));
            stage.send(&actor, &payload);
            stage.run();
            most = most.max(actor.connection.io.borrow().outbox.charge());
            assert!(frames.len() < 100);
        }
        let one = frames[0].len() + ENTRY_CHARGE;
        assert!(most <= OUTBOX + 3 * one, "{speaks:?}: {most}");
        actor.read_all();
        stage.run();
        let got = actor.got();
        let (indices, rest) = arrived(&got, &frames);
        assert_eq!(indices, all(indices.len()), "no message is missing");
        assert_eq!(rest, goodbye, "{speaks:?}");
        let traffic = stage.hub.stats().traffic;
        let lost = u64::try_from(frames.len() - indices.len()).unwrap();
        assert_eq!(traffic.overflow_closes, 1);
        assert_eq!(traffic.dropped_by_overflow, lost);
        stage.assert_nothing_left();
    }
}

/// Dropped messages are counted, the others arrive in order, and a message that was begun is always completed.
#[test]
fn policies_that_drop_keep_the_order_and_begun_messages() {
    for speaks in sent_to() {
        for policy in [OutboxPolicy::DropNewest, OutboxPolicy::DropOldest] {
            let stage = Stage::new(|limits| {
                limits.outbox_bytes = OUTBOX;
                limits.outbox_policy = policy;
            });
            let actor = stage.open(speaks);
            actor.peer.borrow_mut().give_room(100);
            let frames = send_unread(&stage, &actor, 100, 500);
            assert!(actor.is_open());
            actor.read_all();
            stage.run();
            let got = actor.got();
            let (indices, rest) = arrived(&got, &frames);
            assert_eq!(rest, b"", "{speaks:?}");
            let lost = u64::try_from(100 - indices.len()).unwrap();
            assert_eq!(stage.hub.stats().traffic.dropped_by_overflow, lost);
            assert!(lost > 50 && indices.len() > 10, "{indices:?}");
            assert_eq!(indices[0], 0, "the first message was begun");
            if policy == OutboxPolicy::DropNewest {
                assert_eq!(indices, all(indices.len()));
            } else {
                let kept = indices.len() - 1;
                assert!(indices[1..].iter().copied().eq(100 - kept..100));
            }
            stage.assert_nothing_left();
        }
    }
}

/// Invalid input of every protocol that can have one: a packet of an unknown type; the first byte of a frame with a
/// reserved bit; a command that is too long; and an HTTP request, which a web page may make a browser send.
fn mistake(speaks: Speaks) -> &'static [u8] {
    match speaks {
        Speaks::Sockety => b"\xf0",
        _ => b"POST / HTTP/1.1\r\n*9999999999\r\n\r\n\r\n",
    }
}

/// However a connection ends, even in several ways at once: the worker is told once, and nothing is left.
#[test]
fn a_connection_is_closed_once() {
    type End = (&'static str, fn(&Stage, &Actor));
    const ENDS: [End; 5] = [
        ("by the application", |stage, actor| {
            stage.close(actor, 4000);
        }),
        ("by the end of the peer's stream", |_, actor| {
            actor.peer.borrow_mut().end();
        }),
        ("by the loss of the peer", |_, actor| {
            actor.peer.borrow_mut().vanish();
        }),
        ("by invalid input", |_, actor| {
            actor.peer.borrow_mut().feed(mistake(actor.speaks));
        }),
        ("by the end of the worker", |stage, _| {
            let worker = stage.worker.id();
            let reason = &CloseReason::WORKER_REPLACED;
            stage.shard.close_of_worker(worker, reason);
        }),
    ];
    for speaks in EVERY {
        for (first, begin) in ENDS {
            for (second, again) in ENDS {
                for is_read in [false, true] {
                    let stage = Stage::new(|_| {});
                    let actor = stage.open(speaks);
                    if is_read {
                        actor.read_all();
                    }
                    begin(&stage, &actor);
                    stage.run();
                    again(&stage, &actor);
                    stage.run();
                    let told = [stage.told(), stage.assert_nothing_left()].concat();
                    if !speaks.has_worker() {
                        assert!(told.is_empty());
                        continue;
                    }
                    let what = format!("{speaks:?}: {first}, {second}, {is_read}: {told:?}");
                    assert_eq!(told, [OPEN, CLOSE], "{what}");
                    assert!(actor.is_done(), "{what}");
                }
            }
        }
    }
}

/// The bytes in a slow reader's outbox pause reading from it, until they are written.
#[test]
fn a_peer_that_does_not_read_is_not_read() {
    for speaks in sent_to().filter(|speaks| *speaks != Speaks::Events) {
        let stage = Stage::new(|limits| limits.outbox_read_pause_bytes = 1_000);
        let actor = stage.open(speaks);
        let frames = send_unread(&stage, &actor, 3, 500);
        let said: &[u8] = match speaks {
            Speaks::Resp => b"PING\r\n",
            Speaks::Tcp => b"a line\n",
            Speaks::Sockety => b"\x20\x13\0................\x01a",
            _ => &[0x89, 0x80, 0, 0, 0, 0],
        };
        actor.peer.borrow_mut().feed(said);
        stage.run();
        assert_eq!(actor.peer.borrow().unread(), said.len());
        actor.read_all();
        stage.run();
        assert_eq!(actor.peer.borrow().unread(), 0);
        let got = actor.got();
        let (indices, answer) = arrived(&got, &frames);
        assert_eq!(indices, all(3));
        let pong: &[u8] = match speaks {
            Speaks::Resp => b"+PONG\r\n",
            // these protocols answer nothing by themselves
            Speaks::Tcp | Speaks::Sockety => b"",
            _ => &[0x8a, 0],
        };
        assert_eq!(answer, pong);
        stage.assert_nothing_left();
    }
}
