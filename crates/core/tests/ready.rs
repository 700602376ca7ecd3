//! A message that takes long to encode is made ready while no lock is held, and only if it has a
//! recipient.
#![cfg(not(loom))]

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use millrace_core::{
    Annotation, ChannelId, Core, Match, Name, Post, Reach, Recipient, Route, ShardIndex, SocketId,
    SocketInfo, Target, Topic,
};

const CHANNEL: &[u8] = b"room";

/// A `Post` whose messages take long to make ready. It calls `meanwhile` while it makes one ready.
#[derive(Default)]
struct Slow<'m> {
    meanwhile: Option<Box<dyn FnMut() + 'm>>,
    made: usize,
    posted: usize,
    upstream: bool,
    told: usize,
}

impl Slow<'_> {
    fn post(&mut self) -> bool {
        assert!(self.made > 0, "a message was posted before it was ready");
        self.posted += 1;
        true
    }
}

impl Post for Slow<'_> {
    type Message = str;
    type Kept = ();

    fn keep(&mut self, _: &str) -> ((), usize) {
        ((), 0)
    }

    fn join(&mut self, _: ChannelId, _: &Name, _: Recipient) {}

    fn leave(&mut self, _: ChannelId, _: SocketId, _: Route) {}

    fn publish(&mut self, _: ShardIndex, _: ChannelId, _: &str, _: &[SocketId], _: u32) -> bool {
        self.post()
    }

    fn publish_match(
        &mut self,
        _: ShardIndex,
        _: Match<'_>,
        _: &str,
        _: &[SocketId],
        _: u32,
    ) -> bool {
        self.post()
    }

    fn direct(&mut self, _: Route, _: Option<&Arc<Annotation>>, _: &str) -> bool {
        self.post()
    }

    fn is_ready(&self, _: &str, _: Option<&Arc<Annotation>>) -> bool {
        self.made > 0
    }

    fn make_ready(&mut self, _: &str, _: Option<&Arc<Annotation>>) {
        self.made += 1;
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile();
        }
    }

    fn has_upstream(&self) -> bool {
        self.upstream
    }

    fn upstream(&mut self, _: Topic<'_>, _: &str) {
        assert!(
            !self.upstream || self.made > 0,
            "a message was forwarded before it was ready"
        );
        self.told += 1;
    }
}

fn member(core: &Core) -> SocketId {
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    let id = core.open(ShardIndex::new(0).expect("below 64"), 0, info);
    core.subscribe(&[Target::Socket(id)], CHANNEL, 1, &mut Slow::default());
    id
}

/// Sends in every possible way, while another thread asks for the socket and the channel.
fn each_way(core: &Core, id: SocketId) {
    let alias = core.create_virtual(id, Some(Annotation::UserData(1)));
    let ask = || {
        assert!(core.has_subscriptions(CHANNEL) && core.route(id).is_some());
        assert!(core.subscribers(Topic::Sharded(CHANNEL)) == 1);
    };
    let post = || Slow {
        meanwhile: Some(Box::new(ask)),
        ..Slow::default()
    };
    let patterns = Topic::Pattern(b"ro*");
    for topic in [Topic::Sharded(CHANNEL), patterns] {
        let who = [Target::Socket(id)];
        core.subscribe_to(&who, topic, 1, &mut post())
            .expect("one pattern");
    }
    let ways: [&dyn Fn(&mut Slow<'_>) -> usize; 7] = [
        &|post| core.send(id, "m", &[], post),
        &|post| core.send(alias, "m", &[], post),
        &|post| core.publish(CHANNEL, "m", &[], post) / 2,
        &|post| core.publish_sharded(CHANNEL, "m", &[], post),
        &|post| core.publish_here(Reach::Subscribers(CHANNEL), "m", post),
        &|post| core.publish_here(Reach::Sharded(CHANNEL), "m", post),
        &|post| core.publish_here(Reach::Patterns(CHANNEL), "m", post),
    ];
    for way in ways {
        let mut post = post();
        assert_eq!(way(&mut post), 1);
        assert_eq!(post.made, 1);
    }
}

#[test]
fn nothing_is_locked_while_a_message_is_made_ready() {
    let (done, ended) = mpsc::channel();
    #[expect(
        clippy::disallowed_methods,
        reason = "a lock that is held must fail the test, not block it"
    )]
    let thread = thread::spawn(move || {
        let core = Core::new();
        each_way(&core, member(&core));
        done.send(()).expect("the test waits");
    });
    let waited = ended.recv_timeout(Duration::from_secs(20));
    assert_ne!(
        waited,
        Err(mpsc::RecvTimeoutError::Timeout),
        "a lock is held"
    );
    thread.join().expect("nothing else is wrong");
}

#[test]
fn a_message_without_recipients_is_not_made_ready() {
    let core = Core::new();
    let gone = member(&core);
    core.close(gone, &mut Slow::default());
    let mut post = Slow::default();
    assert_eq!(core.send(gone, "m", &[], &mut post), 0);
    assert_eq!(core.publish(CHANNEL, "m", &[], &mut post), 0);
    assert_eq!(core.publish_sharded(CHANNEL, "m", &[], &mut post), 0);
    for reach in [
        Reach::Subscribers(CHANNEL),
        Reach::Sharded(CHANNEL),
        Reach::Patterns(CHANNEL),
        Reach::Pattern {
            pattern: b"*",
            channel: CHANNEL,
        },
    ] {
        assert_eq!(core.publish_here(reach, "m", &mut post), 0);
    }
    assert_eq!((post.made, post.posted), (0, 0));
}

#[test]
fn other_nodes_get_messages_without_recipients_here() {
    let core = Core::new();
    let mut post = Slow {
        upstream: true,
        ..Slow::default()
    };
    assert_eq!(core.publish(CHANNEL, "m", &[], &mut post), 0);
    assert_eq!(core.publish_sharded(CHANNEL, "m", &[], &mut post), 0);
    assert_eq!((post.told, post.posted), (2, 0));
}

#[test]
fn a_socket_that_closes_while_a_message_is_made_ready_is_not_counted() {
    for way in 0..2 {
        let core = Core::new();
        let id = member(&core);
        let mut post = Slow {
            meanwhile: Some(Box::new(|| {
                core.close(id, &mut Slow::default());
            })),
            ..Slow::default()
        };
        let posted = match way {
            0 => core.send(id, "m", &[], &mut post),
            _ => core.publish(CHANNEL, "m", &[], &mut post),
        };
        assert_eq!((posted, post.posted), (0, 0));
    }
}
