//! Subscribers that read the past: slow ones, long messages, and many at once.

use std::rc::Rc;

use millrace_core::{Kind, ShardSet, Start, Target};

use super::history::{enter, frames, numbers, say, stage};
use super::v1;
use crate::limits::ENTRY_CHARGE;
use crate::shard::stage::{Actor, Speaks, Stage};

/// Ten megabytes for a connection whose outbox may hold 64 KiB.
#[test]
fn a_slow_reader_gets_a_long_past_without_being_closed() {
    let stage = stage(10_000, |limits| {
        limits.outbox_bytes = 64 * 1024;
        limits.outbox_read_pause_bytes = 32 * 1024;
    });
    let text = |number: u32| format!("{number} {}", "x".repeat(10_000));
    say(&stage, (1..=1000).map(text));
    let actor = stage.open(Speaks::WebSocket);
    enter(&stage, &actor, Start::Last(1000));
    stage.run();
    let mut got = Vec::new();
    let mut rounds = 0;
    let expected = frames(&stage, &actor, (1..=1010).map(text));
    while got.len() < expected.len() {
        let charge = actor.connection.io.borrow().outbox.charge();
        assert!(charge <= 64 * 1024, "{charge} bytes wait");
        if rounds % 50 == 0 && rounds < 500 {
            say(&stage, [text(1001 + rounds / 50)]);
        }
        actor.peer.borrow_mut().give_room(20_000);
        stage.run();
        got.extend(actor.got());
        rounds += 1;
        assert!(rounds < 2000, "it goes on");
    }
    assert!(got == expected, "everything came in order");
    assert!(rounds > 400);
    stage.assert_nothing_left();
}

#[test]
fn messages_that_no_outbox_could_hold_reach_a_slow_reader() {
    let stage = stage(100, |limits| {
        limits.outbox_bytes = 64 * 1024;
        limits.outbox_read_pause_bytes = 64 * 1024;
    });
    let lengths = [10, 150_000, 10, 60_000, 60_000, 20_000, 40_000, 70_000, 1];
    let text = |number: u32| {
        let place = usize::try_from(number).unwrap() % lengths.len();
        format!("{number} {}", "x".repeat(lengths[place]))
    };
    say(&stage, (1..=45).map(text));
    for speaks in [Speaks::WebSocket, Speaks::Tcp] {
        let actor = stage.open(speaks);
        enter(&stage, &actor, Start::Last(100));
        let expected = frames(&stage, &actor, (1..=45).map(text));
        let mut got = Vec::new();
        for _ in 0..1000 {
            stage.run();
            got.extend(actor.got());
            actor.peer.borrow_mut().give_room(5_000);
        }
        assert!(got == expected, "{speaks:?} got {} bytes", got.len());
        assert!(actor.is_open());
    }
}

#[test]
fn a_gap_in_front_of_a_long_message_does_not_close_a_slow_reader() {
    let stage = stage(1, |limits| {
        limits.outbox_bytes = 4096;
        limits.outbox_read_pause_bytes = 4096;
    });
    let text = |number: u32| format!("{number} {}", "x".repeat(10_000));
    let actor = stage.open(Speaks::V1);
    say(&stage, [text(1)]);
    enter(&stage, &actor, Start::Last(1));
    say(&stage, [text(2)]);
    stage.run();
    let mut got = Vec::new();
    for _ in 0..100 {
        actor.peer.borrow_mut().give_room(500);
        stage.run();
        got.extend(actor.got());
    }
    let got = String::from_utf8_lossy(&got);
    let gap = got.find("\"gap\"").expect("it is told");
    assert!(got.contains("\"o\":2") && got.find("2 xxx") > Some(gap));
    assert!(actor.is_open());
}

#[test]
fn short_messages_of_many_readers_are_spread_over_turns() {
    let stage = stage(100, |_| {});
    say(&stage, numbers(1..=100));
    let actors: Vec<_> = (0..400).map(|_| stage.open(Speaks::WebSocket)).collect();
    for actor in &actors {
        actor.read_all();
        enter(&stage, actor, Start::Last(100));
    }
    stage.turn();
    let behind = stage.shard.behind();
    assert!((1..400).contains(&behind), "{behind} are behind");
    stage.run();
    assert_eq!(stage.shard.behind(), 0);
    assert!(stage.shard.held_of_past() > 0, "for others who come soon");
    stage.pass(2200);
    assert_eq!(stage.shard.held_of_past(), 0);
    let expected = frames(&stage, &actors[0], numbers(1..=100));
    assert!(actors.iter().all(|actor| actor.got() == expected));
}

/// A message of 1,000 bytes that sockets have missed.
fn missed(number: u32) -> String {
    format!("{number:>4} {}", "x".repeat(995))
}

/// Has 1,000 connections come back to 100 messages, all in this way, at once or `one_by_one`, and checks that together they
/// hold one frame per message, what outboxes are charged for entries, and so many bytes of their own each. Then all of them
/// read. With `MILLRACE_TEST_HISTORY=full` there are 10,000 of them.
fn come_back(
    stage: &Stage,
    (speaks, own): (Speaks, usize),
    one_by_one: bool,
    back: impl Fn(&Actor),
) -> Vec<Rc<Actor>> {
    let full = std::env::var_os("MILLRACE_TEST_HISTORY").is_some_and(|how| how == "full");
    let count = if full { 10_000 } else { 1_000 };
    let before = stage.hub.ledgers().held();
    let actors: Vec<_> = (0..count).map(|_| stage.open(speaks)).collect();
    for (number, actor) in actors.iter().enumerate() {
        back(actor);
        if one_by_one {
            stage.run();
            assert_eq!(stage.shard.behind(), 0);
        }
        // so long that nothing is held for nobody
        if one_by_one && number % (count / 4) == 0 {
            stage.pass(2200);
        }
    }
    stage.run();
    assert_eq!(stage.shard.behind(), 0);
    let held = stage.hub.ledgers().held() - before;
    let once = 100 * 1100;
    let each = 100 * ENTRY_CHARGE + own;
    assert!(held >= 99 * 1000, "{held} bytes wait");
    assert!(
        held <= once + count * each,
        "{held} bytes wait for all of them"
    );
    assert!(held <= stage.shard.limits.outboxes_total_bytes);
    for actor in &actors {
        actor.read_all();
    }
    stage.run();
    assert!(actors.iter().all(|actor| actor.is_open()));
    actors
}

#[test]
fn sockets_that_come_back_at_once_share_one_frame_per_message() {
    let stage = stage(100, |limits| limits.outboxes_total_bytes = usize::MAX);
    say(&stage, (1..=100).map(missed));
    let actors = come_back(&stage, (Speaks::WebSocket, 0), false, |actor| {
        enter(&stage, actor, Start::Last(100));
    });
    let expected = frames(&stage, &actors[0], (1..=100).map(missed));
    for actor in &actors {
        assert!(actor.got() == expected);
    }
    stage.assert_nothing_left();
}

/// The texts that a client has received, each of less than 64 KiB.
fn texts(mut got: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    while let [0x81, length, rest @ ..] = got {
        let (length, rest) = match (length, rest) {
            (126, [high, low, rest @ ..]) => (u16::from_be_bytes([*high, *low]), rest),
            _ => (u16::from(*length), rest),
        };
        let (text, behind) = rest.split_at(length.into());
        texts.push(String::from_utf8_lossy(text).into_owned());
        got = behind;
    }
    assert!(got.is_empty(), "{}", got.escape_ascii());
    texts
}

#[test]
fn sockets_that_come_back_with_a_position_recover_within_the_limit() {
    for one_by_one in [false, true] {
        let stage = v1::stage(|_| {});
        let seen = say(&stage, [missed(1)]);
        say(&stage, (2..=101).map(missed));
        let epoch = seen.epoch;
        let since = format!("\"since\":{{\"e\":\"{epoch}\",\"o\":{}}}", seen.offset);
        let subscribe = format!("{{\"t\":\"sub\",\"id\":1,\"c\":\"room:1\",{since}}}");
        let place = format!("\"e\":\"{epoch}\",\"o\":101");
        let answer = format!("{{\"t\":\"ok\",\"id\":1,{place},\"recovered\":true}}");
        // the answer in its frame
        let own = ENTRY_CHARGE + 2 + answer.len();
        let actors = come_back(&stage, (Speaks::V1, own), one_by_one, |actor| {
            v1::ask(actor, &subscribe);
        });
        let got = actors[0].got();
        let texts = texts(&got);
        assert_eq!((&texts[0], texts.len()), (&answer, 101));
        for (text, number) in texts[1..].iter().zip(2..) {
            let head = format!("{{\"c\":\"room:1\",\"o\":{number},\"ts\":");
            let payload = text.split_once("}\n").map(|(_, payload)| payload);
            assert!(text.starts_with(&head), "{text}");
            assert_eq!(payload, Some(missed(number).as_str()));
        }
        assert!(actors[1..].iter().all(|actor| actor.got() == got));
        assert_eq!(stage.hub.stats().traffic.overflow_closes, 0);
        stage.assert_nothing_left();
        assert_eq!(stage.shard.held_of_past(), 0);
    }
}

/// More messages than are held for nobody.
#[test]
fn readers_of_many_channels_share_frames_that_wait() {
    let stage = v1::stage(|_| {});
    let mut dirty = ShardSet::default();
    let names: Vec<_> = (0..60).map(|number| format!("room:{number}")).collect();
    for name in &names {
        for number in 1..=100 {
            let payload = missed(number);
            let target = [Target::Channel(name.as_bytes())];
            stage
                .hub
                .send(&target, Kind::Text, payload.as_bytes(), &[], &mut dirty);
        }
    }
    let before = stage.hub.ledgers().held();
    let mut held = Vec::new();
    let mut actors = Vec::new();
    for _ in 0..3 {
        for name in &names {
            let actor = stage.open(Speaks::V1);
            let subscribe = format!("{{\"t\":\"sub\",\"id\":1,\"c\":\"{name}\",\"last\":100}}");
            v1::ask(&actor, &subscribe);
            stage.run();
            actors.push(actor);
        }
        held.push(stage.hub.ledgers().held() - before);
    }
    assert!(held[0] > 60 * 100 * 1000, "{held:?}");
    let entries = 60 * 101 * (ENTRY_CHARGE + 2);
    assert!(held[2] - held[0] < 2 * (entries + 60 * 100), "{held:?}");
    assert!(actors.iter().all(|actor| actor.is_open()));
    for actor in &actors {
        actor.read_all();
    }
    stage.run();
    for (actor, name) in actors.iter().zip(names.iter().cycle()) {
        let texts = texts(&actor.got());
        assert!(texts.len() == 101 && texts[100].contains(name), "{name}");
    }
    stage.pass(2200);
    assert_eq!(stage.shard.held_of_past(), 0);
    stage.assert_nothing_left();
}

#[test]
fn frames_that_all_have_read_are_let_go_of_although_clients_keep_coming() {
    let stage = v1::stage(|_| {});
    say(&stage, (1..=100).map(missed));
    let before = stage.hub.ledgers().held();
    let come = |last: u32| {
        let actor = stage.open(Speaks::V1);
        let last = format!("\"last\":{last}");
        let subscribe = format!("{{\"t\":\"sub\",\"id\":1,\"c\":\"room:1\",{last}}}");
        v1::ask(&actor, &subscribe);
        stage.run();
        actor
    };
    let first = come(100);
    stage.pass(2500);
    assert!(stage.shard.held_of_past() == 100, "it does not read");
    first.read_all();
    let mut least = usize::MAX;
    for number in 0..6 {
        // at no time does nobody come for a second
        stage.pass(700);
        least = least.min(stage.shard.held_of_past());
        come(number % 2).read_all();
        stage.run();
    }
    assert!(least < 2, "{least}");
    stage.pass(2500);
    assert_eq!(
        (stage.shard.held_of_past(), stage.hub.ledgers().held()),
        (0, before)
    );
    stage.assert_nothing_left();
}
