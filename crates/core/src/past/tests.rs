//! The rules of one channel's past, beside numbers that are written out.

use super::*;
use crate::name::Space;

fn past(messages: u32, age_ms: u64) -> Past<u8> {
    let terms = HistoryTerms { messages, age_ms };
    Past::new((1, Name::new(Space::Channel, b"abc")), terms, Epoch::new(7))
}

fn push(past: &mut Past<u8>, message: u8, key: Option<&[u8]>, now: u64) -> Number {
    let new = New {
        message,
        length: 10,
        from: None,
        key,
    };
    past.push(new, now)
}

#[test]
fn messages_are_numbered_and_the_oldest_go_first() {
    let mut past = past(2, 100);
    assert_eq!(
        (past.first(), past.position().offset, past.charge()),
        (1, 0, 0)
    );
    for message in 1..=5 {
        let number = push(&mut past, message, None, 0);
        assert_eq!(number.position.offset, u64::from(message));
    }
    assert_eq!(past.charge(), 2 * (10 + 128) + 3 + 512);
    assert_eq!((past.get(3), past.get(6)), (None, None));
    let kept = |offset| {
        past.get(offset)
            .map(|(kept, charge)| (kept.message, charge))
    };
    assert_eq!((kept(4), kept(5)), (Some((4, 138)), Some((5, 138))));
}

#[test]
fn time_never_goes_back_and_old_messages_expire() {
    let mut past = past(10, 100);
    let times = [50, 60, 40, 61].map(|now| push(&mut past, 0, None, now).unix_ms);
    assert_eq!(times, [50, 60, 60, 61]);
    past.expire(149);
    assert_eq!(past.first(), 1);
    past.expire(150);
    assert_eq!(past.first(), 2);
    past.expire(160);
    assert_eq!((past.first(), past.is_empty()), (4, false));
    past.expire(161);
    assert_eq!((past.first(), past.is_empty(), past.charge()), (5, true, 0));
    assert_eq!(past.position().offset, 4);
}

#[test]
fn a_key_goes_with_its_message() {
    let mut past = past(2, 100);
    push(&mut past, 1, Some(b"one"), 0);
    push(&mut past, 2, None, 0);
    assert_eq!(past.charge(), 3 + 10 + 128 + 10 + 128 + 3 + 512);
    assert_eq!(
        (past.offset_of(b"one"), past.offset_of(b"two")),
        (Some(1), None)
    );
    push(&mut past, 3, Some(b"three"), 0);
    assert_eq!(
        (past.offset_of(b"one"), past.offset_of(b"three")),
        (None, Some(3))
    );
    past.clear();
    assert_eq!((past.offset_of(b"three"), past.charge()), (None, 0));
    push(&mut past, 4, Some(b"three"), 0);
    assert_eq!(past.offset_of(b"three"), Some(4));
    past.expire(100);
    assert!(past.keys.is_none());
}

#[test]
fn a_subscriber_begins_where_it_left_off_or_is_told_that_it_cannot() {
    let mut past = past(3, 100);
    let since = |epoch, offset| {
        let epoch = Epoch::new(epoch);
        Start::Since(Position { epoch, offset })
    };
    assert_eq!(past.begin(since(7, 0), past.first()), (1, Some(true)));
    assert_eq!(past.begin(since(7, 1), past.first()), (1, Some(false)));
    assert_eq!(past.begin(Start::Last(9), past.first()), (1, None));
    for message in 1..=5 {
        push(&mut past, message, None, 0);
    }
    assert_eq!(past.begin(since(7, 5), 3), (6, Some(true)));
    assert_eq!(past.begin(since(7, 2), 3), (3, Some(true)));
    for start in [
        since(7, 1),
        since(7, 6),
        since(7, u64::MAX),
        since(8, 5),
        Start::Gone,
    ] {
        assert_eq!(past.begin(start, 3), (6, Some(false)), "{start:?}");
    }
    assert_eq!(past.begin(Start::Next, 3), (6, None));
    let last = [0, 1, 3, 4, u32::MAX].map(|most| past.begin(Start::Last(most), 3).0);
    assert_eq!(last, [6, 5, 3, 3, 3]);
    assert_eq!((past.left(3), past.left(6), past.left(9)), (3, 0, 0));
}

#[test]
fn a_subscriber_begins_in_front_of_what_is_kept_here_if_the_store_has_that() {
    let at = |epoch, offset| Position {
        epoch: Epoch::new(epoch),
        offset,
    };
    let since = |offset| Start::Since(at(7, offset));
    let known = |epoch, offset, is_all| {
        let oldest = at(epoch, offset);
        Some(InStore { oldest, is_all })
    };
    let mut past = past(5, 100);
    past.refill(at(7, 20), Vec::new(), true);
    assert_eq!(
        past.first_for(since(17), None),
        Ok(21),
        "nothing is missing here"
    );
    past.refill(at(7, 20), Vec::new(), false);
    assert_eq!(past.first_for(since(17), None), Err(at(7, 18)));
    assert_eq!(past.first_for(since(17), known(7, 18, false)), Ok(18));
    assert_eq!(
        past.first_for(since(16), known(7, 18, false)),
        Err(at(7, 17))
    );
    assert_eq!(past.first_for(since(16), known(7, 18, true)), Ok(18));
    assert_eq!(
        past.first_for(since(17), known(8, 18, true)),
        Err(at(7, 18))
    );
    assert_eq!(past.first_for(since(17), known(7, u64::MAX, true)), Ok(21));
    assert_eq!(past.first_for(Start::Last(9), None), Err(at(7, 16)));
    assert_eq!(past.first_for(Start::Last(2), known(7, 18, false)), Ok(18));
    // nobody has to ask the store
    for start in [
        since(20),
        since(21),
        since(14),
        since(u64::MAX),
        Start::Since(at(8, 17)),
        Start::Gone,
        Start::Next,
        Start::Last(0),
    ] {
        assert_eq!(past.first_for(start, None), Ok(21), "{start:?}");
    }
    // the terms allow five
    assert_eq!(past.first_for(since(15), known(7, 1, false)), Ok(16));
    assert_eq!(past.begin(since(17), 18), (18, Some(true)));
    assert_eq!(past.begin(since(16), 18), (21, Some(false)));
    assert_eq!(past.begin(Start::Last(9), 18), (18, None));
    assert_eq!(past.begin(Start::Last(2), 18), (19, None));
}

/// The gateway counts with it: see its `KeptMessage`.
#[test]
fn a_message_takes_32_bytes_of_the_list() {
    assert!(size_of::<Entry<std::sync::Arc<u8>>>() <= 32);
}

#[test]
fn the_list_of_messages_has_little_room_for_nothing() {
    for messages in [1, 2, 5, 100, 10_000] {
        let mut past = past(messages, 100);
        for count in 1..=2 * messages {
            push(&mut past, 0, None, 0);
            let (kept, room) = (past.entries.len(), past.entries.capacity());
            assert!(room <= (kept + kept / 4).max(kept + LEAST_ROOM), "{count}");
            assert!(room <= usize::try_from(messages).unwrap() + 1, "{count}");
        }
        push(&mut past, 0, None, 50);
        past.expire(100);
        assert!(past.entries.len() == 1 && past.entries.capacity() <= 4 * LEAST_ROOM);
    }
}
