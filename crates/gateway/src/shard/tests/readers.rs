//! Subscribers that read the past: slow ones, long messages, and many at once.

use millrace_core::Start;

use super::history::{enter, frames, numbers, say, stage};
use crate::shard::stage::Speaks;

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
    assert_eq!((stage.shard.behind(), stage.shard.held_of_past()), (0, 0));
    let expected = frames(&stage, &actors[0], numbers(1..=100));
    assert!(actors.iter().all(|actor| actor.got() == expected));
}

/// With `MILLRACE_TEST_HISTORY=full` there are 10,000 of them.
#[test]
fn sockets_that_come_back_at_once_share_one_frame_per_message() {
    let full = std::env::var_os("MILLRACE_TEST_HISTORY").is_some_and(|how| how == "full");
    let count = if full { 10_000 } else { 1_000 };
    let stage = stage(100, |limits| limits.outboxes_total_bytes = usize::MAX);
    let text = |number: u32| format!("{number} {}", "x".repeat(1000));
    say(&stage, (1..=100).map(text));
    let before = stage.hub.ledgers().held();
    let actors: Vec<_> = (0..count).map(|_| stage.open(Speaks::WebSocket)).collect();
    for actor in &actors {
        enter(&stage, actor, Start::Last(100));
    }
    stage.run();
    assert_eq!(stage.shard.behind(), 0);
    let held = stage.hub.ledgers().held() - before;
    let once = 100 * 1100;
    let entries = count * 100 * crate::limits::ENTRY_CHARGE;
    assert!(held >= 99 * 1000, "{held} bytes wait");
    assert!(held <= once + entries, "{held} bytes wait for all of them");
    for actor in &actors {
        actor.read_all();
    }
    stage.run();
    let expected = frames(&stage, &actors[0], (1..=100).map(text));
    for actor in &actors {
        assert!(actor.got() == expected);
    }
    stage.assert_nothing_left();
}
