//! Tests full inboxes: what is refused, and what never is.

use super::*;
use crate::Gateway;
use crate::inbox::{Command, Mail};
use millrace_core::{Kind, ShardIndex, SocketInfo};
use std::sync::Arc;

const BOUND: usize = 4096;

fn shard(index: u8) -> ShardIndex {
    ShardIndex::new(index).unwrap()
}

/// A gateway with two shards that process nothing, and a socket on each.
fn idle() -> (Arc<Gateway>, [SocketId; 2]) {
    let gateway = Gateway::new();
    gateway.inboxes().open(2, BOUND);
    let ids = [0, 1].map(|index| {
        let info = SocketInfo {
            address: None,
            worker: 0,
        };
        gateway.core().open(shard(index), 0, info)
    });
    (gateway, ids)
}

fn fill(gateway: &Gateway, id: SocketId) {
    let mut dirty = ShardSet::default();
    let who = [Target::Socket(id)];
    while gateway.send(&who, Kind::Binary, b"", &[], &mut dirty) == 1 {}
}

fn take(gateway: &Gateway, index: u8) -> Vec<Command> {
    let mut mail = Mail::default();
    gateway.inboxes().take(shard(index), &mut mail);
    let commands = std::mem::take(&mut mail.commands);
    gateway.inboxes().processed(shard(index), &mut mail);
    commands
}

#[test]
fn subscribing_with_a_full_inbox_is_refused_before_anything_changes() {
    let (gateway, [full, idle]) = idle();
    let mut dirty = ShardSet::default();
    let mut subscribe = |who: &[SocketId], topic| {
        let who: Vec<_> = who.iter().copied().map(Target::Socket).collect();
        gateway.subscribe_to(&who, topic, 1, &mut dirty)
    };
    assert_eq!(subscribe(&[full], Topic::Channel(b"old")), Ok(vec![full]));
    fill(&gateway, full);
    for topic in [Topic::Channel(b"c"), Topic::Pattern(b"*")] {
        assert_eq!(
            subscribe(&[idle, full], topic),
            Err(SubscribeError::Overloaded)
        );
        assert_eq!(gateway.core().subscribers(topic), 0);
        assert_eq!(
            subscribe(&[idle], topic),
            Ok(vec![idle]),
            "its shard is idle"
        );
    }
    let old = [Target::Channel(b"old")];
    let copied = gateway.subscribe(&old, b"new", 1, &mut dirty);
    assert_eq!(copied, Err(SubscribeError::Overloaded));
    assert!(!gateway.admits_entering(full, 1) && gateway.admits_entering(idle, 1));
    take(&gateway, 0);
    let copied = gateway.subscribe(&old, b"new", 1, &mut dirty);
    assert_eq!(copied, Ok(vec![full]), "there is room again");
}

#[test]
fn one_call_cannot_subscribe_more_than_fits() {
    let (gateway, [id, _]) = idle();
    let mut dirty = ShardSet::default();
    let many = vec![Target::Socket(id); BOUND];
    let refused = gateway.subscribe(&many, b"c", 1, &mut dirty);
    assert_eq!(refused, Err(SubscribeError::Overloaded));
    assert!(take(&gateway, 0).is_empty());
}

#[test]
fn ending_a_subscription_or_a_socket_is_never_refused() {
    let (gateway, [id, _]) = idle();
    let mut dirty = ShardSet::default();
    let who = [Target::Socket(id)];
    for channel in [&b"a"[..], b"b"] {
        gateway.subscribe(&who, channel, 1, &mut dirty).unwrap();
    }
    fill(&gateway, id);
    assert_eq!(gateway.subscribe(&who, b"a", -1, &mut dirty), Ok(vec![id]));
    gateway.exit(id, Topic::Channel(b"b"), &mut dirty);
    assert!(gateway.close(id, 1000, "", &mut dirty));
    let commands = take(&gateway, 0);
    let ends = &commands[commands.len() - 3..];
    assert!(
        matches!(
            ends,
            [
                Command::Leave { .. },
                Command::Leave { .. },
                Command::Close { .. }
            ]
        ),
        "{ends:?}"
    );
}

#[test]
fn one_close_is_pending_per_socket() {
    let (gateway, [id, _]) = idle();
    let mut dirty = ShardSet::default();
    let alias = gateway.create_virtual(id, None);
    for code in 1000..1200 {
        assert!(gateway.close(id, code, "", &mut dirty));
        assert!(gateway.close(alias, code, "", &mut dirty));
    }
    let commands = take(&gateway, 0);
    assert!(
        matches!(commands[..], [Command::Close { code: 1000, .. }]),
        "{commands:?}"
    );
}
