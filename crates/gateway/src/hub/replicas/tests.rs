//! Tests of which channels are followed. A history that records its calls stands in for the store, which is tested with a
//! real server.

use millrace_backplane::State::{Connecting, Ready};
use millrace_backplane::store::{Append, Appended, Done, History, Range, StoreStats, StoredPast};
use millrace_core::{Epoch, Position};

use super::*;
use crate::Gateway;
use crate::hub::following::{LINGER, MOST_WAIT};

/// Records what is followed and forgotten; whether it can be reached, and has counted three messages, is set. What a real store
/// does is tested with one.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>, AtomicBool);

impl Notes {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }

    fn note(&self, what: &str, channel: &[u8]) {
        let note = format!("{what} {}", channel.escape_ascii());
        self.0.lock().push(note);
    }
}

impl History for Notes {
    fn append(&self, message: Append, done: Done<Appended>) {
        self.note(&format!("append {}", message.mark), &message.channel);
        let position = Position {
            epoch: Epoch::new(7),
            offset: 1,
        };
        done(Ok(Appended {
            position,
            is_repeated: false,
        }));
    }

    fn follow(&self, channel: &[u8], _: HistoryTerms) {
        self.note("follow", channel);
    }

    fn forget(&self, channel: &[u8]) {
        self.note("forget", channel);
    }

    fn read(&self, channel: &[u8], _: HistoryTerms, _: Range, done: Done<StoredPast>) {
        self.note("read", channel);
        drop(done);
    }

    fn stats(&self) -> StoreStats {
        let mut stats = StoreStats::default();
        if self.1.load(Ordering::Relaxed) {
            stats.is_connected = true;
            stats.received = 3;
        }
        stats
    }
}

const ROOM: &[u8] = b"room:1";

fn replicas() -> (Replicas, Arc<Notes>) {
    let replicas = Replicas::default();
    let terms = HistoryTerms {
        messages: 5,
        age_ms: 1000,
    };
    let of = |text: &[u8], history| (Pattern::new(text).unwrap(), history);
    replicas.set(
        true,
        [of(b"room:x", None), of(b"room:*", Some(terms))].into(),
    );
    let notes = Arc::<Notes>::default();
    let store: SharedHistory = Arc::<Notes>::clone(&notes);
    replicas.connect(store, Weak::new());
    (replicas, notes)
}

/// The terms of `room:x`, and those of other rooms, which have history.
const ALONE: Option<TermsIndex> = TermsIndex::new(0);
const ROOMS: Option<TermsIndex> = TermsIndex::new(1);

fn session(number: u32) -> Teller {
    Teller::Session(SocketId::new(9).unwrap(), number)
}

fn numbers(tellers: Vec<Teller>) -> Vec<u32> {
    let number = |teller| match teller {
        Teller::Session(_, number) => number,
        Teller::Asker(_) => 0,
    };
    tellers.into_iter().map(number).collect()
}

#[test]
fn only_channels_whose_first_terms_have_history_are_followed() {
    let (replicas, notes) = replicas();
    assert!(!replicas.wanted(None, b"plain", true));
    assert!(!replicas.wanted(ALONE, b"room:x", true));
    assert!(replicas.terms_of(b"room:x").is_none(), "the first count");
    assert!(replicas.wanted(ROOMS, ROOM, true));
    assert!(replicas.wanted(ROOMS, ROOM, false) && replicas.wanted(ROOMS, ROOM, true));
    assert_eq!(notes.take(), ["follow room:1"]);
    replicas.set(false, Arc::default());
    assert!(!replicas.wanted(ROOMS, b"room:2", true));
}

#[test]
fn what_is_needed_before_there_is_a_store_is_followed_then() {
    let (replicas, notes) = replicas();
    replicas.disconnect();
    replicas.wanted(ROOMS, ROOM, true);
    assert!(notes.take().is_empty());
    let store: SharedHistory = Arc::<Notes>::clone(&notes);
    replicas.connect(store, Weak::new());
    assert_eq!(notes.take(), ["follow room:1"]);
}

#[test]
fn those_who_wait_are_told_once_when_the_channel_is_followed() {
    let (replicas, notes) = replicas();
    let terms = replicas.terms_of(ROOM).unwrap();
    assert!(replicas.enter((ROOM, terms), None, || session(1)));
    assert!(replicas.enter((ROOM, terms), None, || session(2)));
    assert_eq!(notes.take(), ["follow room:1"]);
    assert_eq!(replicas.filled(b"room:2").map(numbers), None);
    assert!(!replicas.is_filled(ROOM));
    assert_eq!(replicas.filled(ROOM).map(numbers), Some(vec![1, 2]));
    assert!(replicas.is_filled(ROOM));
    assert!(!replicas.enter((ROOM, terms), None, || panic!("no caller has to wait")));
    assert_eq!(replicas.filled(ROOM).map(numbers), Some(vec![]));
    assert_eq!(numbers(replicas.disconnect()), [0; 0]);
    assert!(!replicas.is_filled(ROOM));
}

#[test]
fn those_who_wait_are_told_if_it_takes_too_long_or_fails() {
    let (replicas, _) = replicas();
    let terms = replicas.terms_of(ROOM).unwrap();
    assert!(replicas.enter((ROOM, terms), None, || session(1)));
    let now = Instant::now();
    assert_eq!(numbers(replicas.due(now).entrants), [0; 0]);
    let late = replicas.due(now + MOST_WAIT);
    assert_eq!((numbers(late.entrants), late.unused.len()), (vec![1], 0));
    assert_eq!(replicas.due(now + MOST_WAIT).unused.len(), 1);
    assert!(replicas.enter((ROOM, terms), None, || session(2)));
    assert_eq!(numbers(replicas.failed(ROOM)), [2]);
    assert!(
        replicas.enter((ROOM, terms), None, || session(3)),
        "it is not followed yet"
    );
    assert_eq!(numbers(replicas.disconnect()), [3]);
}

#[test]
fn a_channel_without_subscribers_is_forgotten_after_a_while() {
    let (replicas, notes) = replicas();
    replicas.wanted(ROOMS, ROOM, true);
    let long = || Instant::now() + LINGER + Duration::from_secs(1);
    assert!(replicas.due(long()).unused.is_empty() && !replicas.forget(ROOM, long()));
    replicas.wanted(ROOMS, ROOM, false);
    assert!(replicas.due(Instant::now()).unused.is_empty());
    assert_eq!(replicas.due(long()).unused, [Box::<[u8]>::from(ROOM)]);
    replicas.wanted(ROOMS, ROOM, true);
    assert!(!replicas.forget(ROOM, long()), "it has one again");
    replicas.wanted(ROOMS, ROOM, false);
    assert!(replicas.forget(ROOM, long()) && !replicas.forget(ROOM, long()));
    assert_eq!(notes.take(), ["follow room:1", "forget room:1"]);
    assert_eq!(replicas.stats(), Some(HistoryStats::default()));
}

#[test]
fn what_stores_have_counted_is_summed_over_all_starts() {
    let (replicas, notes) = replicas();
    notes.1.store(true, Ordering::Relaxed);
    replicas.count_failure(StoreError::Away);
    replicas.count_failure(StoreError::Unknown);
    let expected = |state, received| HistoryStats {
        state,
        received,
        failed: 2,
        unknown: 1,
        ..HistoryStats::default()
    };
    assert_eq!(replicas.stats(), Some(expected(Ready, 3)));
    replicas.disconnect();
    assert_eq!(replicas.stats(), Some(expected(Connecting, 3)));
    let store: SharedHistory = Arc::<Notes>::clone(&notes);
    replicas.connect(store, Weak::new());
    assert_eq!(replicas.stats(), Some(expected(Ready, 6)));
}

#[test]
fn a_channel_that_is_filled_once_more_is_a_gap() {
    let (replicas, _) = replicas();
    replicas.wanted(ROOMS, ROOM, true);
    for gaps in 0..3 {
        assert_eq!(replicas.filled(ROOM).map(numbers), Some(vec![]));
        assert_eq!(replicas.stats().map(|stats| stats.gaps), Some(gaps));
    }
}

#[test]
fn exceptions_are_remembered_until_the_message_comes_back_and_are_bounded() {
    let (replicas, _) = replicas();
    let except = [SocketId::new(3).unwrap()];
    assert_eq!(replicas.remember(&[], true), Some(0));
    assert!(replicas.recall(0).is_none());
    let mark = replicas.remember(&except, true).unwrap();
    let known = replicas.recall(mark).unwrap();
    assert_eq!((&known.except[..], known.compresses), (&except[..], true));
    assert!(replicas.recall(mark).is_none());
    let mark = replicas.remember(&[], false).unwrap();
    let _due = replicas.due(Instant::now() + REMEMBERED);
    assert!(
        replicas.recall(mark).is_none(),
        "it has not come for too long"
    );
    for _ in 0..MOST_REMEMBERED {
        assert!(replicas.remember(&except, true).is_some());
    }
    assert_eq!(replicas.remember(&except, true), None);
    assert_eq!(replicas.remember(&[], true), Some(0));
}

#[test]
fn a_ticket_is_good_once() {
    let (replicas, _) = replicas();
    let ticket = replicas.open_ticket(session(5));
    let taken = replicas.take_ticket(ticket);
    assert_eq!(numbers(taken.into_iter().collect()), [5]);
    assert!(replicas.take_ticket(ticket).is_none() && replicas.take_ticket(0).is_none());
}

#[test]
fn without_a_link_to_the_store_nothing_is_published() {
    let gateway = Gateway::new();
    assert_eq!(gateway.stats().histories, None);
    gateway.replicas().set(true, Arc::default());
    let terms = HistoryTerms {
        messages: 5,
        age_ms: 1000,
    };
    let manner = millrace_core::Manner::default();
    gateway.append(crate::hub::Storing {
        channel: ROOM,
        terms,
        publication: crate::frame::Publication::new(millrace_core::Kind::Text, b"text"),
        manner: &manner,
    });
    let expected = HistoryStats {
        failed: 1,
        ..HistoryStats::default()
    };
    assert_eq!(gateway.stats().histories, Some(expected));
}
