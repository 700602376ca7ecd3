//! Compressed messages on one shard and on several: how often they are compressed, who waits for what, and what arrives.

mod client;
mod parked;
mod takeover;

use std::rc::Rc;

use millrace_core::{Kind, Pattern, ShardSet, Target};
use millrace_protocol::websocket::deflate::{Deflater, WindowBits};

use super::super::compression::INLINE_BYTES;
use crate::config::{ChannelTerms, ClientTerms};
use crate::frame::{CompressionTerms, Encoding};
use crate::shard::stage::{Actor, Speaks, Stage};
use client::Client;

/// A WebSocket connection with these terms that reads everything.
struct Subscriber {
    actor: Rc<Actor>,
    client: Client,
}

impl Stage {
    fn encoding(&self, terms: CompressionTerms) -> Encoding {
        self.hub.encodings().compressed(terms).unwrap()
    }

    fn compressing(&self, terms: CompressionTerms) -> Subscriber {
        let subscriber = self.plain();
        subscriber.actor.connection.io.borrow_mut().encoding = self.encoding(terms);
        subscriber
    }

    fn plain(&self) -> Subscriber {
        let actor = self.open(Speaks::WebSocket);
        actor.read_all();
        Subscriber {
            actor,
            client: Client::default(),
        }
    }

    fn compressions(&self) -> u64 {
        self.hub.stats().compression.messages
    }
}

impl Subscriber {
    /// The messages since the last call.
    fn messages(&mut self) -> Vec<Vec<u8>> {
        self.client.take(&self.actor.got())
    }
}

/// Terms with this window.
fn terms(bits: u8) -> CompressionTerms {
    CompressionTerms {
        level: 6,
        window: WindowBits::new(bits).unwrap(),
        threshold: 100,
        takeover: false,
    }
}

/// JSON-like text that compresses well.
fn json(length: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for number in 0.. {
        if text.len() >= length {
            break;
        }
        text.extend_from_slice(
            format!("{{\"id\":{number},\"name\":\"user {number}\"}},").as_bytes(),
        );
    }
    text.truncate(length);
    text
}

#[test]
fn a_broadcast_is_compressed_once_per_parameter_set_on_any_number_of_shards() {
    let first = Stage::new(|_| {});
    let mut stages = vec![first];
    for index in 1..4 {
        stages.push(stages[0].beside(index));
    }
    let mut subscribers = Vec::new();
    for stage in &stages {
        for bits in [15, 15, 9, 10] {
            subscribers.push(stage.compressing(terms(bits)));
        }
        subscribers.push(stage.plain());
    }
    for (number, subscriber) in subscribers.iter().enumerate() {
        stages[number / 5].subscribe(&subscriber.actor, b"news", 1);
    }
    let texts = [json(1024), json(4000)];
    for (round, text) in (1..).zip(&texts) {
        assert_eq!(stages[0].publish(b"news", text), 20);
        while stages.iter().any(Stage::run) {}
        assert_eq!(stages[0].compressions(), 3 * round);
        for subscriber in &mut subscribers {
            assert_eq!(subscriber.messages(), std::slice::from_ref(text));
        }
    }
    let stats = stages[0].hub.stats().compression;
    assert_eq!(stats.bytes_before, 3 * (1024 + 4000));
    assert!(stats.bytes_after < stats.bytes_before / 4);
    for stage in &stages {
        stage.hub.inboxes().post_all(|| crate::inbox::Command::End);
        stage.shard.end();
    }
}

/// The frame of a compressed message of this length.
fn zeros(length: usize) -> Vec<u8> {
    let mut deflated = Vec::new();
    Deflater::new(6, WindowBits::MOST).append(&vec![0; length], &[], &mut deflated);
    // binary, compressed, masked with zeros
    let mut frame = vec![0xc2];
    match u8::try_from(deflated.len()) {
        Ok(size) if size < 126 => frame.push(0x80 | size),
        _ => {
            let size = u16::try_from(deflated.len()).expect("zeros are short");
            frame.push(0xfe);
            frame.extend_from_slice(&size.to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(&deflated);
    frame
}

#[test]
fn one_run_of_a_connection_inflates_only_so_much() {
    // of each length, how many messages fit into one run
    for (length, most) in [(1 << 20, 1), (60_000, 5), (1000, 263)] {
        let stage = Stage::new(|limits| {
            limits.unhandled_bytes = 1 << 30;
            limits.unhandled_events = 1 << 20;
            limits.worker_queue_bytes = 1 << 30;
            limits.worker_queue_events = 1 << 20;
        });
        let actor = stage.open(Speaks::Deflated);
        let count = || stage.hub.stats().traffic.messages_in;
        let one = zeros(length);
        // all in one read
        let frames = (60_000 / one.len()).min(1000);
        actor.peer.borrow_mut().feed(&one.repeat(frames));
        let mut runs = 0;
        loop {
            let before = count();
            if !stage.drive(&actor) {
                break;
            }
            runs += 1;
            let handled = count() - before;
            assert!(handled <= most, "{handled} of {length} bytes in one run");
        }
        let frames = u64::try_from(frames).expect("few");
        assert_eq!(count(), frames);
        assert!(runs >= frames / most, "{runs} runs");
        stage.handle();
        stage.assert_nothing_left();
    }
}

#[test]
fn publications_of_one_turn_are_joined_and_each_compressed_once() {
    let stage = Stage::new(|_| {});
    let mut subscribers = [15, 15].map(|bits| stage.compressing(terms(bits)));
    for subscriber in &subscribers {
        stage.subscribe(&subscriber.actor, b"news", 1);
    }
    stage.run();
    let texts: Vec<_> = [50, 500, 200, 99, 100].map(json).into();
    for text in &texts {
        stage.publish(b"news", text);
    }
    stage.run();
    assert_eq!(stage.compressions(), 3, "two are below the threshold");
    for subscriber in &mut subscribers {
        assert_eq!(subscriber.messages(), texts);
        assert_eq!(subscriber.client.compressed, 3);
    }
}

#[test]
fn short_incompressible_and_excluded_messages_are_sent_as_they_are() {
    let stage = Stage::new(|_| {});
    let mut subscriber = stage.compressing(terms(15));
    stage.subscribe(&subscriber.actor, b"news", 1);
    stage.run();
    let mut seed = 1_u32;
    let mut noise = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(seed >> 24).unwrap()
    };
    let noise: Vec<u8> = (0..3000).map(|_| noise()).collect();
    let mut dirty = ShardSet::default();
    let all = [
        Target::Channel(b"news".as_slice()),
        Target::Socket(subscriber.actor.socket),
    ];
    for (payload, compressions) in [(json(99), 0), (noise, 2), (Vec::new(), 2)] {
        let sent = stage
            .hub
            .send(&all, Kind::Binary, &payload, &[], &mut dirty);
        stage.hub.wake(&mut dirty);
        stage.run();
        assert_eq!((sent, stage.compressions()), (2, compressions));
        assert_eq!(subscriber.messages(), [payload.clone(), payload]);
    }
    for length in [200, 5000, INLINE_BYTES + 1] {
        let payload = json(length);
        let sent = stage
            .hub
            .send_uncompressed(&all, Kind::Binary, &payload, &[], &mut dirty);
        stage.hub.wake(&mut dirty);
        stage.run();
        assert_eq!((sent, stage.compressions()), (2, 2));
        assert_eq!(subscriber.messages(), [payload.clone(), payload]);
    }
    assert_eq!(subscriber.client.compressed, 0);
}

#[test]
fn direct_messages_are_compressed_for_their_socket() {
    let stage = Stage::new(|_| {});
    let mut subscriber = stage.compressing(terms(12));
    let texts: Vec<_> = [100, 4096, 4097, INLINE_BYTES].map(json).into();
    for text in &texts {
        stage.send(&subscriber.actor, text);
    }
    let mut dirty = ShardSet::default();
    let short = json(300);
    let batch = [(subscriber.actor.socket, &short[..])];
    stage.hub.send_texts(batch, &mut dirty);
    stage.hub.wake(&mut dirty);
    stage.run();
    let mut expected = texts;
    expected.push(short);
    assert_eq!(subscriber.messages(), expected);
    assert_eq!((stage.compressions(), subscriber.client.compressed), (5, 5));
}

#[test]
fn terms_of_channels_say_what_is_not_compressed() {
    let stage = Stage::new(|_| {});
    let terms_of = |text: &[u8], compress| ChannelTerms {
        pattern: Pattern::new(text).unwrap(),
        text: text.into(),
        compress,
        presence: false,
        clients: ClientTerms::default(),
        history: None,
    };
    let all = [terms_of(b"img:text:*", true), terms_of(b"img:*", false)];
    stage.hub.set_channel_terms(&all, &stage.shard.limits);
    let mut subscriber = stage.compressing(terms(15));
    let mut virtual_one = stage.compressing(terms(15));
    let mut dirty = ShardSet::default();
    let mark = millrace_core::Annotation::prefix(b"p:").unwrap();
    let alias = stage.hub.create_virtual(virtual_one.actor.socket, mark);
    let who = [Target::Socket(alias)];
    stage.hub.subscribe(&who, b"img:1", 1, &mut dirty).unwrap();
    let who = [Target::Socket(subscriber.actor.socket)];
    let everything = millrace_core::Topic::Pattern(b"*");
    stage
        .hub
        .subscribe_to(&who, everything, 1, &mut dirty)
        .unwrap();
    stage.hub.wake(&mut dirty);
    stage.subscribe(&subscriber.actor, b"img:1", 1);
    stage.run();
    let text = json(1000);
    for (channel, copies, compressions) in [
        (b"img:1".as_slice(), 2, 0),
        (b"img:text:1", 1, 1),
        (b"img:2", 1, 1),
        (b"other", 1, 2),
    ] {
        stage.publish(channel, &text);
        stage.run();
        assert_eq!(subscriber.messages(), vec![text.clone(); copies]);
        assert_eq!(stage.compressions(), compressions);
    }
    assert_eq!(virtual_one.messages(), [[b"p:", &text[..]].concat()]);
    assert_eq!(virtual_one.client.compressed, 0);
    // a message to a socket has no terms
    stage.send(&subscriber.actor, &text);
    stage.run();
    assert_eq!(
        (subscriber.messages(), stage.compressions()),
        (vec![text], 3)
    );
}
