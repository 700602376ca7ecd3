//! How far back a store's kept messages of a channel reach, in front of what this node has of them. Owns what was seen of
//! that, for how long it holds, and who waits until it is looked at.

use std::time::{Duration, Instant};

use millrace_core::Position;

use super::{Replicas, Teller};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Depth {
    seen: Option<Seen>,
    /// The questions that are not answered yet.
    asked: Vec<Asked>,
}

/// What was seen in the store.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The oldest message that was seen; `None`: the store has none in this epoch.
    oldest: Option<u64>,
    at: Position,
    since: Instant,
}

/// A question to the store, and who else waits for its answer.
#[derive(Debug)]
struct Asked {
    from: Position,
    tellers: Vec<Teller>,
}

/// Whether a caller has to wait until the store is asked for a message.
#[derive(Debug)]
pub(in crate::hub) enum Look {
    /// It is known whether the store has it.
    Known,
    /// Another caller has asked for it already.
    Waits,
    /// The caller asks. This one is told by it; others may wait, too.
    Asks(Teller),
}

/// What the store has answered.
#[derive(Clone, Copy, Debug)]
pub(in crate::hub) struct Answered {
    /// The newest message.
    pub(in crate::hub) newest: Position,
    /// The offset of the oldest message from the one on that was asked for; `None`: there is none.
    pub(in crate::hub) oldest: Option<u64>,
}

impl Replicas {
    /// Whether a caller who wants a message that is not kept here has to wait until the store is asked for it. `None`: the
    /// channel is not followed.
    pub(in crate::hub) fn look(
        &self,
        channel: &[u8],
        wanted: Position,
        teller: impl FnOnce() -> Teller,
    ) -> Option<Look> {
        let now = Instant::now();
        let mut channels = self.channels.lock();
        let known = channels.get_mut(channel)?;
        known.use_at(now);
        Some(known.state.depth.look(wanted, now, teller))
    }

    /// The store was [asked](Self::look) for a message, and what it has answered if it could be reached. Returns who waits
    /// for that, beside the one who has asked.
    pub(in crate::hub) fn looked(
        &self,
        channel: &[u8],
        from: Position,
        answered: Option<Answered>,
    ) -> Vec<Teller> {
        let now = Instant::now();
        let mut channels = self.channels.lock();
        let Some(known) = channels.get_mut(channel) else {
            return Vec::new();
        };
        known.use_at(now);
        known.state.depth.answered(from, answered, now)
    }

    /// The oldest message of which is known that the store has it, and all behind it.
    pub(in crate::hub) fn oldest(&self, channel: &[u8]) -> Option<Position> {
        if !self.is_on() {
            return None;
        }
        let channels = self.channels.lock();
        channels.get(channel)?.state.depth.oldest(Instant::now())
    }
}

impl Depth {
    /// Whether the store has to be asked for a message, which is not kept here.
    pub(super) fn look(
        &mut self,
        wanted: Position,
        now: Instant,
        teller: impl FnOnce() -> Teller,
    ) -> Look {
        if self.is_known(wanted, now) {
            return Look::Known;
        }
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.covers(wanted)) {
            asked.tellers.push(teller());
            return Look::Waits;
        }
        self.asked.push(Asked {
            from: wanted,
            tellers: Vec::new(),
        });
        Look::Asks(teller())
    }

    fn is_known(&self, wanted: Position, now: Instant) -> bool {
        let Some(seen) = self.seen.filter(|seen| seen.holds(now)) else {
            return false;
        };
        // what was not there then will not come back
        let is_behind = wanted.offset >= seen.at.offset || seen.oldest != Some(seen.at.offset);
        seen.at.epoch == wanted.epoch && is_behind
    }

    /// The store was asked for a message, and what it has answered if it could be reached. Returns who else waits.
    pub(super) fn answered(
        &mut self,
        from: Position,
        answered: Option<Answered>,
        now: Instant,
    ) -> Vec<Teller> {
        if let Some(Answered { newest, oldest }) = answered {
            let seen = Seen {
                // a store with another epoch has nothing of this one any more
                oldest: oldest.filter(|_| newest.epoch == from.epoch),
                at: from,
                since: now,
            };
            let is_less = |known: &Seen| known.holds(now) && known.covers(&seen);
            if !self.seen.as_ref().is_some_and(is_less) {
                self.seen = Some(seen);
            }
        }
        let place = self.asked.iter().position(|asked| asked.from == from);
        place.map_or_else(Vec::new, |place| self.asked.swap_remove(place).tellers)
    }

    /// The oldest message that was seen in the store.
    pub(super) fn oldest(&self, now: Instant) -> Option<Position> {
        let seen = self.seen.filter(|seen| seen.holds(now))?;
        let epoch = seen.at.epoch;
        seen.oldest.map(|offset| Position { epoch, offset })
    }

    /// What was seen counts no more. Returns who waits: they may look again.
    pub(super) fn forget(&mut self) -> Vec<Teller> {
        self.seen = None;
        let asked = std::mem::take(&mut self.asked).into_iter();
        asked.flat_map(|asked| asked.tellers).collect()
    }

    /// Whether nobody waits.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }
}

impl Seen {
    fn holds(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < HOLDS
    }

    /// Whether it says as much as another one of the same time.
    fn covers(&self, other: &Self) -> bool {
        self.at.epoch == other.at.epoch
            && self.at.offset <= other.at.offset
            && self.oldest == Some(self.at.offset)
    }
}

impl Asked {
    fn covers(&self, wanted: Position) -> bool {
        self.from.epoch == wanted.epoch && self.from.offset <= wanted.offset
    }
}

/// How long it holds what was seen in a store: long enough for those to enter who have waited for it.
const HOLDS: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use millrace_core::{Epoch, SocketId};

    use super::*;

    fn at(epoch: u64, offset: u64) -> Position {
        let epoch = Epoch::new(epoch);
        Position { epoch, offset }
    }

    fn teller(number: u32) -> Teller {
        Teller::Session(SocketId::new(1).unwrap(), number)
    }

    fn numbers(tellers: &[Teller]) -> Vec<u32> {
        let number = |teller: &Teller| match teller {
            Teller::Session(_, number) => *number,
            Teller::Asker(_) => panic!("all are sessions"),
        };
        tellers.iter().map(number).collect()
    }

    fn answer(newest: Position, oldest: Option<u64>) -> Answered {
        Answered { newest, oldest }
    }

    #[test]
    fn those_who_want_less_wait_for_the_answer_of_who_wants_more() {
        let (mut depth, now) = (Depth::default(), Instant::now());
        let mut look = |wanted, number| match depth.look(wanted, now, || teller(number)) {
            Look::Known => 'k',
            Look::Waits => 'w',
            Look::Asks(_) => 'a',
        };
        assert_eq!(look(at(7, 5), 1), 'a');
        assert_eq!((look(at(7, 5), 2), look(at(7, 9), 3)), ('w', 'w'));
        assert_eq!((look(at(7, 4), 4), look(at(8, 9), 5)), ('a', 'a'));
        assert_eq!(look(at(7, 4), 6), 'w');
        let others = depth.answered(at(7, 4), Some(answer(at(7, 20), Some(4))), now);
        assert_eq!(numbers(&others), [6]);
        assert_eq!(depth.oldest(now), Some(at(7, 4)));
        let others = depth.answered(at(7, 5), Some(answer(at(7, 20), Some(5))), now);
        assert_eq!((numbers(&others), depth.is_idle()), (vec![2, 3], false));
        assert_eq!(numbers(&depth.answered(at(8, 9), None, now)), []);
        assert!(depth.is_idle());
        assert_eq!(depth.oldest(now), Some(at(7, 4)), "more was seen");
        assert!(matches!(
            depth.look(at(7, 4), now, || teller(6)),
            Look::Known
        ));
        let later = now + HOLDS;
        assert_eq!(depth.oldest(later), None);
        assert!(matches!(
            depth.look(at(7, 4), later, || teller(6)),
            Look::Asks(_)
        ));
        assert_eq!(numbers(&depth.forget()), []);
    }

    #[test]
    fn what_the_store_does_not_have_is_not_asked_for_again() {
        let (mut depth, now) = (Depth::default(), Instant::now());
        let mut known = |wanted| matches!(depth.look(wanted, now, || teller(1)), Look::Known);
        assert!(!known(at(7, 5)));
        depth.answered(at(7, 5), Some(answer(at(7, 20), Some(8))), now);
        assert_eq!(depth.oldest(now), Some(at(7, 8)));
        let mut known = |wanted| matches!(depth.look(wanted, now, || teller(1)), Look::Known);
        assert!(known(at(7, 1)) && known(at(7, 5)) && known(at(7, 9)) && !known(at(8, 5)));
        // its numbers have begun anew, or all messages are gone
        for answered in [answer(at(9, 20), Some(3)), answer(at(8, 20), None)] {
            depth.forget();
            depth.answered(at(8, 3), Some(answered), now);
            assert_eq!(depth.oldest(now), None);
            assert!(matches!(
                depth.look(at(8, 3), now, || teller(1)),
                Look::Known
            ));
        }
        // and if it cannot be reached, nothing is known
        depth.forget();
        depth.answered(at(8, 3), None, now);
        assert!(matches!(
            depth.look(at(8, 3), now, || teller(1)),
            Look::Asks(_)
        ));
    }
}
