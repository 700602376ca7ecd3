//! The core's operations, with inboxes that discard what they are given.

use std::hint::black_box;

use millrace_core::{Annotation, Core, ShardIndex, SocketId, SocketInfo, Target, Topic};

use crate::sink::Sink;
use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("core/publish-to-1000", 20_000, publish),
    case("core/publish-to-1000-but-one", 20_000, publish_except),
    case(
        "core/publish-to-1000-beside-1000-patterns",
        20_000,
        |count| {
            publish_beside(count, "other");
        },
    ),
    case(
        "core/publish-to-1000-and-a-pattern-of-1000",
        20_000,
        |count| {
            publish_beside(count, "room");
        },
    ),
    case("core/pattern-made-and-deleted", 2000, make_pattern),
    case("core/send", 20_000, send),
    case("core/send-to-virtual-socket", 20_000, send_to_virtual),
    case("core/subscribe-and-unsubscribe", 5000, subscribe),
    case("core/open-and-close", 5000, |count| {
        open_and_close(count, 0);
    }),
    case("core/open-subscribe-10-close", 1000, |count| {
        open_and_close(count, 10);
    }),
    case("core/virtual-socket-made-and-deleted", 5000, make_virtual),
];

const MESSAGE: &[u8] = &[b'm'; 64];
const CHANNEL: &[u8] = b"room:12345";

/// A thousand sockets of two I/O shards, all in one channel.
fn populated() -> (Core, Vec<SocketId>) {
    let core = Core::new();
    let ids: Vec<SocketId> = (0..1000).map(|slot| open(&core, slot)).collect();
    let members: Vec<_> = ids.iter().map(|id| Target::Socket(*id)).collect();
    core.subscribe(&members, CHANNEL, 1, &mut Sink);
    (core, ids)
}

fn open(core: &Core, slot: u32) -> SocketId {
    let shard = u8::from(slot.is_multiple_of(2));
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    core.open(ShardIndex::new(shard).expect("below 64"), slot, info)
}

fn publish(count: u64) {
    let (core, _) = populated();
    for _ in 0..count {
        black_box(core.publish(black_box(CHANNEL), MESSAGE, &[], &mut Sink));
    }
}

/// Publishes beside a thousand patterns over this many rooms, of which at most one matches.
fn publish_beside(count: u64, rooms: &str) {
    let (core, _) = populated();
    with_patterns(&core, rooms);
    for _ in 0..count {
        black_box(core.publish(black_box(CHANNEL), MESSAGE, &[], &mut Sink));
    }
}

fn with_patterns(core: &Core, rooms: &str) {
    let who = [Target::Socket(open(core, 7))];
    for n in 0..1000 {
        let text = format!("{rooms}:{}*", 12_000 + n);
        let topic = Topic::Pattern(text.as_bytes());
        core.subscribe_to(&who, topic, 1, &mut Sink)
            .expect("the limit is not met");
    }
}

/// Subscribes to one more pattern beside a thousand, and unsubscribes again.
fn make_pattern(count: u64) {
    let (core, ids) = populated();
    with_patterns(&core, "room");
    let who = [Target::Socket(ids[0])];
    for _ in 0..count {
        for delta in [1, -1] {
            let topic = Topic::Pattern(black_box(b"room:124??:*"));
            black_box(core.subscribe_to(&who, topic, delta, &mut Sink))
                .expect("the limit is not met");
        }
    }
}

fn publish_except(count: u64) {
    let (core, ids) = populated();
    for _ in 0..count {
        black_box(core.publish(black_box(CHANNEL), MESSAGE, &ids[..1], &mut Sink));
    }
}

fn send(count: u64) {
    let (core, ids) = populated();
    for id in ids.iter().cycle().zip(0..count).map(|(id, _)| id) {
        black_box(core.send(black_box(*id), MESSAGE, &[], &mut Sink));
    }
}

fn send_to_virtual(count: u64) {
    let (core, ids) = populated();
    let alias = core.create_virtual(ids[77], Some(Annotation::UserData(1)));
    for _ in 0..count {
        black_box(core.send(black_box(alias), MESSAGE, &[], &mut Sink));
    }
}

/// Subscribes one more socket to a channel of a thousand, and unsubscribes it.
fn subscribe(count: u64) {
    let (core, _) = populated();
    let who = [Target::Socket(open(&core, 1000))];
    for _ in 0..count {
        black_box(core.subscribe(black_box(&who), CHANNEL, 1, &mut Sink));
        black_box(core.subscribe(black_box(&who), CHANNEL, -1, &mut Sink));
    }
}

/// Opens and closes a connection in channels that have other subscribers too.
fn open_and_close(count: u64, channels: usize) {
    let (core, ids) = populated();
    let names: Vec<String> = (0..channels).map(|n| format!("room:{n}")).collect();
    for name in &names {
        core.subscribe(&[Target::Socket(ids[0])], name.as_bytes(), 1, &mut Sink);
    }
    for _ in 0..count {
        let id = open(&core, 7);
        for name in &names {
            core.subscribe(&[Target::Socket(id)], name.as_bytes(), 1, &mut Sink);
        }
        black_box(core.close(black_box(id), &mut Sink));
    }
}

fn make_virtual(count: u64) {
    let (core, ids) = populated();
    for _ in 0..count {
        let alias = core.create_virtual(black_box(ids[5]), None);
        black_box(core.delete_virtual(alias, None, &mut Sink));
    }
}
