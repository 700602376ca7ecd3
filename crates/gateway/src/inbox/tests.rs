//! The inbox on one thread: its bound, its high water, its sizes.

use super::*;
use crate::frame::Ledger;
use crate::hub::{Outgoing, Poster};
use millrace_core::{Post, Route, SocketId};
use std::sync::Arc;

fn shard() -> ShardIndex {
    ShardIndex::new(0).unwrap()
}

fn send(inboxes: &Inboxes, payload: &[u8]) -> bool {
    let ledger = Arc::new(Ledger::new());
    let mut dirty = ShardSet::default();
    let mut poster = Poster::new(inboxes, &ledger, &mut dirty, None);
    let route = Route {
        shard: shard(),
        slot: 0,
        socket: SocketId::new(1).unwrap(),
    };
    poster.direct(route, None, &Outgoing::new(Kind::Text, payload))
}

#[test]
fn a_full_inbox_refuses_and_counts() {
    let inboxes = Inboxes::new();
    inboxes.open(1, 1000);
    let mut accepted = 0;
    while send(&inboxes, &[b'x'; 100]) {
        accepted += 1;
    }
    assert!(accepted > 1);
    assert_eq!(inboxes.posted().deliveries, accepted);
    assert_eq!(inboxes.posted().refused, 1);
    assert!(inboxes.congested());
    let mut mail = Mail::default();
    inboxes.take(shard(), &mut mail);
    assert!(
        !send(&inboxes, &[b'x'; 100]),
        "what is being processed still counts"
    );
    assert!(inboxes.processed(shard(), &mut mail));
    assert!(!inboxes.congested());
    assert!(send(&inboxes, &[b'x'; 100]));
}

#[test]
fn one_message_always_fits_an_empty_inbox() {
    let inboxes = Inboxes::new();
    inboxes.open(1, 10);
    assert!(send(&inboxes, &vec![b'x'; 100_000]));
    assert!(!send(&inboxes, b"y"));
}

#[test]
fn an_inbox_without_shard_takes_nothing() {
    assert!(!send(&Inboxes::new(), b"x"));
}

#[test]
fn a_command_stays_small() {
    assert!(size_of::<Command>() <= 48, "{}", size_of::<Command>());
}
