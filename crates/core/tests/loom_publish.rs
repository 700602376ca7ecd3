//! A shard's inbox has one order of subscribe, publish and unsubscribe, in every interleaving.
#![cfg(loom)]

mod loom_shard;

use std::collections::BTreeSet;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use loom_shard::{Inbox, Posted, breaks, open};
use millrace_core::{
    Annotation, ChannelId, Core, Match, Name, Post, Recipient, Route, ShardIndex, SocketId,
    SocketInfo, Target,
};

#[test]
fn a_publication_counts_exactly_the_subscribers_before_it() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.publish(b"c", "m", &[], &mut inbox)
        });
        let mut post = inbox.clone();
        core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut post);
        core.subscribe(&[Target::Socket(socket)], b"c", -1, &mut post);
        let posted = publisher.join().expect("does not panic");
        assert_eq!(inbox.replay(), 0);
        assert_eq!(
            posted,
            inbox.entries().len() - 4,
            "a delivery is counted if and only if it is posted"
        );
    });
}

#[test]
fn a_subscriber_receives_later_publications() {
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
        core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut inbox.clone());
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
fn nothing_published_after_unsubscribe_returned_arrives() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut inbox.clone());
        let unsubscribed = Arc::new(AtomicBool::new(false));
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            let unsubscribed = Arc::clone(&unsubscribed);
            move || {
                let after = unsubscribed.load(Ordering::Acquire);
                (after, core.publish(b"c", "m", &[], &mut inbox))
            }
        });
        core.subscribe(&[Target::Socket(socket)], b"c", -1, &mut inbox.clone());
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
fn nothing_is_posted_after_delete_virtual_returned() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        let alias = core.create_virtual(socket, None);
        core.subscribe(&[Target::Socket(alias)], b"c", 1, &mut inbox.clone());
        let sender = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || {
                core.send(alias, "m", &[], &mut inbox) + core.publish(b"c", "m", &[], &mut inbox)
            }
        });
        assert!(core.delete_virtual(alias, None, &mut inbox.clone()));
        inbox.returned();
        let posted = sender.join().expect("does not panic");
        assert_eq!(inbox.replay(), 0);
        assert_eq!(inbox.messages(), (posted, 0), "{:?}", inbox.entries());
    });
}

#[test]
fn closing_one_of_two_subscribers_keeps_the_order() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let ids = [open(&core), open(&core)];
        core.subscribe(&ids.map(Target::Socket), b"c", 1, &mut inbox.clone());
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.publish(b"c", "m", &[], &mut inbox)
        });
        core.close(ids[0], &mut inbox.clone());
        assert!((1..=2).contains(&publisher.join().expect("does not panic")));
        assert_eq!(inbox.replay(), 1);
    });
}

#[test]
fn unsubscribing_one_of_two_subscribers_keeps_the_order() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let ids = [open(&core), open(&core)];
        core.subscribe(&ids.map(Target::Socket), b"c", 1, &mut inbox.clone());
        let publisher = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.publish(b"c", "m", &[], &mut inbox)
        });
        core.subscribe(&[Target::Socket(ids[0])], b"c", -1, &mut inbox.clone());
        assert!((1..=2).contains(&publisher.join().expect("does not panic")));
        assert_eq!(inbox.replay(), 1);
    });
}

/// Two shards that record the messages they get.
#[derive(Clone)]
struct TwoShards([Arc<Mutex<Vec<String>>>; 2]);

impl Post for TwoShards {
    type Message = str;
    type Kept = ();

    fn keep(&mut self, _: &str) -> ((), usize) {
        ((), 0)
    }

    fn join(&mut self, _: ChannelId, _: &Name, _: Recipient) {}

    fn leave(&mut self, _: ChannelId, _: SocketId, _: Route) {}

    fn publish(
        &mut self,
        shard: ShardIndex,
        _: ChannelId,
        message: &str,
        _: &[SocketId],
        _: u32,
    ) -> bool {
        self.0[shard.get()]
            .lock()
            .expect("no thread panics")
            .push(message.to_owned());
        true
    }

    fn publish_match(
        &mut self,
        shard: ShardIndex,
        matched: Match<'_>,
        message: &str,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        self.publish(shard, matched.pattern, message, except, recipients)
    }

    fn direct(&mut self, _: Route, _: Option<&std::sync::Arc<Annotation>>, _: &str) -> bool {
        true
    }
}

#[test]
fn every_shard_sees_one_order_of_two_publishers() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let mut shards = TwoShards([(); 2].map(|()| Arc::new(Mutex::new(Vec::new()))));
        for shard in [0, 1] {
            let info = SocketInfo {
                address: None,
                worker: 0,
            };
            let socket = core.open(ShardIndex::new(shard).expect("below 64"), 0, info);
            core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut shards);
        }
        let other = thread::spawn({
            let (core, mut shards) = (Arc::clone(&core), shards.clone());
            move || core.publish(b"c", "there", &[], &mut shards)
        });
        assert_eq!(core.publish(b"c", "here", &[], &mut shards), 2);
        assert_eq!(other.join().expect("does not panic"), 2);
        let [first, second] = shards
            .0
            .map(|shard| shard.lock().expect("no thread panics").clone());
        assert_eq!(first, second);
        assert_eq!(first.len(), 2);
    });
}

/// A small copy of the protocol: one channel and one inbox, posting under the channel's lock or
/// after it.
fn small_channel(post_under_the_lock: bool) {
    let members = Arc::new(Mutex::new(BTreeSet::new()));
    let inbox = Inbox::new();
    let publisher = thread::spawn({
        let (members, inbox) = (Arc::clone(&members), inbox.clone());
        move || {
            let members = members.lock().expect("no thread panics");
            let recipients = u32::try_from(members.len()).expect("one");
            let held = post_under_the_lock.then_some(members);
            if recipients > 0 {
                inbox.push(Posted::Publish(1, recipients));
            }
            drop(held);
        }
    });
    let change = |posted: Posted, apply: fn(&mut BTreeSet<u64>)| {
        let mut members = members.lock().expect("no thread panics");
        apply(&mut members);
        let held = post_under_the_lock.then_some(members);
        inbox.push(posted);
        drop(held);
    };
    change(Posted::Join(1, 5), |members| assert!(members.insert(5)));
    change(Posted::Leave(1, 5), |members| assert!(members.remove(&5)));
    publisher.join().expect("does not panic");
    inbox.replay();
}

#[test]
fn the_model_finds_posting_after_the_lock_wrong() {
    assert!(!breaks(|| small_channel(true)));
    assert!(breaks(|| small_channel(false)));
}
