//! How far back a store's kept messages of a channel reach, in front of what this node has of them. Owns what was seen of
//! that, for how long it holds, and who waits until it is looked at.

use std::time::{Duration, Instant};

use millrace_core::{InStore, Position};

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
    /// The message that was asked for.
    at: Position,
    /// The offset of the oldest one from there on. If there was none, that of the next one, and if there never will be one in
    /// this epoch, more than any.
    oldest: u64,
    since: Instant,
}

/// A question to the store, and who else waits for its answer.
#[derive(Debug)]
struct Asked {
    from: Position,
    tellers: Vec<Teller>,
}

/// Who asks the store for a message.
#[derive(Debug)]
pub(in crate::hub) enum Look {
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
    /// Has a caller wait until the store is asked for a message that is not kept here. `None`: the channel is not followed.
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
        Some(known.state.depth.look(wanted, teller))
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

    /// What is known of the messages that the store has.
    pub(in crate::hub) fn in_store(&self, channel: &[u8]) -> Option<InStore> {
        if !self.is_on() {
            return None;
        }
        let channels = self.channels.lock();
        channels.get(channel)?.state.depth.known(Instant::now())
    }
}

impl Depth {
    /// The store has to be asked for a message.
    pub(super) fn look(&mut self, wanted: Position, teller: impl FnOnce() -> Teller) -> Look {
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

    /// The store was asked for a message, and what it has answered if it could be reached. Returns who else waits.
    pub(super) fn answered(
        &mut self,
        from: Position,
        answered: Option<Answered>,
        now: Instant,
    ) -> Vec<Teller> {
        if let Some(Answered { newest, oldest }) = answered {
            let seen = Seen {
                at: from,
                // a store with another epoch has nothing of this one any more
                oldest: if newest.epoch == from.epoch {
                    oldest.unwrap_or(newest.offset.saturating_add(1))
                } else {
                    u64::MAX
                },
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

    /// What is known of the messages that the store has.
    pub(super) fn known(&self, now: Instant) -> Option<InStore> {
        let seen = self.seen.filter(|seen| seen.holds(now))?;
        Some(InStore {
            oldest: Position {
                offset: seen.oldest,
                ..seen.at
            },
            // what was not there then will not come back
            is_all: seen.oldest > seen.at.offset,
        })
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

    /// Whether it says as much as another one.
    fn covers(&self, other: &Self) -> bool {
        self.at.epoch == other.at.epoch
            && self.at.offset <= other.at.offset
            && self.oldest != u64::MAX
    }
}

impl Asked {
    fn covers(&self, wanted: Position) -> bool {
        self.from.epoch == wanted.epoch && self.from.offset <= wanted.offset
    }
}

/// How long it holds what was seen in a store: long enough for those to enter who have waited for it.
const HOLDS: Duration = Duration::from_secs(5);

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

    fn known(depth: &Depth, now: Instant) -> Option<(Position, bool)> {
        let known = depth.known(now)?;
        Some((known.oldest, known.is_all))
    }

    #[test]
    fn those_who_want_less_wait_for_the_answer_of_who_wants_more() {
        let (mut depth, now) = (Depth::default(), Instant::now());
        let mut look = |wanted, number| match depth.look(wanted, || teller(number)) {
            Look::Waits => 'w',
            Look::Asks(_) => 'a',
        };
        assert_eq!(look(at(7, 5), 1), 'a');
        assert_eq!((look(at(7, 5), 2), look(at(7, 9), 3)), ('w', 'w'));
        assert_eq!((look(at(7, 4), 4), look(at(8, 9), 5)), ('a', 'a'));
        assert_eq!(look(at(7, 4), 6), 'w');
        let others = depth.answered(at(7, 4), Some(answer(at(7, 20), Some(4))), now);
        assert_eq!(numbers(&others), [6]);
        assert_eq!(known(&depth, now), Some((at(7, 4), false)));
        let others = depth.answered(at(7, 5), Some(answer(at(7, 20), Some(5))), now);
        assert_eq!((numbers(&others), depth.is_idle()), (vec![2, 3], false));
        assert_eq!(numbers(&depth.answered(at(8, 9), None, now)), []);
        assert!(depth.is_idle());
        assert_eq!(known(&depth, now), Some((at(7, 4), false)), "more was seen");
        let later = now + HOLDS;
        assert_eq!(known(&depth, later), None);
        depth.answered(at(7, 5), Some(answer(at(7, 20), Some(5))), later);
        assert_eq!(known(&depth, later), Some((at(7, 5), false)));
    }

    #[test]
    fn what_the_store_does_not_have_is_known_too() {
        let (mut depth, now) = (Depth::default(), Instant::now());
        depth.answered(at(7, 5), Some(answer(at(7, 20), Some(8))), now);
        assert_eq!(known(&depth, now), Some((at(7, 8), true)));
        depth.answered(at(7, 9), Some(answer(at(7, 20), Some(9))), now);
        assert_eq!(known(&depth, now), Some((at(7, 8), true)), "that was known");
        // its numbers have begun anew, or all messages are gone
        for (answered, oldest) in [
            (answer(at(9, 20), Some(3)), u64::MAX),
            (answer(at(8, 20), None), 21),
        ] {
            assert_eq!(numbers(&depth.forget()), []);
            depth.answered(at(8, 3), Some(answered), now);
            assert_eq!(known(&depth, now), Some((at(8, oldest), true)));
        }
        // and if it cannot be reached, nothing is
        depth.forget();
        depth.answered(at(8, 3), None, now);
        assert_eq!(known(&depth, now), None);
    }
}
