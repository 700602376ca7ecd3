//! The cost of the core's operations, with inboxes that do nothing.

mod sink;

use divan::{Bencher, black_box};
use millrace_core::{Annotation, Core, Pattern, ShardIndex, SocketId, SocketInfo, Target, Topic};
use sink::Sink;

fn main() {
    divan::main();
}

const MESSAGE: &[u8] = b"0123456789abcdef0123456789abcdef";
const CHANNEL: &[u8] = b"room:12345";

/// A core with many sockets. Some of them, dealt to two I/O shards, are subscribed to one channel.
fn populated(subscribers: usize) -> (Core, Vec<SocketId>) {
    let core = Core::new();
    let ids: Vec<SocketId> = (0..20_000).map(|slot| open(&core, slot)).collect();
    let members: Vec<_> = ids
        .iter()
        .take(subscribers)
        .map(|id| Target::Socket(*id))
        .collect();
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

#[divan::bench(args = [1, 10, 1000])]
fn publish(bencher: Bencher<'_, '_>, subscribers: usize) {
    let (core, _) = populated(subscribers);
    bencher.bench(|| core.publish(black_box(CHANNEL), MESSAGE, &[], &mut Sink));
}

#[divan::bench(args = [1, 10, 1000])]
fn publish_except_the_sender(bencher: Bencher<'_, '_>, subscribers: usize) {
    let (core, ids) = populated(subscribers);
    bencher.bench(|| core.publish(black_box(CHANNEL), MESSAGE, &ids[..1], &mut Sink));
}

/// The patterns do not match, because they begin with other bytes.
#[divan::bench(args = [1, 1000])]
fn publish_to_10_beside_patterns(bencher: Bencher<'_, '_>, patterns: usize) {
    let (core, ids) = populated(10);
    for n in 0..patterns {
        pattern(&core, ids[20], &format!("user:{n}:*"));
    }
    bencher.bench(|| core.publish(black_box(CHANNEL), MESSAGE, &[], &mut Sink));
}

/// The patterns do not match but begin with `*`, so each of them is tried.
#[divan::bench(args = [1, 10, 1000])]
fn publish_to_10_past_patterns(bencher: Bencher<'_, '_>, patterns: usize) {
    let (core, ids) = populated(10);
    for n in 0..patterns {
        pattern(&core, ids[20], &format!("*:x{n}"));
    }
    bencher.bench(|| core.publish(black_box(CHANNEL), MESSAGE, &[], &mut Sink));
}

#[divan::bench(args = [1, 1000])]
fn publish_to_10_and_a_pattern(bencher: Bencher<'_, '_>, subscribers: usize) {
    let (core, ids) = populated(10);
    for id in &ids[20..20 + subscribers] {
        pattern(&core, *id, "room:*");
    }
    bencher.bench(|| core.publish(black_box(CHANNEL), MESSAGE, &[], &mut Sink));
}

fn pattern(core: &Core, id: SocketId, text: &str) {
    core.subscribe_to(
        &[Target::Socket(id)],
        Topic::Pattern(text.as_bytes()),
        1,
        &mut Sink,
    )
    .expect("the number of patterns is below the bound");
}

#[divan::bench(args = [0, 1000, 60_000])]
fn make_and_delete_a_pattern(bencher: Bencher<'_, '_>, others: usize) {
    let (core, ids) = populated(0);
    for n in 0..others {
        pattern(&core, ids[20], &format!("user:{n}:*"));
    }
    let who = [Target::Socket(ids[5])];
    bencher.bench(|| {
        for delta in [1, -1] {
            let topic = Topic::Pattern(black_box(b"user:500?:*"));
            black_box(core.subscribe_to(&who, topic, delta, &mut Sink))
                .expect("the number of patterns is below the bound");
        }
    });
}

#[divan::bench(args = ["room:*", "*:12345", "*o*m*:*4*", "r??m:[0-9]*"])]
fn match_a_pattern(bencher: Bencher<'_, '_>, text: &str) {
    let pattern = Pattern::new(text.as_bytes()).expect("short");
    bencher.bench(|| pattern.matches(black_box(CHANNEL)));
}

#[divan::bench]
fn publish_to_nobody(bencher: Bencher<'_, '_>) {
    let (core, _) = populated(1);
    bencher.bench(|| core.publish(black_box(b"nowhere"), MESSAGE, &[], &mut Sink));
}

#[divan::bench]
fn send(bencher: Bencher<'_, '_>) {
    let (core, ids) = populated(0);
    bencher.bench(|| core.send(black_box(ids[77]), MESSAGE, &[], &mut Sink));
}

#[divan::bench]
fn send_to_each_of_20_000(bencher: Bencher<'_, '_>) {
    let (core, ids) = populated(0);
    let mut turn = 0;
    bencher.bench_local(|| {
        turn = (turn + 7919) % ids.len();
        core.send(black_box(ids[turn]), MESSAGE, &[], &mut Sink)
    });
}

#[divan::bench]
fn send_through_a_virtual_socket(bencher: Bencher<'_, '_>) {
    let (core, ids) = populated(0);
    let alias = core.create_virtual(ids[77], Some(Annotation::UserData(1)));
    bencher.bench(|| core.send(black_box(alias), MESSAGE, &[], &mut Sink));
}

#[divan::bench(args = [0, 1000])]
fn subscribe_and_unsubscribe(bencher: Bencher<'_, '_>, others: usize) {
    let (core, ids) = populated(others);
    let who = [Target::Socket(ids[19_999])];
    bencher.bench(|| {
        core.subscribe(black_box(&who), CHANNEL, 1, &mut Sink);
        core.subscribe(black_box(&who), CHANNEL, -1, &mut Sink)
    });
}

#[divan::bench]
fn subscribe_again(bencher: Bencher<'_, '_>) {
    let (core, ids) = populated(10);
    let who = [Target::Socket(ids[0])];
    bencher.bench(|| core.subscribe(black_box(&who), CHANNEL, 1, &mut Sink));
}

#[divan::bench(args = [0, 1, 10, 100])]
fn open_subscribe_close(bencher: Bencher<'_, '_>, channels: usize) {
    let (core, _) = populated(0);
    let names: Vec<String> = (0..channels).map(|n| format!("room:{n}")).collect();
    bencher.bench(|| {
        let id = open(&core, 7);
        for name in &names {
            core.subscribe(&[Target::Socket(id)], name.as_bytes(), 1, &mut Sink);
        }
        core.close(black_box(id), &mut Sink)
    });
}

#[divan::bench]
fn create_and_delete_a_virtual_socket(bencher: Bencher<'_, '_>) {
    let (core, ids) = populated(0);
    bencher.bench(|| {
        let alias = core.create_virtual(black_box(ids[5]), None);
        core.delete_virtual(alias, None, &mut Sink)
    });
}
