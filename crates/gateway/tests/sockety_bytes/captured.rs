//! Bytes that other implementations of Sockety sent: the events of each captured vector are its contents, in whatever
//! pieces it arrives.

use std::collections::BTreeMap;

use crate::account::Account;
use crate::stand::Stand;
use crate::vectors::vectors;

/// Vectors that were captured before the message was complete.
const UNFINISHED: [&str; 11] = [
    "response-stream-flag-s2c",
    "data-70000-head-c2s-prefix",
    "data-17MiB-head-c2s-prefix",
    "channel-switch-16-c2s",
    "channel-switch-299-c2s",
    "channel-switch-16-s2c",
    "channel-switch-299-s2c",
    "file-70000-head-c2s-prefix",
    "file-17MiB-head-c2s-prefix",
    "file-index-255-256-c2s",
    "file-count-258-c2s",
];

/// Errors of the sender, and how they are decoded: an id that begins a byte early, and an excess byte.
const REFUSED: [(&str, &str); 2] = [
    ("BUG-go-fastreply-5", "fast reply 5"),
    ("BUG-go-fastreply-300", "fast reply 274"),
];

/// Vectors that are short enough to be cut at every byte.
fn short() -> Vec<(&'static str, Vec<u8>)> {
    let all = vectors().into_iter();
    let all = all.map(|vector| (vector.name, vector.stream()));
    all.filter(|(_, wire)| wire.len() <= 150).collect()
}

#[test]
fn the_events_of_each_vector_are_its_contents() {
    let mut stand = Stand::new();
    let mut ends = BTreeMap::new();
    for vector in vectors() {
        let name = vector.name;
        let wire = vector.stream();
        let account = stand.send(&wire);
        assert_eq!(account, Account::expected(&wire), "{name}");
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        let end = if UNFINISHED.contains(&name) {
            (1006, "")
        } else if refused.is_some() {
            (1002, "unknown packet type")
        } else {
            // the peer has closed between two messages
            (1005, "")
        };
        assert_eq!((account.code, &*account.reason), end, "{name}");
        *ends.entry(end.0).or_insert(0) += 1;
    }
    assert_eq!(ends, BTreeMap::from([(1002, 2), (1005, 69), (1006, 11)]));
}

/// The bytes of the two fast replies are not valid replies to the messages that they were meant for. A header of 0
/// means the 256 channels of its sender: even the highest of them may be used, because the count only concerns the
/// peer.
#[test]
fn invalid_bytes_of_other_implementations() {
    let mut stand = Stand::new();
    let mut wires = BTreeMap::new();
    for vector in vectors().iter().filter(|vector| vector.is_mistake()) {
        wires.insert(vector.name, vector.stream());
    }
    assert_eq!(wires.len(), 3);
    for (name, brief) in REFUSED {
        // the connection is closed without further input
        let accounts = stand.provoke(&[&wires[name]]);
        assert_eq!(accounts, [Account::expected(&wires[name])]);
        assert_eq!(accounts[0].brief(), [brief]);
        assert_ne!(accounts[0].replied(), [crate::seen::U], "{name}");
    }
    let account = stand.send(&[&wires["BUG-go-header-256"], &[0x1f, 0xff, 0xa0][..]].concat());
    assert_eq!(
        (account.brief(), account.code),
        (vec!["heartbeat".to_owned()], 1005)
    );
}

#[test]
fn wherever_a_vector_is_cut_the_events_are_the_same() {
    let mut stand = Stand::new();
    for (name, wire) in short() {
        let expected = Account::expected(&wire);
        for account in stand.send_cut(&wire) {
            assert_eq!(account, expected, "{name}");
        }
    }
}

#[test]
fn the_events_are_the_same_a_byte_at_a_time() {
    let mut stand = Stand::new();
    let mut wires: Vec<_> = short().into_iter().map(|(_, wire)| wire).collect();
    for wire in &mut wires {
        // up to the invalid byte
        let is_mistake = |length: &usize| Account::expected(&wire[..*length]).code == 1002;
        let length = (1..=wire.len()).find(is_mistake);
        wire.truncate(length.unwrap_or(wire.len()));
    }
    let wires: Vec<_> = wires.iter().map(|wire| &wire[..]).collect();
    assert_all(stand.send_slowly(&wires), &wires);
}

#[test]
fn wherever_a_vector_ends_what_arrived_is_reported() {
    let mut stand = Stand::new();
    for (_, wire) in short() {
        let wires: Vec<_> = (0..wire.len()).map(|end| &wire[..end]).collect();
        assert_all(stand.send_each(&wires), &wires);
    }
}

/// Asserts that these are the accounts of the wires, in any order.
fn assert_all(mut accounts: Vec<Account>, wires: &[&[u8]]) {
    let mut expected: Vec<_> = wires.iter().map(|wire| Account::expected(wire)).collect();
    for all in [&mut accounts, &mut expected] {
        all.sort_by_cached_key(|account| format!("{account:?}"));
    }
    assert_eq!(accounts, expected);
}
