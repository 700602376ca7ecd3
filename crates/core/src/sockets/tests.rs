//! Chains of virtual sockets in one table.

use super::*;
use crate::name::Space;

fn table() -> SocketTable {
    SocketTable::new(0)
}

fn open(table: &mut SocketTable) -> SocketId {
    let info = SocketInfo {
        address: None,
        worker: 3,
    };
    table.open(ShardIndex::new(2).unwrap(), 11, info)
}

fn attach(table: &mut SocketTable, target: SocketId) -> SocketId {
    table.attach(target, None).unwrap()
}

fn mark(number: i32) -> Annotation {
    Annotation::UserData(number)
}

fn name(name: &str) -> Name {
    Name::new(Space::Channel, name.as_bytes())
}

fn resolves(table: &SocketTable, id: SocketId) -> bool {
    table.resolve(id).is_some()
}

/// The removed sockets, each with its number of channels.
fn summary(removed: &Removed) -> Vec<(SocketId, usize)> {
    let count = |channels: &ChannelList| {
        let mut count = 0;
        channels.for_each(|_| count += 1);
        count
    };
    let mut summary: Vec<_> = removed
        .iter()
        .map(|(id, channels)| (*id, count(channels)))
        .collect();
    summary.sort_unstable();
    summary
}

#[test]
fn the_ids_of_a_table_differ_by_the_number_of_tables() {
    let mut table = SocketTable::new(4);
    assert_eq!(open(&mut table).get(), 5);
    assert_eq!(open(&mut table).get(), 5 + LOCK_SHARDS);
    let real = open(&mut table);
    assert_eq!(attach(&mut table, real).get(), 5 + 3 * LOCK_SHARDS);
}

#[test]
fn ninety_nine_virtual_sockets_in_a_row_resolve() {
    let mut table = table();
    let real = open(&mut table);
    let mut last = real;
    for _ in 0..99 {
        last = attach(&mut table, last);
        assert_eq!(table.resolve(last).unwrap().0.socket, real);
    }
    let hundredth = attach(&mut table, last);
    assert!(!resolves(&table, hundredth));
    let beyond = attach(&mut table, hundredth);
    assert!(!resolves(&table, beyond));
    assert!(
        table.delete(beyond, Some(hundredth)).is_some(),
        "a dangling one can be deleted"
    );
    assert_eq!(table.virtuals(), 100);
}

#[test]
fn the_depth_of_a_dangling_chain_does_not_wrap_around() {
    let mut table = table();
    let mut last = open(&mut table);
    for _ in 0..1000 {
        last = attach(&mut table, last);
    }
    assert!(!resolves(&table, last));
}

#[test]
fn the_outermost_annotation_wins() {
    let mut table = table();
    let real = open(&mut table);
    let inner = table.attach(real, Some(mark(1))).unwrap();
    let plain = attach(&mut table, inner);
    let outer = table.attach(plain, Some(mark(2))).unwrap();
    let effective = |id| {
        table
            .resolve(id)
            .unwrap()
            .1
            .map(|annotation| (**annotation).clone())
    };
    assert_eq!(effective(real), None);
    assert_eq!(effective(inner), Some(mark(1)));
    assert_eq!(effective(plain), Some(mark(1)));
    assert_eq!(effective(outer), Some(mark(2)));
    let Nature::Virtual(alias) = &table.get(plain).unwrap().nature else {
        panic!("virtual")
    };
    assert_eq!(alias.own_annotation(), None);
}

#[test]
fn deleting_a_link_lets_the_outer_ones_dangle() {
    let mut table = table();
    let real = open(&mut table);
    let inner = attach(&mut table, real);
    let middle = attach(&mut table, inner);
    let outer = attach(&mut table, middle);
    let sibling = attach(&mut table, inner);
    for id in [real, inner, middle, outer, sibling] {
        table.join(id, &name("c")).unwrap();
    }
    let removed = table.delete(middle, None).unwrap();
    assert_eq!(summary(&removed), [(middle, 1), (outer, 1)]);
    assert!(resolves(&table, sibling) && !resolves(&table, outer) && !resolves(&table, middle));
    assert!(table.get(middle).is_none(), "deleted");
    assert!(table.get(outer).is_some(), "dangling");
    assert!(table.join(outer, &name("c")).is_none());
    assert!(table.attach(middle, None).is_err());
    assert!(table.delete(middle, None).is_none());
    assert!(
        table.delete(outer, Some(inner)).is_none(),
        "the target given is not the immediate one"
    );
    assert_eq!(summary(&table.delete(outer, Some(middle)).unwrap()), []);
    assert_eq!(
        table.entries.len(),
        3,
        "the deleted link is removed with the last socket on it"
    );
}

#[test]
fn a_deleted_link_is_kept_only_while_a_socket_is_on_it() {
    let mut table = table();
    let real = open(&mut table);
    let mut chain = vec![real];
    for _ in 0..5 {
        chain.push(attach(&mut table, *chain.last().unwrap()));
    }
    for &id in &chain[1..5] {
        assert!(table.delete(id, None).is_some());
    }
    assert_eq!((table.entries.len(), table.virtuals()), (6, 1));
    assert!(table.delete(chain[5], None).is_some());
    assert_eq!((table.entries.len(), table.virtuals()), (1, 0));
    assert!(table.get(real).unwrap().first_child().is_none());
}

#[test]
fn siblings_are_unlinked_in_any_order() {
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut table = table();
        let real = open(&mut table);
        let children = [real; 3].map(|real| attach(&mut table, real));
        for (gone, index) in order.into_iter().enumerate() {
            assert!(table.delete(children[index], None).is_some());
            let mut left = 0;
            table.visit_descendants(real, |_| {
                left += 1;
                true
            });
            assert_eq!(left, 2 - gone);
        }
    }
}

#[test]
fn closing_removes_the_whole_tree() {
    let mut table = table();
    let real = open(&mut table);
    let left = attach(&mut table, real);
    let right = attach(&mut table, real);
    let below = attach(&mut table, left);
    let deleted = attach(&mut table, right);
    let dangling = attach(&mut table, deleted);
    for id in [real, below] {
        table.join(id, &name("a")).unwrap();
        table.join(id, &name("b")).unwrap();
    }
    table.delete(deleted, None).unwrap();
    let token = Token {
        bytes: Bytes::from_static(b"t"),
        is_value: true,
    };
    table.set_token(real, token.clone()).unwrap();
    let (closed, removed) = table.close(real).unwrap();
    assert_eq!(closed.token, Some(token));
    assert_eq!(closed.info.worker, 3);
    assert_eq!(summary(&removed), [(real, 2), (below, 2)]);
    assert!(table.delete(dangling, None).is_none());
    assert_eq!(
        (table.entries.len(), table.reals(), table.virtuals()),
        (0, 0, 0)
    );
    assert!(table.close(real).is_none());
}

#[test]
fn only_real_sockets_close_and_have_tokens() {
    let mut table = table();
    let real = open(&mut table);
    let alias = attach(&mut table, real);
    assert!(table.close(alias).is_none());
    assert!(table.set_token(alias, Token::default()).is_err());
    assert_eq!(table.token(real), None);
    assert_eq!(table.set_token(real, Token::default()), Ok(None));
    assert_eq!(
        table.token(real),
        Some(Token::default()),
        "an empty token counts as a token"
    );
    assert_eq!(table.token(alias), None);
    assert!(
        table.delete(real, None).is_none(),
        "real sockets cannot be deleted"
    );
}

#[test]
fn a_very_long_chain_closes_without_recursion() {
    let mut table = table();
    let real = open(&mut table);
    let mut last = real;
    for _ in 0..200_000 {
        last = attach(&mut table, last);
    }
    let first = SocketId::new(1 + LOCK_SHARDS).unwrap();
    assert!(table.delete(first, Some(real)).is_some());
    assert!(table.close(real).is_some());
    assert_eq!(table.entries.len(), 0);
}

#[test]
fn an_idle_socket_is_small() {
    // the allocator's overhead and the map's spare capacity are not counted here
    assert!(size_of::<Entry>() <= 80, "{} bytes", size_of::<Entry>());
    assert!(size_of::<(SocketId, Box<Entry>)>() <= 16);
}
