//! The generator must detect every way in which a server can violate its guarantees. The tests pass
//! messages to the scenarios directly, without a socket.

use std::net::{Ipv4Addr, SocketAddr};

use millrace_load::dialect::Dialect;
use millrace_load::io::{Ending, Handler, Io};
use millrace_load::scenario::channels::{Channels, PUBLISHERS, SMALLEST};
use millrace_load::scenario::echo::{Echo, Pace};
use millrace_load::scenario::fanout::Fanout;
use millrace_load::scenario::fanout_slow::FanoutSlow;
use millrace_load::scenario::headline::Headline;
use millrace_load::stamp;
use millrace_load::window::{Deadline, Windowed};

fn io() -> Io {
    Io::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))).expect("an epoll instance")
}

fn stamped(letter: u8, sender: usize, number: u32, size: usize) -> Vec<u8> {
    let mut bytes = stamp::payload(letter, sender, size);
    let digits = format!("{number:010}");
    bytes[stamp::NUMBER_AT..stamp::STAMP].copy_from_slice(digits.as_bytes());
    bytes
}

/// An echo scenario of two connections with four messages outstanding each.
fn echo(io: &mut Io) -> Echo {
    let mut echo = Echo::new(Dialect::Plain, 2, 64, Pace::Closed(4));
    echo.start(io).expect("it can start");
    echo.stop();
    echo
}

#[test]
fn echoes_in_order_are_accepted_and_counted() {
    let mut io = io();
    let mut echo = echo(&mut io);
    for number in 0..4 {
        for id in 0..2 {
            let payload = stamped(b'e', id, number, 64);
            echo.message(&mut io, id, &payload).unwrap();
        }
    }
    assert_eq!(echo.outstanding(), 0);
    assert_eq!(echo.meter().incoming, 8);
}

#[test]
fn a_wrong_echo_is_a_violation() {
    let first = stamped(b'e', 0, 0, 64);
    let mut altered = first.clone();
    altered[40] ^= 1;
    let wrong = [
        ("lost or early", stamped(b'e', 0, 1, 64)),
        ("of another connection", stamped(b'e', 1, 0, 64)),
        ("altered", altered),
        ("cut short", first[..63].to_vec()),
        ("too short for a stamp", first[..5].to_vec()),
        ("too long", stamped(b'e', 0, 0, 65)),
    ];
    for (what, payload) in wrong {
        let mut io = io();
        let mut echo = echo(&mut io);
        assert!(echo.message(&mut io, 0, &payload).is_err(), "{what}");
    }
    let mut io = io();
    let mut echo = echo(&mut io);
    echo.message(&mut io, 0, &first).unwrap();
    assert!(echo.message(&mut io, 0, &first).is_err(), "repeated");
    assert!(echo.closed(&mut io, 0, Ending::Closed(1000)).is_err());
}

#[test]
fn long_echoes_are_compared_to_their_last_byte() {
    for (size, depth) in [1, 4, 16, 64]
        .into_iter()
        .flat_map(|kib| [(kib * 1024, 1), (kib * 1024, 16)])
    {
        let mut io = io();
        let mut echo = Echo::new(Dialect::Plain, 1, size, Pace::Closed(depth));
        echo.start(&mut io).expect("it can start");
        echo.stop();
        let right = stamped(b'e', 0, 0, size);
        let mut wrong = right.clone();
        wrong[size - 1] ^= 1;
        assert!(echo.message(&mut io, 0, &wrong).is_err(), "{size}");
        assert!(
            echo.message(&mut io, 0, &right[..size - 1]).is_err(),
            "{size}"
        );
        echo.message(&mut io, 0, &right).unwrap();
        assert_eq!(echo.outstanding(), u64::try_from(depth).unwrap() - 1);
    }
}

#[test]
fn an_echo_of_what_was_never_sent_is_a_violation() {
    let mut io = io();
    let mut echo = echo(&mut io);
    for number in 0..4 {
        let payload = stamped(b'e', 0, number, 64);
        echo.message(&mut io, 0, &payload).unwrap();
    }
    let payload = stamped(b'e', 0, 4, 64);
    assert!(echo.message(&mut io, 0, &payload).is_err());
}

/// Two groups of ten, with one outstanding message for each connection.
fn headline(io: &mut Io) -> Headline {
    let mut headline = Headline::new(Dialect::Plain, 20, Pace::Closed(1));
    for id in 0..20 {
        let ack = format!(r#"{{"type":"sub-ack","ch":"g{}"}}"#, id / 10);
        headline
            .message(io, id, ack.as_bytes())
            .expect("a flawless server");
    }
    assert!(headline.all_joined());
    headline.form_groups().expect("a flawless server");
    headline.start(io).expect("a flawless server");
    headline.stop();
    headline
}

fn event(sender: usize, number: u32) -> Vec<u8> {
    wrapped("evt", sender, number)
}

fn wrapped(kind: &str, sender: usize, number: u32) -> Vec<u8> {
    let stamp =
        String::from_utf8(stamped(b'e', sender, number, stamp::STAMP)).expect("a stamp is ASCII");
    format!(r#"{{"type":"{kind}","t":"{stamp}"}}"#).into_bytes()
}

/// Delivers everyone's first message to its group, each member's list in the order given.
fn deliver(headline: &mut Headline, io: &mut Io, order: impl Fn(usize) -> Vec<usize>) {
    for id in 0..20 {
        for sender in order(id) {
            headline
                .message(io, id, &event(sender, 0))
                .expect("a flawless delivery");
        }
        headline
            .message(io, id, &wrapped("ack", id, 0))
            .expect("a flawless delivery");
    }
}

#[test]
fn a_round_of_the_headline_settles() {
    let mut io = io();
    let mut headline = headline(&mut io);
    deliver(&mut headline, &mut io, |id| {
        let group = id / 10 * 10;
        (group..group + 10).rev().collect()
    });
    assert_eq!(headline.outstanding(), 0);
    headline.settle().unwrap();
}

#[test]
fn members_that_see_different_orders_are_a_violation_unless_tolerated() {
    let mut io = io();
    let mut headline = headline(&mut io);
    deliver(&mut headline, &mut io, |id| {
        let group = id / 10 * 10;
        let mut order: Vec<usize> = (group..group + 10).collect();
        if id == 7 {
            order.swap(2, 3);
        }
        order
    });
    assert!(headline.settle().is_err());
    // for a server that guarantees no common order, differing orders are only counted
    let mut headline = headline.tolerant(true);
    headline.settle().expect("each sender stays in order");
}

#[test]
fn a_wrong_delivery_is_a_violation() {
    let wrong = [
        ("early or lost", event(3, 1)),
        ("of another group", event(13, 0)),
        ("of nobody", event(99, 0)),
        ("answer before its broadcast", wrapped("ack", 0, 0)),
        ("foreign answer", wrapped("ack", 1, 0)),
        ("late join", br#"{"type":"sub-ack","ch":"g0"}"#.to_vec()),
        ("noise", b"hello".to_vec()),
    ];
    for (what, payload) in wrong {
        let mut io = io();
        let mut headline = headline(&mut io);
        assert!(headline.message(&mut io, 0, &payload).is_err(), "{what}");
    }
    let mut io = io();
    let mut headline = headline(&mut io);
    headline.message(&mut io, 0, &event(3, 0)).unwrap();
    assert!(headline.message(&mut io, 0, &event(3, 0)).is_err());
}

#[test]
fn a_group_of_eleven_is_a_violation() {
    let mut io = io();
    let mut headline = Headline::new(Dialect::Plain, 11, Pace::Closed(1));
    for id in 0..11 {
        let ack = br#"{"type":"sub-ack","ch":"g0"}"#;
        headline.message(&mut io, id, ack).unwrap();
    }
    assert!(headline.form_groups().is_err());
}

#[test]
fn subscribers_detect_gaps_repetition_and_noise() {
    let good = stamped(b'p', 0, 0, 64);
    let mut altered = good.clone();
    altered[63] ^= 1;
    let cases = [
        (good.clone(), true),
        (stamped(b'p', 0, 1, 64), false),
        (stamped(b'p', 1, 0, 64), false),
        (altered, false),
        (b"s".to_vec(), false),
    ];
    for (payload, accepted) in cases {
        let mut io = io();
        let mut fanout = Fanout::new(Dialect::Plain, 0, 3, 64, 2);
        for id in 1..=3 {
            fanout.message(&mut io, id, b"s").unwrap();
        }
        fanout.start(&mut io).unwrap();
        assert_eq!(fanout.outstanding(), 6);
        let outcome = fanout.message(&mut io, 2, &payload);
        assert_eq!(outcome.is_ok(), accepted);
        assert!(!accepted || fanout.message(&mut io, 2, &payload).is_err());
    }
}

/// Two slow readers behind three subscribers; two publications are in flight.
fn slow(io: &mut Io, tolerant: bool) -> FanoutSlow {
    let mut fanout = FanoutSlow::new(Dialect::Plain, 3, 2, 64, 2).tolerant(tolerant);
    for id in 1..=5 {
        fanout.message(io, id, b"s").expect("a flawless server");
    }
    fanout.start(io).expect("it can start");
    fanout
}

#[test]
fn slow_readers_with_an_unbroken_stream_are_accepted() {
    let mut io = io();
    let mut fanout = slow(&mut io, false);
    for number in 0..2 {
        for id in 1..=5 {
            let payload = stamped(b'p', 0, number, 64);
            fanout.message(&mut io, id, &payload).unwrap();
        }
    }
    fanout.stop();
    assert_eq!(fanout.outstanding(), 0);
    fanout.finish(&mut io, &Deadline::within(60)).unwrap();
}

#[test]
fn a_hole_in_a_slow_readers_stream_is_a_violation_unless_tolerated() {
    let mut altered = stamped(b'p', 0, 0, 64);
    altered[60] ^= 1;
    let second = stamped(b'p', 0, 1, 64);
    let streams = [
        ("lost", vec![second.clone()]),
        ("altered", vec![altered, second.clone()]),
        (
            "reordered",
            vec![second.clone(), stamped(b'p', 0, 0, 64), second],
        ),
    ];
    for (what, stream) in streams {
        for tolerant in [false, true] {
            let mut io = io();
            let mut fanout = slow(&mut io, tolerant);
            for payload in &stream {
                fanout.message(&mut io, 4, payload).unwrap();
            }
            for number in 0..2 {
                let payload = stamped(b'p', 0, number, 64);
                fanout.message(&mut io, 5, &payload).unwrap();
            }
            fanout.stop();
            let outcome = fanout.finish(&mut io, &Deadline::within(60));
            assert_eq!(outcome.is_ok(), tolerant, "{what}");
        }
    }
}

/// Four subscribers of twelve channels; every publisher has two publications in flight.
fn channels(io: &mut Io) -> Channels {
    let mut channels = Channels::new(Dialect::Plain, 4, 12, 64, 2).expect("a good number");
    for subscriber in 0..4 {
        let block = format!("s{},1,3", subscriber * 3);
        for answer in [format!("s{subscriber},4,3"), block] {
            let id = PUBLISHERS + subscriber;
            let outcome = channels.message(io, id, answer.as_bytes());
            outcome.expect("a flawless server");
        }
    }
    assert!(channels.all_subscribed());
    channels.start(io).expect("it can start");
    channels.stop();
    channels
}

/// A publication as it must arrive.
fn publication(channel: usize, publisher: usize, number: u32) -> Vec<u8> {
    let mut bytes = stamped(b'p', publisher, number, 64);
    let name = format!("c{channel:05}");
    bytes[stamp::STAMP..SMALLEST].copy_from_slice(name.as_bytes());
    bytes
}

#[test]
fn every_channel_reaches_only_its_subscribers() {
    let mut io = io();
    let mut all = channels(&mut io);
    for publisher in 0..PUBLISHERS {
        for number in 0..2 {
            let channel = all.channel(publisher, number);
            let payload = publication(channel, publisher, number);
            let (one, other) = all.members(channel);
            for subscriber in 0..4 {
                let member = subscriber == one || Some(subscriber) == other;
                let outcome = all.message(&mut io, PUBLISHERS + subscriber, &payload);
                assert_eq!(outcome.is_ok(), member, "{subscriber} of {channel}");
                // a second copy is not expected, from any publisher
                let again = all.message(&mut io, PUBLISHERS + subscriber, &payload);
                assert!(again.is_err());
            }
        }
    }
    assert_eq!(all.outstanding(), 0);
    assert_eq!(all.meter().incoming, 20);
}

#[test]
fn a_wrong_publication_is_a_violation() {
    let mut io = io();
    let probe = channels(&mut io);
    let (first, second) = (probe.channel(0, 0), probe.channel(0, 1));
    let id = PUBLISHERS + probe.members(first).0;
    let good = publication(first, 0, 0);
    let mut altered = good.clone();
    altered[63] ^= 1;
    let wrong = [
        ("under another name", publication(second, 0, 0)),
        ("altered", altered),
        ("cut short", good[..63].to_vec()),
        ("not yet sent", publication(probe.channel(0, 2), 0, 2)),
        ("of no publisher", publication(first, PUBLISHERS, 0)),
        ("noise", b"hello".to_vec()),
        ("a late answer", b"s0,4,3".to_vec()),
    ];
    for (what, payload) in wrong {
        let mut all = channels(&mut io);
        assert!(all.message(&mut io, id, &payload).is_err(), "{what}");
        assert!(all.message(&mut io, id, &good).is_ok());
    }
    let mut all = channels(&mut io);
    assert!(all.message(&mut io, 0, &good).is_err(), "to a publisher");
}

#[test]
fn a_subscriber_sees_each_publisher_in_order() {
    let mut io = io();
    let mut all = channels(&mut io);
    // two publications of one publisher that have a subscriber in common
    let members = |all: &Channels, number| {
        let (one, other) = all.members(all.channel(3, number));
        [Some(one), other]
    };
    let later = members(&all, 1);
    let common = members(&all, 0)
        .into_iter()
        .flatten()
        .find(|one| later.contains(&Some(*one)));
    let id = PUBLISHERS + common.expect("the numbers were chosen so");
    let payload = publication(all.channel(3, 1), 3, 1);
    all.message(&mut io, id, &payload).unwrap();
    let payload = publication(all.channel(3, 0), 3, 0);
    assert!(all.message(&mut io, id, &payload).is_err());
}
