//! What must hold for any bytes of a server with JetStream: of its lines, of its answers, and of the records in them. Only in
//! tests and with the feature `fuzzing`.

use bytes::Bytes;
use millrace_core::HistoryTerms;

use super::super::feed::Append;
use super::super::publication::Published;
use super::answers::{Found, Outcome, failure, found, outcome};
use super::json;
use super::record::{self, Head, MOST_BEFORE, Record};
use super::wire::{Heard, Message, Reader};
use crate::wire::pieces::in_pieces;

/// Reads these bytes as lines, split alternately into pieces of two sizes, and then as one answer and as one record. Returns
/// what was heard, which must be the same however the bytes are split.
///
/// # Panics
///
/// If a property that must always hold does not.
pub(crate) fn feed(server: &[u8], steps: [usize; 2]) -> Vec<String> {
    let mut reader = Reader::new(LONGEST);
    let (mut seen, mut out, mut pongs) = (Vec::new(), Vec::new(), 0);
    let failure = in_pieces(server, steps, |input, given| {
        let used = reader.read(input, &mut out, &mut |heard| {
            seen.push(format!("{heard:?}"));
            match heard {
                Heard::Message(message) => {
                    assert!(message.payload.len() <= LONGEST);
                    answer(&message);
                }
                Heard::Pong => pongs += 1,
                Heard::Forbidden { .. } | Heard::Servers(_) => {}
            }
        });
        assert!(
            out.len() <= 2 * given && pongs <= given,
            "answers are not longer than the questions"
        );
        used
    });
    seen.extend(failure);
    let payload = Bytes::copy_from_slice(server);
    answer(&Message {
        payload,
        ..Message::default()
    });
    seen
}

/// An answer, or what was published on a channel's topic.
fn answer(message: &Message) {
    let payload = &message.payload;
    if failure(message).is_some() {
        assert!(!matches!(outcome(message), Outcome::Kept(_)));
        assert!(!matches!(
            found(message, OWN),
            Found::Record(..) | Found::Foreign(_)
        ));
    }
    if let Found::Record(sequence, record) = found(message, OWN) {
        record_again(sequence, &record);
    }
    if let Some(record) = record::parse(payload, OWN) {
        record_again(1, &record);
    }
    configuration(payload);
}

/// A record is bounded by its bytes, and reads as itself when it is written anew.
fn record_again(sequence: u64, record: &Record) {
    let mut again = Vec::new();
    if record.messages.is_empty() {
        again = record::mark(&record.state, &record.before);
    } else {
        record::begin(&record.before, &mut again);
        for message in &record.messages {
            record::put(message, &append(message), &mut again);
        }
    }
    let read = record::parse(&Bytes::from(again), OWN);
    assert_eq!(read.as_ref(), Some(record));
    let head = Head::of(sequence, record);
    assert!(head.chain().len() <= MOST_BEFORE);
    assert!(head.behind_foreign(u64::MAX).chain().len() <= MOST_BEFORE);
}

/// What a message was before it was published.
fn append(message: &Published) -> Append {
    let entry = &message.entry;
    Append {
        channel: Box::default(),
        terms: HistoryTerms {
            messages: 1,
            age_ms: 1,
        },
        kind: entry.kind,
        payload: entry.payload.clone(),
        from: entry.from.map(|(_, socket)| socket),
        key: None,
        mark: entry.mark,
    }
}

/// A stream's configuration, which is sent back with other bounds.
fn configuration(answer: &[u8]) {
    let Some(config) = json::object(answer, "config") else {
        return;
    };
    assert!(config.starts_with(b"{") && config.ends_with(b"}"));
    for name in ["max_age", "max_msgs_per_subject"] {
        if let Some(changed) = json::with_number(config, name, 12) {
            assert_eq!(json::number(&changed, name), Some(12));
        }
    }
}

/// The number of this node.
const OWN: u64 = 7;

/// The most bytes of one message.
const LONGEST: usize = 4096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARTS: &[&[u8]] = &[
        b"PING\r\n",
        b"PONG\r\n",
        b"+OK\r\n",
        b"INFO {\"connect_urls\":[\"a:1\"]}\r\n",
        b"MSG t 2 5\r\nhello\r\n",
        b"MSG t 2 5000\r\n",
        b"HMSG _INBOX.x.7 1 reply 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
        b"HMSG t 3 31 33\r\nNATS/1.0\r\nnats-sequence: 12\r\n\r\nhi\r\n",
        b"HMSG t 3 9 5\r\n",
        b"MSG _INBOX.x.8 1 26\r\n{\"stream\":\"s\",\"seq\":12345}\r\n",
        b"{\"error\":{\"code\":404,\"err_code\":10037,\"description\":\"none\"}}",
        b"{\"config\":{\"name\":\"}\",\"max_age\":-1,\"max_msgs_per_subject\":5},\"state\":{}}",
        b"{\"message\":{\"seq\":9,\"data\":\"/3JlY29yZHMBAgA=\"}}",
        b"-ERR 'Permissions Violation for Publish to \"a.b\"'\r\n",
        b"-ERR 'Slow Consumer'\r\n",
        b"\xffrecords\x01\x01\x01",
        b"\xffrecords\x01\x02\x00",
        b"\xffhistory\x01\x0100000000000000ff",
        b"\x01\0\0\0\0\0\0\0",
    ];

    proptest! {
        #[test]
        fn the_same_is_heard_however_it_is_split(
            parts in prop::collection::vec(prop::sample::select(PARTS), 0..30),
            noise in prop::collection::vec(any::<u8>(), 0..4),
            steps in [1_usize..50, 1_usize..50],
        ) {
            for server in [parts.concat(), [&noise[..], &parts.concat()].concat()] {
                let whole = feed(&server, [usize::MAX; 2]);
                prop_assert_eq!(&feed(&server, steps), &whole);
                prop_assert_eq!(feed(&server, [1, 1]), whole);
            }
        }
    }
}
