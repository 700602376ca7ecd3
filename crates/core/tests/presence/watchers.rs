//! Clients that know the members of all nodes as applications do: they ask once, believe what they are told, and ask anew when
//! they are told a number. A stand-in for the node decides when the members of other nodes are known.

use std::collections::{BTreeMap, BTreeSet};

use millrace_core::{Core, SocketId};
use proptest::prelude::*;

use super::viewers::{Members, Viewers};
use super::{HERE, ROOM, core, enter, open, put, socket};

/// What is known of the members of other nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Awaited,
    Failed,
    Known,
}

struct World {
    core: Core<()>,
    post: Viewers,
    own: Vec<SocketId>,
    members: Members,
    /// The members of other nodes, with their nodes.
    others: BTreeMap<SocketId, u64>,
    view: View,
    was_asked_in_vain: bool,
    waiting: BTreeSet<SocketId>,
    /// Those that have asked since they are subscribed.
    watching: BTreeSet<SocketId>,
}

#[derive(Clone, Debug)]
enum Op {
    Enter(usize, u8),
    Exit(usize),
    Put(u64, u64, u8),
    Left(u64, u64),
    Gone(u64),
    Ask(usize),
    Late,
    Failed,
    Filled,
    Forget,
    Refuse,
    Tell,
}

fn ops() -> impl Strategy<Value = Op> {
    let node = || prop_oneof![Just(3_u64), Just(8)];
    prop_oneof![
        6 => (0..5_usize, 0..3_u8).prop_map(|(who, what)| Op::Enter(who, what)),
        3 => (0..5_usize).prop_map(Op::Exit),
        6 => (node(), 1..4_u64, 0..3_u8).prop_map(|(node, id, what)| Op::Put(node, id, what)),
        3 => (node(), 1..4_u64).prop_map(|(node, id)| Op::Left(node, id)),
        1 => node().prop_map(Op::Gone),
        4 => (0..5_usize).prop_map(Op::Ask),
        1 => Just(Op::Late),
        1 => Just(Op::Failed),
        1 => Just(Op::Filled),
        1 => Just(Op::Forget),
        1 => Just(Op::Refuse),
        4 => Just(Op::Tell),
    ]
}

impl World {
    fn new() -> Self {
        let core = core(3, 1 << 20);
        Self {
            own: (0..5).map(|_| open(&core)).collect(),
            core,
            post: Viewers::default(),
            members: Members::new(),
            others: BTreeMap::new(),
            view: View::Awaited,
            was_asked_in_vain: false,
            waiting: BTreeSet::new(),
            watching: BTreeSet::new(),
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Enter(who, what) => {
                let (id, info) = (self.own[who], format!("[{what}]"));
                enter(&self.core, id, &info, &mut self.post);
                self.members.insert(id, Some(info));
            }
            Op::Exit(who) => self.exit(self.own[who]),
            Op::Put(node, id, what) => {
                let (id, info) = (node * 1000 + id, (what > 0).then(|| format!("[{what}]")));
                let how = (node, 1, self.view == View::Known);
                put(&self.core, how, id, info.as_deref(), &mut self.post);
                self.members.insert(socket(id), info);
                self.others.insert(socket(id), node);
            }
            Op::Left(node, id) => {
                let id = socket(node * 1000 + id);
                self.core.drop_members(ROOM, (node, &[id]), &mut self.post);
                if self.others.remove(&id).is_some() {
                    self.members.remove(&id);
                }
            }
            Op::Gone(node) => {
                let tells = self.view == View::Known;
                self.core
                    .sweep_members(ROOM, (node, 2), tells, &mut self.post);
                self.others.retain(|id, of| {
                    let stays = *of != node;
                    if !stays {
                        self.members.remove(id);
                    }
                    stays
                });
            }
            Op::Ask(who) => self.ask(self.own[who]),
            Op::Late => self.refuse_waiting(),
            Op::Failed => {
                if self.view == View::Awaited {
                    self.view = View::Failed;
                    self.refuse_waiting();
                }
            }
            Op::Filled => self.filled(),
            Op::Forget => self.forget(),
            Op::Refuse => self.post.refused = 1,
            Op::Tell => self.post.tell(&self.core),
        }
    }

    fn exit(&mut self, id: SocketId) {
        self.core.exit_own(id, ROOM, &mut self.post);
        self.members.remove(&id);
        self.waiting.remove(&id);
        self.watching.remove(&id);
        self.post.forget(id);
    }

    fn ask(&mut self, id: SocketId) {
        if !self.members.contains_key(&id) {
            return;
        }
        self.watching.insert(id);
        match self.view {
            View::Known => self.answer(id),
            View::Awaited => {
                self.waiting.insert(id);
                self.knows_nothing(id);
            }
            View::Failed => {
                self.was_asked_in_vain = true;
                self.knows_nothing(id);
            }
        }
    }

    fn answer(&mut self, id: SocketId) {
        let list = self.post.list(ROOM).expect("it is subscribed");
        let members = self.core.members(ROOM, HERE, None, usize::MAX);
        let members = members.expect("it has presence");
        self.post.ask((list, id), &members);
    }

    fn knows_nothing(&mut self, id: SocketId) {
        let list = self.post.list(ROOM).expect("it is subscribed");
        self.post.ask((list, id), &[]);
    }

    /// Those who wait are told that the members cannot be read now.
    fn refuse_waiting(&mut self) {
        self.was_asked_in_vain |= !self.waiting.is_empty();
        self.waiting.clear();
    }

    fn filled(&mut self) {
        let before = std::mem::replace(&mut self.view, View::Known);
        if before != View::Known {
            let in_vain = std::mem::take(&mut self.was_asked_in_vain);
            self.core.tell_number(ROOM, in_vain, &mut self.post);
        }
        for id in std::mem::take(&mut self.waiting) {
            self.answer(id);
        }
    }

    /// A channel without subscribers is not followed any more, until it is followed anew.
    fn forget(&mut self) {
        if self.own.iter().any(|id| self.members.contains_key(id)) {
            return;
        }
        assert!(self.core.forget_others(ROOM, || true));
        self.members.clear();
        self.others.clear();
        self.view = View::Awaited;
        self.was_asked_in_vain = false;
    }

    fn check(&mut self) {
        self.filled();
        self.post.tell(&self.core);
        for id in self.watching.clone() {
            let list = self.post.list(ROOM).expect("it is subscribed");
            if self.post.knows((list, id)).is_none() {
                // it was told a number
                self.ask(id);
            }
            assert_eq!(self.post.knows((list, id)), Some(&self.members), "{id:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn who_watches_knows_the_members_of_all_nodes_in_the_end(ops in prop::collection::vec(ops(), 0..150)) {
        let mut world = World::new();
        for op in &ops {
            world.apply(op);
        }
        world.check();
    }
}
