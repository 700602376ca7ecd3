//! What other implementations of Sockety sent: each captured vector is told as what it says, in whatever pieces it comes.

use std::collections::BTreeMap;

use crate::account::Account;
use crate::stand::Stand;
use crate::vectors::vectors;

/// Beginnings, and what was captured before it was finished.
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

/// Mistakes of their sender, and what they are taken for: an id that begins a byte early, and one byte too many.
const REFUSED: [(&str, &str); 2] = [
    ("BUG-go-fastreply-5", "fast reply 5"),
    ("BUG-go-fastreply-300", "fast reply 274"),
];

/// Those that can be cut at every byte in no time.
fn short() -> Vec<(&'static str, Vec<u8>)> {
    let all = vectors().into_iter();
    let all = all.map(|vector| (vector.name, vector.stream()));
    all.filter(|(_, wire)| wire.len() <= 150).collect()
}

#[test]
fn each_is_told_as_what_it_says() {
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
            // the peer has ended it between two messages
            (1005, "")
        };
        assert_eq!((account.code, &*account.reason), end, "{name}");
        *ends.entry(end.0).or_insert(0) += 1;
    }
    assert_eq!(ends, BTreeMap::from([(1002, 2), (1005, 69), (1006, 11)]));
}

/// The bytes of the two fast replies are no such reply to the message that they were meant for. A header that says 0 means the
/// 256 channels that its sender has: the highest of them may be chosen, and it is the peer's count alone.
#[test]
fn mistakes_of_other_implementations() {
    let mut stand = Stand::new();
    let mut wires = BTreeMap::new();
    for vector in vectors().iter().filter(|vector| vector.is_mistake()) {
        wires.insert(vector.name, vector.stream());
    }
    assert_eq!(wires.len(), 3);
    for (name, brief) in REFUSED {
        // it need not send anything more to be closed
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
fn wherever_it_is_cut_the_same_is_told() {
    let mut stand = Stand::new();
    for (name, wire) in short() {
        let expected = Account::expected(&wire);
        for account in stand.send_cut(&wire) {
            assert_eq!(account, expected, "{name}");
        }
    }
}

#[test]
fn a_byte_at_a_time_the_same_is_told() {
    let mut stand = Stand::new();
    let mut wires: Vec<_> = short().into_iter().map(|(_, wire)| wire).collect();
    for wire in &mut wires {
        // up to the byte that is a mistake
        let is_mistake = |length: &usize| Account::expected(&wire[..*length]).code == 1002;
        let length = (1..=wire.len()).find(is_mistake);
        wire.truncate(length.unwrap_or(wire.len()));
    }
    let wires: Vec<_> = wires.iter().map(|wire| &wire[..]).collect();
    assert_all(stand.send_slowly(&wires), &wires);
}

#[test]
fn wherever_it_ends_what_came_is_told() {
    let mut stand = Stand::new();
    for (_, wire) in short() {
        let wires: Vec<_> = (0..wire.len()).map(|end| &wire[..end]).collect();
        assert_all(stand.send_each(&wires), &wires);
    }
}

/// These are the accounts of them, in any order.
fn assert_all(mut accounts: Vec<Account>, wires: &[&[u8]]) {
    let mut expected: Vec<_> = wires.iter().map(|wire| Account::expected(wire)).collect();
    for all in [&mut accounts, &mut expected] {
        all.sort_by_cached_key(|account| format!("{account:?}"));
    }
    assert_eq!(accounts, expected);
}
