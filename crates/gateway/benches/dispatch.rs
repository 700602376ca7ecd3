//! Benchmarks of the parts of the dispatch path, without sockets and threads: a worker's queue, the inboxes, outboxes,
//! a shard's recipients and its timers.

use divan::{Bencher, black_box};
use millrace_core::{Kind, ShardIndex, ShardSet, SocketId, SocketInfo, Target};
use millrace_gateway::bench::{ChannelRecipients, Mailbox, Timers, WorkerQueue, Writer};

fn main() {
    divan::main();
}

const PAYLOAD: &[u8] = &[b'p'; 64];
const CHANNEL: &[u8] = b"room:12345";

/// Queues the messages of one read, then drains them.
#[divan::bench(args = [1, 16, 64])]
fn queue_text_64(bencher: Bencher<'_, '_>, messages: usize) {
    let mut queue = WorkerQueue::default();
    bencher.bench_local(|| {
        queue.append(black_box(PAYLOAD), messages);
        queue.drain()
    });
}

/// Queues payloads above 16 KiB, which travel beside the records.
#[divan::bench(args = [16_384, 32_768])]
fn queue_text(bencher: Bencher<'_, '_>, length: usize) {
    let (mut queue, payload) = (WorkerQueue::default(), vec![b'p'; length]);
    bencher.bench_local(|| {
        queue.append(black_box(&payload), 1);
        queue.drain()
    });
}

/// Posts messages to one socket, then takes them in one turn.
#[divan::bench(args = [1, 16])]
fn inbox_send_64(bencher: Bencher<'_, '_>, messages: usize) {
    let (mut mailbox, ids) = populated(1000);
    let mut dirty = ShardSet::default();
    bencher.bench_local(|| {
        for _ in 0..messages {
            let target = [Target::Socket(black_box(ids[77]))];
            let gateway = mailbox.hub();
            gateway.send(&target, Kind::Text, PAYLOAD, &[], &mut dirty);
        }
        mailbox.empty()
    });
}

/// Posts the texts of one drain, each to a different socket.
#[divan::bench(args = [1, 16])]
fn inbox_send_texts_of_64_together(bencher: Bencher<'_, '_>, messages: usize) {
    let (mut mailbox, ids) = populated(1000);
    let payloads = PAYLOAD.repeat(messages);
    let mut dirty = ShardSet::default();
    bencher.bench_local(|| {
        let parts = black_box(&payloads).chunks(PAYLOAD.len());
        let texts = ids.iter().take(messages).copied().zip(parts);
        let gateway = mailbox.hub();
        gateway.send_texts(texts, &mut dirty);
        mailbox.empty()
    });
}

#[divan::bench(args = [1, 1000])]
fn inbox_publish_64(bencher: Bencher<'_, '_>, subscribers: usize) {
    let (mut mailbox, ids) = populated(subscribers);
    let mut dirty = ShardSet::default();
    let members: Vec<_> = ids.iter().map(|id| Target::Socket(*id)).collect();
    let subscribed = mailbox.hub().subscribe(&members, CHANNEL, 1, &mut dirty);
    subscribed.expect("there is room");
    mailbox.empty();
    bencher.bench_local(|| {
        let target = [Target::Channel(black_box(CHANNEL))];
        let gateway = mailbox.hub();
        gateway.send(&target, Kind::Text, PAYLOAD, &[], &mut dirty);
        mailbox.empty()
    });
}

#[divan::bench]
fn outbox_message_64(bencher: Bencher<'_, '_>) {
    let mut writer = Writer::default();
    bencher.bench_local(|| {
        writer.message(black_box(PAYLOAD));
        writer.write()
    });
}

/// Writes sixteen publications at once: small ones are copied, large ones are shared.
#[divan::bench(args = [64, 1024, 16_384])]
fn outbox_sixteen_shared_frames(bencher: Bencher<'_, '_>, length: usize) {
    let mut writer = Writer::default();
    let frame = writer.share(&vec![b'p'; length]);
    bencher.bench_local(|| {
        for _ in 0..16 {
            writer.frame(black_box(&frame));
        }
        writer.write()
    });
}

/// The kernel takes nothing while publications arrive, then it takes everything.
#[divan::bench(args = [16, 256])]
fn outbox_behind_a_slow_reader(bencher: Bencher<'_, '_>, messages: usize) {
    let mut writer = Writer::default();
    let frame = writer.share(PAYLOAD);
    bencher.bench_local(|| {
        writer.message(black_box(PAYLOAD));
        writer.fall_behind();
        for _ in 0..messages {
            writer.frame(black_box(&frame));
        }
        writer.write()
    });
}

/// One socket joins a channel that has this many subscribers on the shard, and leaves again. Long lists have an index.
#[divan::bench(args = [1, 16, 1000, 100_000])]
fn recipients_join_and_leave(bencher: Bencher<'_, '_>, others: u32) {
    let mut recipients = ChannelRecipients::default();
    let mut ids = (1..).filter_map(SocketId::new);
    for (slot, id) in (0..others).zip(&mut ids) {
        recipients.join(id, slot);
    }
    bencher.bench_local(|| {
        let id = ids.next().expect("there are many numbers");
        recipients.join(black_box(id), others);
        recipients.leave(black_box(id));
    });
}

#[divan::bench]
fn timers_arm(bencher: Bencher<'_, '_>) {
    let mut timers = Timers::default();
    let mut now = 0;
    bencher.bench_local(|| {
        now += 1;
        timers.arm(black_box(7), now + 25_000);
        timers.advance(now)
    });
}

/// Advances the wheel by one turn in which no deadline is due, with this many deadlines armed.
#[divan::bench(args = [0, 100_000])]
fn timers_advance(bencher: Bencher<'_, '_>, armed: u32) {
    let mut timers = Timers::default();
    let beyond = 1 << 36;
    for slot in 0..armed {
        timers.arm(slot, beyond + u64::from(slot));
    }
    let mut now = 0;
    bencher.bench_local(|| {
        now += 50;
        timers.advance(black_box(now))
    });
}

/// The sockets of one I/O shard.
fn populated(sockets: usize) -> (Mailbox, Vec<SocketId>) {
    let mailbox = Mailbox::of(1);
    let shard = ShardIndex::new(0).expect("there is a shard 0");
    let open = |slot| {
        let info = SocketInfo {
            address: None,
            worker: 0,
        };
        mailbox.hub().core().open(shard, slot, info)
    };
    let ids = (0..).take(sockets).map(open).collect();
    (mailbox, ids)
}
