//! Tests when a subscriber may enter a channel that a store numbers. What comes from the store is given by the test.

use std::sync::Arc;

use millrace_backplane::store::{Done, History, Range, SharedHistory, StoreStats};
use millrace_core::{Epoch, Kind, Pattern, ShardIndex, SocketInfo};

use super::*;
use crate::Gateway;
use crate::config::{ChannelTerms, ClientTerms};
use crate::inbox::{Command, Mail};
use crate::limits::GatewayLimits;

/// A store that can be reached, and never answers.
struct Silent;

impl History for Silent {
    fn append(&self, _: Append, _: Done<Appended>) {}

    fn follow(&self, _: &[u8], _: HistoryTerms) {}

    fn forget(&self, _: &[u8]) {}

    fn read(&self, _: &[u8], _: HistoryTerms, _: Range, _: Done<StoredPast>) {}

    fn stats(&self) -> StoreStats {
        let mut stats = StoreStats::default();
        stats.is_connected = true;
        stats
    }
}

const ROOM: &[u8] = b"room:1";

/// A gateway with a shard that processes nothing and a socket on it, which follows the room up to this message.
fn following(newest: u64) -> (Arc<Gateway>, SocketId) {
    let gateway = Gateway::new();
    let terms = [ChannelTerms {
        pattern: Pattern::new(b"room:*").unwrap(),
        text: (*b"room:*").into(),
        compress: true,
        history: Some(HistoryTerms {
            messages: 5,
            age_ms: 60_000,
        }),
        presence: false,
        clients: ClientTerms::default(),
    }];
    gateway.set_store(true, &terms);
    gateway.set_channel_terms(&terms, &GatewayLimits::default());
    let store: SharedHistory = Arc::new(Silent);
    gateway.replicas().connect(store, Weak::new());
    gateway.inboxes().open(1, 1 << 20);
    let info = SocketInfo {
        address: None,
        worker: 0,
    };
    let id = gateway.core().open(ShardIndex::FIRST, 0, info);
    assert!(gateway.session_waits((ROOM, Start::Next), id, 1));
    let mut dirty = ShardSet::default();
    gateway.fill(ROOM, past(7, newest), &mut dirty);
    assert_eq!(told(&gateway), [1]);
    (gateway, id)
}

fn past(epoch: u64, newest: u64) -> StoredPast {
    StoredPast {
        position: at(epoch, newest),
        entries: Vec::new(),
    }
}

fn at(epoch: u64, offset: u64) -> Position {
    let epoch = Epoch::new(epoch);
    Position { epoch, offset }
}

fn since(epoch: u64, offset: u64) -> Start {
    Start::Since(at(epoch, offset))
}

fn apply(gateway: &Gateway, offset: u64) {
    let entry = Entry {
        offset,
        unix_ms: 1,
        kind: Kind::Text,
        payload: Bytes::from_static(b"text"),
        from: None,
        mark: 0,
    };
    gateway.apply(ROOM, &entry, &mut ShardSet::default());
}

/// The numbers of the operations of which a session was told.
fn told(gateway: &Gateway) -> Vec<u8> {
    let mut mail = Mail::default();
    gateway.inboxes().take(ShardIndex::FIRST, &mut mail);
    let commands = std::mem::take(&mut mail.commands);
    gateway.inboxes().processed(ShardIndex::FIRST, &mut mail);
    let number = |command: Command| match command {
        Command::Tell { instruction, .. } => instruction.view().fields().first().copied(),
        _ => None,
    };
    commands.into_iter().filter_map(number).collect()
}

#[test]
fn a_client_that_knows_more_than_this_node_waits_until_the_node_has_it_too() {
    let (gateway, id) = following(98);
    assert!(!gateway.session_waits((ROOM, since(7, 98)), id, 2));
    assert!(!gateway.session_waits((ROOM, since(8, 100)), id, 2));
    assert!(gateway.session_waits((ROOM, since(7, 100)), id, 2));
    assert!(gateway.session_waits((ROOM, since(7, 99)), id, 3));
    assert_eq!(told(&gateway), [0; 0]);
    apply(&gateway, 99);
    assert_eq!(told(&gateway), [3]);
    apply(&gateway, 100);
    assert_eq!(told(&gateway), [2]);
    assert!(!gateway.session_waits((ROOM, since(7, 100)), id, 4));
}

#[test]
fn what_is_kept_is_read_from_the_store_for_those_who_know_more_than_this_node() {
    let (gateway, _) = following(98);
    assert_eq!(gateway.terms_to_read(ROOM, since(7, 98)), None);
    assert!(gateway.terms_to_read(ROOM, since(7, 99)).is_some());
}

#[test]
fn a_channel_that_begins_anew_has_all_that_there_is() {
    let (gateway, id) = following(98);
    assert!(gateway.session_waits((ROOM, since(7, 100)), id, 2));
    let mut dirty = ShardSet::default();
    gateway.fill(ROOM, past(8, 3), &mut dirty);
    assert_eq!(told(&gateway), [2]);
}

#[test]
fn what_does_not_come_although_the_store_can_be_reached_is_not_there() {
    let (gateway, id) = following(98);
    assert!(gateway.session_waits((ROOM, since(7, 500)), id, 2));
    let later = |seconds| Instant::now() + std::time::Duration::from_secs(seconds);
    gateway.sweep_replicas(later(4));
    assert_eq!(told(&gateway), [0; 0]);
    gateway.sweep_replicas(later(6));
    assert_eq!(told(&gateway), [2]);
    // nobody waits for it or for what is behind it again, until the channel has come that far
    assert!(!gateway.session_waits((ROOM, since(7, 500)), id, 3));
    assert!(!gateway.session_waits((ROOM, since(7, 501)), id, 3));
    assert!(gateway.session_waits((ROOM, since(7, 499)), id, 3));
    for offset in 99..=500 {
        apply(&gateway, offset);
    }
    assert_eq!(told(&gateway), [3]);
    assert!(gateway.session_waits((ROOM, since(7, 502)), id, 4));
}
