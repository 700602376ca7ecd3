//! Patterns in every interleaving: a shard's inbox has one order of subscribe, publish and unsubscribe, and
//! other nodes are told the current state.
#![cfg(loom)]

mod loom_shard;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex, RwLock};
use loom::thread;
use loom_shard::{Inbox, Posted, breaks, open};
use millrace_core::{Core, Counts, SocketId, Target, Topic};

const PATTERN: Topic<'_> = Topic::Pattern(b"c*");

fn change(core: &Core, socket: SocketId, topic: Topic<'_>, delta: i32, inbox: &Inbox) {
    core.subscribe_to(&[Target::Socket(socket)], topic, delta, &mut inbox.clone())
        .expect("the pattern is valid");
}

#[test]
fn a_publication_counts_exactly_the_pattern_s_subscribers_before_it() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.publish(b"c", "m", &[], &mut inbox)
        });
        change(&core, socket, PATTERN, 1, &inbox);
        change(&core, socket, PATTERN, -1, &inbox);
        let posted = publisher.join().expect("does not panic");
        assert_eq!(inbox.replay(), 0);
        inbox.returned();
        assert_eq!(inbox.messages(), (posted, 0));
        assert_eq!(core.counts().patterns, 0);
    });
}

#[test]
fn a_subscriber_of_a_pattern_receives_later_publications() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        let subscribed = Arc::new(AtomicBool::new(false));
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            let subscribed = Arc::clone(&subscribed);
            move || {
                let before = subscribed.load(Ordering::Acquire);
                (before, core.publish(b"c", "m", &[], &mut inbox))
            }
        });
        change(&core, socket, PATTERN, 1, &inbox);
        subscribed.store(true, Ordering::Release);
        let (before, posted) = publisher.join().expect("does not panic");
        assert!(
            !before || posted == 1,
            "it subscribed before and was not reached"
        );
        assert_eq!(inbox.replay(), 1);
    });
}

#[test]
fn nothing_published_after_unsubscribing_from_a_pattern_arrives() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        change(&core, socket, PATTERN, 1, &inbox);
        let unsubscribed = Arc::new(AtomicBool::new(false));
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            let unsubscribed = Arc::clone(&unsubscribed);
            move || {
                let after = unsubscribed.load(Ordering::Acquire);
                (after, core.publish(b"c", "m", &[], &mut inbox))
            }
        });
        change(&core, socket, PATTERN, -1, &inbox);
        unsubscribed.store(true, Ordering::Release);
        let (after, posted) = publisher.join().expect("does not panic");
        assert!(
            !after || posted == 0,
            "it unsubscribed before and was reached"
        );
        assert_eq!(inbox.replay(), 0);
    });
}

#[test]
fn two_publishers_in_one_channel_reach_a_pattern_and_the_channel_in_one_order() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        change(&core, socket, PATTERN, 1, &inbox);
        change(&core, socket, Topic::Channel(b"c"), 1, &inbox);
        let other = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.publish(b"c", "there", &[], &mut inbox)
        });
        assert_eq!(core.publish(b"c", "here", &[], &mut inbox.clone()), 2);
        assert_eq!(other.join().expect("does not panic"), 2);
        let lists: Vec<bool> = inbox
            .entries()
            .iter()
            .filter_map(|entry| match entry {
                Posted::Publish(list, _) => Some(*list >= 1 << 63),
                _ => None,
            })
            .collect();
        assert_eq!(
            lists,
            [false, true, false, true],
            "both recipients get one message before the other"
        );
    });
}

#[test]
fn publishers_of_two_channels_do_not_lose_a_pattern_that_comes_and_goes() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let sockets = [open(&core), open(&core)];
        change(&core, sockets[0], PATTERN, 1, &inbox);
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.publish(b"c2", "m", &[], &mut inbox)
        });
        // the pattern ends, and another with the same text begins
        change(&core, sockets[0], PATTERN, -1, &inbox);
        change(&core, sockets[1], PATTERN, 1, &inbox);
        let posted = publisher.join().expect("does not panic");
        inbox.returned();
        assert_eq!(inbox.messages(), (posted, 0));
        assert_eq!(inbox.replay(), 1);
        assert_eq!(core.publish(b"c", "m", &[], &mut inbox.clone()), 1);
    });
}

#[test]
fn subscribing_a_closing_socket_to_a_pattern_leaves_nothing_behind() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        let closer = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.close(socket, &mut inbox).is_some()
        });
        change(&core, socket, PATTERN, 1, &inbox);
        assert!(closer.join().expect("does not panic"));
        assert_eq!(core.counts(), Counts::default());
        assert_eq!(inbox.replay(), 0);
    });
}

/// Checks I8: `replay` compares the last call of `wanted` with the subscriptions that exist.
fn last_word(topic: Topic<'static>) {
    loom::model(move || {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let sockets = [open(&core), open(&core)];
        change(&core, sockets[0], topic, 1, &inbox);
        let other = thread::spawn({
            let (core, inbox) = (Arc::clone(&core), inbox.clone());
            move || change(&core, sockets[0], topic, -1, &inbox)
        });
        change(&core, sockets[1], topic, 1, &inbox);
        other.join().expect("does not panic");
        assert_eq!(inbox.replay(), 1);
        core.close(sockets[1], &mut inbox.clone());
        assert_eq!(inbox.replay(), 0);
    });
}

#[test]
fn the_last_call_of_wanted_is_right_for_a_channel() {
    last_word(Topic::Channel(b"c"));
}

#[test]
fn the_last_call_of_wanted_is_right_for_a_pattern() {
    last_word(PATTERN);
}

/// A small copy of the record. If `nested`, it is written under the lock of the change.
fn small_record(nested: bool) {
    let members = Arc::new(Mutex::new(0));
    let record = Arc::new(Mutex::new(false));
    let step = move |by: i32, members: &Mutex<i32>, record: &Mutex<bool>| {
        let mut count = members.lock().expect("no thread panics");
        *count += by;
        let wanted = *count > 0;
        let held = nested.then_some(count);
        *record.lock().expect("no thread panics") = wanted;
        drop(held);
    };
    step(1, &members, &record);
    let other = thread::spawn({
        let (members, record) = (Arc::clone(&members), Arc::clone(&record));
        move || step(-1, &members, &record)
    });
    step(1, &members, &record);
    other.join().expect("does not panic");
    assert!(
        *record.lock().expect("no thread panics"),
        "the record says whether there are members"
    );
}

#[test]
fn the_model_finds_a_record_outside_the_lock_wrong() {
    assert!(!breaks(|| small_record(true)));
    assert!(breaks(|| small_record(false)));
}

/// A small copy of a pattern. Its publisher either holds the read lock while it posts or releases it after
/// reading the members.
fn small_pattern(held_while_posting: bool) {
    let members = Arc::new(RwLock::new(0_u32));
    let inbox = Inbox::new();
    let publisher = thread::spawn({
        let (members, inbox) = (Arc::clone(&members), inbox.clone());
        move || {
            let list = members.read().expect("no thread panics");
            let recipients = *list;
            let held = held_while_posting.then_some(list);
            if recipients > 0 {
                inbox.push(Posted::Publish(1, recipients));
            }
            drop(held);
        }
    });
    for (posted, count) in [(Posted::Join(1, 5), 1), (Posted::Leave(1, 5), 0)] {
        let mut list = members.write().expect("no thread panics");
        *list = count;
        inbox.push(posted);
    }
    publisher.join().expect("does not panic");
    inbox.replay();
}

#[test]
fn the_model_finds_posting_without_the_patterns_lock_wrong() {
    assert!(!breaks(|| small_pattern(true)));
    assert!(breaks(|| small_pattern(false)));
}
