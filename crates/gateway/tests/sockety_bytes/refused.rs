//! Every kind of invalid input: it closes its connection with a code and a reason, after what came before it, and
//! closes no other.

use millrace_gateway::Options;
use millrace_protocol::sockety::DecoderConfig;

use crate::account::Account;
use crate::seen::hex;
use crate::stand::Stand;

/// The first bytes of a connection, the reason of its close, and the events for what came before; the code is always
/// 1002.
const REFUSED: [(&str, &str, &[&str]); 44] = [
    ("00", "wrong control byte", &[]),
    ("e4", "wrong control byte", &[]),
    ("ef", "wrong control byte", &[]),
    ("474554202f20", "wrong control byte", &[]),
    ("160301", "wrong control byte", &[]),
    ("e2 0000", "no channels", &[]),
    ("e3 f0", "unknown packet type", &[]),
    ("e3 a0 ff", "unknown packet type", &["heartbeat"]),
    // a message or a response on a channel that has one already
    (
        "e3 20 14 40 U 01 61 02 20 13 00 U 01 62",
        "channel busy",
        &["1: a", "1: Data  and no end"],
    ),
    (
        "e3 22 13 00 U 01 61 50 21 00 P U",
        "channel busy",
        &["1: a", "1: Stream  and no end"],
    ),
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 78 20 13 00 U 01 62",
        "channel busy",
        &["1: f"],
    ),
    ("e3 20 12 00 U 01 20 13 00 U 01 62", "channel busy", &[]),
    // a continuation where no head is incomplete
    ("e3 60 02 01 61", "nothing to continue", &[]),
    (
        "e3 20 13 00 U 01 61 60 00",
        "nothing to continue",
        &["1: a"],
    ),
    (
        "e3 20 14 40 U 01 61 02 60 01 00",
        "nothing to continue",
        &["1: a", "1: Data  and no end"],
    ),
    ("e3 20 12 00 U 01 03 60 01 61", "nothing to continue", &[]),
    // a head with more bytes than its fields take
    ("e3 20 14 00 U 01 61 00", "body too long", &[]),
    ("e3 50 22 00 P U 00", "body too long", &[]),
    ("e3 20 12 00 U 01 60 02 61 62", "body too long", &[]),
    // contents without a message, and contents that were not announced
    ("e3 e0 02 6869", "unexpected Data", &[]),
    ("e3 e0 00", "unexpected Data", &[]),
    ("e3 70 01 61", "unexpected Stream", &[]),
    ("e3 80", "unexpected Stream End", &[]),
    ("e3 c0 01 61", "unexpected File", &[]),
    ("e3 d0", "unexpected File End", &[]),
    (
        "e3 22 13 00 U 01 61 e0 01 61",
        "unexpected Data",
        &["1: a", "1: Stream  and no end"],
    ),
    (
        "e3 20 14 40 U 01 61 02 70 00",
        "unexpected Stream",
        &["1: a", "1: Data  and no end"],
    ),
    (
        "e3 20 14 40 U 01 61 02 80",
        "unexpected Stream End",
        &["1: a", "1: Data  and no end"],
    ),
    (
        "e3 20 14 40 U 01 61 02 c0 01 61",
        "unexpected File",
        &["1: a", "1: Data  and no end"],
    ),
    (
        "e3 20 14 40 U 01 61 02 d0",
        "unexpected File End",
        &["1: a", "1: Data  and no end"],
    ),
    (
        "e3 22 13 00 U 01 61 70 01 78 80 80",
        "unexpected Stream End",
        &["1: a", "1: Stream x"],
    ),
    // contents of an aborted message
    (
        "e3 20 14 40 U 01 61 03 e0 02 6869 90 e0 01 61",
        "unexpected Data",
        &["1: a", "1: given up", "1: Data hi and no end"],
    ),
    // contents before the head is complete
    ("e3 22 11 00 U 80 60 02 01 61", "unexpected Stream End", &[]),
    (
        "e3 22 11 00 U 70 01 78 60 02 01 61",
        "unexpected Stream",
        &[],
    ),
    ("e3 20 13 40 U 01 61 e0 01 78", "unexpected Data", &[]),
    // more data than announced
    (
        "e3 20 14 40 U 01 61 02 e0 03 686921",
        "too much data",
        &["1: a", "1: Data  and no end"],
    ),
    (
        "e3 22 14 40 U 01 61 02 e0 02 6869 e0 01 21",
        "too much data",
        &["1: a", "1: Data hi", "1: Stream  and no end"],
    ),
    // files that do not exist, and files with more or fewer bytes than announced
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 78 c1 03 01 616263",
        "wrong file index",
        &["1: f"],
    ),
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 78 d3 ffffff",
        "wrong file index",
        &["1: f"],
    ),
    (
        "e3 20 1a 10 U 01 66 02 0200 00 02 01 62 c0 02 6869 d1 01",
        "wrong file index",
        &[],
    ),
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 78 c0 04 61626364",
        "file too long",
        &["1: f"],
    ),
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 78 c0 02 6162 c0 02 6364",
        "file too long",
        &["1: f", "1: File(0) ab and no end"],
    ),
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 78 c0 01 61 d0",
        "file too short",
        &["1: f", "1: File(0) a and no end"],
    ),
    (
        "e3 20 1e 10 U 01 66 02 0200 00 02 01 62 00 00 01 63 d1 01 d1 01",
        "file ended twice",
        &["1: f", "1: File(1) "],
    ),
];

/// Invalid texts; the code is 1007.
const NO_TEXT: [(&str, &str); 3] = [
    ("e3 20 13 00 U 01 ff", "invalid UTF-8 in action"),
    ("e3 20 13 00 U 02 c3 60 01 28", "invalid UTF-8 in action"),
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 80",
        "invalid UTF-8 in file name",
    ),
];

/// Input beyond the limits of a listener with two channels, no files and short heads, with the codes.
const BEYOND: [(&str, &str, u32); 5] = [
    ("e3 02", "channel out of range", 1002),
    ("e3 1f ff", "channel out of range", 1002),
    (
        "e3 20 1a 10 U 01 66 01 0300 00 03 01 78",
        "too many files",
        1009,
    ),
    ("e3 2c ffffffff", "head too big", 1009),
    ("e3 20 20 00 U 50 61*14 60 31", "head too big", 1009),
];

#[test]
fn invalid_input_closes_its_connection_with_its_reason() {
    let mut stand = Stand::new();
    for (text, reason, brief) in REFUSED {
        let account = refuse(&mut stand, &DecoderConfig::default(), text);
        assert_eq!((account.code, &*account.reason), (1002, reason), "{text}");
        assert_eq!(account.brief(), brief, "{text}");
    }
    for (text, reason) in NO_TEXT {
        let account = refuse(&mut stand, &DecoderConfig::default(), text);
        assert_eq!((account.code, &*account.reason), (1007, reason), "{text}");
        assert_eq!(account.brief(), [""; 0], "{text}");
    }
}

#[test]
fn exceeding_a_limit_closes_the_connection() {
    let options = Options::new().number("maxReceivedChannels", 2);
    let mut stand = Stand::with(options, b"\xe1\x02", |listener| {
        listener.set_limit("filesPerMessage", 0).unwrap();
        listener.set_limit("messageHeadBytes", 80).unwrap();
    });
    let config = DecoderConfig {
        channels: 2,
        files: 0,
        head_bytes: 80,
        ..DecoderConfig::default()
    };
    for (text, reason, code) in BEYOND {
        let account = refuse(&mut stand, &config, text);
        assert_eq!((account.code, &*account.reason), (code, reason), "{text}");
    }
}

/// Sends invalid input alone, and again with more behind it; the peer does not end its side.
fn refuse(stand: &mut Stand, config: &DecoderConfig, text: &str) -> Account {
    let wire = hex(text);
    let behind = [&wire[..], &hex("20 13 00 U 01 7a").repeat(1000)].concat();
    let expected = Account::expected_by(config, &wire);
    for account in stand.provoke(&[&wire, &behind]) {
        assert_eq!(account, expected, "{text}");
    }
    expected
}

/// At each cut the invalid bytes, or those that lead to them, are in a different read.
#[test]
fn invalid_input_is_found_wherever_it_is_cut() {
    let mut stand = Stand::new();
    let all = REFUSED.iter().map(|(text, ..)| text);
    for text in all.chain(NO_TEXT.iter().map(|(text, _)| text)) {
        let wire = hex(text);
        let length = (1..=wire.len()).find(|length| has_mistake(&wire[..*length]));
        let expected = Account::expected(&wire);
        for account in stand.send_cut(&wire[..length.unwrap()]) {
            assert_eq!(account, expected, "{text}");
        }
    }
}

fn has_mistake(wire: &[u8]) -> bool {
    !Account::expected(wire).reason.is_empty()
}
