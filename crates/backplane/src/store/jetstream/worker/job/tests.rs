//! Reading back through records, without a server.

use bytes::Bytes;
use millrace_core::{Epoch, HistoryTerms, Kind};

use std::sync::Arc;

use super::super::super::super::feed::{Append, Range};
use super::super::super::super::requests::Charge;
use super::super::super::super::shared::Shared;
use super::super::super::record::State;
use super::*;
use crate::config::Bounds;

const NODE: u64 = 7;

/// A channel's records by their numbers.
struct Channel {
    records: Vec<(u64, Record)>,
    head: Head,
}

/// A channel with records of so many messages each, whose numbers in the stream are the multiples of ten.
fn channel(counts: &[usize]) -> Channel {
    let mut head = Head::nothing(Epoch::new(1));
    let (mut records, mut number) = (Vec::new(), 0);
    for (place, count) in counts.iter().enumerate() {
        let before = head.chain();
        let (mut state, mut messages) = (head.state, Vec::new());
        for _ in 0..*count {
            number += 1;
            let message = Append {
                channel: (*b"room").into(),
                terms: HistoryTerms {
                    messages: 1,
                    age_ms: 1,
                },
                kind: Kind::Text,
                payload: Bytes::from_static(b"hello"),
                from: None,
                key: None,
                mark: 0,
            };
            let id = Id { node: NODE, number };
            let published = state.next(id, number, &message, NODE);
            state = State::behind(&published);
            messages.push(published);
        }
        let sequence = 10 * (u64::try_from(place).unwrap() + 1);
        let record = Record {
            state,
            before,
            messages,
        };
        head = Head::of(sequence, &record);
        records.push((sequence, record));
    }
    Channel { records, head }
}

impl Channel {
    fn record(&self, sequence: u64) -> Option<&Record> {
        let found = self.records.iter().find(|(own, _)| *own == sequence);
        found.map(|(_, record)| record)
    }

    /// Reads for a follower; returns the offsets, and how often records were asked for.
    fn read(&self, wanted: Wanted) -> (Vec<u64>, usize) {
        let place = Place {
            channel: (*b"room").into(),
            generation: 1,
        };
        self.read_for(Why::Follow(place), wanted)
    }

    /// Reads a page for a node.
    fn page(&self, wanted: Wanted) -> (Vec<u64>, usize) {
        let bounds = Bounds {
            queue_bytes: 1,
            ..Bounds::default()
        };
        let shared = Arc::new(Shared::new(&bounds));
        let charge = Charge::take(&shared, 1).expect("nothing else waits");
        let terms = HistoryTerms {
            messages: 1,
            age_ms: 1,
        };
        let range = Range {
            after: 0,
            most: 1,
            most_bytes: 1,
            is_reverse: false,
        };
        let about = ((*b"room").into(), terms, range);
        let reading = Reading::new(about, Box::new(|_| {}), charge);
        self.read_for(Why::Node(reading), wanted)
    }

    fn read_for(&self, why: Why, wanted: Wanted) -> (Vec<u64>, usize) {
        let mut job = Job::new((*b"room").into(), 0, why, wanted);
        let newest = self.record(self.head.sequence).unwrap();
        let mut next = job.begin(self.head.clone(), newest);
        let mut rounds = 0;
        loop {
            let sequences = match next {
                Next::Records(sequences) => sequences,
                Next::From(sequence) => {
                    rounds += 1;
                    let found = self.records.iter().find(|(own, _)| *own >= sequence);
                    let found = found.map(|(own, record)| Found::Record(*own, record.clone()));
                    next = job.searched(found.unwrap_or(Found::Nothing));
                    continue;
                }
                Next::Wait | Next::Done => break,
            };
            rounds += 1;
            next = Next::Wait;
            // they come in another order
            for (place, sequence) in sequences.iter().enumerate().rev() {
                assert_eq!(next, Next::Wait);
                let found = match self.record(*sequence) {
                    Some(record) => Found::Record(*sequence, record.clone()),
                    None => Found::Nothing,
                };
                next = job.found(place, found);
            }
        }
        assert_eq!(next, Next::Done);
        let (_, page) = job.finish();
        let page = page.unwrap();
        assert_eq!(page.newest, self.head.state.offset);
        let offsets = page.messages.iter().map(|message| message.entry.offset);
        (offsets.collect(), rounds)
    }
}

/// Everything from this offset on.
fn from(offset: u64) -> Wanted {
    Wanted {
        cut: Cut {
            from: Some(offset),
            floor: 1,
            most: usize::MAX,
            is_reverse: false,
        },
        messages: u64::MAX,
        since_ms: 0,
        most_bytes: usize::MAX,
    }
}

#[test]
fn many_records_are_read_together() {
    let (offsets, rounds) = channel(&[1; 100]).read(from(1));
    assert_eq!(offsets, (1..=100).collect::<Vec<_>>());
    assert_eq!(rounds, 7);
}

#[test]
fn only_what_is_wanted_is_read() {
    let channel = channel(&[2, 3, 0, 1, 4]);
    assert_eq!(channel.read(from(1)).0, (1..=10).collect::<Vec<_>>());
    assert_eq!(channel.read(from(8)), (vec![8, 9, 10], 0));
    assert_eq!(channel.read(from(5)), ((5..=10).collect(), 1));
    assert_eq!(channel.read(from(11)), (vec![], 0));
    let last = Wanted {
        messages: 3,
        ..from(1)
    };
    assert_eq!(channel.read(last).0, [8, 9, 10]);
    let young = Wanted {
        since_ms: 4,
        ..from(1)
    };
    assert_eq!(channel.read(young).0, [5, 6, 7, 8, 9, 10]);
    let few_bytes = Wanted {
        most_bytes: 2 * (HEAD_BYTES + 5),
        ..from(1)
    };
    assert_eq!(channel.read(few_bytes).0, [9, 10]);
    let mut reverse = from(1);
    reverse.cut = Cut {
        from: None,
        floor: 3,
        most: 4,
        is_reverse: true,
    };
    assert_eq!(channel.read(reverse).0, [10, 9, 8, 7]);
}

#[test]
fn reading_ends_at_a_record_that_is_gone_or_does_not_belong() {
    let mut channel = channel(&[1; 40]);
    channel.records.remove(9);
    assert_eq!(channel.read(from(1)).0, (11..=40).collect::<Vec<_>>());
    // a copy that was restored has another message under this number
    channel.records[20].1.messages[0].id.number = 1000;
    assert_eq!(channel.read(from(1)).0, (23..=40).collect::<Vec<_>>());
}

/// The first of these that are kept from this offset on.
fn first(offset: u64, most: usize, (messages, since_ms): (u64, u64)) -> Wanted {
    let mut wanted = Wanted {
        messages,
        since_ms,
        ..from(offset)
    };
    wanted.cut.most = most;
    wanted
}

#[test]
fn a_page_far_in_front_is_found_with_few_questions() {
    let channel = channel(&[3; 2000]);
    let all = (u64::MAX, 0);
    let (offsets, rounds) = channel.page(first(1000, 100, all));
    assert_eq!(offsets, (1000..1100).collect::<Vec<_>>());
    assert!(rounds < 30, "{rounds}");
    assert_eq!(channel.page(first(1, 5, all)).0, [1, 2, 3, 4, 5]);
    assert_eq!(
        channel.page(first(5990, 100, all)),
        ((5990..=6000).collect(), 1)
    );
}

#[test]
fn a_page_begins_with_the_first_that_is_kept() {
    // their times are their numbers
    let mut channel = channel(&[3; 2000]);
    for (messages, since_ms, kept) in [
        (u64::MAX, 2000, 2001),
        (u64::MAX, 5999, 6000),
        (3000, 0, 3001),
        (3000, 4000, 4001),
        (100, 0, 5901),
    ] {
        let terms = (messages, since_ms);
        for most in [1, 10, 1000] {
            for offset in [1, 500, kept - 1, kept, kept + 1] {
                let (offsets, _) = channel.page(first(offset, most, terms));
                let begin = offset.max(kept);
                let end = begin + u64::try_from(most).unwrap();
                let expected: Vec<_> = (begin..end.min(6001)).collect();
                assert_eq!(
                    offsets, expected,
                    "{most} from {offset} of {messages}, {since_ms}"
                );
            }
        }
    }
    // the server does not have the first records any more
    channel.records.drain(..1000);
    assert_eq!(
        channel.page(first(1, 3, (u64::MAX, 0))).0,
        [3001, 3002, 3003]
    );
}

#[test]
fn a_page_in_front_of_another_epoch_is_read_back_from_the_newest() {
    let mut channel = channel(&[1; 1000]);
    for (_, record) in channel.records.iter_mut().take(500) {
        record.state.epoch = Epoch::new(2);
    }
    assert_eq!(channel.page(first(10, 3, (u64::MAX, 0))).0, [10, 11, 12]);
    // what is behind does not belong to it
    channel.records[600].1.messages[0].id.number = 10_000;
    assert_eq!(channel.page(first(10, 3, (u64::MAX, 0))).0, [602, 603, 604]);
}
