//! Listing channels: each one that exists during a listing is listed once, whatever the size of the pages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use millrace_core::{
    Annotation, Bookmark, ChannelId, ChannelSummary, ChannelTerms, Core, HistoryBounds,
    HistoryTerms, Manner, Match, Name, Pattern, Post, Recipient, Route, ShardIndex, SocketId,
    SocketInfo, Target, Topic,
};

/// Shards that take everything and remember nothing.
struct Sink;

impl Post for Sink {
    type Message = str;
    type Kept = Arc<str>;

    fn keep(&mut self, message: &str) -> (Arc<str>, usize) {
        (message.into(), message.len())
    }

    fn join(&mut self, _: ChannelId, _: &Name, _: Recipient) {}

    fn leave(&mut self, _: ChannelId, _: SocketId, _: Route) {}

    fn publish(&mut self, _: ShardIndex, _: ChannelId, _: &str, _: &[SocketId], _: u32) -> bool {
        true
    }

    fn publish_match(
        &mut self,
        _: ShardIndex,
        _: Match<'_>,
        _: &str,
        _: &[SocketId],
        _: u32,
    ) -> bool {
        true
    }

    fn direct(&mut self, _: Route, _: Option<&Arc<Annotation>>, _: &str) -> bool {
        true
    }
}

fn core() -> (Core<Arc<str>>, Vec<SocketId>) {
    let core = Core::new();
    let terms = ChannelTerms {
        pattern: Pattern::new(b"kept:*").expect("short"),
        history: Some(HistoryTerms {
            messages: 2,
            age_ms: 1000,
        }),
    };
    let bounds = HistoryBounds {
        bytes: 1 << 20,
        channels: 1000,
    };
    core.set_terms(vec![terms], bounds);
    let info = || SocketInfo {
        address: None,
        worker: 0,
    };
    let sockets = (0..50).map(|_| core.open(ShardIndex::new(0).expect("a shard"), 7, info()));
    let sockets = sockets.collect();
    (core, sockets)
}

fn subscribe(core: &Core<Arc<str>>, sockets: &[SocketId], name: &str, delta: i32) {
    let who: Vec<_> = sockets.iter().map(|id| Target::Socket(*id)).collect();
    let topic = Topic::Channel(name.as_bytes());
    core.subscribe_to(&who, topic, delta, &mut Sink)
        .expect("no pattern");
}

fn publish(core: &Core<Arc<str>>, name: &str) {
    core.publish_as(name.as_bytes(), "text", &Manner::default(), &mut Sink);
}

/// All pages; `between` is called after each.
fn pages(core: &Core<Arc<str>>, most: usize, mut between: impl FnMut()) -> Vec<ChannelSummary> {
    let mut all = Vec::new();
    let mut from = Some(Bookmark::default());
    while let Some(bookmark) = from {
        // as those who list get it back
        let bookmark = Bookmark::parse(&bookmark.to_string()).expect("a bookmark");
        let (page, next) = core.list_channels(bookmark, most);
        assert!(page.len() <= most, "no two names have one hash here");
        all.extend(page);
        from = next;
        between();
    }
    all
}

#[test]
fn every_channel_is_listed_once_with_its_subscribers_and_its_history() {
    let (core, sockets) = core();
    let mut expected = BTreeMap::new();
    for number in 0..1000 {
        let name = format!("plain:{number}");
        let count = number % 7 + 1;
        subscribe(&core, &sockets[..count], &name, 1);
        expected.insert(name, (count, None));
    }
    for number in 0..300 {
        let name = format!("kept:{number}");
        let (count, messages) = (number % 3, number % 4);
        for _ in 0..messages {
            publish(&core, &name);
        }
        subscribe(&core, &sockets[..count], &name, 1);
        if count > 0 || messages > 0 {
            expected.insert(name, (count, Some((messages.min(2), messages))));
        }
    }
    let topic = Topic::Sharded(b"not listed");
    let who = [Target::Socket(sockets[0])];
    core.subscribe_to(&who, topic, 1, &mut Sink).unwrap();
    for most in [1, 3, 1000] {
        let listed = pages(&core, most, || ());
        assert_eq!(listed.len(), expected.len());
        let listed: BTreeMap<_, _> = listed
            .into_iter()
            .map(|one| {
                let past = |past: millrace_core::PastSummary| {
                    assert_eq!(past.bytes > 0, past.messages > 0);
                    let newest = usize::try_from(past.position.offset).unwrap();
                    (past.messages, newest)
                };
                let name = String::from_utf8(one.name.as_bytes().to_vec()).unwrap();
                (name, (one.subscribers, one.history.map(past)))
            })
            .collect();
        assert_eq!(listed, expected);
    }
}

#[test]
fn channels_that_stay_are_listed_once_while_others_come_and_go() {
    let (core, sockets) = core();
    for number in 0..300 {
        subscribe(&core, &sockets[..1], &format!("stays:{number}"), 1);
    }
    let mut round = 0;
    let listed = pages(&core, 5, || {
        round += 1;
        subscribe(&core, &sockets[..1], &format!("comes:{round}"), 1);
        if round > 3 {
            subscribe(&core, &sockets[..1], &format!("comes:{}", round - 3), -1);
        }
    });
    let staying: Vec<_> = listed
        .iter()
        .filter(|one| one.name.as_bytes().starts_with(b"stays:"))
        .collect();
    let names: BTreeSet<_> = staying.iter().map(|one| one.name.as_bytes()).collect();
    assert_eq!((staying.len(), names.len()), (300, 300));
}

#[test]
fn the_largest_channels_are_those_with_the_most_subscribers() {
    let (core, sockets) = core();
    for number in 0..500 {
        subscribe(&core, &sockets[..1], &format!("small:{number}"), 1);
    }
    for count in 40..50 {
        subscribe(&core, &sockets[..count], &format!("large:{count}"), 1);
    }
    let mut all = Vec::new();
    let mut from = Some(Bookmark::default());
    while let Some(bookmark) = from {
        let (largest, next) = core.largest_channels(bookmark, 10);
        assert!(largest.len() <= 10);
        all.extend(largest);
        from = next;
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.subscribers));
    let counts: Vec<_> = all.iter().take(11).map(|one| one.subscribers).collect();
    assert_eq!(counts, [49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 1]);
}

#[test]
fn a_text_that_is_no_bookmark_is_refused() {
    for text in ["", "1", ".", "64.", "1.x", "-1.", "1.11111111111111111"] {
        assert_eq!(Bookmark::parse(text), None, "{text}");
    }
    assert!(Bookmark::parse("63.ffffffffffffffff").is_some());
    assert_eq!(Bookmark::parse("0."), Some(Bookmark::default()));
}
