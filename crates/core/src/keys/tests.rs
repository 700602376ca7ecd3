//! One lock shard of the store: rows, expiry and scans.

use super::*;

const A: Bytes = Bytes::from_static(b"a");

/// Places every key in the same row.
fn place(key: &str) -> Place<'_> {
    Place {
        at: 7,
        key: key.as_bytes(),
    }
}

fn set(table: &mut KeyTable, place: Place<'_>, until: Option<u64>, now: u64) -> bool {
    table.update(
        place,
        || now,
        |held| (Update::Set { value: A, until }, held.is_some()),
    )
}

fn update(table: &mut KeyTable, key: &str, update: Update, now: u64) -> bool {
    table.update(place(key), || now, |held| (update, held.is_some()))
}

fn keys(table: &KeyTable, now: u64) -> Vec<String> {
    let mut keys = Vec::new();
    let visit = &mut |key: &[u8], _: &Bytes| keys.push(key.escape_ascii().to_string());
    assert_eq!(table.scan(0, &mut usize::MAX.clone(), now, visit), None);
    keys
}

#[test]
fn keys_of_one_place_are_independent() {
    let mut table = KeyTable::default();
    for key in ["", "a", "b"] {
        assert!(!set(&mut table, place(key), None, 0));
        assert!(set(&mut table, place(key), Some(10), 0));
    }
    assert_eq!((table.len(), keys(&table, 0).len()), (3, 3));
    assert!(update(&mut table, "a", Update::Delete, 0));
    assert!(!update(&mut table, "a", Update::Delete, 0));
    assert!(update(&mut table, "b", Update::Until(None), 0));
    assert_eq!(keys(&table, 0), ["", "b"]);
    assert_eq!(
        keys(&table, 10),
        ["b"],
        "the expired key is not removed yet"
    );
    assert_eq!(table.expiring.len(), 1);
    assert!(update(&mut table, "b", Update::Keep, 10));
    assert_eq!((table.len(), table.expiring.len()), (1, 0));
    assert_eq!(
        table.bytes(),
        ENTRY_BYTES + 2,
        "a key of one byte and a value of one byte"
    );
    set(&mut table, place(""), Some(50), 40);
    assert_eq!(table.bytes(), 2 * ENTRY_BYTES + 3);
    assert!(update(&mut table, "b", Update::Delete, 50));
    assert_eq!((table.bytes(), table.len()), (0, 0));
}

#[test]
fn expired_keys_are_absent() {
    let mut table = KeyTable::default();
    set(&mut table, place("k"), Some(10), 0);
    assert_eq!(table.get(place("k"), || 9), Some(&A));
    assert_eq!(table.get(place("k"), || 10), None);
    assert!(!update(&mut table, "k", Update::Until(Some(20)), 10));
    assert_eq!((table.len(), table.expiring.len()), (0, 0));
    assert!(!set(&mut table, place("k"), Some(30), 10));
    assert!(set(&mut table, place("k"), Some(20), 10), "sooner");
    assert_eq!(table.expiring.len(), 1);
    assert_eq!(table.get(place("k"), || 25), None);
    assert!(!set(&mut table, place("k"), None, 25));
    let never = || panic!("nothing can expire");
    assert_eq!(table.get(place("k"), never), Some(&A));
    table.update(place("k"), never, |held| {
        let held = held.expect("there");
        assert_eq!((held.value, held.until), (&A, None));
        (Update::Delete, ())
    });
    assert_eq!((table.len(), table.rows.len()), (0, 0));
}

#[test]
fn updates_remove_expired_keys_of_other_rows() {
    let mut table = KeyTable::default();
    for at in 0..100 {
        let key = place("k");
        set(&mut table, Place { at, ..key }, Some(10 + at % 2), 0);
    }
    for (round, left) in [(0, 92), (1, 84), (2, 76)] {
        assert!(!update(&mut table, "other", Update::Keep, 10), "{round}");
        assert_eq!((table.len(), table.expiring.len()), (left, left));
    }
    for _ in 0..20 {
        update(&mut table, "other", Update::Keep, 10);
    }
    assert_eq!(table.len(), 50, "the others have not expired");
    assert!(table.expiring.iter().all(|(until, _)| *until == 11));
}

#[test]
fn expire_removes_keys_without_any_write() {
    let mut table = KeyTable::default();
    for at in 0..300 {
        let key = place("k");
        set(&mut table, Place { at, ..key }, Some(10 + at % 2), 0);
    }
    table.expire(9);
    assert_eq!(table.len(), 300);
    table.expire(10);
    assert_eq!(table.len(), 300 - 128, "one call removes at most 128 keys");
    table.expire(10);
    assert_eq!((table.len(), table.expiring.len()), (150, 150));
    (0..2).for_each(|_| table.expire(11));
    assert_eq!((table.len(), table.bytes()), (0, 0));
}

#[test]
fn a_scan_continues_where_it_stopped() {
    let mut table = KeyTable::default();
    for at in [3, 5, 9, 1000] {
        let key = at.to_string();
        let key = key.as_bytes();
        set(&mut table, Place { at, key }, None, 0);
    }
    let mut seen = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let mut left = 1;
        let visit = &mut |key: &[u8], _: &Bytes| seen.push(key.to_vec());
        from = table.scan(at, &mut left, 0, visit);
        assert_eq!(left, 0);
        // neither removing a key already shown nor adding one before the scan's position matters
        table.remove(Place { at: 3, key: b"3" });
    }
    assert_eq!(seen, [&b"3"[..], b"5", b"9", b"1000"]);
}
