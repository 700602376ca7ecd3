//! What clients of `millrace.v1` see of the numbers of a channel with history.

use super::history::{enter, say, stage_with};
use crate::config::ClientTerms;
use crate::limits::{GatewayLimits, OutboxPolicy};
use crate::shard::stage::{Actor, Speaks, Stage};
use millrace_core::{Annotation, Kind, Position, ShardSet, Start, Target};

pub(super) fn stage(limits: impl FnOnce(&mut GatewayLimits)) -> Stage {
    let clients = ClientTerms {
        subscribe: true,
        ..ClientTerms::default()
    };
    stage_with(1000, clients, limits)
}

/// The client sends a text.
pub(super) fn ask(actor: &Actor, text: &str) {
    let length = u8::try_from(text.len()).expect("short");
    assert!(length < 126);
    // masked with zeros
    let frame = [&[0x81, 0x80 | length, 0, 0, 0, 0], text.as_bytes()].concat();
    actor.peer.borrow_mut().feed(&frame);
}

/// The headers in what a client has received: those of texts whose payloads have no brace.
pub(super) fn headers(got: &[u8]) -> Vec<String> {
    let got = String::from_utf8_lossy(got).into_owned();
    let each = got.split('{').skip(1);
    each.map(|part| format!("{{{}", part.split('}').next().unwrap_or_default()))
        .collect()
}

pub(super) fn field(header: &str, name: &str) -> Option<u64> {
    let (_, behind) = header.split_once(&format!("\"{name}\":"))?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[test]
fn the_answer_to_a_second_subscription_has_its_place_among_the_messages() {
    for start in ["", ",\"since\":{\"e\":\"EPOCH\",\"o\":2}"] {
        let stage = stage(|_| {});
        let actor = stage.open(Speaks::V1);
        actor.read_all();
        let position = say(&stage, (1..=3).map(|number| number.to_string()));
        stage.subscribe(&actor, b"room:1", 1);
        stage.run();
        // these are on their way when the client asks
        say(&stage, (4..=6).map(|number| number.to_string()));
        let start = start.replace("EPOCH", &position.epoch.to_string());
        ask(
            &actor,
            &format!("{{\"t\":\"sub\",\"id\":1,\"c\":\"room:1\"{start}}}"),
        );
        stage.run();
        say(&stage, (7..=8).map(|number| number.to_string()));
        stage.run();
        let got = actor.got();
        let text = String::from_utf8_lossy(&got);
        let (before, behind) = text.split_once("\"t\":\"ok\"").expect("it is answered");
        let offsets = |text: &str| {
            let all = text.split("\"c\":\"room:1\",\"o\":").skip(1);
            let numbers = all.map(|part| part.split(',').next().unwrap_or_default().to_owned());
            numbers.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(offsets(before), "4 5 6");
        assert!(behind.contains("\"o\":6"), "{behind}");
        let expected = if start.is_empty() {
            "7 8"
        } else {
            "3 4 5 6 7 8"
        };
        assert_eq!(offsets(behind), expected);
        stage.assert_nothing_left();
    }
}

/// The offsets of the messages in front of the first answer and behind it, and the answer.
pub(super) fn around_answer(actor: &Actor) -> (Vec<u64>, String, Vec<u64>) {
    let headers = headers(&actor.got());
    let is_answer = |header: &String| header.contains("\"t\":\"ok\"");
    let place = headers.iter().position(is_answer).expect("it is answered");
    let offsets = |headers: &[String]| {
        let messages = headers.iter().filter(|header| !header.contains("\"t\""));
        messages.filter_map(|header| field(header, "o")).collect()
    };
    let answer = headers[place].clone();
    (
        offsets(&headers[..place]),
        answer,
        offsets(&headers[place + 1..]),
    )
}

pub(super) const SUBSCRIBE: &str = "{\"t\":\"sub\",\"id\":1,\"c\":\"room:1\"}";

#[test]
fn the_answer_is_behind_what_a_subscription_gets_that_the_application_has_just_ended() {
    let stage = stage(|_| {});
    let actor = stage.open(Speaks::V1);
    actor.read_all();
    stage.subscribe(&actor, b"room:1", 1);
    stage.run();
    say(&stage, (1..=3).map(|number| number.to_string()));
    stage.subscribe(&actor, b"room:1", -1);
    ask(&actor, SUBSCRIBE);
    // the client's subscription is made before a turn comes to these messages
    stage.drive(&actor);
    stage.run();
    say(&stage, (4..=5).map(|number| number.to_string()));
    stage.run();
    let (before, answer, behind) = around_answer(&actor);
    assert_eq!((before, behind), (vec![1, 2, 3], vec![4, 5]));
    assert_eq!(
        (field(&answer, "o"), field(&answer, "last")),
        (Some(3), None)
    );
    stage.assert_nothing_left();
}

/// Checks that the numbers that a client sees have no hole that it is not told of. Returns the next one, and the gaps.
fn check(actor: &Actor) -> (u64, usize) {
    let (mut next, mut gaps) = (1, 0);
    for header in headers(&actor.got()) {
        let Some(offset) = field(&header, "o") else {
            continue;
        };
        if header.contains("\"t\":\"gap\"") {
            assert!(offset >= next, "{header} but {next} is next");
            gaps += 1;
        } else {
            assert_eq!(offset, next, "{header}");
        }
        next = offset + 1;
    }
    (next, gaps)
}

#[test]
fn a_client_may_try_again_when_the_inbox_has_no_room_for_its_subscription() {
    let stage = stage(|limits| limits.shard_inbox_bytes = 20_000);
    let client = stage.open(Speaks::V1);
    client.read_all();
    while stage.hub.admits_entering(client.socket, 1) {
        assert_eq!(stage.send(&client, &[b'x'; 100]), 1);
    }
    let subscribe = "{\"t\":\"sub\",\"id\":1,\"c\":\"room:1\"}";
    ask(&client, subscribe);
    // runs only the connection's task: a turn would empty the inbox
    stage.drive(&client);
    stage.run();
    let told = headers(&client.got());
    let refused = told.iter().find(|header| header.contains("\"t\":\"err\""));
    assert!(
        refused.is_some_and(|header| header.contains("\"code\":\"failed\"")),
        "{refused:?}"
    );
    ask(&client, subscribe);
    stage.run();
    let told = headers(&client.got());
    let okay = told.iter().any(|header| header.contains("\"t\":\"ok\""));
    assert!(okay, "there is room again: {told:?}");
    stage.assert_nothing_left();
}

#[test]
fn what_a_policy_drops_is_told_as_a_gap_where_it_was() {
    for outbox_policy in [OutboxPolicy::DropOldest, OutboxPolicy::DropNewest] {
        let stage = stage(|limits| {
            limits.outbox_bytes = 4096;
            limits.outbox_policy = outbox_policy;
        });
        let actor = stage.open(Speaks::V1);
        enter(&stage, &actor, Start::Next);
        stage.run();
        let mut newest = 0;
        for round in 1..300_u32 {
            let texts = (0..round % 37)
                .map(|number| "x".repeat(usize::try_from(number * 31 % 400).expect("small")));
            let last: Vec<Position> = texts.map(|text| say(&stage, [text])).collect();
            newest = last.last().map_or(newest, |last| last.offset);
            stage.run();
            let charge = actor.connection.io.borrow().outbox.charge();
            assert!(charge < 3 * 4096, "{charge} bytes wait");
            let room = usize::try_from(round * 7919 % 3000).expect("small");
            actor.peer.borrow_mut().give_room(room);
            stage.run();
        }
        actor.read_all();
        stage.run();
        newest = newest.max(say(&stage, ["last".to_owned()]).offset);
        stage.run();
        let (next, gaps) = check(&actor);
        assert_eq!(next, newest + 1, "{outbox_policy:?}");
        assert!(gaps > 10, "{gaps} gaps");
        stage.assert_nothing_left();
    }
}

#[test]
fn what_was_told_of_dropped_messages_counts_only_until_it_is_written() {
    for outbox_policy in [OutboxPolicy::DropOldest, OutboxPolicy::DropNewest] {
        let stage = stage(|limits| {
            limits.outbox_bytes = 4096;
            limits.outbox_policy = outbox_policy;
        });
        let actor = stage.open(Speaks::V1);
        enter(&stage, &actor, Start::Next);
        stage.run();
        for _ in 0..3 {
            for number in 0..100 {
                say(&stage, [format!("{number} {}", "x".repeat(200))]);
                stage.run();
            }
            let dropped = stage.hub.stats().traffic.dropped_by_overflow;
            assert!(dropped > 50, "{dropped} were dropped");
            let room = actor.connection.io.borrow().outbox.unwritten();
            actor.peer.borrow_mut().give_room(room);
            stage.run();
            assert!(actor.connection.io.borrow().outbox.is_empty());
            assert_eq!(stage.hub.ledgers().held(), 0, "{outbox_policy:?}");
            assert!(String::from_utf8_lossy(&actor.got()).contains("\"t\":\"gap\""));
        }
        let lost = |io: &crate::socket::connection::Io| {
            let extra = io.extra.as_deref();
            extra.is_some_and(|extra| extra.lost.is_some())
        };
        assert!(!lost(&actor.connection.io.borrow()));
        stage.assert_nothing_left();
    }
}

#[test]
fn a_message_to_a_virtual_socket_has_its_mark_in_the_header() {
    let stage = stage(|_| {});
    let actors = [Speaks::V1, Speaks::WebSocket].map(|speaks| stage.open(speaks));
    let mut got = Vec::new();
    for actor in &actors {
        actor.read_all();
        let mut dirty = ShardSet::default();
        let annotation = Some(Annotation::UserData(5));
        let alias = stage.hub.core().create_virtual(actor.socket, annotation);
        for text in ["{\"a\":1}", &"x".repeat(5000)] {
            let who = [Target::Socket(alias)];
            stage
                .hub
                .send(&who, Kind::Text, text.as_bytes(), &[], &mut dirty);
        }
        stage.hub.wake(&mut dirty);
        stage.run();
        got.push(actor.got());
    }
    let long = "x".repeat(5000);
    let expected = |actor: &Actor, texts: [&str; 2]| {
        let frames = texts.map(|text| {
            let mut frame = Vec::new();
            let payload = text.as_bytes();
            crate::frame::Encodings::append_lead(
                &crate::frame::Message {
                    kind: Kind::Text,
                    payload,
                    via: None,
                },
                &mut frame,
            );
            frame
        });
        assert!(actor.connection.io.borrow().outbox.is_empty());
        frames.concat()
    };
    let headed = format!("{{\"v\":5}}\n{long}");
    let own = expected(&actors[0], ["{\"v\":5}\n{\"a\":1}", &headed]);
    assert!(got[0].ends_with(&own), "{}", got[0].escape_ascii());
    // a text that is no object cannot be marked
    let raw = expected(&actors[1], ["{\"_vsud\":5,\"a\":1}", &long]);
    assert_eq!(got[1], raw);
}
