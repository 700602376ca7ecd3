//! Members of other nodes beside those of this one: all are listed, counted and told as those of one node, and what other nodes
//! are given of ours is complete.
#![cfg(not(loom))]

#[path = "presence/viewers.rs"]
#[expect(dead_code, reason = "shared with the tests of one node")]
mod viewers;
#[path = "presence/watchers.rs"]
mod watchers;

use std::collections::BTreeMap;

use millrace_core::{
    Core, INFO_CHARGE, Maker, MemberId, MemberState, OtherMembers, PresenceBounds, SocketId,
    SocketInfo, Unsaved,
};
use proptest::prelude::*;
use viewers::{Viewers, shard};

const ROOM: &[u8] = b"room";
const HERE: u64 = 5;

type Model = BTreeMap<(u64, u64), Option<String>>;

fn socket(id: u64) -> SocketId {
    SocketId::new(id).expect("in range")
}

fn core(events: usize, bytes: u64) -> Core<()> {
    let core = viewers::core(PresenceBounds { events, bytes });
    core.share_presence(true);
    core
}

fn open(core: &Core<()>) -> SocketId {
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    core.open(shard(0), 7, info)
}

fn enter(core: &Core<()>, id: SocketId, info: &str, post: &mut Viewers) {
    core.enter_own(id, ROOM, usize::MAX, post).ok();
    let info = core.info(info).expect("it has room");
    core.make_members(&[id], ROOM, (Maker::Client, Some(&info)), post);
}

fn put(
    core: &Core<()>,
    (node, mark, tells): (u64, u32, bool),
    id: u64,
    info: Option<&str>,
    post: &mut Viewers,
) -> usize {
    let others = OtherMembers {
        node,
        mark,
        members: &[(socket(id), 9, info)],
    };
    core.put_members(ROOM, &others, || Some(tells), post)
}

/// All members in pages of two.
fn listed(core: &Core<()>) -> Vec<((u64, u64), Option<String>)> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = core.members(ROOM, HERE, after, 2).expect("it has presence");
        let Some(last) = page.last() else {
            return all;
        };
        let named = |state: &MemberState| if state.node == 0 { HERE } else { state.node };
        after = Some(MemberId {
            node: named(last),
            socket: last.socket,
        });
        let text = |state: &MemberState| state.info.as_ref().map(|info| info.text().to_owned());
        let shown = |state: &MemberState| ((named(state), state.socket.get()), text(state));
        all.extend(page.iter().map(shown));
    }
}

/// Takes what other nodes have not been given yet, as a store does.
fn save(core: &Core<()>, stored: &mut BTreeMap<u64, Option<String>>, most: usize) -> bool {
    let text = |state: &MemberState| state.info.as_ref().map(|info| info.text().to_owned());
    match core.take_unsaved(ROOM, (most, usize::MAX)) {
        Unsaved::Changes(changes) => {
            let is_some = !changes.is_empty();
            for (socket, state) in changes {
                match state {
                    Some(state) => stored.insert(socket.get(), text(&state)),
                    None => stored.remove(&socket.get()),
                };
            }
            is_some
        }
        Unsaved::Whole => {
            core.begin_saving(ROOM);
            stored.clear();
            let all = core.members_here(ROOM, None, usize::MAX);
            stored.extend(all.iter().map(|state| (state.socket.get(), text(state))));
            !all.is_empty()
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Enter(usize, u8),
    Exit(usize),
    Put(u64, u64, u8),
    Drop(u64, u64),
    Sweep(u64),
    Keep(u64),
    Forget,
    Save(usize),
    Tell,
}

fn ops() -> impl Strategy<Value = Op> {
    let node = || prop_oneof![Just(3_u64), Just(4), Just(8)];
    prop_oneof![
        4 => (0..4_usize, 0..3_u8).prop_map(|(who, what)| Op::Enter(who, what)),
        3 => (0..4_usize).prop_map(Op::Exit),
        6 => (node(), 1..5_u64, 0..3_u8).prop_map(|(node, id, what)| Op::Put(node, id, what)),
        3 => (node(), 1..5_u64).prop_map(|(node, id)| Op::Drop(node, id)),
        1 => node().prop_map(Op::Sweep),
        1 => node().prop_map(Op::Keep),
        1 => Just(Op::Forget),
        3 => (1..4_usize).prop_map(Op::Save),
        2 => Just(Op::Tell),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn members_of_all_nodes_are_one_list(ops in prop::collection::vec(ops(), 0..150)) {
        let core = core(1000, 1 << 20);
        let mut post = Viewers::default();
        let sockets: Vec<_> = (0..4).map(|_| open(&core)).collect();
        let (mut model, mut stored, mut mark) = (Model::new(), BTreeMap::new(), 0);
        for op in ops {
            match op {
                Op::Enter(who, what) => {
                    let info = format!("[{what}]");
                    enter(&core, sockets[who], &info, &mut post);
                    model.insert((HERE, sockets[who].get()), Some(info));
                }
                Op::Exit(who) => {
                    core.exit_own(sockets[who], ROOM, &mut post);
                    model.remove(&(HERE, sockets[who].get()));
                }
                Op::Put(node, id, what) => {
                    let info = (what > 0).then(|| format!("[{what}]"));
                    put(&core, (node, mark, true), id, info.as_deref(), &mut post);
                    model.insert((node, id), info);
                }
                Op::Drop(node, id) => {
                    core.drop_members(ROOM, (node, &[socket(id)]), &mut post);
                    model.remove(&(node, id));
                }
                Op::Sweep(node) => {
                    // one of them was seen once more
                    mark += 1;
                    let seen = model.iter().find(|((of, _), _)| *of == node);
                    let seen = seen.map(|(id, info)| (*id, info.clone()));
                    if let Some(((_, id), info)) = &seen {
                        put(&core, (node, mark, true), *id, info.as_deref(), &mut post);
                    }
                    core.sweep_members(ROOM, (node, mark), true, &mut post);
                    model.retain(|(of, _), _| *of != node);
                    model.extend(seen);
                }
                Op::Keep(node) => {
                    core.keep_nodes(ROOM, &[node], true, &mut post);
                    model.retain(|(of, _), _| *of == node || *of == HERE);
                }
                Op::Forget => {
                    prop_assert!(core.forget_others(ROOM, || true));
                    model.retain(|(of, _), _| *of == HERE);
                }
                Op::Save(most) => {
                    save(&core, &mut stored, most);
                }
                Op::Tell => post.tell(&core),
            }
            prop_assert_eq!(listed(&core), model.clone().into_iter().collect::<Vec<_>>());
            let count = core.member_count(ROOM).unwrap();
            let infos: std::collections::BTreeSet<_> = model.values().collect();
            prop_assert_eq!((count.members, count.sockets), (infos.len(), model.len()));
        }
        while save(&core, &mut stored, 2) {}
        let own = model.iter().filter(|((node, _), _)| *node == HERE);
        let own: BTreeMap<_, _> = own.map(|((_, id), info)| (*id, info.clone())).collect();
        prop_assert_eq!(stored, own);
        for id in sockets {
            core.close(id, &mut post);
        }
        core.forget_others(ROOM, || true);
        post.tell(&core);
        prop_assert!(core.is_deserted());
        prop_assert_eq!(core.presence_bytes(), 0);
    }
}

#[test]
fn subscribers_are_told_of_other_nodes_once_everything_is_known() {
    let core = core(3, 1 << 20);
    let mut post = Viewers::default();
    let own = open(&core);
    enter(&core, own, "1", &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["joined 1"]);
    put(&core, (8, 1, false), 1, Some("1"), &mut post);
    post.tell(&core);
    assert!(post.take_told().is_empty(), "who was there is not told");
    put(&core, (8, 1, true), 2, None, &mut post);
    put(&core, (8, 1, true), 1, Some("2"), &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["joined 1", "updated 1"]);
    // the bound is on the members of all nodes
    put(&core, (9, 1, true), 2, None, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 4"]);
    core.sweep_members(ROOM, (8, 2), true, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 2"]);
    core.drop_members(ROOM, (9, &[socket(2), socket(3)]), &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["left 1"]);
}

#[test]
fn a_number_that_was_told_before_everything_was_known_is_told_anew() {
    let core = core(2, 1 << 20);
    let mut post = Viewers::default();
    for _ in 0..3 {
        enter(&core, open(&core), "1", &mut post);
    }
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 3"]);
    for id in 1..=2 {
        put(&core, (8, 1, false), id, None, &mut post);
    }
    post.tell(&core);
    assert!(post.take_told().is_empty(), "not everything is known yet");
    core.tell_number(ROOM, false, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 5"]);
}

#[test]
fn a_number_is_told_anew_only_if_it_is_wrong() {
    let core = core(2, 1 << 20);
    let mut post = Viewers::default();
    let own: Vec<_> = (0..3).map(|_| open(&core)).collect();
    for id in &own {
        enter(&core, *id, "1", &mut post);
    }
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 3"]);
    core.tell_number(ROOM, false, &mut post);
    post.tell(&core);
    assert!(post.take_told().is_empty(), "nobody else has members");
    // the number, then changes, are told of the members here alone
    core.close(own[0], &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 2"]);
    core.close(own[1], &mut post);
    put(&core, (8, 1, false), 1, None, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["left 1"]);
    core.tell_number(ROOM, false, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 2"]);
}

#[test]
fn those_who_asked_in_vain_are_told_when_everything_is_known() {
    let core = core(9, 1 << 20);
    let mut post = Viewers::default();
    let own = open(&core);
    enter(&core, own, "1", &mut post);
    put(&core, (8, 1, false), 1, None, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["joined 1"]);
    core.tell_number(ROOM, false, &mut post);
    post.tell(&core);
    assert!(post.take_told().is_empty(), "nobody was told a number");
    core.tell_number(ROOM, true, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["count 2"]);
    // from then on changes are told again
    put(&core, (8, 1, true), 2, None, &mut post);
    post.tell(&core);
    assert_eq!(post.take_told(), ["joined 1"]);
    core.tell_number(b"plain", true, &mut post);
    core.close(own, &mut post);
    core.forget_others(ROOM, || true);
    // nobody is there whom it could be told
    core.tell_number(ROOM, true, &mut post);
    post.tell(&core);
    assert!(post.take_told().is_empty() && core.is_deserted());
}

#[test]
fn members_of_other_nodes_are_charged_and_left_out_without_room() {
    let core = core(1000, 2 * INFO_CHARGE + 4);
    let mut post = Viewers::default();
    let told = (8, 1, true);
    assert_eq!(put(&core, told, 1, Some("1234"), &mut post), 0);
    assert_eq!(put(&core, told, 2, None, &mut post), 0);
    assert_eq!(put(&core, told, 3, None, &mut post), 1);
    assert_eq!(core.presence_bytes(), 2 * INFO_CHARGE + 4);
    // who is there already needs no room, and an info without room is not taken over
    assert_eq!(put(&core, (8, 2, true), 2, None, &mut post), 0);
    assert_eq!(put(&core, (8, 2, true), 1, Some("12345"), &mut post), 1);
    core.sweep_members(ROOM, (8, 2), true, &mut post);
    let ids = |core: &Core<()>| {
        listed(core)
            .into_iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&core), [(8, 1), (8, 2)]);
    core.sweep_members(ROOM, (8, 3), true, &mut post);
    assert_eq!(core.presence_bytes(), 0);
    let others = OtherMembers {
        node: 8,
        mark: 1,
        members: &[(socket(1), 9, None)],
    };
    core.put_members(ROOM, &others, || None, &mut post);
    core.put_members(b"plain", &others, || Some(true), &mut post);
    assert!(listed(&core).is_empty());
    assert!(core.members(b"plain", 0, None, 1).is_err());
}
