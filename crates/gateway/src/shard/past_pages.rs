//! Pages of the past that a shard reads in a store, for subscribers that are in front of what this node keeps of a channel: all
//! who are at the same place share them. Owns which pages are read, who waits for them, and what is held of them.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::{AHashMap, AHashSet};
use millrace_core::{ChannelId, Number, Position, Room, SocketId};

use crate::frame::Publication;
use crate::inbox::WantedPage;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Those who wait for a page, by its first message.
    waiting: AHashMap<(ChannelId, Position), Waiting>,
    /// Pages that are not asked for yet.
    queue: VecDeque<WantedPage>,
    /// Pages that the store could not be asked for.
    put_off: Vec<WantedPage>,
    /// The number of the last page that was asked for.
    last: u64,
    /// The numbers of those that the store is reading.
    reading: AHashSet<u64>,
    /// What was read last, the page that was used last at the end.
    held: Vec<HeldPage>,
    held_bytes: usize,
}

/// Those who wait for a page.
#[derive(Debug)]
struct Waiting {
    /// Its number.
    number: u64,
    places: Vec<Place>,
}

/// Messages of the store, without a hole.
#[derive(Debug)]
struct HeldPage {
    list: ChannelId,
    first: Position,
    messages: Vec<Held>,
    bytes: usize,
    /// Whether it was read since the last look.
    is_used: bool,
}

/// Which subscriber, and the id of its cursor: a place whose cursor is another one by now is nobody's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) list: ChannelId,
    pub(super) socket: SocketId,
    pub(super) cursor: u64,
}

/// A message of the store in the form that all who read it share.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) publication: Arc<Publication>,
    pub(super) number: Number,
}

impl Pages {
    /// One more waits for a page.
    pub(super) fn wait(&mut self, place: Place, mut wanted: WantedPage) {
        let key = (wanted.list, wanted.from);
        let waiting = self.waiting.entry(key).or_insert_with(|| {
            self.last += 1;
            wanted.number = self.last;
            self.queue.push_back(wanted);
            Waiting {
                number: self.last,
                places: Vec::new(),
            }
        });
        waiting.places.push(place);
    }

    /// The next page to ask for, if there may be one more on its way. `reads`: whether a subscriber still reads on there.
    /// Adds those to `served` for whom another page had what they want.
    pub(super) fn next(
        &mut self,
        reads: impl Fn(&Place) -> bool,
        served: &mut Vec<Place>,
    ) -> Option<WantedPage> {
        while self.reading.len() < MOST_READING
            && let Some(wanted) = self.queue.pop_front()
        {
            let key = (wanted.list, wanted.from);
            let waiting = self.waiting.get(&key);
            if !waiting.is_some_and(|waiting| waiting.places.iter().any(&reads)) {
                self.waiting.remove(&key);
                continue;
            }
            if self.holding(key).is_none() {
                self.reading.insert(wanted.number);
                return Some(wanted);
            }
            served.extend(
                self.waiting
                    .remove(&key)
                    .into_iter()
                    .flat_map(|waiting| waiting.places),
            );
        }
        None
    }

    /// The store cannot be asked for a page now. Meanwhile another one may be read.
    pub(super) fn put_off(&mut self, wanted: WantedPage) {
        self.reading.remove(&wanted.number);
        let waiting = self.waiting.get(&(wanted.list, wanted.from));
        if waiting.is_some_and(|waiting| waiting.number == wanted.number) {
            self.put_off.push(wanted);
        }
    }

    /// The store may be asked again for the pages that were put off.
    pub(super) fn ask_again(&mut self) {
        self.queue.extend(self.put_off.drain(..));
    }

    /// A page has come. Returns who waits for it.
    pub(super) fn came(&mut self, wanted: &WantedPage) -> Vec<Place> {
        self.reading.remove(&wanted.number);
        let key = (wanted.list, wanted.from);
        match self.waiting.remove(&key) {
            Some(waiting) if waiting.number == wanted.number => waiting.places,
            Some(other) => {
                self.waiting.insert(key, other);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Holds what has come for others who read it soon. The pages go that were used longest ago.
    pub(super) fn hold(&mut self, list: ChannelId, messages: Vec<Held>) {
        let Some(first) = messages.first() else {
            return;
        };
        let bytes = |held: &Held| held.publication.payload().len() + STEP_CHARGE;
        let page = HeldPage {
            list,
            first: first.number.position,
            bytes: messages.iter().map(bytes).sum(),
            messages,
            is_used: true,
        };
        self.held_bytes += page.bytes;
        self.held.push(page);
        let mut gone = 0;
        while self.held_bytes > HELD_BYTES
            && gone + 1 < self.held.len()
            && let Some(oldest) = self.held.get(gone)
        {
            self.held_bytes -= oldest.bytes;
            gone += 1;
        }
        self.held.drain(..gone);
    }

    /// The place of the page that has a message.
    fn holding(&self, (list, from): (ChannelId, Position)) -> Option<usize> {
        self.held
            .iter()
            .rposition(|page| page.list == list && page.at(from).is_some())
    }

    /// The messages from one on, as many as there is room for; `None`: that one is not held.
    pub(super) fn from(
        &mut self,
        list: ChannelId,
        (from, until): (Position, u64),
        room: Room,
    ) -> Option<Vec<Held>> {
        let place = self.holding((list, from))?;
        let mut page = self.held.remove(place);
        page.is_used = true;
        let wanted = page.messages.get(page.at(from).unwrap_or_default()..);
        let mut bytes = 0;
        let each = wanted.unwrap_or_default().iter().take_while(|held| {
            let is_first = bytes == 0;
            bytes += wide(held.publication.payload().len() + STEP_CHARGE) + room.beside;
            let fits = bytes <= if is_first { room.first } else { room.all };
            fits && held.number.position.offset < until
        });
        let each = each.cloned().collect();
        self.held.push(page);
        Some(each)
    }

    /// Forgets all but what is held and what the store is reading: nobody reads on any more.
    pub(super) fn reset(&mut self) {
        self.waiting = AHashMap::default();
        self.queue = VecDeque::new();
        self.put_off = Vec::new();
    }

    /// Lets go of pages that nobody has read since the last look.
    pub(super) fn look(&mut self) {
        self.held
            .retain_mut(|page| std::mem::take(&mut page.is_used));
        self.held.shrink_to_fit();
        self.held_bytes = self.held.iter().map(|page| page.bytes).sum();
    }

    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.iter().map(|page| page.messages.len()).sum()
    }
}

impl HeldPage {
    /// The place of a message.
    fn at(&self, position: Position) -> Option<usize> {
        let place = position.offset.checked_sub(self.first.offset)?;
        let place = usize::try_from(place).ok()?;
        (position.epoch == self.first.epoch && place < self.messages.len()).then_some(place)
    }
}

/// Whether outboxes refer to a message instead of copying it.
pub(super) fn is_long(payload: &[u8]) -> bool {
    payload.len() > COPIED
}

pub(super) fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Messages up to this length are copied for each subscriber: an entry of an outbox takes as much.
const COPIED: usize = 128;

/// What a message counts beside its length, as in the core.
pub(super) const STEP_CHARGE: usize = 128;

/// The pages that are on their way at a time.
const MOST_READING: usize = 4;

/// The bytes of the pages that are held for others that read them soon.
const HELD_BYTES: usize = 8 * 1024 * 1024;
