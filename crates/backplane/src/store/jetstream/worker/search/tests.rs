//! Searching a channel's record, without a server.

use millrace_core::{Epoch, HistoryTerms, Kind};
use proptest::prelude::*;

use super::super::super::super::feed::Append;
use super::super::super::super::publication::Id;
use super::super::super::record::State;
use super::*;

/// Records of so many messages each, of this length, with their numbers in the stream. Every fifth says only where the
/// numbers are.
fn records(counts: &[(usize, u64)], length: usize) -> Vec<(u64, Record)> {
    let mut state = State {
        epoch: Epoch::new(1),
        offset: 0,
        unix_ms: 0,
        id: Id::default(),
    };
    let (mut records, mut sequence, mut number) = (Vec::new(), 0, 0);
    for (place, (count, others)) in counts.iter().enumerate() {
        let mut messages = Vec::new();
        for _ in 0..if place % 5 == 4 { 0 } else { *count } {
            number += 1;
            let message = Append {
                channel: (*b"room").into(),
                terms: HistoryTerms {
                    messages: 1,
                    age_ms: 1,
                },
                kind: Kind::Text,
                payload: vec![b'x'; length].into(),
                from: None,
                key: None,
                mark: 0,
            };
            let published = state.next(Id { node: 1, number }, 1, &message, 1);
            state = State::behind(&published);
            messages.push(published);
        }
        sequence += others + 1;
        let record = Record {
            state,
            before: Vec::new(),
            messages,
        };
        records.push((sequence, record));
    }
    records
}

/// What is found, and how many records were asked for.
fn find(records: &[(u64, Record)], search: &mut Search) -> (Option<Record>, u32) {
    let mut sequence = search.begin();
    for asked in 1.. {
        let found = records.iter().find(|(own, _)| *own >= sequence);
        let (own, record) = found.expect("the newest record is behind it").clone();
        match search.found(own, record) {
            Step::Ask(next) => sequence = next,
            Step::Found(record) => return (Some(record), asked),
            Step::Nothing => return (None, asked),
        }
    }
    unreachable!("it ends")
}

#[test]
fn what_is_near_the_newest_is_not_searched() {
    let records = records(&[(100, 0); 9], 10);
    let (sequence, newest) = records.last().unwrap();
    let far = |from, most| Search::new(from, (most, usize::MAX), (*sequence, newest)).is_some();
    // 800 in all
    assert!(far(1, 10) && far(534, 10) && !far(535, 10) && !far(1, 600) && far(1, 500));
    let few = |bytes| Search::new(1, (usize::MAX, bytes), (*sequence, newest)).is_some();
    let one = HEAD_BYTES + 10;
    assert!(few(one * 500) && !few(one * 600));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_record_is_found_with_few_questions(
        counts in prop::collection::vec((1..40_usize, 0..50_u64), 1..200),
        gone in 0..100_usize,
        (from, most) in (1..4000_u64, 1..300_usize),
        length in 1..3000_usize,
    ) {
        let all = records(&counts, length);
        let (sequence, newest) = all.last().unwrap().clone();
        let kept = all.get(gone.min(all.len() - 1)..).unwrap();
        let Some(mut search) = Search::new(from, (most, 65_536), (sequence, &newest)) else {
            return Ok(());
        };
        let (found, asked) = find(kept, &mut search);
        let found = found.expect("the newest has more");
        prop_assert!(asked <= u64::BITS - sequence.leading_zeros() + 1, "{asked} of {sequence}");
        let last = found.state.offset;
        let wanted = from + u64::try_from(most).unwrap();
        // it has what is wanted, if that is kept, and not much behind it
        prop_assert!(last >= from);
        let first_kept = kept.iter().find_map(|(_, record)| record.messages.first());
        let first_kept = first_kept.map_or(newest.state.offset, |message| message.entry.offset);
        prop_assert!(last < wanted.max(first_kept) + 40, "{last} for {wanted}, {first_kept} kept");
    }
}
