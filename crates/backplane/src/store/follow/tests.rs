//! A follower beside a naive model of a store and its link.

use bytes::Bytes;
use millrace_core::Kind;
use proptest::prelude::*;

use super::*;

/// A store with one channel, its link to the follower, and the node behind that.
#[derive(Debug, Default)]
struct World {
    epoch: u64,
    epochs: u64,
    ids: u64,
    /// All messages of the present numbers.
    log: Vec<Published>,
    /// How many of them, from the oldest on, are not kept any more.
    gone: usize,
    is_linked: bool,
    follower: Follower,
    /// What the follower wants to send.
    wanted: VecDeque<Request>,
    /// What the store has not handled.
    requests: VecDeque<Request>,
    /// What the follower has not received.
    wire: VecDeque<Sent>,
    node: Option<Node>,
    steps: Vec<Step>,
    repairs: usize,
    renewals: usize,
    fills: usize,
}

#[derive(Debug)]
enum Request {
    Read(u64),
    Renew(Epoch),
}

#[derive(Debug)]
enum Sent {
    Message(Published),
    Renewed,
    Page(Page),
}

/// What the node knows: its position, and the payloads behind the last [`Step::Filled`].
#[derive(Debug)]
struct Node {
    position: Position,
    payloads: Vec<Bytes>,
}

const KEPT: usize = 5;

const PAGE: usize = 2;

impl World {
    fn last(&self) -> Id {
        self.log.last().map(|last| last.id).unwrap_or_default()
    }

    fn publish(&mut self) {
        self.ids += 1;
        let id = Id {
            node: 1,
            number: self.ids,
        };
        let message = Published {
            epoch: Epoch::new(self.epoch),
            before: self.last(),
            id,
            entry: Entry {
                offset: u64::try_from(self.log.len()).unwrap() + 1,
                unix_ms: 0,
                kind: Kind::Binary,
                payload: Bytes::copy_from_slice(&self.ids.to_le_bytes()),
                from: None,
                mark: 0,
            },
        };
        self.log.push(message.clone());
        self.gone = self.gone.max(self.log.len().saturating_sub(KEPT));
        self.tell(Sent::Message(message));
    }

    fn tell(&mut self, sent: Sent) {
        if self.is_linked {
            self.wire.push_back(sent);
        }
    }

    fn cut(&mut self) {
        self.is_linked = false;
        self.wanted.clear();
        self.requests.clear();
        self.wire.clear();
        self.follower.lost();
    }

    fn connect(&mut self) {
        if !self.is_linked {
            self.is_linked = true;
            self.follower.begin(&mut self.steps);
            self.heed();
        }
    }

    /// The last messages are lost, and the link with them.
    fn fail_over(&mut self, lost: usize) {
        self.cut();
        self.log.truncate(self.log.len().saturating_sub(lost));
        self.gone = self.gone.min(self.log.len());
    }

    fn renew(&mut self, old: u64) {
        if self.epoch == old {
            self.epochs += 1;
            self.epoch = self.epochs;
            self.tell(Sent::Renewed);
        }
    }

    fn flush(&mut self) {
        self.log.clear();
        self.gone = 0;
        self.epochs += 1;
        self.epoch = self.epochs;
    }

    fn read(&self, from: u64) -> Page {
        let kept = self.log.get(self.gone..).unwrap_or_default();
        let mut wanted = kept.iter().filter(|message| message.entry.offset >= from);
        let messages = wanted.by_ref().take(PAGE).cloned().collect();
        Page {
            epoch: Epoch::new(self.epoch),
            newest: u64::try_from(self.log.len()).unwrap(),
            last: self.last(),
            next: wanted.next().map(|message| message.entry.offset),
            messages,
            foreign: 0,
        }
    }

    /// Sends one request.
    fn send(&mut self) {
        let request = match self.wanted.pop_front() {
            Some(Request::Read(_)) => self.follower.sent().map(Request::Read),
            request => request,
        };
        self.requests.extend(request);
    }

    /// The store handles one request.
    fn handle(&mut self) {
        match self.requests.pop_front() {
            Some(Request::Read(from)) => {
                let page = self.read(from);
                self.tell(Sent::Page(page));
            }
            Some(Request::Renew(epoch)) => self.renew(epoch.get()),
            None => {}
        }
    }

    /// The follower receives one thing.
    fn receive(&mut self) {
        match self.wire.pop_front() {
            Some(Sent::Message(message)) => self.follower.arrived(message, &mut self.steps),
            Some(Sent::Renewed) => self.follower.renewed(&mut self.steps),
            Some(Sent::Page(page)) => self.follower.page(page, &mut self.steps),
            None => {}
        }
        self.heed();
    }

    fn heed(&mut self) {
        for step in std::mem::take(&mut self.steps) {
            match step {
                Step::Read => self.wanted.push_back(Request::Read(0)),
                Step::Repair => {
                    self.repairs += 1;
                    self.wanted.push_back(Request::Read(0));
                }
                Step::Renew(epoch) => {
                    self.renewals += 1;
                    self.wanted.push_back(Request::Renew(epoch));
                }
                Step::Filled(past) => {
                    self.fills += 1;
                    let offsets = past.entries.iter().map(|entry| entry.offset);
                    let count = u64::try_from(past.entries.len()).unwrap();
                    let first = past.position.offset - count + 1;
                    assert!(offsets.eq(first..=past.position.offset));
                    self.node = Some(Node {
                        position: past.position,
                        payloads: past
                            .entries
                            .into_iter()
                            .map(|entry| entry.payload)
                            .collect(),
                    });
                }
                Step::Next(entry) => {
                    let node = self.node.as_mut().expect("it was filled before");
                    assert_eq!(entry.offset, node.position.offset + 1);
                    node.position.offset = entry.offset;
                    node.payloads.push(entry.payload);
                }
            }
        }
    }

    /// Lets everything happen that is due.
    fn settle(&mut self) {
        self.connect();
        for _ in 0..1000 {
            if self.wanted.is_empty() && self.requests.is_empty() && self.wire.is_empty() {
                return;
            }
            self.send();
            self.handle();
            self.receive();
        }
        panic!("it never comes to rest: {self:?}");
    }

    /// The node has the same position as the store, and behind its last gap exactly the messages that the store had.
    fn check(&self) {
        let node = self.node.as_ref().expect("it was filled");
        assert_eq!(node.position.epoch.get(), self.epoch);
        assert_eq!(
            node.position.offset,
            u64::try_from(self.log.len()).unwrap()
        );
        let newest = self.log.iter().rev();
        let expected = newest.map(|message| &message.entry.payload);
        let known = node.payloads.iter().rev();
        assert!(node.payloads.len() <= self.log.len());
        assert!(known.eq(expected.take(node.payloads.len())));
    }
}

fn settled(messages: usize) -> World {
    let mut world = World::default();
    for _ in 0..messages {
        world.publish();
    }
    world.settle();
    world.check();
    world
}

#[test]
fn a_channel_is_filled_and_then_goes_on() {
    let mut world = settled(4);
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), 4);
    for _ in 0..20 {
        world.publish();
    }
    world.settle();
    world.check();
    assert_eq!((world.fills, world.repairs), (1, 0));
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), 24);
}

#[test]
fn what_arrives_while_a_channel_is_read_comes_once() {
    let mut world = World::default();
    world.publish();
    world.connect();
    world.publish();
    world.send();
    world.publish();
    world.handle();
    world.publish();
    world.settle();
    world.check();
    assert_eq!((world.fills, world.repairs), (1, 0));
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), 4);
}

#[test]
fn what_was_missed_is_read_if_it_is_kept() {
    let mut world = settled(3);
    world.cut();
    for _ in 0..KEPT {
        world.publish();
    }
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (1, 0));
    // one that is lost on the way
    world.publish();
    world.wire.clear();
    world.publish();
    world.settle();
    world.check();
    assert_eq!((world.fills, world.repairs), (1, 1));
}

#[test]
fn what_is_not_kept_any_more_is_a_gap() {
    let mut world = settled(3);
    world.cut();
    for _ in 0..=KEPT {
        world.publish();
    }
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (2, 0));
    assert_eq!(world.node.as_ref().unwrap().payloads.len(), KEPT);
    // all are too old, but no number is missing
    world.gone = world.log.len();
    world.cut();
    world.settle();
    world.check();
    assert_eq!(world.fills, 2);
}

#[test]
fn other_messages_under_known_numbers_end_the_epoch() {
    for published in 0..=2 * KEPT {
        let mut world = settled(3);
        world.fail_over(2);
        for _ in 0..published {
            world.publish();
        }
        world.settle();
        world.check();
        assert_eq!(world.fills, 2, "{published}");
        // a gap ends nothing: no position of the lost numbers can go on behind it
        assert_eq!(world.renewals, usize::from(published < KEPT + 3), "{published}");
    }
}

#[test]
fn lost_data_and_renewals_of_others_are_read_afresh() {
    let mut world = settled(3);
    world.flush();
    world.settle();
    // the next message tells it
    world.publish();
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (2, 0));
    world.renew(world.epoch);
    world.settle();
    world.check();
    assert_eq!((world.fills, world.renewals), (3, 0));
}

#[test]
fn what_is_held_back_is_bounded() {
    let mut world = settled(0);
    world.cut();
    world.connect();
    world.send();
    for _ in 0..2 * MOST_HELD / HEAD_BYTES {
        world.publish();
        world.receive();
        assert!(world.follower.held_bytes <= MOST_HELD);
    }
    world.settle();
    world.check();
}

#[derive(Clone, Debug)]
enum Op {
    Publish(usize),
    Send,
    Handle,
    Receive(usize),
    Cut,
    Connect,
    FailOver(usize),
    Flush,
    Renew,
    Expire(usize),
    Replay,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1_usize..4).prop_map(Op::Publish),
        4 => Just(Op::Send),
        4 => Just(Op::Handle),
        4 => (1_usize..4).prop_map(Op::Receive),
        2 => Just(Op::Connect),
        1 => Just(Op::Cut),
        1 => (1_usize..4).prop_map(Op::FailOver),
        1 => Just(Op::Flush),
        1 => Just(Op::Renew),
        1 => (1_usize..KEPT).prop_map(Op::Expire),
        1 => Just(Op::Replay),
    ]
}

proptest! {
    #[test]
    fn nothing_is_missing_double_or_out_of_order(ops in proptest::collection::vec(op(), 0..80)) {
        let mut world = World::default();
        for op in ops {
            match op {
                Op::Publish(count) => (0..count).for_each(|_| world.publish()),
                Op::Send => world.send(),
                Op::Handle => world.handle(),
                Op::Receive(count) => (0..count).for_each(|_| world.receive()),
                Op::Cut => world.cut(),
                Op::Connect => world.connect(),
                Op::FailOver(lost) => world.fail_over(lost),
                Op::Flush => world.flush(),
                Op::Renew => world.renew(world.epoch),
                Op::Expire(count) => world.gone = (world.gone + count).min(world.log.len()),
                // another program publishes what it has received
                Op::Replay => {
                    let seen = world.log.get(world.log.len() / 2).cloned();
                    seen.into_iter().for_each(|message| world.tell(Sent::Message(message)));
                }
            }
        }
        // data that was lost without a cut link is noticed with the next message
        world.publish();
        world.settle();
        world.check();
    }
}
