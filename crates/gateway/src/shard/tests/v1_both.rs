//! Clients of `millrace.v1` with a subscription of their own and one of the application.

use std::rc::Rc;

use millrace_core::{ShardSet, Start, Target};

use super::history::{enter, say};
use super::v1::{SUBSCRIBE, around_answer, ask, field, headers, stage};
use crate::shard::stage::{Actor, Speaks, Stage};

fn long(number: u32) -> String {
    format!("{number} {}", "x".repeat(1000))
}

/// A client that gets messages 2 to 100 by a subscription of the application, as soon as it reads.
fn reading_for_the_application() -> (Stage, Rc<Actor>) {
    let stage = stage(|limits| limits.outbox_read_pause_bytes = 16 * 1024);
    let actor = stage.open(Speaks::V1);
    let first = say(&stage, [long(1)]);
    say(&stage, (2..=100).map(long));
    enter(&stage, &actor, Start::Since(first));
    stage.run();
    (stage, actor)
}

#[test]
fn an_answer_tells_how_much_of_the_past_the_application_has_on_its_way() {
    let (stage, actor) = reading_for_the_application();
    ask(&actor, SUBSCRIBE);
    stage.run();
    actor.read_all();
    stage.run();
    let (before, answer, behind) = around_answer(&actor);
    let all: Vec<_> = before.iter().chain(&behind).copied().collect();
    assert_eq!(all, (2..=100).collect::<Vec<_>>());
    let left = u64::try_from(behind.len()).unwrap();
    assert!(left > 50 && !before.is_empty(), "{left}");
    assert_eq!(
        (field(&answer, "o"), field(&answer, "last")),
        (Some(100), Some(left))
    );
    stage.assert_nothing_left();
}

#[test]
fn a_client_that_begins_anew_is_told_nothing_of_what_the_application_had_on_its_way() {
    let (stage, actor) = reading_for_the_application();
    ask(
        &actor,
        "{\"t\":\"sub\",\"id\":1,\"c\":\"room:1\",\"last\":0}",
    );
    stage.run();
    actor.read_all();
    stage.run();
    say(&stage, (101..=101).map(long));
    stage.run();
    let (before, answer, behind) = around_answer(&actor);
    assert!(before.len() < 50, "{}", before.len());
    assert_eq!(behind, [101]);
    assert_eq!(
        (field(&answer, "o"), field(&answer, "last")),
        (Some(100), None)
    );
}

/// What a client has been told of the channel since the last look: offsets of messages, and where subscriptions begin.
fn told(actor: &Actor, epoch: &str) -> String {
    let headers = headers(&actor.got());
    let each = headers.iter().filter_map(|header| {
        let offset = field(header, "o")?;
        let is_sub = header.contains("\"t\":\"sub\",\"c\":\"room:1\"");
        assert!(!is_sub || header.contains(epoch), "{header}");
        Some(format!("{}{offset}", if is_sub { "sub " } else { "" }))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The application subscribes a socket at a position.
fn subscribe_at(stage: &Stage, actor: &Actor, start: Start) {
    let mut dirty = ShardSet::default();
    let who = [Target::Socket(actor.socket)];
    let entered = stage.hub.subscribe_at(&who, b"room:1", start, &mut dirty);
    assert_eq!(entered.map(|all| all.len()), Ok(1));
    stage.hub.wake(&mut dirty);
}

#[test]
fn a_client_is_told_first_behind_which_message_the_application_subscribes_it() {
    let stage = stage(|_| {});
    let first = say(&stage, ["1".to_owned()]);
    say(&stage, (2..=3).map(|number| number.to_string()));
    let epoch = first.epoch.to_string();
    let actors = [(); 2].map(|()| stage.open(Speaks::V1));
    for actor in &actors {
        actor.read_all();
    }
    stage.subscribe(&actors[0], b"room:1", 1);
    subscribe_at(&stage, &actors[1], Start::Since(first));
    say(&stage, ["4".to_owned()]);
    stage.run();
    assert_eq!(told(&actors[0], &epoch), "sub 3, 4");
    assert_eq!(told(&actors[1], &epoch), "sub 1, 2, 3, 4");
    // one more subscription of the application is nothing new, unless it begins anew
    stage.subscribe(&actors[0], b"room:1", 1);
    subscribe_at(&stage, &actors[0], Start::Next);
    stage.run();
    assert_eq!(told(&actors[0], &epoch), "");
    subscribe_at(&stage, &actors[0], Start::Last(2));
    stage.run();
    assert_eq!(told(&actors[0], &epoch), "sub 2, 3, 4");
    stage.assert_nothing_left();
}

#[test]
fn a_client_with_a_subscription_of_its_own_is_told_when_the_application_subscribes_it_too() {
    let stage = stage(|_| {});
    let epoch = say(&stage, (1..=3).map(|number| number.to_string())).epoch;
    let epoch = epoch.to_string();
    let actor = stage.open(Speaks::V1);
    actor.read_all();
    for round in 0..2 {
        let base = 3 + 3 * round;
        ask(&actor, SUBSCRIBE);
        stage.run();
        assert!(told(&actor, &epoch).ends_with(&format!("{base}")));
        if round == 0 {
            stage.subscribe(&actor, b"room:1", 2);
        } else {
            subscribe_at(&stage, &actor, Start::Next);
        }
        say(&stage, [(base + 1).to_string()]);
        ask(&actor, UNSUBSCRIBE);
        stage.run();
        say(&stage, [(base + 2).to_string()]);
        stage.subscribe(&actor, b"room:1", 1);
        stage.run();
        assert_eq!(
            told(&actor, &epoch),
            format!("sub {base}, {}, {}", base + 1, base + 2)
        );
        stage.subscribe(&actor, b"room:1", -10);
        say(&stage, [(base + 3).to_string()]);
        stage.run();
        assert_eq!(told(&actor, &epoch), "");
    }
    stage.assert_nothing_left();
}

#[test]
fn without_history_it_is_told_so_as_well() {
    let stage = stage(|_| {});
    let actor = stage.open(Speaks::V1);
    actor.read_all();
    let subs = || {
        let headers = headers(&actor.got());
        let subs = headers.iter().filter(|one| one.contains("\"t\":\"sub\""));
        subs.cloned().collect::<Vec<_>>()
    };
    ask(&actor, &SUBSCRIBE.replace("room:1", "plain"));
    stage.run();
    assert_eq!(subs(), <[&str; 0]>::default());
    for _ in 0..2 {
        stage.subscribe(&actor, b"plain", 1);
        stage.subscribe(&actor, b"plain", 1);
        stage.run();
        assert_eq!(subs(), ["{\"t\":\"sub\",\"c\":\"plain\""]);
        stage.subscribe(&actor, b"plain", -2);
    }
    stage.assert_nothing_left();
}

#[test]
fn a_client_that_reads_the_past_is_told_of_the_application_behind_which_message_it_is() {
    let stage = stage(|limits| limits.outbox_read_pause_bytes = 16 * 1024);
    let actor = stage.open(Speaks::V1);
    let epoch = say(&stage, (1..=100).map(long)).epoch.to_string();
    ask(&actor, &SUBSCRIBE.replace("\"c\"", "\"last\":99,\"c\""));
    stage.run();
    stage.subscribe(&actor, b"room:1", 1);
    stage.run();
    actor.read_all();
    stage.run();
    let told = told(&actor, &epoch);
    let (before, behind) = told.split_once(", sub ").expect("it is told");
    let last = before.rsplit(", ").next();
    let mut behind = behind.split(", ");
    assert_eq!(behind.next(), last);
    let first = behind.next().and_then(|first| first.parse().ok());
    assert_eq!(
        first,
        last.and_then(|last| last.parse::<u64>().ok())
            .map(|last| last + 1)
    );
    assert!(told.ends_with(", 100"), "{told}");
    stage.assert_nothing_left();
}

const UNSUBSCRIBE: &str = "{\"t\":\"unsub\",\"id\":2,\"c\":\"room:1\"}";
