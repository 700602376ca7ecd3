//! Tests of in which channels members are followed. A store that records its calls stands in for the real one, which is
//! tested with a server.

use std::sync::Arc;
use std::time::Duration;

use millrace_backplane::store::Presence;
use millrace_core::SocketId;

use super::*;
use crate::hub::following::{LINGER, MOST_WAIT};

/// Records its calls.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }

    fn note(&self, what: &str, channel: &[u8]) {
        let note = format!("{what} {}", channel.escape_ascii());
        self.0.lock().push(note);
    }
}

impl Presence for Notes {
    fn follow(&self, channel: &[u8], following: u64) {
        self.note(&format!("follow as {following}"), channel);
    }

    fn forget(&self, channel: &[u8]) {
        self.note("forget", channel);
    }

    fn changed(&self, channel: &[u8]) {
        self.note("changed", channel);
    }

    fn stats(&self) -> AttendanceStats {
        let mut stats = AttendanceStats::default();
        stats.is_connected = true;
        stats.sessions = 1;
        stats
    }
}

const ROOM: &[u8] = b"room:1";

fn rosters() -> (Rosters, Arc<Notes>) {
    let rosters = Rosters::default();
    rosters.set(true, [false, true].into_iter());
    let notes = Arc::<Notes>::default();
    let store: SharedPresence = Arc::<Notes>::clone(&notes);
    rosters.connect(&store);
    (rosters, notes)
}

/// Terms without presence, and those of rooms, which have it.
const OTHERS: Option<TermsIndex> = TermsIndex::new(0);
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
fn only_channels_whose_terms_have_presence_are_followed() {
    let (rosters, notes) = rosters();
    for terms in [None, OTHERS, TermsIndex::new(2), TermsIndex::new(63)] {
        rosters.wanted(terms, b"other", true);
    }
    assert!(notes.take().is_empty());
    rosters.wanted(ROOMS, ROOM, true);
    rosters.wanted(ROOMS, ROOM, false);
    rosters.wanted(ROOMS, ROOM, true);
    // with its last subscriber the members of this node are gone
    assert_eq!(notes.take(), ["follow as 1 room:1", "changed room:1"]);
    rosters.set(false, [false, true].into_iter());
    rosters.wanted(ROOMS, b"room:2", true);
    let ready = rosters.ready(b"room:2", Asker::Client, || panic!("no caller has to wait"));
    assert_eq!(ready, Readiness::Known);
    assert!(notes.take().is_empty());
}

#[test]
fn what_is_needed_before_there_is_a_store_is_followed_and_written_then() {
    let (rosters, notes) = rosters();
    rosters.disconnect();
    rosters.wanted(ROOMS, ROOM, true);
    rosters.changed(ROOM);
    assert!(notes.take().is_empty());
    let store: SharedPresence = Arc::<Notes>::clone(&notes);
    rosters.connect(&store);
    assert_eq!(notes.take(), ["follow as 1 room:1", "changed room:1"]);
}

#[test]
fn those_who_wait_are_told_once_when_the_members_are_known() {
    let (rosters, notes) = rosters();
    for number in [1, 2] {
        assert_eq!(
            rosters.ready(ROOM, Asker::Client, || session(number)),
            Readiness::Awaited
        );
    }
    assert_eq!(notes.take(), ["follow as 1 room:1"]);
    assert_eq!(rosters.tells(ROOM), Some(false));
    assert!(rosters.filled(b"room:2", 1).news.is_none());
    let filled = rosters.filled(ROOM, 1);
    assert_eq!(numbers(filled.waiting), [1, 2]);
    assert_eq!(filled.news, Some(false));
    assert!(rosters.is_known(ROOM));
    let known = rosters.ready(ROOM, Asker::Client, || panic!("no caller has to wait"));
    assert_eq!(known, Readiness::Known);
    let filled = rosters.filled(ROOM, 1);
    assert!(filled.waiting.is_empty() && filled.news.is_none());
    let (channels, waiting) = rosters.disconnect();
    assert_eq!((channels.len(), waiting.len()), (1, 0));
    assert_eq!(rosters.tells(ROOM), None);
}

#[test]
fn those_who_wait_are_told_if_it_takes_too_long_or_fails() {
    let (rosters, _) = rosters();
    assert_eq!(
        rosters.ready(ROOM, Asker::Client, || session(1)),
        Readiness::Awaited
    );
    let now = Instant::now();
    assert!(rosters.due(now).waiting.is_empty());
    let late = rosters.due(now + MOST_WAIT);
    assert_eq!((numbers(late.waiting), late.unused.len()), (vec![1], 0));
    assert_eq!(
        rosters.ready(ROOM, Asker::Client, || session(2)),
        Readiness::Awaited
    );
    assert_eq!(numbers(rosters.failed(ROOM, 1)), [2]);
    // nobody waits for a store that cannot be reached
    let unknown = rosters.ready(ROOM, Asker::Client, || panic!("no caller has to wait"));
    assert_eq!(unknown, Readiness::Unknown);
    let filled = rosters.filled(ROOM, 1);
    assert!(filled.waiting.is_empty());
    assert_eq!(filled.news, Some(true), "a caller has asked in vain");
    assert_eq!(
        rosters.ready(ROOM, Asker::Client, || session(3)),
        Readiness::Known
    );
}

#[test]
fn who_has_waited_too_long_has_asked_in_vain() {
    let (rosters, _) = rosters();
    assert_eq!(
        rosters.ready(ROOM, Asker::Client, || session(1)),
        Readiness::Awaited
    );
    assert_eq!(rosters.due(Instant::now() + MOST_WAIT).waiting.len(), 1);
    assert_eq!(
        rosters.ready(ROOM, Asker::Client, || session(2)),
        Readiness::Awaited
    );
    let filled = rosters.filled(ROOM, 1);
    assert_eq!(numbers(filled.waiting), [2]);
    assert_eq!(filled.news, Some(true));
}

#[test]
fn only_a_client_that_asked_in_vain_is_told_that_it_may_ask_anew() {
    // the store was away, and nobody has asked
    let (rosters, _) = rosters();
    rosters.wanted(ROOMS, ROOM, true);
    assert!(rosters.failed(ROOM, 1).is_empty());
    let unknown = rosters.ready(ROOM, Asker::Application, || panic!("it does not wait"));
    assert_eq!(unknown, Readiness::Unknown);
    assert_eq!(rosters.filled(ROOM, 1).news, Some(false));
    // a client has waited for what failed
    let rosters = self::rosters().0;
    rosters.ready(ROOM, Asker::Client, || session(1));
    assert_eq!(numbers(rosters.failed(ROOM, 1)), [1]);
    assert_eq!(rosters.filled(ROOM, 1).news, Some(true));
    // a client has asked when it had failed
    let rosters = self::rosters().0;
    rosters.wanted(ROOMS, ROOM, true);
    rosters.failed(ROOM, 1);
    rosters.ready(ROOM, Asker::Client, || panic!("it does not wait"));
    assert_eq!(rosters.filled(ROOM, 1).news, Some(true));
}

#[test]
fn what_an_earlier_following_has_come_to_says_nothing_of_the_next_one() {
    let (rosters, notes) = rosters();
    let long = || Instant::now() + LINGER + Duration::from_secs(1);
    rosters.wanted(ROOMS, ROOM, true);
    rosters.wanted(ROOMS, ROOM, false);
    notes.take();
    assert!(rosters.forget(ROOM, long()));
    assert_eq!(
        rosters.ready(ROOM, Asker::Client, || session(1)),
        Readiness::Awaited
    );
    assert_eq!(notes.take(), ["forget room:1", "follow as 2 room:1"]);
    // the store's thread has told it before it heard that the channel is forgotten
    assert!(rosters.failed(ROOM, 1).is_empty());
    let filled = rosters.filled(ROOM, 1);
    assert!(filled.waiting.is_empty() && filled.news.is_none());
    assert!(!rosters.is_known(ROOM) && !rosters.is_followed_by(ROOM, 1));
    assert_eq!(numbers(rosters.filled(ROOM, 2).waiting), [1]);
    assert!(rosters.is_known(ROOM));
}

/// A store; while the first channel is passed on to it, another thread changes members there.
struct Meanwhile {
    rosters: Arc<Rosters>,
    notes: Arc<Notes>,
    has_changed: AtomicBool,
}

impl Presence for Meanwhile {
    fn follow(&self, channel: &[u8], following: u64) {
        self.notes.follow(channel, following);
    }

    fn forget(&self, channel: &[u8]) {
        self.notes.forget(channel);
    }

    fn changed(&self, channel: &[u8]) {
        self.notes.changed(channel);
        if !self.has_changed.swap(true, Ordering::SeqCst) {
            self.rosters.changed(channel);
        }
    }

    fn stats(&self) -> AttendanceStats {
        self.notes.stats()
    }
}

#[test]
fn what_changes_while_the_store_comes_is_passed_on() {
    let rosters = Arc::<Rosters>::default();
    rosters.set(true, [false, true].into_iter());
    rosters.wanted(ROOMS, ROOM, true);
    let notes = Arc::<Notes>::default();
    let store: SharedPresence = Arc::new(Meanwhile {
        rosters: Arc::clone(&rosters),
        notes: Arc::clone(&notes),
        has_changed: AtomicBool::new(false),
    });
    rosters.connect(&store);
    let changed = "changed room:1";
    assert_eq!(notes.take(), ["follow as 1 room:1", changed, changed]);
}

#[test]
fn a_channel_without_subscribers_is_forgotten_after_a_while() {
    let (rosters, notes) = rosters();
    rosters.wanted(ROOMS, ROOM, true);
    let long = || Instant::now() + LINGER + Duration::from_secs(1);
    assert!(rosters.due(long()).unused.is_empty() && !rosters.forget(ROOM, long()));
    rosters.wanted(ROOMS, ROOM, false);
    assert!(rosters.due(Instant::now()).unused.is_empty());
    assert_eq!(rosters.due(long()).unused, [Box::<[u8]>::from(ROOM)]);
    rosters.wanted(ROOMS, ROOM, true);
    assert!(!rosters.forget(ROOM, long()), "it has one again");
    rosters.wanted(ROOMS, ROOM, false);
    notes.take();
    assert!(rosters.forget(ROOM, long()) && !rosters.forget(ROOM, long()));
    assert_eq!(notes.take(), ["forget room:1"]);
}

#[test]
fn what_is_counted_of_a_store_lasts_longer_than_the_store() {
    assert_eq!(Rosters::default().stats(), None);
    let (rosters, notes) = rosters();
    rosters.wanted(ROOMS, ROOM, true);
    let mut expected = PresenceStats {
        state: LinkState::Ready,
        followed: 1,
        sessions: 1,
        ..PresenceStats::default()
    };
    assert_eq!(rosters.stats(), Some(expected));
    rosters.disconnect();
    (expected.state, expected.followed) = (LinkState::Connecting, 0);
    assert_eq!(rosters.stats(), Some(expected));
    let store: SharedPresence = notes;
    rosters.connect(&store);
    (expected.state, expected.sessions) = (LinkState::Ready, 2);
    assert_eq!(rosters.stats(), Some(expected));
}
