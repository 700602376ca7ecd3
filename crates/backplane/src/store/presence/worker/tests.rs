//! Nodes whose commands are executed and answered at any moment, which stand still for longer than they live, and whose links and
//! store lose what they have. In the end each knows the members of all.

mod cases;
mod command;
mod rooms;
mod store;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::shared::Change;
use super::*;
use command::Failure;
use rooms::Rooms;
use store::{Link, Store};

struct Node {
    worker: Worker,
    rooms: Arc<Rooms>,
    shared: Arc<Shared>,
    is_up: bool,
}

struct World {
    nodes: Vec<Node>,
    links: Vec<Link>,
    store: Store,
    start: Instant,
    ms: u64,
    /// The number of the last following.
    followings: u64,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            nodes: Vec::new(),
            links: Vec::new(),
            store: Store::default(),
            start: Instant::now(),
            ms: 0,
            followings: 0,
        };
        for number in 1..=NODES {
            let (rooms, shared) = (Arc::<Rooms>::default(), Arc::<Shared>::default());
            let roll: Arc<dyn Roll> = Arc::<Rooms>::clone(&rooms);
            let of = (Arc::clone(&shared), number, roll);
            let worker = Worker::new(of, world.now());
            world.nodes.push(Node {
                worker,
                rooms,
                shared,
                is_up: false,
            });
            world.links.push(Link::default());
        }
        world
    }

    fn now(&self) -> Now {
        Now {
            unix_ms: 1_000_000 + self.ms,
            at: self.start + Duration::from_millis(self.ms),
        }
    }

    /// A socket becomes a member, says something else, or leaves.
    fn change(&mut self, at: usize, channel: &[u8], socket: u64, what: Option<String>) {
        let node = &self.nodes[at];
        {
            let mut all = node.rooms.all();
            let here = all.here.entry(channel.into()).or_default();
            match what {
                Some(info) => here.insert(socket, info),
                None => here.remove(&socket),
            };
            if let Some(unsaved) = all.unsaved.get_mut(channel) {
                unsaved.insert(socket);
            }
        }
        node.shared.changed(channel);
    }

    fn follow(&mut self, at: usize, channel: &[u8]) {
        let node = &self.nodes[at];
        let mut all = node.rooms.all();
        if !all.followed.contains_key(channel) {
            self.followings += 1;
            let following = self.followings;
            all.followed.insert(channel.into(), following);
            node.shared
                .follow(channel, |change| change.begins = Some(following));
        }
    }

    fn forget(&mut self, at: usize, channel: &[u8]) {
        let node = &self.nodes[at];
        let mut all = node.rooms.all();
        if all.followed.remove(channel).is_some() {
            all.known.remove(channel);
            all.others.retain(|(of, _, _), _| **of != *channel);
            node.shared.follow(channel, |change| {
                *change = Change {
                    ends: true,
                    begins: None,
                };
            });
        }
    }

    fn run(&mut self, at: usize) {
        let now = self.now();
        let node = &mut self.nodes[at];
        node.worker.heed();
        if node.is_up {
            node.worker.pump(&mut self.links[at], now);
        }
    }

    fn execute(&mut self, at: usize) -> bool {
        self.store.execute(&mut self.links, at, self.ms)
    }

    /// A node hears what comes next, or the next message, which may overtake answers.
    fn hear(&mut self, at: usize, message_first: bool) -> bool {
        let now = self.now();
        let heard = &mut self.links[at].heard;
        let is_message = |event: &Event| matches!(event, Event::Told(..));
        let place = heard.iter().position(is_message);
        let Some(event) = heard.remove(place.filter(|_| message_first).unwrap_or(0)) else {
            return false;
        };
        let node = &mut self.nodes[at];
        node.worker.handle(event, &mut self.links[at], now);
        true
    }

    fn link(&mut self, at: usize) {
        let now = self.now();
        let node = &mut self.nodes[at];
        if !std::mem::replace(&mut node.is_up, true) {
            node.worker.up(&mut self.links[at], now);
        }
    }

    /// The link is lost. `is_executed`: what was sent has come through, but not its answers.
    fn cut(&mut self, at: usize, is_executed: bool) {
        while is_executed && self.execute(at) {}
        self.links[at] = Link::of(self.links[at].room);
        let node = &mut self.nodes[at];
        node.is_up = false;
        node.worker.down();
    }

    /// Everything goes on, for so many seconds.
    fn settle(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.ms += 1000;
            for at in 0..self.nodes.len() {
                self.link(at);
            }
            self.run_on();
        }
    }

    /// Until there is nothing more to do now.
    fn run_on(&mut self) {
        for _ in 0..1000 {
            // no two moments are the same
            self.ms += 1;
            let mut is_quiet = true;
            for at in 0..self.nodes.len() {
                self.run(at);
                while self.execute(at) {
                    is_quiet = false;
                }
            }
            for at in 0..self.nodes.len() {
                while self.hear(at, false) {
                    is_quiet = false;
                }
            }
            if is_quiet {
                return;
            }
        }
        panic!("it never rests");
    }

    fn check(&self) {
        let mut members = BTreeMap::new();
        for (node, number) in self.nodes.iter().zip(1_u64..) {
            for (channel, here) in &node.rooms.all().here {
                for (socket, info) in here {
                    let id = (channel.clone(), number, *socket);
                    members.insert(id, info.clone());
                }
            }
        }
        for (node, number) in self.nodes.iter().zip(1_u64..) {
            let all = node.rooms.all();
            let others = all.others.iter();
            let found: BTreeMap<_, _> = others
                .map(|(id, (info, _))| (id.clone(), info.clone()))
                .collect();
            let mut expected = members.clone();
            expected
                .retain(|(channel, of, _), _| *of != number && all.followed.contains_key(channel));
            assert_eq!(found, expected, "what {number} knows");
            let followed = all.followed.keys().cloned().collect();
            assert_eq!(all.known, followed, "what {number} follows");
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Enter(usize, usize, u64, u8),
    Leave(usize, usize, u64),
    /// A change that the store has executed, and answered, at once.
    Say(usize, usize, u64, bool),
    Follow(usize, usize),
    Forget(usize, usize),
    /// A channel is forgotten, and followed again before the node's task looks, or behind that.
    Again(usize, usize, bool),
    Run(usize),
    Execute(usize),
    Hear(usize, bool),
    RunOn,
    Cut(usize, bool),
    Link(usize),
    Pass(u64),
    Lose,
    Fail(Failure, usize),
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        Just(Failure::Refuses),
        Just(Failure::IsMute),
        Just(Failure::LacksScripts),
    ]
}

/// One node has a member, or none, while the other follows the channel anew.
fn turns() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => any::<bool>().prop_map(|is_there| Op::Say(0, 0, 1, is_there)),
        1 => any::<bool>().prop_map(|runs| Op::Again(1, 0, runs)),
        1 => Just(Op::Run(1)),
        3 => Just(Op::Execute(1)),
        2 => any::<bool>().prop_map(|first| Op::Hear(1, first)),
    ]
}

fn ops() -> impl Strategy<Value = Op> {
    let at = || 0..3_usize;
    let channel = || 0..2_usize;
    prop_oneof![
        4 => (at(), channel(), 1..6_u64, 0..3_u8)
            .prop_map(|(at, channel, socket, what)| Op::Enter(at, channel, socket, what)),
        3 => (at(), channel(), 1..6_u64)
            .prop_map(|(at, channel, socket)| Op::Leave(at, channel, socket)),
        3 => (at(), channel(), 1..3_u64, any::<bool>())
            .prop_map(|(at, channel, socket, is_there)| Op::Say(at, channel, socket, is_there)),
        2 => (at(), channel()).prop_map(|(at, channel)| Op::Follow(at, channel)),
        1 => (at(), channel()).prop_map(|(at, channel)| Op::Forget(at, channel)),
        2 => (at(), channel(), any::<bool>())
            .prop_map(|(at, channel, runs)| Op::Again(at, channel, runs)),
        6 => at().prop_map(Op::Run),
        8 => at().prop_map(Op::Execute),
        8 => (at(), any::<bool>()).prop_map(|(at, first)| Op::Hear(at, first)),
        1 => Just(Op::RunOn),
        1 => (at(), any::<bool>()).prop_map(|(at, is_executed)| Op::Cut(at, is_executed)),
        2 => at().prop_map(Op::Link),
        2 => (1..3500_u64).prop_map(Op::Pass),
        1 => (8000..20_000_u64).prop_map(Op::Pass),
        1 => Just(Op::Lose),
        1 => (failure(), 1..6_usize).prop_map(|(failure, count)| Op::Fail(failure, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_nodes_know_the_members_of_all_in_the_end(
        room in prop_oneof![2 => Just(None), 1 => (1..6_usize).prop_map(Some)],
        ops in prop_oneof![
            prop::collection::vec(ops(), 0..200),
            prop::collection::vec(turns(), 0..30),
        ],
    ) {
        let mut world = World::new();
        for at in 0..3 {
            world.links[at].room = room;
            world.link(at);
        }
        for op in ops {
            match op {
                Op::Enter(at, channel, socket, what) => {
                    world.change(at, CHANNELS[channel], socket, Some(what.to_string()));
                }
                Op::Leave(at, channel, socket) => world.change(at, CHANNELS[channel], socket, None),
                Op::Say(at, channel, socket, is_there) => {
                    let what = is_there.then(String::new);
                    world.change(at, CHANNELS[channel], socket, what);
                    world.run(at);
                    while world.execute(at) {}
                    while world.hear(at, false) {}
                }
                Op::Follow(at, channel) => world.follow(at, CHANNELS[channel]),
                Op::Forget(at, channel) => world.forget(at, CHANNELS[channel]),
                Op::Again(at, channel, runs) => {
                    world.forget(at, CHANNELS[channel]);
                    if runs {
                        world.run(at);
                    }
                    world.follow(at, CHANNELS[channel]);
                    world.run(at);
                }
                Op::Run(at) => world.run(at),
                Op::Execute(at) => {
                    world.execute(at);
                }
                Op::Hear(at, first) => {
                    world.hear(at, first);
                }
                Op::RunOn => world.run_on(),
                Op::Cut(at, is_executed) => world.cut(at, is_executed),
                Op::Link(at) => world.link(at),
                Op::Pass(ms) => world.ms += ms,
                Op::Lose => world.store.lose(),
                Op::Fail(failure, count) => world.store.fails = Some((failure, count)),
            }
        }
        world.store.fails = None;
        world.settle(30);
        world.check();
    }
}

const NODES: u64 = 3;

const CHANNELS: [&[u8]; 2] = [b"a", b"b"];
