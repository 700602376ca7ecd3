//! One channel's past: its epoch, its newest offset, the messages that are kept, and who is behind. Owns the rules of
//! offsets, age and keys; never posts, never knows what other channels keep.

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
        self.entries.reserve_exact(entries.len().min(most));
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
        self.make_room();
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

    /// Makes room for one more message. To double it, as the list does by itself, would take half of it for nothing.
    fn make_room(&mut self) {
        let length = self.entries.len();
        if length == self.entries.capacity() {
            // one goes only when the next one is there
            let most = usize::try_from(self.terms.messages).unwrap_or(usize::MAX);
            let missing = most.saturating_add(1).saturating_sub(length);
            let more = (length / 4).max(LEAST_ROOM).min(missing.max(1));
            self.entries.reserve_exact(more);
        }
    }

    fn drop_first(&mut self) {
        let first = self.first();
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        self.charge -= u64::from(entry.charge);
        let length = self.entries.len();
        if self.entries.is_empty() {
            self.entries = VecDeque::new();
        } else if self.entries.capacity() > 4 * length.max(LEAST_ROOM) {
            // after many that were too old
            self.entries.shrink_to(length + length / 4);
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

/// The list of messages grows by a quarter, and by so many at least.
const LEAST_ROOM: usize = 4;

#[cfg(test)]
mod tests;
