//! Unusual but valid bytes, case by case: wide numbers, unused bits, heads in pieces, empty packets, contents in every
//! order.

use crate::account::Account;
use crate::seen::hex;
use crate::stand::Stand;

/// Bytes after a header, and the expected events.
const ACCEPTED: [(&str, &[&str]); 34] = [
    // sizes of packets, of the action and of data in more bytes than necessary
    ("20 13 00 U 01 61", &["1: a"]),
    ("24 1300 00 U 01 61", &["1: a"]),
    ("28 130000 00 U 01 61", &["1: a"]),
    ("2c 13000000 00 U 01 61", &["1: a"]),
    ("20 14 02 U 0100 61", &["1: a"]),
    ("20 15 80 U 01 61 0200 e0 02 6869", &["1: a", "1: Data hi"]),
    (
        "20 19 c0 U 01 62 020000000000 ec 02000000 6869",
        &["1: b", "1: Data hi"],
    ),
    // a reserved bit, empty data, no files; the channel is free for another message
    ("20 13 01 U 01 61", &["1: a"]),
    ("20 14 40 U 01 61 00 20 13 00 U 01 62", &["1: a", "2: b"]),
    (
        "20 16 10 U 01 66 00 0000 20 13 00 U 01 62",
        &["1: f", "2: b"],
    ),
    // heads in pieces
    ("20 11 00 U 60 02 03 61 60 02 62 63", &["1: abc"]),
    (
        "20 11 00 U a0 30 P 60 02 01 61",
        &["fast reply 0", "1: a", "heartbeat"],
    ),
    (
        "20 11 00 U 01 50 21 40 P U 60 01 02 e0 02 6f6b 00 60 02 01 61",
        &["1: response", "2: a", "1: Data ok"],
    ),
    ("20 00 60 00 60 13 00 U 01 61", &["1: a"]),
    // small numbers in twelve bits, and the greatest numbers
    ("10 05 20 13 00 U 01 61", &["1: a"]),
    ("1f ff 20 13 00 U 01 61", &["1: a"]),
    ("40 05 U", &["fast reply 5"]),
    ("4f ff U", &["fast reply 4095"]),
    // the index of the first file in one byte, and a size in four
    (
        "20 1a 10 U 01 66 01 0300 00 03 01 78 c1 03 00 616263 d1 00",
        &["1: f", "1: File(0) abc"],
    ),
    (
        "20 1a 10 U 01 66 01 0300 00 03 01 78 cc 03000000 616263 d0",
        &["1: f", "1: File(0) abc"],
    ),
    // empty packets
    (
        "22 13 00 U 01 73 70 00 70 01 78 70 00 80",
        &["1: s", "1: Stream x"],
    ),
    (
        "20 14 40 U 01 61 02 e0 00 e0 02 6869",
        &["1: a", "1: Data hi"],
    ),
    (
        "20 1a 10 U 01 66 01 0000 00 00 01 78 c0 00 d0",
        &["1: f", "1: File(0) "],
    ),
    // unused bits
    ("af bf", &["go away", "heartbeat"]),
    (
        "22 13 00 U 01 73 73 01 78 8f 20 13 00 U 01 62",
        &["1: s", "2: b", "1: Stream x"],
    ),
    // packets that have no effect without a message
    ("b0 90 20 13 00 U 01 61", &["go away", "1: a"]),
    // answers without a question
    ("50 21 00 P U 31 P", &["1: response", "fast reply 1"]),
    // files before the rest of the head, around it, and in another order
    (
        "20 1a 10 U 01 66 02 0200 00 02 01 62 c0 02 6869 d0 60 04 00 00 01 63 d1 01",
        &["1: f", "1: File(0) hi", "1: File(1) "],
    ),
    (
        "20 1a 10 U 01 66 02 0200 00 02 01 62 c0 01 68 60 04 00 00 01 63 c0 01 69 d0 d1 01",
        &["1: f", "1: File(0) hi", "1: File(1) "],
    ),
    (
        "20 1e 10 U 01 66 02 0300 00 02 01 62 00 01 01 63 c1 01 01 79 d1 01 c0 01 68 c0 01 69 d0",
        &["1: f", "1: File(0) hi", "1: File(1) y"],
    ),
    // all contents at once, with another message and small packets between them
    (
        "22 1b 50 U 01 66 02 01 0200 00 02 01 62 70 01 73 c0 02 6869 e0 01 68 05 20 13 00 U 01 61 \
         a0 00 80 d0 30 P e0 01 69",
        &[
            "1: f",
            "2: a",
            "fast reply 0",
            "1: Data hi",
            "1: Stream s",
            "1: File(0) hi",
            "heartbeat",
        ],
    ),
    // aborted messages, within contents and within a head; their channel is free
    (
        "20 14 40 U 01 61 03 e0 02 6869 90 20 13 00 U 01 62",
        &["1: a", "1: given up", "2: b", "1: Data hi and no end"],
    ),
    ("20 12 00 U 01 90 20 13 00 U 01 62", &["1: b"]),
    (
        "20 1a 10 U 01 66 02 0200 00 02 01 62 c0 02 6869 90 20 13 00 U 01 62",
        &["1: b"],
    ),
];

/// The rows of the table, each with its bytes.
fn all() -> impl Iterator<Item = (&'static str, Vec<u8>, &'static [&'static str])> {
    let all = ACCEPTED.into_iter();
    all.map(|(text, brief)| (text, hex(&format!("e3 {text}")), brief))
}

#[test]
fn each_is_reported_and_closes_nothing() {
    let mut stand = Stand::new();
    for (text, wire, brief) in all() {
        let account = stand.send(&wire);
        assert_eq!(account, Account::expected(&wire), "{text}");
        assert_eq!(account.brief(), brief, "{text}");
        assert_eq!((account.code, &*account.reason), (1005, ""), "{text}");
    }
}

#[test]
fn wherever_the_bytes_are_cut_the_events_are_the_same() {
    let mut stand = Stand::new();
    for (text, wire, brief) in all() {
        for account in stand.send_cut(&wire) {
            assert_eq!(
                (account.brief(), account.code),
                (owned(brief), 1005),
                "{text}"
            );
        }
    }
}

#[test]
fn the_events_are_the_same_a_byte_at_a_time() {
    let mut stand = Stand::new();
    let wires: Vec<_> = all().map(|(_, wire, _)| wire).collect();
    let wires: Vec<_> = wires.iter().map(|wire| &wire[..]).collect();
    let mut told: Vec<_> = stand
        .send_slowly(&wires)
        .iter()
        .map(Account::brief)
        .collect();
    let mut expected: Vec<_> = all().map(|(_, _, brief)| owned(brief)).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
}

fn owned(brief: &[&str]) -> Vec<String> {
    brief.iter().map(|&line| line.to_owned()).collect()
}
