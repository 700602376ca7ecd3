//! Pages of the past that a shard reads in a store, for subscribers that are in front of what this node keeps of a channel: all
//! who are at the same place share them. Owns which pages are read, who waits for them, and what is held of them.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{ChannelId, Kept, Number, Position, Room, SocketId};

use crate::frame::{KeptMessage, Publication};
use crate::hub::Hub;
use crate::inbox::WantedPage;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Those who wait for a page, by its first message.
    waiting: AHashMap<(ChannelId, Position), Vec<Place>>,
    /// Pages that are not asked for yet.
    queue: VecDeque<WantedPage>,
    /// How many are on their way.
    reading: usize,
    /// The messages that were read last, and their bytes.
    held: AHashMap<(ChannelId, Position), Held>,
    held_bytes: usize,
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
    pub(super) fn wait(&mut self, place: Place, wanted: WantedPage) {
        let places = self.waiting.entry((wanted.list, wanted.from));
        let places = places.or_insert_with(|| {
            self.queue.push_back(wanted);
            Vec::new()
        });
        places.push(place);
    }

    /// The next page to ask for, if there may be one more on its way. `reads`: whether a subscriber still reads on there.
    /// Adds those to `served` for whom another page had what they want.
    pub(super) fn next(
        &mut self,
        reads: impl Fn(&Place) -> bool,
        served: &mut Vec<Place>,
    ) -> Option<WantedPage> {
        while self.reading < MOST_READING
            && let Some(wanted) = self.queue.pop_front()
        {
            let key = (wanted.list, wanted.from);
            let places = self.waiting.get(&key);
            let is_read = places.is_some_and(|places| places.iter().any(&reads));
            if is_read && !self.held.contains_key(&key) {
                self.reading += 1;
                return Some(wanted);
            }
            served.extend(self.waiting.remove(&key).unwrap_or_default());
        }
        None
    }

    /// A page has come. Returns who waits for it.
    pub(super) fn came(&mut self, wanted: &WantedPage) -> Vec<Place> {
        let places = self.waiting.remove(&(wanted.list, wanted.from));
        if places.is_some() {
            self.reading = self.reading.saturating_sub(1);
        }
        places.unwrap_or_default()
    }

    /// Holds what has come for others who read it soon.
    pub(super) fn hold(&mut self, list: ChannelId, messages: &[Kept<KeptMessage>], hub: &Hub) {
        let lengths = messages.iter().map(|kept| kept.message.payload().len());
        let bytes: usize = lengths.sum();
        if self.held_bytes + bytes > HELD_BYTES || self.held.len() + messages.len() > HELD {
            self.held = AHashMap::default();
            self.held_bytes = 0;
        }
        self.held_bytes += bytes;
        for kept in messages {
            let held = Held {
                publication: kept.message.publication(|| hub.publisher(kept)),
                number: kept.number,
            };
            self.held.insert((list, kept.number.position), held);
        }
    }

    /// The messages from one on, as many as there is room for; `None`: that one is not held.
    pub(super) fn from(
        &self,
        list: ChannelId,
        (from, until): (Position, u64),
        room: Room,
    ) -> Option<Vec<Held>> {
        let at = |offset| self.held.get(&(list, Position { offset, ..from }));
        at(from.offset)?;
        let mut bytes = 0;
        let each = (from.offset..until).map_while(at).take_while(|held| {
            let is_first = bytes == 0;
            bytes += wide(held.publication.payload().len() + STEP_CHARGE) + room.beside;
            bytes <= if is_first { room.first } else { room.all }
        });
        Some(each.cloned().collect())
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
const MOST_READING: usize = 2;

/// Messages, and their bytes, that are held for others that read them soon: of two pages.
const HELD: usize = 4096;
const HELD_BYTES: usize = 4 * 1024 * 1024;
