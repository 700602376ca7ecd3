//! The parts of the dispatch path, each alone: a worker's queue, the inboxes, outboxes, recipients, timers.

use std::hint::black_box;

use millrace_core::{Kind, ShardIndex, ShardSet, SocketId, SocketInfo, Target};
use millrace_gateway::bench::{ChannelRecipients, Mailbox, Timers, WorkerQueue, Writer};

use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("queue/text-64", 20_000, |count| queue(count, 64, 1)),
    case("queue/text-64-pipelined-16", 2000, |count| {
        queue(count, 64, 16);
    }),
    case("queue/text-32-kib", 2000, |count| queue(count, 32_768, 1)),
    case("inbox/send-64", 20_000, |count| send(count, 1)),
    case("inbox/send-64-sixteen-times", 2000, |count| send(count, 16)),
    case("inbox/send-sixteen-texts-of-64-together", 2000, |count| {
        send_together(count, 1);
    }),
    case(
        "inbox/send-sixteen-texts-of-64-to-4-shards",
        2000,
        |count| {
            send_together(count, 4);
        },
    ),
    case("inbox/publish-64-to-1000", 5000, publish),
    case("outbox/message-64", 20_000, message),
    case("outbox/sixteen-shared-frames-of-64", 2000, |count| {
        frames(count, 64);
    }),
    case("outbox/sixteen-shared-frames-of-16-kib", 1000, |count| {
        frames(count, 16_384);
    }),
    case("outbox/sixteen-behind-a-slow-reader", 1000, behind),
    case("recipients/join-and-leave-16", 500, |count| {
        join_and_leave(count, 16);
    }),
    case("recipients/join-and-leave-1000", 10, |count| {
        join_and_leave(count, 1000);
    }),
    case("timers/arm-and-fire-1000", 50, arm_and_fire),
];

const PAYLOAD: &[u8] = &[b'p'; 64];
const CHANNEL: &[u8] = b"room:12345";

/// Queues the messages of a turn, then drains them.
fn queue(count: u64, length: usize, messages: usize) {
    let (mut queue, payload) = (WorkerQueue::default(), vec![b'p'; length]);
    for _ in 0..count {
        queue.append(black_box(&payload), messages);
        black_box(queue.drain());
    }
}

/// Posts messages to one socket, then takes them in one turn.
fn send(count: u64, messages: usize) {
    let (mut mailbox, ids) = populated(1);
    let mut dirty = ShardSet::default();
    for _ in 0..count {
        for _ in 0..messages {
            let target = [Target::Socket(black_box(ids[77]))];
            mailbox
                .hub()
                .send(&target, Kind::Text, PAYLOAD, &[], &mut dirty);
        }
        assert_eq!(mailbox.empty(), messages);
    }
}

/// Posts texts to sixteen sockets with one look at each inbox, as the addon does at the end of a drain.
fn send_together(count: u64, shards: u8) {
    let (mut mailbox, ids) = populated(shards);
    let payloads = PAYLOAD.repeat(16);
    let mut dirty = ShardSet::default();
    for _ in 0..count {
        let parts = black_box(&payloads).chunks(PAYLOAD.len());
        let texts = ids.iter().take(16).copied().zip(parts);
        mailbox.hub().send_texts(texts, &mut dirty);
        assert_eq!(mailbox.empty(), 16);
    }
}

fn publish(count: u64) {
    let (mut mailbox, ids) = populated(1);
    let mut dirty = ShardSet::default();
    let members: Vec<_> = ids.iter().map(|id| Target::Socket(*id)).collect();
    let subscribed = mailbox.hub().subscribe(&members, CHANNEL, 1, &mut dirty);
    subscribed.expect("there is room");
    mailbox.empty();
    for _ in 0..count {
        let target = [Target::Channel(black_box(CHANNEL))];
        mailbox
            .hub()
            .send(&target, Kind::Text, PAYLOAD, &[], &mut dirty);
        assert_eq!(mailbox.empty(), 1);
    }
}

fn message(count: u64) {
    let mut writer = Writer::default();
    for _ in 0..count {
        writer.message(black_box(PAYLOAD));
        black_box(writer.write());
    }
}

/// Writes sixteen publications at once.
fn frames(count: u64, length: usize) {
    let mut writer = Writer::default();
    let frame = writer.share(&vec![b'p'; length]);
    for _ in 0..count {
        for _ in 0..16 {
            writer.frame(black_box(&frame));
        }
        black_box(writer.write());
    }
}

/// The kernel takes nothing while sixteen publications arrive, then it takes everything.
fn behind(count: u64) {
    let mut writer = Writer::default();
    let frame = writer.share(PAYLOAD);
    for _ in 0..count {
        writer.message(black_box(PAYLOAD));
        writer.fall_behind();
        for _ in 0..16 {
            writer.frame(black_box(&frame));
        }
        black_box(writer.write());
    }
}

/// This many sockets of the shard join a channel, and all leave it. Long lists have an index.
fn join_and_leave(count: u64, sockets: usize) {
    let mut recipients = ChannelRecipients::default();
    let ids = ids();
    for _ in 0..count {
        for (slot, id) in (0..).zip(ids.iter().take(sockets)) {
            recipients.join(black_box(*id), slot);
        }
        for id in ids.iter().take(sockets) {
            recipients.leave(black_box(*id));
        }
    }
}

/// A thousand connections ask for a ping, each at its own millisecond, and half a minute of turns passes.
fn arm_and_fire(count: u64) {
    let mut timers = Timers::default();
    for turn in 0..count {
        let now = turn * 30_000;
        for slot in 0..1000_u32 {
            timers.arm(black_box(slot), now + 25_000 + u64::from(slot));
        }
        let fired: usize = (1..=600).map(|tick| timers.advance(now + tick * 50)).sum();
        assert_eq!(fired, 1000);
    }
}

fn ids() -> Vec<SocketId> {
    (1..=1000).filter_map(SocketId::new).collect()
}

/// A thousand sockets, dealt to these I/O shards in turns.
fn populated(shards: u8) -> (Mailbox, Vec<SocketId>) {
    let mailbox = Mailbox::of(shards);
    let all: Vec<_> = (0..shards).filter_map(ShardIndex::new).collect();
    let open = |(slot, shard): (u32, &ShardIndex)| {
        let info = SocketInfo {
            address: None,
            worker: 0,
        };
        mailbox.hub().core().open(*shard, slot, info)
    };
    let ids = (0..1000).zip(all.iter().cycle()).map(open).collect();
    (mailbox, ids)
}
