//! What the recipients of a channel are told when a full inbox has refused messages.

use millrace_core::Start;

use super::history::{enter, frames, noting, numbers, say, stage};
use crate::inbox::Mail;
use crate::shard::stage::{Speaks, Stage};

/// Publishes this many short messages, of which a full inbox takes only the first.
fn fill(stage: &Stage, count: u32) -> u64 {
    let position = say(stage, numbers(1..=count));
    assert!(
        stage.hub.inboxes().posted().refused > 0,
        "the inbox is full"
    );
    position.offset
}

#[test]
fn gaps_do_not_add_up_in_a_full_inbox() {
    let stage = stage(10, |limits| limits.shard_inbox_bytes = 4096);
    let actor = stage.open(Speaks::WebSocket);
    enter(&stage, &actor, Start::Next);
    stage.run();
    fill(&stage, 10_000);
    for _ in 0..1000 {
        stage.hub.expire_history();
    }
    let mut mail = Mail::default();
    stage.hub.inboxes().take(stage.shard.index, &mut mail);
    let commands = mail.commands.len();
    assert!((1..50).contains(&commands), "{commands} commands wait");
}

#[test]
fn a_gap_comes_with_the_next_message_or_within_a_second() {
    let stage = stage(10, |limits| limits.shard_inbox_bytes = 4096);
    let (actor, notes) = noting(&stage);
    actor.read_all();
    enter(&stage, &actor, Start::Next);
    stage.run();
    notes.take();
    let last = fill(&stage, 100);
    stage.run();
    assert_eq!(notes.take(), [""; 0]);
    say(&stage, numbers(101..=101));
    stage.run();
    assert_eq!(notes.take(), [format!("room:1: gap to {last}")]);
    assert!(
        actor
            .got()
            .ends_with(&frames(&stage, &actor, numbers(101..=101)))
    );
    let last = fill(&stage, 100);
    stage.hub.expire_history();
    stage.run();
    assert_eq!(notes.take(), [""; 0], "the inbox is still full");
    stage.hub.expire_history();
    stage.run();
    assert_eq!(notes.take(), [format!("room:1: gap to {last}")]);
}

#[test]
fn who_comes_behind_a_gap_is_not_told_of_it() {
    for start in [None, Some(Start::Next), Some(Start::Last(3))] {
        let stage = stage(10, |limits| limits.shard_inbox_bytes = 4096);
        let (before, told) = noting(&stage);
        enter(&stage, &before, Start::Next);
        let (newcomer, notes) = noting(&stage);
        stage.run();
        told.take();
        let last = fill(&stage, 100);
        stage.run();
        match start {
            None => stage.subscribe(&newcomer, b"room:1", 1),
            Some(start) => {
                enter(&stage, &newcomer, start);
            }
        }
        stage.run();
        notes.take();
        say(&stage, numbers(101..=101));
        stage.hub.expire_history();
        stage.run();
        assert_eq!(notes.take(), [""; 0]);
        assert_eq!(told.take(), [format!("room:1: gap to {last}")]);
    }
}
