//! One channel's past: its epoch, its newest offset, the messages that are kept, and who is behind. Owns the rules of
//! offsets, age and keys; never posts, never knows what other channels keep. Over 400 lines because each rule has its test
//! here.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ahash::RandomState;
use smallvec::SmallVec;

use crate::hash::SocketMap;
use crate::history::{
    ENTRY_CHARGE, Epoch, HistoryTerms, InStore, Kept, NAME_CHARGE, Number, PastSummary, Position,
    Start, Stored,
};
use crate::id::SocketId;
use crate::name::Name;
use crate::name_map::Row;
use crate::route::ShardIndex;

/// See the module. The offsets of the entries end with the newest and have no hole.
pub(crate) struct Past<K> {
    /// The same as the key in the table.
    pub(crate) name: Name,
    pub(crate) hash: u64,
    terms: HistoryTerms,
    epoch: Epoch,
    newest: u64,
    entries: VecDeque<Entry<K>>,
    /// Made with the first key.
    keys: Option<Box<Keys>>,
    /// What the entries and their keys are charged.
    charge: u64,
    /// The time of the newest message, because clocks may be set back.
    unix_ms: u64,
    /// Its place in the table's order; 0: none, because it keeps nothing.
    pub(crate) stamp: u64,
    /// Whether its channel has no subscriber.
    pub(crate) is_idle: bool,
    /// Whether a store numbers its messages, and it was filled from there.
    pub(crate) is_followed: bool,
    /// Whether the store may have messages that are not here, although the terms allow them: it did not give all, or all
    /// channels together kept too much. Known of those that are followed.
    pub(crate) is_short: bool,
    /// The cursors of subscribers that are behind.
    pub(crate) behind: SocketMap<u64>,
    /// The last message that an I/O shard did not get, until it is told.
    pub(crate) lost: Lost,
    /// The next past with the same hash in the table's map.
    pub(crate) next: Option<Box<Past<K>>>,
}

struct Entry<K> {
    message: K,
    unix_ms: u64,
    from: Option<SocketId>,
    charge: u32,
}

/// The keys of kept messages, each with its offset.
#[derive(Default)]
struct Keys {
    offsets: HashMap<Arc<[u8]>, u64, RandomState>,
    in_order: VecDeque<(u64, Arc<[u8]>)>,
}

/// I/O shards, each with the last message that it refused.
pub(crate) type Lost = SmallVec<[(ShardIndex, Position); 1]>;

/// A message to be kept.
pub(crate) struct New<'a, K> {
    pub(crate) message: K,
    /// Its length in bytes.
    pub(crate) length: usize,
    pub(crate) from: Option<SocketId>,
    pub(crate) key: Option<&'a [u8]>,
}

impl<K> Past<K> {
    /// Makes the past of a channel that has had no message.
    pub(crate) fn new((hash, name): (u64, Name), terms: HistoryTerms, epoch: Epoch) -> Self {
        Self {
            name,
            hash,
            terms,
            epoch,
            newest: 0,
            entries: VecDeque::new(),
            keys: None,
            charge: 0,
            unix_ms: 0,
            stamp: 0,
            is_idle: true,
            is_followed: false,
            is_short: false,
            behind: SocketMap::default(),
            lost: Lost::new(),
            next: None,
        }
    }

    /// The position of the newest message.
    pub(crate) fn position(&self) -> Position {
        self.at(self.newest)
    }

    pub(crate) fn at(&self, offset: u64) -> Position {
        Position {
            epoch: self.epoch,
            offset,
        }
    }

    /// The offset of the oldest kept message, or of the next one if nothing is kept.
    pub(crate) fn first(&self) -> u64 {
        self.newest + 1 - count(self.entries.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What it is charged in all; nothing if it keeps nothing.
    pub(crate) fn charge(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.charge + count(self.name.as_bytes().len()) + NAME_CHARGE
    }

    /// Whether something is too old at this time.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        let age = self.terms.age_ms;
        let first = self.entries.front();
        first.is_some_and(|entry| entry.unix_ms.saturating_add(age) <= now)
    }

    /// What is shown of it.
    pub(crate) fn summary(&self) -> PastSummary {
        PastSummary {
            position: self.position(),
            messages: self.entries.len(),
            bytes: self.charge(),
            behind: self.behind.len(),
        }
    }

    /// Drops what is too old.
    pub(crate) fn expire(&mut self, now: u64) {
        while self.is_due(now) {
            self.drop_first();
        }
    }

    /// Drops all messages. The numbers stay.
    pub(crate) fn clear(&mut self) {
        self.is_short |= !self.entries.is_empty();
        self.entries = VecDeque::new();
        self.keys = None;
        self.charge = 0;
    }

    /// Replaces everything by what a store has: the position of its newest message, and messages, of which the last ones
    /// without a hole in front of the newest are kept, no more than the terms allow. `is_whole`: it has no others.
    pub(crate) fn refill(&mut self, position: Position, entries: Vec<Stored<K>>, is_whole: bool) {
        self.clear();
        self.epoch = position.epoch;
        self.newest = position.offset;
        self.unix_ms = 0;
        self.is_followed = true;
        let most = usize::try_from(self.terms.messages).unwrap_or(usize::MAX);
        // from the newest back to the first hole
        let mut next = position.offset;
        for stored in entries.into_iter().rev().take(most) {
            if next == 0 || stored.offset != next {
                break;
            }
            next -= 1;
            self.unix_ms = self.unix_ms.max(stored.unix_ms);
            let charge = count(stored.length) + ENTRY_CHARGE;
            let charge = u32::try_from(charge).unwrap_or(u32::MAX);
            self.charge += u64::from(charge);
            self.entries.push_front(Entry {
                message: stored.message,
                unix_ms: stored.unix_ms,
                from: stored.from,
                charge,
            });
        }
        self.is_short = !is_whole;
    }

    /// The offset of the kept message with this key.
    pub(crate) fn offset_of(&self, key: &[u8]) -> Option<u64> {
        self.keys.as_ref()?.offsets.get(key).copied()
    }

    /// Keeps a message, which becomes the newest.
    pub(crate) fn push(&mut self, new: New<'_, K>, now: u64) -> Number {
        self.newest += 1;
        self.unix_ms = self.unix_ms.max(now);
        let mut charge = count(new.length) + ENTRY_CHARGE;
        if let Some(key) = new.key {
            charge += count(key.len());
            let keys = self.keys.get_or_insert_default();
            let key: Arc<[u8]> = key.into();
            keys.offsets.insert(Arc::clone(&key), self.newest);
            keys.in_order.push_back((self.newest, key));
        }
        let charge = u32::try_from(charge).unwrap_or(u32::MAX);
        self.charge += u64::from(charge);
        self.entries.push_back(Entry {
            message: new.message,
            unix_ms: self.unix_ms,
            from: new.from,
            charge,
        });
        if count(self.entries.len()) > u64::from(self.terms.messages) {
            self.drop_first();
        }
        Number {
            position: self.position(),
            unix_ms: self.unix_ms,
            from: new.from,
        }
    }

    fn drop_first(&mut self) {
        let first = self.first();
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        self.charge -= u64::from(entry.charge);
        if self.entries.is_empty() {
            self.entries = VecDeque::new();
        }
        let Some(keys) = &mut self.keys else { return };
        if keys
            .in_order
            .front()
            .is_some_and(|(offset, _)| *offset == first)
            && let Some((_, key)) = keys.in_order.pop_front()
        {
            keys.offsets.remove(&key);
        }
        if keys.in_order.is_empty() {
            self.keys = None;
        }
    }

    /// The offset with which a subscriber begins, and whether nothing is missing in front of it, if it was asked for.
    /// `first`: the oldest message that it can get.
    pub(crate) fn begin(&self, start: Start, first: u64) -> (u64, Option<bool>) {
        let next = self.newest + 1;
        match start {
            Start::Next => (next, None),
            Start::Last(most) => (first.max(next.saturating_sub(u64::from(most))), None),
            Start::Since(position)
                if position.epoch == self.epoch
                    && (first..=next).contains(&position.offset.saturating_add(1)) =>
            {
                (position.offset + 1, Some(true))
            }
            Start::Since(_) | Start::Gone => (next, Some(false)),
        }
    }

    /// The offset of the oldest message that a subscriber can get which begins there. `Err`: that is not known until the
    /// store is asked for this message.
    pub(crate) fn first_for(&self, start: Start, known: Option<InStore>) -> Result<u64, Position> {
        let first = self.first();
        if !self.is_followed || !self.is_short {
            return Ok(first);
        }
        let next = self.newest + 1;
        let oldest = next.saturating_sub(u64::from(self.terms.messages)).max(1);
        let wanted = match start {
            Start::Since(position) if position.epoch == self.epoch => {
                position.offset.saturating_add(1)
            }
            Start::Last(most) => next.saturating_sub(u64::from(most)).max(oldest),
            Start::Since(_) | Start::Gone | Start::Next => return Ok(first),
        };
        if !(oldest..first).contains(&wanted) {
            return Ok(first);
        }
        let known = known.filter(|known| {
            known.oldest.epoch == self.epoch && (known.is_all || known.oldest.offset <= wanted)
        });
        let known = known.ok_or_else(|| self.at(wanted))?;
        Ok(first.min(known.oldest.offset.max(oldest)))
    }

    /// The number of kept messages from an offset on, which is not before the first.
    pub(crate) fn left(&self, from: u64) -> u64 {
        (self.newest + 1).saturating_sub(from)
    }
}

impl<K: Clone> Past<K> {
    /// The kept message with this offset, and its length with its charge.
    pub(crate) fn get(&self, offset: u64) -> Option<(Kept<K>, u64)> {
        let index = usize::try_from(offset.checked_sub(self.first())?).ok()?;
        let entry = self.entries.get(index)?;
        let number = Number {
            position: self.at(offset),
            unix_ms: entry.unix_ms,
            from: entry.from,
        };
        let message = entry.message.clone();
        Some((Kept { number, message }, u64::from(entry.charge)))
    }
}

impl<K> Row for Past<K> {
    fn name(&self) -> &[u8] {
        self.name.as_bytes()
    }

    fn next(&self) -> Option<&Self> {
        self.next.as_deref()
    }

    fn next_mut(&mut self) -> &mut Option<Box<Self>> {
        &mut self.next
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
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
}
