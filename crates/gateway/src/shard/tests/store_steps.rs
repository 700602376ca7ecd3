//! Subscribers that begin in front of what this node keeps of a channel, with a store that the test plays.

use std::sync::Arc;

use bytes::Bytes;
use millrace_backplane::store::{
    Append, Appended, Done, Entry, History, Range, SharedHistory, StoreError, StoreStats,
    StoredPast,
};
use millrace_core::{Epoch, HistoryTerms, Kind, Position, ShardSet, Start};

use super::history::{enter, frames, noting, terms};
use crate::config::ClientTerms;
use crate::limits::GatewayLimits;
use crate::shard::stage::{Actor, Speaks, Stage};
use crate::sync::Mutex;

/// Keeps texts, and answers at once.
#[derive(Default)]
struct Script {
    texts: Mutex<Vec<(u64, String)>>,
    /// Why reading fails.
    error: Mutex<Option<StoreError>>,
    /// Where each page began that was asked for.
    asked: Mutex<Vec<u64>>,
}

impl History for Script {
    fn append(&self, _: Append, _: Done<Appended>) {}

    fn follow(&self, _: &[u8], _: HistoryTerms) {}

    fn forget(&self, _: &[u8]) {}

    fn read(&self, _: &[u8], _: HistoryTerms, range: Range, done: Done<StoredPast>) {
        self.asked.lock().push(range.after + 1);
        if let Some(error) = *self.error.lock() {
            return done(Err(error));
        }
        let texts = self.texts.lock();
        let newest = texts.last().map_or(0, |(offset, _)| *offset);
        let mut bytes = 0;
        let wanted = texts.iter().filter(|(offset, _)| *offset > range.after);
        let entries = wanted.take(range.most).map_while(|(offset, text)| {
            let is_enough = bytes >= range.most_bytes;
            bytes += text.len();
            (!is_enough).then(|| entry(*offset, text))
        });
        let entries = entries.collect();
        drop(texts);
        let position = at(newest);
        done(Ok(StoredPast { position, entries }));
    }

    fn stats(&self) -> StoreStats {
        let mut stats = StoreStats::default();
        stats.is_connected = true;
        stats
    }
}

fn at(offset: u64) -> Position {
    let epoch = Epoch::new(7);
    Position { epoch, offset }
}

fn entry(offset: u64, text: &str) -> Entry {
    Entry {
        offset,
        unix_ms: u64::MAX / 2,
        kind: Kind::Text,
        payload: Bytes::copy_from_slice(text.as_bytes()),
        from: None,
        mark: 0,
    }
}

/// A node that follows a channel with so many messages, of which it may keep none.
fn following(count: u64, text: impl Fn(u64) -> String) -> (Stage, Arc<Script>) {
    let stage = Stage::new(|limits: &mut GatewayLimits| {
        limits.outbox_bytes = 64 * 1024;
        limits.outbox_read_pause_bytes = 32 * 1024;
        limits.history_bytes = 1;
    });
    let store = Arc::new(Script::default());
    let terms = [terms(10_000, ClientTerms::default())];
    stage.hub.replicas().set(
        true,
        terms
            .iter()
            .map(|terms| (terms.pattern.clone(), terms.history))
            .collect(),
    );
    stage.hub.set_channel_terms(&terms, &stage.shard.limits);
    let shared: SharedHistory = Arc::<Script>::clone(&store);
    stage
        .hub
        .replicas()
        .connect(shared, Arc::downgrade(&stage.hub));
    *store.texts.lock() = (1..=count).map(|offset| (offset, text(offset))).collect();
    let mut dirty = ShardSet::default();
    assert!(
        stage
            .hub
            .replicas()
            .wanted(stage.hub.core().terms_of(b"room:1"), b"room:1", true)
    );
    let entries = vec![entry(count, &text(count))];
    let past = StoredPast {
        position: at(count),
        entries,
    };
    stage.hub.fill(b"room:1", past, &mut dirty);
    (stage, store)
}

/// Enters when it is known what the store has.
fn enter_back(stage: &Stage, actor: &Actor, start: Start) -> Option<bool> {
    let waits = stage.hub.session_waits((b"room:1", start), actor.socket, 1);
    assert!(!waits || !stage.hub.session_waits((b"room:1", start), actor.socket, 1));
    enter(stage, actor, start).recovered
}

fn short(offset: u64) -> String {
    offset.to_string()
}

#[test]
fn all_who_read_in_front_of_what_is_kept_share_the_pages() {
    let (stage, store) = following(5000, short);
    let actors = [(); 20].map(|()| stage.open(Speaks::WebSocket));
    for actor in &actors {
        actor.read_all();
        assert_eq!(enter_back(&stage, actor, Start::Since(at(100))), Some(true));
    }
    stage.run();
    let expected = frames(&stage, &actors[0], (101..=5000).map(short));
    for actor in &actors {
        assert!(actor.got() == expected);
    }
    // what was looked up, and three pages
    assert_eq!(*store.asked.lock(), [101, 101, 2149, 4197]);
    let mut dirty = ShardSet::default();
    stage.hub.apply(b"room:1", &entry(5001, "live"), &mut dirty);
    stage.hub.wake(&mut dirty);
    stage.run();
    for actor in &actors {
        assert!(actor.got().ends_with(b"\x81\x04live"));
    }
    assert_eq!(stage.shard.behind(), 0);
}

#[test]
fn a_reader_at_another_place_takes_what_another_page_had() {
    let (stage, store) = following(3000, short);
    let actors =
        [1, 0, 500, 1500, 2900, 400, 700].map(|since| (stage.open(Speaks::WebSocket), since));
    for (actor, since) in &actors {
        actor.read_all();
        let start = Start::Since(at(*since));
        assert_eq!(enter_back(&stage, actor, start), Some(true));
    }
    stage.run();
    for (actor, since) in &actors {
        assert!(actor.got() == frames(&stage, actor, (since + 1..=3000).map(short)));
    }
    // the first two look back; four pages are read at a time, and two find what they want in them
    assert_eq!(*store.asked.lock(), [2, 1, 2, 1, 501, 1501, 2901]);
}

#[test]
fn while_the_store_is_away_a_reader_waits_and_goes_on_later() {
    let long = |offset: u64| format!("{offset} {}", "x".repeat(10_000));
    let (stage, store) = following(600, long);
    let (actor, notes) = noting(&stage);
    assert_eq!(enter_back(&stage, &actor, Start::Since(at(0))), Some(true));
    for error in [StoreError::Away, StoreError::Unknown, StoreError::Full] {
        *store.error.lock() = Some(error);
        stage.run();
        stage.hub.expire_history();
    }
    actor.read_all();
    stage.run();
    assert_eq!(stage.shard.behind(), 1);
    *store.error.lock() = None;
    stage.run();
    assert_eq!(stage.shard.behind(), 1, "nothing was tried again");
    stage.hub.expire_history();
    stage.run();
    assert_eq!(stage.shard.behind(), 0);
    assert!(actor.got() == frames(&stage, &actor, (1..=600).map(long)));
    assert_eq!(notes.take(), ["room:1 at Some(600), tag 7"]);
}

#[test]
fn what_goes_in_the_store_while_it_is_read_is_a_gap() {
    let long = |offset: u64| format!("{offset} {}", "x".repeat(10_000));
    let (stage, store) = following(600, long);
    let (actor, notes) = noting(&stage);
    assert_eq!(enter_back(&stage, &actor, Start::Last(600)), None);
    stage.run();
    // a page has 256 KiB; the next one begins behind what is gone
    store.texts.lock().retain(|(offset, _)| *offset > 400);
    actor.read_all();
    stage.run();
    let told = notes.take();
    assert_eq!(told, ["room:1 at Some(600), tag 7", "room:1: gap to 400"]);
    let got = actor.got();
    let rest = frames(&stage, &actor, (401..=600).map(long));
    assert!(got.ends_with(&rest));
    let first = frames(&stage, &actor, (1..=27).map(long));
    assert!(got.len() == first.len() + rest.len() && got.starts_with(&first));
    assert_eq!(stage.shard.behind(), 0);
}

#[test]
fn what_the_store_refuses_to_read_is_given_up_in_the_end() {
    let (stage, store) = following(600, short);
    let (actor, notes) = noting(&stage);
    actor.read_all();
    assert_eq!(enter_back(&stage, &actor, Start::Since(at(10))), Some(true));
    *store.error.lock() = Some(StoreError::Refused);
    for _ in 0..10 {
        stage.run();
        assert_eq!(
            notes
                .take()
                .iter()
                .filter(|note| note.contains("gap"))
                .count(),
            0
        );
        stage.hub.expire_history();
    }
    stage.run();
    assert_eq!(notes.take(), ["room:1: gap to 600"]);
    assert!(actor.got().is_empty());
}

#[test]
fn readers_that_leave_leave_nothing_and_a_page_that_comes_late_is_for_nobody() {
    let (stage, store) = following(600, short);
    let actors = [(); 2].map(|()| stage.open(Speaks::WebSocket));
    for actor in &actors {
        assert_eq!(enter_back(&stage, actor, Start::Since(at(10))), Some(true));
    }
    *store.error.lock() = Some(StoreError::Away);
    stage.run();
    stage.subscribe(&actors[0], b"room:1", -1);
    actors[1].peer.borrow_mut().vanish();
    stage.run();
    assert_eq!((stage.shard.behind(), stage.shard.held_of_past()), (0, 0));
    // one more wants the same page, which is put off, too
    let last = stage.open(Speaks::WebSocket);
    last.read_all();
    *store.error.lock() = None;
    assert_eq!(enter_back(&stage, &last, Start::Since(at(10))), Some(true));
    *store.error.lock() = Some(StoreError::Away);
    stage.run();
    *store.error.lock() = None;
    stage.hub.expire_history();
    stage.run();
    assert!(last.got() == frames(&stage, &last, (11..=600).map(short)));
    stage.pass(2200);
    assert_eq!((stage.shard.behind(), stage.shard.held_of_past()), (0, 0));
}

#[test]
fn slow_readers_at_many_places_read_each_page_about_once() {
    let long = |offset: u64| format!("{offset} {}", "x".repeat(10_000));
    let (stage, store) = following(1000, long);
    let actors = [0, 300, 600, 900].map(|since| (stage.open(Speaks::WebSocket), since));
    for (actor, since) in &actors {
        let start = Start::Since(at(*since));
        assert_eq!(enter_back(&stage, actor, start), Some(true));
    }
    let looked_up = store.asked.lock().len();
    while stage.shard.behind() > 0 {
        for (actor, _) in &actors {
            actor.peer.borrow_mut().give_room(40_000);
        }
        stage.run();
    }
    let pages = store.asked.lock().len() - looked_up;
    let needed = (1000 + 700 + 400 + 100) / 27 + actors.len();
    assert!(pages <= needed, "{pages} pages, {needed} needed");
}

#[test]
fn a_page_of_an_epoch_that_has_ended_is_for_nobody() {
    let (stage, store) = following(600, short);
    let (actor, notes) = noting(&stage);
    actor.read_all();
    assert_eq!(enter_back(&stage, &actor, Start::Since(at(10))), Some(true));
    *store.error.lock() = Some(StoreError::Away);
    stage.run();
    notes.take();
    // the numbers begin anew while the page is not read yet
    let mut dirty = ShardSet::default();
    let position = Position {
        epoch: Epoch::new(8),
        offset: 3,
    };
    let entries = Vec::new();
    stage
        .hub
        .fill(b"room:1", StoredPast { position, entries }, &mut dirty);
    stage.hub.wake(&mut dirty);
    *store.error.lock() = None;
    stage.hub.expire_history();
    stage.run();
    assert_eq!(notes.take(), ["room:1: gap to 3"]);
    let mut dirty = ShardSet::default();
    stage.hub.apply(b"room:1", &entry(4, "live"), &mut dirty);
    stage.hub.wake(&mut dirty);
    stage.run();
    assert_eq!(actor.got(), b"\x81\x04live");
    assert_eq!(stage.shard.behind(), 0);
}
