//! Tests what is encoded before the core's locks are taken, and what is posted under them.

use std::sync::atomic::{AtomicBool, Ordering};

use millrace_core::{SocketInfo, Target};

use super::*;
use crate::frame::Publication;
use crate::hub::Hub;

fn annotation(number: i32) -> Arc<Annotation> {
    Arc::new(Annotation::UserData(number))
}

/// Posts to a shard like the core with its locks held; returns the payload in the inbox and what was lost.
fn posted(message: &Outgoing<'_>, annotation: Option<&Arc<Annotation>>) -> (Vec<u8>, Lost) {
    let inboxes = Inboxes::new();
    inboxes.open(1, usize::MAX);
    let mut dirty = ShardSet::default();
    let mut poster = Poster::new(&inboxes, &mut dirty, None);
    if !poster.is_ready(message, annotation) {
        poster.make_ready(message, annotation);
        assert!(poster.is_ready(message, annotation));
    }
    let shard = ShardIndex::new(0).unwrap();
    let route = Route {
        shard,
        slot: 0,
        socket: SocketId::new(1).unwrap(),
    };
    let is_shared = || message.shared.get().is_some();
    let before = is_shared();
    assert!(poster.direct(route, annotation, message));
    assert_eq!(is_shared(), before, "encoded under the lock");
    let lost = poster.lost();
    let mut mail = Mail::default();
    inboxes.take(shard, &mut mail);
    let payload = match &mail.commands[..] {
        [Command::Direct { publication, .. }] => publication.payload().to_vec(),
        [Command::Small { .. }] => mail.arena,
        other => panic!("{other:?}"),
    };
    (payload, lost)
}

#[test]
fn large_messages_and_user_data_are_encoded_before_a_lock_is_held() {
    let large = vec![b'x'; SMALL_BYTES + 1];
    let (inboxes, mut dirty) = (Inboxes::new(), ShardSet::default());
    let poster = Poster::new(&inboxes, &mut dirty, None);
    let mark = annotation(5);
    for (kind, payload, marked, ready) in [
        (Kind::Binary, &large[1..], false, true),
        (Kind::Binary, &large[..], false, false),
        (Kind::Text, &large[..], false, false),
        (Kind::Binary, &b"x"[..], true, true),
        (Kind::Text, &b"{}"[..], true, false),
        (Kind::Binary, &large[..], true, false),
    ] {
        let message = Outgoing::new(kind, payload);
        let mark = marked.then_some(&mark);
        assert_eq!(poster.is_ready(&message, mark), ready, "{kind:?} {mark:?}");
        let (arrived, lost) = posted(&message, mark);
        let expected = match mark {
            Some(mark) => mark.apply(kind, payload).unwrap(),
            None => payload.to_vec(),
        };
        assert!(arrived == expected && lost == Lost::default());
    }
    let publication = Publication::new(Kind::Text, &large);
    assert!(poster.is_ready(&Outgoing::shared(&publication), None));
}

#[test]
fn a_message_that_cannot_be_annotated_arrives_unchanged() {
    let unmarkable = vec![b'x'; SMALL_BYTES + 1];
    for payload in [&unmarkable[..], b"[1]"] {
        let message = Outgoing::new(Kind::Text, payload);
        let (arrived, lost) = posted(&message, Some(&annotation(5)));
        assert_eq!(arrived, payload);
        assert_eq!(lost.unannotated, 1);
    }
}

/// The socket of the prepared form may have closed before it was posted; the message then goes only to others.
#[test]
fn a_socket_never_gets_the_user_data_of_another() {
    let message = Outgoing::new(Kind::Text, b"{}");
    let (inboxes, mut dirty) = (Inboxes::new(), ShardSet::default());
    let mut poster = Poster::new(&inboxes, &mut dirty, None);
    poster.make_ready(&message, Some(&annotation(5)));
    assert_eq!(posted(&message, Some(&annotation(6))).0, b"{\"_vsud\":6}");
    assert_eq!(posted(&message, None).0, b"{}");
}

#[derive(Default)]
struct Woken(AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A caller that sends much before it wakes the shard would otherwise fill the inbox.
#[test]
fn a_shard_is_woken_once_its_inbox_is_above_its_high_water() {
    let hub = Hub::new(Arc::new(crate::frame::Encodings::new()));
    hub.inboxes().open(1, 1 << 20);
    let shard = ShardIndex::new(0).unwrap();
    let woken = Arc::new(Woken::default());
    hub.inboxes()
        .set_waker(shard, std::task::Waker::from(Arc::clone(&woken)));
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    let id = hub.core().open(shard, 0, info);
    for payload in [&[0; 100][..], &[0; SMALL_BYTES + 1]] {
        let mut dirty = ShardSet::default();
        while !hub.inboxes().congested() {
            assert!(!woken.0.load(Ordering::Relaxed));
            let who = [Target::Socket(id)];
            assert_eq!(hub.send(&who, Kind::Binary, payload, &[], &mut dirty), 1);
        }
        assert!(woken.0.swap(false, Ordering::Relaxed));
        let mut mail = Mail::default();
        hub.inboxes().turn_begins(shard);
        hub.inboxes().take(shard, &mut mail);
        assert!(hub.inboxes().processed(shard, &mut mail));
        assert!(!hub.inboxes().turn_ends(shard));
    }
}

#[test]
fn the_list_of_excluded_sockets_is_charged_to_the_publication() {
    let hub = Hub::new(Arc::new(crate::frame::Encodings::new()));
    let bound = 1 << 20;
    hub.inboxes().open(1, bound);
    let shard = ShardIndex::new(0).unwrap();
    let (mut dirty, mut ids) = (ShardSet::default(), Vec::new());
    for slot in 0..5000 {
        let info = SocketInfo {
            address: None,
            worker: 0,
        };
        let id = hub.core().open(shard, slot, info);
        hub.subscribe(&[Target::Socket(id)], b"all", 1, &mut dirty)
            .unwrap();
        ids.push(id);
    }
    let mut mail = Mail::default();
    hub.inboxes().take(shard, &mut mail);
    hub.inboxes().processed(shard, &mut mail);
    let (all, others) = ([Target::Channel(b"all")], &ids[1..]);
    let most = bound / size_of_val(others);
    let mut posted = 0;
    while hub.send(&all, Kind::Text, b"x", others, &mut dirty) > 0 {
        posted += 1;
        assert!(posted <= most, "the list takes memory too");
    }
    assert!(posted > 0);
}

#[test]
fn texts_reach_the_sockets_of_each_shard_in_order() {
    let hub = Hub::new(Arc::new(crate::frame::Encodings::new()));
    hub.inboxes().open(2, usize::MAX);
    let shards = [0, 1].map(|shard| ShardIndex::new(shard).unwrap());
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    let ids: Vec<SocketId> = (0..4)
        .zip(shards.iter().cycle())
        .map(|(slot, shard)| hub.core().open(*shard, slot, info))
        .collect();
    let mut dirty = ShardSet::default();
    // the sockets of the two shards in turns, each twice
    let all = ids.iter().chain(&ids).copied();
    let texts = all.zip(b"abcdABCD".chunks(1));
    hub.send_texts(texts, &mut dirty);
    for (shard, expected) in shards.iter().zip(["acAC", "bdBD"]) {
        assert!(dirty.contains(*shard));
        let mut mail = Mail::default();
        hub.inboxes().take(*shard, &mut mail);
        assert_eq!(mail.arena, expected.as_bytes());
        let slots = mail.commands.iter().map(|command| match command {
            Command::Small { slot, .. } => *slot,
            other => panic!("{other:?}"),
        });
        let first = u32::try_from(shard.get()).unwrap();
        let slots: Vec<u32> = slots.collect();
        assert_eq!(slots, [first, first + 2, first, first + 2]);
    }
}
