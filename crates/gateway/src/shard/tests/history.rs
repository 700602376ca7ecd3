//! Connections that enter a channel with history: what they get of the past, in which order, and how much of it waits in
//! their outboxes.

use std::cell::RefCell;
use std::rc::Rc;

use millrace_core::{Entered, Entering, Entrance, HistoryTerms, Manner, Pattern, Position, Start};
use millrace_core::{Kind, ShardSet, SocketId, Target};

use crate::close::CloseReason;
use crate::config::{ChannelTerms, ClientTerms};
use crate::limits::GatewayLimits;
use crate::shard::stage::{Actor, Speaks, Stage};
use crate::socket::{Context, Session, Taken, Traits, Wake};

/// A stage on which channels with these names keep so many messages.
pub(super) fn stage(messages: u32, limits: impl FnOnce(&mut GatewayLimits)) -> Stage {
    stage_with(messages, ClientTerms::default(), limits)
}

/// The same with channels in which clients may do this.
pub(super) fn stage_with(
    messages: u32,
    clients: ClientTerms,
    limits: impl FnOnce(&mut GatewayLimits),
) -> Stage {
    let stage = Stage::new(limits);
    stage
        .hub
        .set_channel_terms(&[terms(messages, clients)], &stage.shard.limits);
    stage
}

pub(super) fn terms(messages: u32, clients: ClientTerms) -> ChannelTerms {
    ChannelTerms {
        pattern: Pattern::new(b"room:*").unwrap(),
        text: b"room:*"[..].into(),
        compress: true,
        presence: false,
        clients,
        history: Some(HistoryTerms {
            messages,
            age_ms: 60_000,
        }),
    }
}

#[test]
fn a_start_with_other_terms_begins_anew() {
    let stage = stage(10, |_| {});
    let first = say(&stage, numbers(1..=5));
    let limits = &stage.shard.limits;
    let kept = || {
        let past = stage.hub.history(b"room:1", (Start::Last(100), false), 100);
        past.map(|past| (past.position, past.messages.len()))
    };
    let own = ClientTerms::default();
    stage.hub.set_channel_terms(&[terms(10, own)], limits);
    assert_eq!(kept(), Some((first, 5)));
    stage.hub.set_channel_terms(&[terms(2, own)], limits);
    let (position, count) = kept().unwrap();
    assert_eq!((position.offset, count), (0, 0));
    assert_ne!(position.epoch, first.epoch);
    assert_eq!(stage.hub.core().history_size(), (0, 0));
    say(&stage, numbers(1..=5));
    assert_eq!(kept().map(|kept| kept.1), Some(2));
    stage.hub.set_channel_terms(&[], limits);
    assert_eq!((kept(), stage.hub.core().history_size()), (None, (0, 0)));
}

/// Publishes texts, and returns the position of the last one.
pub(super) fn say(stage: &Stage, texts: impl IntoIterator<Item = String>) -> Position {
    let mut dirty = ShardSet::default();
    let publish = |text: String| {
        let message = (Kind::Text, text.as_bytes());
        let manner = Manner::default();
        let published = stage.hub.publish(b"room:1", message, &manner, &mut dirty);
        published.position.expect("the channel has history")
    };
    let position = texts.into_iter().map(publish).last();
    stage.hub.wake(&mut dirty);
    position.expect("there is a text")
}

pub(super) fn enter(stage: &Stage, actor: &Actor, start: Start) -> Entered {
    let mut dirty = ShardSet::default();
    let entrance = Entrance {
        start,
        known: None,
        references: 1,
        own: false,
        tag: 7,
    };
    let id = actor.socket;
    let entered = stage.hub.enter_at(id, b"room:1", entrance, 100, &mut dirty);
    stage.hub.wake(&mut dirty);
    entered.expect("the socket is open")
}

pub(super) fn frames(
    stage: &Stage,
    actor: &Actor,
    texts: impl IntoIterator<Item = String>,
) -> Vec<u8> {
    let texts = texts.into_iter();
    let frames = texts.map(|text| stage.frame(actor, Some(b"room:1"), text.as_bytes()));
    frames.collect::<Vec<_>>().concat()
}

pub(super) fn numbers(range: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = String> {
    range.map(|number| number.to_string())
}

#[test]
fn a_subscriber_gets_what_it_missed_and_then_what_is_published() {
    for speaks in [
        Speaks::WebSocket,
        Speaks::Deflated,
        Speaks::Tcp,
        Speaks::Resp,
    ] {
        let stage = stage(100, |_| {});
        let position = say(&stage, numbers(1..=3));
        say(&stage, numbers(4..=9));
        let actor = stage.open(speaks);
        actor.read_all();
        let entered = enter(&stage, &actor, Start::Since(position));
        assert_eq!(entered.recovered, Some(true));
        assert_eq!(entered.position.map(|position| position.offset), Some(9));
        // published while the subscriber is behind
        say(&stage, numbers(10..=11));
        stage.run();
        say(&stage, numbers(12..=13));
        stage.run();
        assert_eq!(
            actor.got(),
            frames(&stage, &actor, numbers(4..=13)),
            "{speaks:?}"
        );
        stage.assert_nothing_left();
    }
}

#[test]
fn a_position_that_is_gone_is_told_and_the_subscription_stands() {
    let stage = stage(3, |_| {});
    let position = say(&stage, numbers(1..=1));
    say(&stage, numbers(2..=9));
    let actor = stage.open(Speaks::WebSocket);
    actor.read_all();
    assert_eq!(
        enter(&stage, &actor, Start::Since(position)).recovered,
        Some(false)
    );
    stage.run();
    assert_eq!(actor.got(), b"");
    say(&stage, numbers(10..=10));
    stage.run();
    assert_eq!(actor.got(), frames(&stage, &actor, numbers(10..=10)));
    // the last three of those that are kept, for a newcomer
    let other = stage.open(Speaks::WebSocket);
    other.read_all();
    assert_eq!(enter(&stage, &other, Start::Last(2)).recovered, None);
    stage.run();
    assert_eq!(other.got(), frames(&stage, &other, numbers(9..=10)));
}

/// A WebSocket session that notes what it is told about channels.
struct Noting {
    inner: Box<dyn Session>,
    notes: Rc<RefCell<Vec<String>>>,
}

impl Session for Noting {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn append_opening(&mut self, socket: SocketId, out: &mut Vec<u8>) {
        self.inner.append_opening(socket, out);
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        self.inner.input(bytes, cx)
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let note = match &why {
            Wake::Entered(name, entering) => Some(note(name.as_bytes(), entering)),
            Wake::Gap(name, last) => {
                let name = name.as_bytes().escape_ascii();
                Some(format!("{name}: gap to {}", last.offset))
            }
            _ => None,
        };
        self.notes.borrow_mut().extend(note);
        self.inner.wake(why, cx)
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        self.inner.append_close(reason, out);
    }
}

fn note(name: &[u8], entering: &Entering) -> String {
    let name = name.escape_ascii();
    let offset = entering.entered.position.map(|position| position.offset);
    format!("{name} at {offset:?}, tag {}", entering.tag)
}

/// A connection, and what its session is told.
pub(super) fn noting(stage: &Stage) -> (Rc<Actor>, Rc<RefCell<Vec<String>>>) {
    let notes = Rc::<RefCell<Vec<String>>>::default();
    let actor = stage.open_with(Speaks::WebSocket, |id: SocketId| {
        Box::new(Noting {
            inner: stage.session(Speaks::WebSocket, id),
            notes: Rc::clone(&notes),
        })
    });
    (actor, notes)
}

#[test]
fn a_session_is_told_where_it_enters_and_of_each_gap() {
    let stage = stage(10, |limits| {
        limits.outbox_bytes = 64 * 1024;
        limits.outbox_read_pause_bytes = 32 * 1024;
    });
    let text = |number: u32| format!("{number} {}", "x".repeat(20_000));
    say(&stage, (1..=10).map(text));
    let (actor, notes) = noting(&stage);
    enter(&stage, &actor, Start::Last(10));
    stage.run();
    assert_eq!(notes.take(), ["room:1 at Some(10), tag 7"]);
    // while it does not read, all that it has not been given goes
    say(&stage, (11..=30).map(text));
    stage.run();
    assert_eq!(notes.take(), [""; 0]);
    actor.read_all();
    stage.run();
    let got = actor.got();
    let told = notes.take();
    assert_eq!(told, ["room:1: gap to 20"]);
    let first = frames(&stage, &actor, (1..=1).map(text)).len();
    let rest = frames(&stage, &actor, (21..=30).map(text));
    assert!(got.ends_with(&rest));
    let before = (got.len() - rest.len()) / first;
    assert!(
        (1..10).contains(&before),
        "{before} were given before the gap"
    );
    // a channel without history has no position
    let mut dirty = ShardSet::default();
    let entrance = Entrance {
        start: Start::Next,
        known: None,
        references: 1,
        own: false,
        tag: 0,
    };
    let entered = stage
        .hub
        .enter_at(actor.socket, b"hall", entrance, 100, &mut dirty);
    assert_eq!(entered.unwrap().position, None);
    stage.hub.wake(&mut dirty);
    stage.run();
    assert_eq!(notes.take(), ["hall at None, tag 0"]);
}

#[test]
fn a_message_in_several_channels_is_numbered_in_each() {
    let stage = stage(10, |_| {});
    let mut dirty = ShardSet::default();
    let all = [b"room:1", b"room:1", b"room:2"].map(|name| Target::Channel(name));
    let send = |payload: &[u8], dirty: &mut ShardSet| {
        stage.hub.send(&all, Kind::Text, payload, &[], dirty);
        let bytes = [&[0; crate::HEAD_ROOM], payload].concat();
        stage.hub.send_in_place(&all, Kind::Text, bytes, &[], dirty);
    };
    send(b"short", &mut dirty);
    let long = "x".repeat(5000);
    send(long.as_bytes(), &mut dirty);
    stage.hub.wake(&mut dirty);
    for (name, count) in [(b"room:1", 8), (b"room:2", 4)] {
        let past = stage.hub.history(name, (Start::Last(100), false), 100);
        let past = past.expect("it has history");
        assert_eq!(past.position.offset, count);
        let texts = past
            .messages
            .iter()
            .map(|kept| kept.message.payload().len());
        let half = usize::try_from(count / 2).unwrap();
        let expected = [vec![5; half], vec![5000; half]].concat();
        assert_eq!(texts.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_closed_or_unsubscribed_reader_leaves_nothing() {
    let stage = stage(1000, |limits| limits.outbox_read_pause_bytes = 1024);
    let text = |number: u32| format!("{number} {}", "x".repeat(1000));
    say(&stage, (1..=500).map(text));
    let actors = [(); 2].map(|()| stage.open(Speaks::WebSocket));
    for actor in &actors {
        enter(&stage, actor, Start::Last(500));
    }
    stage.run();
    stage.subscribe(&actors[0], b"room:1", -1);
    stage.run();
    assert_eq!(stage.shard.behind(), 1);
    assert!(stage.shard.held_of_past() > 0);
    actors[1].peer.borrow_mut().vanish();
    actors[0].read_all();
    stage.run();
    stage.pass(2200);
    assert_eq!(stage.shard.held_of_past(), 0);
    stage.assert_nothing_left();
    assert_eq!(stage.shard.behind(), 0);
}
