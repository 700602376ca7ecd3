//! A subscriber that reads on gets every message once and in order, or is told of the gap, in every interleaving of
//! publishing, reading on and expiry.
#![cfg(loom)]

mod loom_shard;

use loom::sync::{Arc, Mutex};
use loom::thread;
use loom_shard::open;
use millrace_core::{
    Annotation, ChannelId, ChannelTerms, Core, Cursor, Entering, Entrance, HistoryBounds,
    HistoryTerms, Manner, Match, Name, Numbered, Pattern, Post, Progress, Recipient, Room, Route,
    ShardIndex, SocketId, Start,
};

/// The shard's inbox: `true` for a join, and the offsets of messages for live subscribers.
#[derive(Clone)]
struct Shard {
    posted: Arc<Mutex<Vec<Posted>>>,
    entering: Option<(Name, Entering)>,
    now: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posted {
    Join,
    Message(u64),
}

impl Shard {
    fn push(&self, posted: Posted) {
        self.posted.lock().expect("no thread panics").push(posted);
    }
}

impl Post for Shard {
    type Message = str;
    type Kept = ();

    fn keep(&mut self, message: &str) -> ((), usize) {
        ((), message.len())
    }

    fn unix_ms(&mut self) -> u64 {
        self.now
    }

    fn enter(&mut self, name: &Name, _: Route, entering: &Entering) {
        self.entering = Some((name.clone(), *entering));
    }

    fn join(&mut self, _: ChannelId, _: &Name, _: Recipient) {
        self.push(Posted::Join);
    }

    fn leave(&mut self, _: ChannelId, _: SocketId, _: Route) {}

    fn publish(&mut self, _: ShardIndex, _: ChannelId, _: &str, _: &[SocketId], _: u32) -> bool {
        panic!("every message has a number")
    }

    fn publish_numbered(
        &mut self,
        _: ShardIndex,
        _: ChannelId,
        numbered: &Numbered<'_, str>,
        _: &[SocketId],
        _: u32,
    ) -> bool {
        self.push(Posted::Message(numbered.number.position.offset));
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

    fn direct(&mut self, _: Route, _: Option<&std::sync::Arc<Annotation>>, _: &str) -> bool {
        true
    }
}

#[test]
fn reading_on_while_others_publish_and_expire_leaves_no_hole() {
    loom::model(|| {
        let core = Arc::new(Core::<()>::new());
        let terms = ChannelTerms {
            pattern: Pattern::new(b"c").expect("short"),
            history: Some(HistoryTerms {
                messages: 2,
                age_ms: 100,
            }),
        };
        let bounds = HistoryBounds {
            bytes: 10_000,
            channels: 1,
        };
        core.set_terms(vec![terms], bounds);
        let mut shard = Shard {
            posted: Arc::new(Mutex::new(Vec::new())),
            entering: None,
            now: 0,
        };
        let manner = Manner::default();
        core.publish_as(b"c", "1", &manner, &mut shard);
        let socket = open(&core);
        let others = thread::spawn({
            let (core, mut shard) = (Arc::clone(&core), shard.clone());
            move || {
                let second = core.publish_as(b"c", "2", &Manner::default(), &mut shard);
                shard.now = 100;
                core.expire_history(&mut shard);
                second.position.map(|position| position.offset)
            }
        });
        let got = read(&core, socket, &mut shard);
        let second = others.join().expect("does not panic");
        let posted = shard.posted.lock().expect("no thread panics").clone();
        let live = posted.iter().skip_while(|posted| **posted != Posted::Join);
        let live = live.skip(1).map(|posted| match posted {
            Posted::Message(offset) => *offset,
            Posted::Join => panic!("it joins once: {posted:?}"),
        });
        let all: Vec<u64> = got.into_iter().chain(live).collect();
        // numbers begin anew if the past was gone before the subscriber came
        let newest = core.history(b"c", (Start::Next, false), 0, 100);
        let newest = newest.expect("it has history").position.offset;
        assert_eq!(second, Some(2));
        assert!(all.is_sorted_by(|one, next| one + 1 == *next), "{all:?}");
        assert_eq!(all.last().copied().unwrap_or(newest), newest, "{all:?}");
    });
}

/// Enters with the kept messages and reads on until it is live. Returns the offsets that it got or was told to be
/// missing.
fn read(core: &Core, socket: SocketId, shard: &mut Shard) -> Vec<u64> {
    let entrance = Entrance {
        start: Start::Last(2),
        known: None,
        references: 1,
        own: false,
        tag: 0,
    };
    let entered = core.enter_at(socket, b"c", entrance, 10, shard);
    entered.expect("the socket is open");
    let (name, entering) = shard.entering.take().expect("its shard is told");
    let mut cursor = entering.cursor;
    let mut got = Vec::new();
    while let Some(Cursor { id, next }) = cursor {
        let mut out = Vec::new();
        let place = (entering.list, &name);
        let room = Room {
            first: u64::MAX,
            all: 1,
            beside: 0,
        };
        let step = core.read_on(place, (socket, Cursor { id, next }), room, &mut out, shard);
        if let Some(gap) = step.gap {
            got.extend(next..=gap.offset);
        }
        got.extend(out.iter().map(|kept| kept.number.position.offset));
        cursor = match step.progress {
            Progress::Behind(next) => Some(Cursor { id, next }),
            Progress::Live => None,
            Progress::Absent { .. } | Progress::Ended => {
                panic!("it is subscribed, and no store has more")
            }
        };
    }
    got
}
