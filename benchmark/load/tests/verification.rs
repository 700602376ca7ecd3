//! The generator must notice every way in which a server can break its promises. Messages are fed
//! to the scenarios by hand; no socket is involved.

use std::net::{Ipv4Addr, SocketAddr};

use millrace_load::dialect::Dialect;
use millrace_load::io::{Ending, Handler, Io};
use millrace_load::scenario::echo::{Echo, Pace};
use millrace_load::scenario::fanout::Fanout;
use millrace_load::scenario::headline::Headline;
use millrace_load::stamp;
use millrace_load::window::Windowed;

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

/// Two groups of ten; everyone has one message outstanding.
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
fn members_that_see_different_orders_are_a_violation() {
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
fn subscribers_notice_gaps_repetition_and_noise() {
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
