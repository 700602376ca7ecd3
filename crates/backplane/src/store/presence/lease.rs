//! Which sessions are alive, without I/O. Owns when one that the store does not know any more is dead.

use std::time::{Duration, Instant};

use ahash::{AHashMap, AHashSet};

use super::session::Session;

/// See the module.
#[derive(Debug)]
pub(super) struct Lease {
    /// That of this node.
    own: Session,
    /// Whether the store knows it.
    is_begun: bool,
    /// Those that the store knew at the last beat.
    live: AHashSet<Session>,
    /// Those that were seen in channels, and since when.
    seen: AHashMap<Session, Instant>,
    beats_at: Instant,
    /// Whose beat is on its way, and when it was sent.
    sent: Option<(Session, Instant)>,
    /// The store has lost what it knew, and others have to tell it again.
    grace: Option<Grace>,
}

/// A time in which nobody is dead.
#[derive(Clone, Copy, Debug)]
struct Grace {
    until: Instant,
    /// By how much it can still be extended before a session may be dead.
    left: Duration,
}

/// What a beat has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// These sessions are dead.
    Dead(Vec<Session>),
    /// This node was declared dead, or the store has lost everything: this was its session, and it begins another one.
    Again(Session),
    /// An earlier session of this node was asked about, and nothing is said of this one.
    Late,
}

impl Lease {
    pub(super) fn new(node: u64, unix_ms: u64, now: Instant) -> Self {
        Self {
            own: Session { node, number: 0 }.next(unix_ms),
            is_begun: false,
            live: AHashSet::new(),
            seen: AHashMap::new(),
            beats_at: now,
            sent: None,
            grace: None,
        }
    }

    /// That of this node.
    pub(super) fn own(&self) -> Session {
        self.own
    }

    /// Whether other nodes may know this session.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Something has to be known soon.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.beats_at = now;
    }

    /// There is a link again: others may have lost it, too.
    pub(super) fn back(&mut self, now: Instant) {
        self.hurry(now);
        if self.is_begun {
            self.spare(now);
        }
    }

    /// Nobody is dead from now on until others had the time to make themselves known. If there is a reason again and again, it
    /// is not put off for ever.
    fn spare(&mut self, now: Instant) {
        let last = self.grace.unwrap_or(Grace {
            until: now,
            left: LONGEST_GRACE,
        });
        let from = last.until.max(now);
        let more = (now + GRACE).saturating_duration_since(from);
        let more = more.min(last.left);
        self.grace = Some(Grace {
            until: from + more,
            left: last.left.saturating_sub(more),
        });
    }

    /// The link was lost, or a beat was not answered as it should be.
    pub(super) fn lost(&mut self) {
        self.sent = None;
    }

    /// Whether nobody is declared dead, because others may have to make themselves known.
    pub(super) fn has_grace(&self, now: Instant) -> bool {
        self.grace.is_some_and(|grace| now < grace.until)
    }

    /// When the next beat is due.
    pub(super) fn beats_at(&self) -> Option<Instant> {
        self.sent.is_none().then_some(self.beats_at)
    }

    /// A beat is sent now, if one is due. True: it begins the session.
    pub(super) fn beat(&mut self, now: Instant) -> Option<bool> {
        if self.beats_at().is_none_or(|at| at > now) {
            return None;
        }
        self.sent = Some((self.own, now));
        self.beats_at = now + BEATS;
        Some(!self.is_begun)
    }

    /// The store has answered a beat.
    pub(super) fn beaten(
        &mut self,
        lives: bool,
        live: AHashSet<Session>,
        (unix_ms, now): (u64, Instant),
    ) -> Beat {
        let (session, sent) = self.sent.take().unwrap_or((self.own, now));
        if session != self.own {
            return Beat::Late;
        }
        self.live = live;
        if !lives {
            return Beat::Again(self.begin_again(unix_ms, now));
        }
        self.is_begun = true;
        if self.has_grace(now) {
            return Beat::Dead(Vec::new());
        }
        self.grace = None;
        let live = &self.live;
        let is_dead = |(session, since): (&Session, &Instant)| {
            (*since < sent && !live.contains(session)).then_some(*session)
        };
        let dead: Vec<_> = self.seen.iter().filter_map(is_dead).collect();
        for session in &dead {
            self.seen.remove(session);
        }
        Beat::Dead(dead)
    }

    /// The store has lost something: begins another session, and returns this one.
    pub(super) fn begin_again(&mut self, unix_ms: u64, now: Instant) -> Session {
        let old = self.own;
        self.own = old.next(unix_ms);
        self.is_begun = false;
        self.beats_at = now;
        // its own session is the proof, so nothing of the time for mere suspicion is used up
        self.grace = None;
        self.spare(now);
        old
    }

    /// A session was seen in a channel. False: whether it is alive is known only after another beat.
    pub(super) fn see(&mut self, session: Session, now: Instant) -> bool {
        self.seen.entry(session).or_insert(now);
        self.has_grace(now) || self.live.contains(&session)
    }

    /// A session has said that it ends.
    pub(super) fn gone(&mut self, session: Session) {
        self.seen.remove(&session);
        self.live.remove(&session);
    }
}

/// How often the life of a session is extended.
const BEATS: Duration = Duration::from_secs(3);

/// How long other nodes have to make themselves known to a store that has lost everything: longer than any of them waits for
/// its next beat, or before it connects again.
const GRACE: Duration = Duration::from_secs(4);

/// So long nobody is dead at most, if links are lost or servers come and go all the time.
const LONGEST_GRACE: Duration = Duration::from_secs(12);

#[cfg(test)]
mod tests {
    use super::*;

    fn session(node: u64) -> Session {
        Session { node, number: 1 }
    }

    fn live(nodes: &[u64]) -> AHashSet<Session> {
        nodes.iter().map(|node| session(*node)).collect()
    }

    fn after(start: Instant, seconds: u64) -> (u64, Instant) {
        (0, start + Duration::from_secs(seconds))
    }

    #[test]
    fn the_answer_to_a_beat_of_an_earlier_session_does_not_begin_the_next_one() {
        let start = Instant::now();
        let mut lease = Lease::new(1, 7, start);
        assert_eq!(lease.beat(start), Some(true));
        let beat = lease.beaten(true, live(&[]), after(start, 0));
        assert_eq!(beat, Beat::Dead(vec![]));
        let now = start + BEATS;
        assert_eq!(lease.beat(now), Some(false));
        lease.begin_again(8, now);
        assert_eq!(lease.beaten(true, live(&[]), (8, now)), Beat::Late);
        assert!(!lease.is_begun());
        assert_eq!(lease.beat(now), Some(true));
    }

    #[test]
    fn a_session_is_dead_when_a_beat_sent_after_it_was_seen_does_not_know_it() {
        let start = Instant::now();
        let mut lease = Lease::new(1, 7, start);
        assert_eq!(lease.beat(start), Some(true));
        assert_eq!(lease.beat(start), None, "one at a time");
        assert!(!lease.see(session(2), start));
        let beat = lease.beaten(true, live(&[3]), after(start, 1));
        assert_eq!(
            beat,
            Beat::Dead(vec![]),
            "it was seen after the beat was sent"
        );
        assert!(lease.see(session(3), start + BEATS));
        assert_eq!(lease.beat(start + BEATS), Some(false));
        let beat = lease.beaten(true, live(&[3]), after(start, 4));
        assert_eq!(beat, Beat::Dead(vec![session(2)]));
        lease.hurry(start + BEATS);
        assert_eq!(lease.beat(start + BEATS + BEATS / 2), Some(false));
        let beat = lease.beaten(true, live(&[]), after(start, 5));
        assert_eq!(beat, Beat::Dead(vec![session(3)]));
    }

    #[test]
    fn nobody_is_dead_shortly_after_the_store_has_lost_everything() {
        let start = Instant::now();
        let mut lease = Lease::new(1, 7, start);
        lease.beat(start);
        lease.beaten(true, live(&[2]), after(start, 0));
        lease.see(session(2), start);
        lease.beat(start + BEATS);
        let own = lease.own();
        let beat = lease.beaten(false, live(&[]), after(start, 3));
        assert_eq!(beat, Beat::Again(own));
        assert!(lease.own() > own && !lease.is_begun);
        assert_eq!(lease.beat(start + BEATS), Some(true));
        let beat = lease.beaten(true, live(&[]), after(start, 3));
        assert_eq!(beat, Beat::Dead(vec![]));
        lease.beat(start + BEATS * 2);
        let beat = lease.beaten(true, live(&[]), after(start, 6));
        assert_eq!(beat, Beat::Dead(vec![]), "the grace lasts");
        lease.beat(start + BEATS * 3);
        let beat = lease.beaten(true, live(&[]), after(start, 9));
        assert_eq!(beat, Beat::Dead(vec![session(2)]));
    }

    /// A store that refuses everything while it loads its data: links come and go, and no beat is answered.
    #[test]
    fn links_that_come_and_go_use_up_nothing_of_what_a_lost_session_gives() {
        let start = Instant::now();
        let mut lease = Lease::new(1, 7, start);
        lease.beat(start);
        lease.beaten(true, live(&[2]), after(start, 0));
        lease.see(session(2), start);
        for number in 1..=15 {
            let (_, now) = after(start, number);
            lease.back(now);
            lease.beat(now);
            lease.lost();
        }
        let (unix_ms, now) = after(start, 16);
        lease.hurry(now);
        assert_eq!(lease.beat(now), Some(false));
        let beat = lease.beaten(false, live(&[]), (unix_ms, now));
        assert!(matches!(beat, Beat::Again(_)));
        for (seconds, dead) in [(16, vec![]), (19, vec![]), (22, vec![session(2)])] {
            let (unix_ms, now) = after(start, seconds);
            assert!(lease.beat(now).is_some());
            let beat = lease.beaten(true, live(&[]), (unix_ms, now));
            assert_eq!(beat, Beat::Dead(dead), "after {seconds} s");
        }
    }

    /// What each beat finds, every three seconds, if a server of the cluster comes or goes before each.
    #[test]
    fn servers_that_come_and_go_do_not_keep_the_dead_alive() {
        let start = Instant::now();
        let mut lease = Lease::new(1, 7, start);
        lease.beat(start);
        lease.beaten(true, live(&[2, 3]), after(start, 0));
        lease.see(session(2), start);
        let mut found = Vec::new();
        for number in 1..=10 {
            let (unix_ms, now) = after(start, 3 * number);
            lease.back(now);
            // as after a new link
            lease.back(now);
            assert_eq!(lease.beat(now), Some(false));
            if number == 6 {
                lease.see(session(3), now);
            }
            found.push(lease.beaten(true, live(&[]), (unix_ms, now)));
        }
        let mut expected = vec![Beat::Dead(vec![]); 10];
        for (number, node) in [(5, 2), (10, 3)] {
            expected[number - 1] = Beat::Dead(vec![session(node)]);
        }
        assert_eq!(found, expected);
    }
}
