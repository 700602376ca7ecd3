//! Operations on channels, sharded channels and patterns.

use millrace_core::{OwnError, Pattern, Reach, SocketId, Tally, Target};
use millrace_testkit::model::{Delivery, Topic, Who};

use super::{Driver, full, ids, name, sorted};

impl Driver {
    pub(super) fn subscribe(&mut self, who: [u8; 3], d: u8, e: u8) {
        let topic = topic(d);
        let count = usize::from(d >> 4) % 4;
        let targets: Vec<Who> = who[..count].iter().map(|byte| self.who(*byte)).collect();
        let given: Vec<Target<'_>> = targets
            .iter()
            .map(|who| match who {
                Who::Socket(id) => Target::Socket(SocketId::new(*id).expect("picked")),
                Who::Channel(name) => Target::Channel(name),
            })
            .collect();
        let delta = DELTAS[usize::from(e) % DELTAS.len()];
        let changed = match &topic {
            Topic::Channel(name) => self.core.subscribe(&given, name, delta, &mut self.mirror),
            _ => self
                .core
                .subscribe_to(&given, given_as(&topic), delta, &mut self.mirror)
                .expect("the pattern is short"),
        };
        let changed: Vec<u64> = changed.into_iter().map(SocketId::get).collect();
        let expected = self.model.subscribe(&targets, &topic, delta);
        if targets.iter().all(|who| matches!(who, Who::Socket(_))) {
            assert_eq!(changed, expected, "the result has the order of `who`");
        }
        // the members of a source channel are visited in any order
        assert_eq!(sorted(changed), sorted(expected));
    }

    /// A client subscribes or unsubscribes by its protocol.
    pub(super) fn enter_or_exit(&mut self, a: u8, b: u8, c: u8) {
        let (id, topic, most) = (self.pick(a), topic(b), usize::from(c % 8));
        let given = given_as(&topic);
        let who = [Who::Socket(id.get())];
        let before = self.model.topics_of(id.get());
        let tally = if c < 128 {
            if self.model.resolve(id.get()).is_some()
                && (before.len() < most || before.contains(&topic))
            {
                let delta = i32::from(!before.contains(&topic));
                self.model.subscribe(&who, &topic, delta);
            }
            let entered = self.core.enter(id, given, most, &mut self.mirror);
            let refused = before.len() >= most && !before.contains(&topic);
            assert_eq!(entered.is_err(), refused, "{entered:?}");
            self.core.tally(id)
        } else {
            self.model.subscribe(&who, &topic, i32::MIN);
            self.core.exit(id, given, &mut self.mirror)
        };
        assert_eq!(tally, self.model_tally(id));
    }

    /// A client subscribes or unsubscribes itself, beside what the application does.
    pub(super) fn enter_or_exit_own(&mut self, a: u8, b: u8, c: u8) {
        let (id, channel, most) = (self.pick(a), name(b), usize::from(c % 8));
        let topic = Topic::Channel(channel.clone());
        let before = self.model.topics_of(id.get());
        if c < 160 {
            let entered = self.core.enter_own(id, &channel, most, &mut self.mirror);
            let expected = if self.model.own.contains(&(topic.clone(), id.get())) {
                Err(OwnError::Already)
            } else if !before.contains(&topic) && before.len() >= most {
                Err(OwnError::TooMany { most })
            } else if self.model.resolve(id.get()).is_none() {
                Err(OwnError::NoSocket)
            } else {
                assert!(self.model.enter_own(id.get(), &topic));
                Ok(())
            };
            assert_eq!(entered, expected);
        } else {
            self.model.exit_own(id.get(), &topic);
            let ended = self.core.exit_own(id, &channel, &mut self.mirror);
            assert_eq!(ended, !self.model.topics_of(id.get()).contains(&topic));
        }
        assert_eq!(self.core.tally(id), self.model_tally(id));
    }

    fn model_tally(&self, id: SocketId) -> Tally {
        let mut tally = Tally::default();
        for topic in self.model.topics_of(id.get()) {
            match topic {
                Topic::Channel(_) => tally.channels += 1,
                Topic::Sharded(_) => tally.sharded += 1,
                Topic::Pattern(_) => tally.patterns += 1,
            }
        }
        tally
    }

    pub(super) fn publish(&mut self, a: u8, except: [u8; 4], f: u8) {
        let name = name(a);
        let except = self.except(except, f);
        self.mirror.full = full(f);
        let message = self.say();
        let posted = self
            .core
            .publish(&name, message.as_str(), &ids(&except), &mut self.mirror);
        let expected = self.model.publish(&name, &except);
        self.expect_deliveries(posted, expected, &message);
        assert_eq!(self.mirror.upstream.take(), Some((name, message)));
    }

    /// Publishes a message from another node, or one in a sharded channel.
    pub(super) fn publish_here(&mut self, a: u8, b: u8, f: u8) {
        let (name, pattern) = (name(a), pattern(b));
        let message = self.say();
        self.mirror.full = full(f);
        let topic = match b % 4 {
            0 => Topic::Channel(name.clone()),
            1 => Topic::Sharded(name.clone()),
            _ => Topic::Pattern(pattern.clone()),
        };
        let mut expected = self.model.publish_to(&topic, &[]);
        let reach = match &topic {
            Topic::Channel(_) => Reach::Subscribers(&name),
            Topic::Sharded(_) => Reach::Sharded(&name),
            Topic::Pattern(_) if b % 4 == 2 => {
                let fits = Pattern::new(&pattern).is_ok_and(|pattern| pattern.matches(&name));
                if !fits {
                    expected.clear();
                }
                Reach::Pattern {
                    pattern: &pattern,
                    channel: &name,
                }
            }
            Topic::Pattern(_) => {
                expected = self.model.publish(&name, &[]);
                expected.retain(|delivery| delivery.pattern.is_some());
                Reach::Patterns(&name)
            }
        };
        let post = &mut self.mirror;
        let posted = self.core.publish_here(reach, message.as_str(), post);
        assert_eq!(
            self.mirror.upstream.take(),
            None,
            "a message from another node is not sent back"
        );
        self.expect_deliveries(posted, expected.clone(), &message);
        if let Topic::Sharded(name) = topic {
            let post = &mut self.mirror;
            let posted = self
                .core
                .publish_sharded(&name, message.as_str(), &[], post);
            self.mirror.upstream = None;
            self.expect_deliveries(posted, expected, &message);
        }
    }

    fn expect_deliveries(&mut self, posted: usize, mut expected: Vec<Delivery>, message: &str) {
        expected.retain(|delivery| !self.is_full(delivery.socket));
        expected.sort();
        assert_eq!(posted, expected.len());
        let mut deliveries = std::mem::take(&mut self.mirror.deliveries);
        deliveries.sort();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|delivery| (delivery, message.to_owned()))
            .collect();
        assert_eq!(deliveries, expected);
    }
}

const DELTAS: [i32; 16] = [
    1,
    1,
    1,
    1,
    1,
    2,
    3,
    -1,
    -1,
    -2,
    0,
    70_000,
    65_534,
    -65_535,
    i32::MAX,
    i32::MIN,
];

/// Patterns that match some of the names: the empty one, 300 times 0xff, and `c` to `h`.
fn pattern(byte: u8) -> Vec<u8> {
    let patterns: [&[u8]; 8] = [b"*", b"", b"c*", b"?", b"[c]", b"[^c]", b"\\e", b"\xff*"];
    patterns[usize::from(byte >> 2) % 8].to_vec()
}

fn topic(byte: u8) -> Topic {
    match byte % 4 {
        0 | 1 => Topic::Channel(name(byte >> 1)),
        2 => Topic::Pattern(pattern(byte)),
        _ => Topic::Sharded(name(byte >> 1)),
    }
}

pub(super) fn given_as(topic: &Topic) -> millrace_core::Topic<'_> {
    match topic {
        Topic::Channel(name) => millrace_core::Topic::Channel(name),
        Topic::Sharded(name) => millrace_core::Topic::Sharded(name),
        Topic::Pattern(text) => millrace_core::Topic::Pattern(text),
    }
}
