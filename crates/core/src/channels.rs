//! One lock shard of the channels. Owns the channels, sharded ones in a map of their own, their ids, their pasts and their
//! members; never touches a socket, never posts.

use crate::channel::{Channel, Left};
use crate::history::HistoryTerms;
use crate::id::{ChannelId, SocketId, TermsIndex};
use crate::name::{Name, Space};
use crate::name_map::{Hashed, NameMap};
use crate::pasts::PastTable;
use crate::patterns::Patterns;
use crate::rooms::Rooms;
use crate::sync::LOCK_SHARDS;
use crate::terms::{TermsList, first_match};

/// The channels whose names fall into one lock shard. Whenever the lock is free, each of them has at least one
/// subscription.
pub(crate) struct ChannelTable<K> {
    index: u64,
    made: u64,
    channels: NameMap<Channel>,
    sharded: NameMap<Channel>,
    subscriptions: usize,
    /// Every lock shard has the same index; `None` while there is no pattern.
    patterns: Option<Patterns>,
    /// The patterns of the channels' terms, the same in every lock shard; `None`: no channel has terms.
    terms: Option<TermsList>,
    /// `None`: no terms ask for it.
    beside: Option<Box<Beside<K>>>,
}

/// What channels have beside their subscriptions if their terms ask for it. Apart from the channels, so that others take no
/// more memory, and so that a past may outlive the subscriptions.
struct Beside<K> {
    /// `None`: no terms ask for history.
    pasts: Option<PastTable<K>>,
    /// `None`: no terms ask for presence.
    rooms: Option<Rooms>,
}

impl<K> ChannelTable<K> {
    /// Makes an empty table that hands out the channel ids `index + 1 + n · LOCK_SHARDS`.
    pub(crate) fn new(index: u64) -> Self {
        Self {
            index,
            made: 0,
            channels: NameMap::default(),
            sharded: NameMap::default(),
            subscriptions: 0,
            patterns: None,
            terms: None,
            beside: None,
        }
    }

    /// Replaces the patterns of terms, for channels that are made from now on, and what the channels have kept.
    pub(crate) fn set_terms(&mut self, terms: Option<TermsList>, pasts: Option<PastTable<K>>) {
        self.terms = terms;
        if pasts.is_some() || self.beside.is_some() {
            self.beside_mut().pasts = pasts;
        }
    }

    /// From now on channels may have members, in rooms that are made if there are none yet.
    pub(crate) fn keep_rooms(&mut self, make: impl FnOnce() -> Rooms) -> &mut Rooms {
        self.beside_mut().rooms.get_or_insert_with(make)
    }

    fn beside_mut(&mut self) -> &mut Beside<K> {
        self.beside.get_or_insert_with(|| {
            Box::new(Beside {
                pasts: None,
                rooms: None,
            })
        })
    }

    /// Whether channels may have more than subscriptions.
    #[inline]
    pub(crate) fn has_beside(&self) -> bool {
        self.beside.is_some()
    }

    #[inline]
    pub(crate) fn pasts(&self) -> Option<&PastTable<K>> {
        self.beside.as_deref()?.pasts.as_ref()
    }

    pub(crate) fn pasts_mut(&mut self) -> Option<&mut PastTable<K>> {
        self.beside.as_deref_mut()?.pasts.as_mut()
    }

    pub(crate) fn rooms(&self) -> Option<&Rooms> {
        self.beside.as_deref()?.rooms.as_ref()
    }

    pub(crate) fn rooms_mut(&mut self) -> Option<&mut Rooms> {
        self.beside.as_deref_mut()?.rooms.as_mut()
    }

    /// The members of the channels, if this one has presence.
    pub(crate) fn rooms_of(&mut self, key: Hashed<'_>) -> Option<&mut Rooms> {
        self.beside.as_deref()?.rooms.as_ref()?;
        let terms = match self.get(key) {
            Some(channel) => channel.id.terms(),
            None => terms_of(self.terms.as_ref()?, key),
        };
        self.rooms_mut().filter(|rooms| rooms.has(terms))
    }

    /// What is kept of this channel.
    pub(crate) fn history_of(&self, key: Hashed<'_>) -> Option<HistoryTerms> {
        let pasts = self.pasts()?;
        let terms = match self.get(key) {
            Some(channel) => channel.id.terms(),
            None => terms_of(self.terms.as_ref()?, key),
        };
        pasts.terms(terms)
    }

    pub(crate) fn terms(&self) -> Option<&TermsList> {
        self.terms.as_ref()
    }

    /// Replaces the index of patterns.
    pub(crate) fn set_patterns(&mut self, patterns: Option<Patterns>) {
        self.patterns = patterns;
    }

    pub(crate) fn patterns(&self) -> Option<&Patterns> {
        self.patterns.as_ref()
    }

    /// Returns the channel of that name and makes it if it is absent. The caller adds a member or calls
    /// [`discard`](Self::discard) before it releases the lock.
    pub(crate) fn get_or_make(&mut self, key: Hashed<'_>) -> &mut Channel {
        if self.get(key).is_none() {
            let id = ChannelId::new(self.index + 1 + self.made * LOCK_SHARDS);
            let id = match &self.terms {
                None => id,
                Some(terms) => id.with_terms(terms_of(terms, key)),
            };
            self.made += 1;
            let name = Name::new(key.space, key.name);
            let channel = Box::new(Channel::new(id, name));
            if let Some(beside) = &mut self.beside
                && let Some(pasts) = &mut beside.pasts
                && let Some(terms) = pasts.terms(id.terms())
            {
                pasts.make(key, terms, || channel.name.clone());
                pasts.occupy(key);
            }
            self.space_mut(key.space).insert(key.hash, channel);
        }
        self.get_mut(key).expect("made above")
    }

    pub(crate) fn get_mut(&mut self, key: Hashed<'_>) -> Option<&mut Channel> {
        self.space_mut(key.space).get_mut(key)
    }

    /// Removes a channel that has no member.
    pub(crate) fn discard(&mut self, key: Hashed<'_>) {
        self.space_mut(key.space).remove(key);
        if let Some(beside) = &mut self.beside
            && key.space == Space::Channel
        {
            if let Some(pasts) = &mut beside.pasts {
                pasts.vacate(key);
            }
            if let Some(rooms) = &mut beside.rooms {
                rooms.close(key);
            }
        }
    }

    /// Subscriptions of these have ended, or one of two has: those that are no subscribers any more may be behind, and
    /// some may be no members any more. True: it has to be told.
    pub(crate) fn forget(&mut self, key: Hashed<'_>, subscribers: &[SocketId]) -> bool {
        let Some(beside) = &mut self.beside else {
            return false;
        };
        if key.space != Space::Channel {
            return false;
        }
        let channel = self.channels.get(key);
        if let Some(pasts) = &mut beside.pasts {
            let is_gone =
                |id: &&SocketId| channel.is_none_or(|channel| !channel.members.contains_key(*id));
            for id in subscribers.iter().filter(is_gone) {
                pasts.forget(key, *id);
            }
        }
        let rooms = beside.rooms.as_mut();
        rooms.is_some_and(|rooms| rooms.keep_up(key, channel, subscribers))
    }

    /// Updates the total when a channel's members have changed from `before` to `after`.
    pub(crate) fn count(&mut self, after: usize, before: usize) {
        self.subscriptions = self.subscriptions + after - before;
    }

    /// Removes a subscription whatever its reference count, and the channel if that was its last subscription.
    pub(crate) fn remove(&mut self, key: Hashed<'_>, subscriber: SocketId) -> Option<Left> {
        let mut left = self.get_mut(key)?.remove_with_id(subscriber)?;
        if left.last {
            self.discard(key);
        } else {
            left.is_due = self.forget(key, &[subscriber]);
        }
        self.subscriptions -= 1;
        Some(left)
    }

    pub(crate) fn get(&self, key: Hashed<'_>) -> Option<&Channel> {
        self.space(key.space).get(key)
    }

    /// The channels of one space.
    pub(crate) fn iter(&self, space: Space) -> impl Iterator<Item = &Channel> {
        self.space(space).iter()
    }

    /// The hashes of the names of channels; sharded ones are left out.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.channels.hashes()
    }

    /// The channels with this hash; sharded ones are left out.
    pub(crate) fn with_hash(&self, hash: u64) -> impl Iterator<Item = &Channel> {
        self.channels.with_hash(hash)
    }

    pub(crate) fn len(&self) -> usize {
        self.channels.len() + self.sharded.len()
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.subscriptions
    }

    fn space(&self, space: Space) -> &NameMap<Channel> {
        match space {
            Space::Sharded => &self.sharded,
            Space::Channel | Space::Pattern => &self.channels,
        }
    }

    fn space_mut(&mut self, space: Space) -> &mut NameMap<Channel> {
        match space {
            Space::Sharded => &mut self.sharded,
            Space::Channel | Space::Pattern => &mut self.channels,
        }
    }
}

/// The terms of a channel; sharded ones have none.
fn terms_of(terms: &TermsList, key: Hashed<'_>) -> Option<TermsIndex> {
    match key.space {
        Space::Channel => first_match(terms, key.name),
        Space::Sharded | Space::Pattern => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use crate::route::{Route, ShardIndex};

    fn key(space: Space) -> Hashed<'static> {
        Hashed {
            hash: 7,
            space,
            name: b"c",
        }
    }

    fn route(shard: u8, socket: u64) -> Route {
        let socket = SocketId::new(socket).unwrap();
        Route {
            shard: ShardIndex::new(shard).unwrap(),
            slot: 7,
            socket,
        }
    }

    #[test]
    fn a_channel_gets_its_terms_when_it_is_made() {
        let mut table = ChannelTable::<()>::new(3);
        let id = |table: &mut ChannelTable<()>, space| {
            let id = table.get_or_make(key(space)).id;
            table.discard(key(space));
            id
        };
        assert_eq!(id(&mut table, Space::Channel).terms(), None);
        let patterns = [b"a".as_slice(), b"c*"].map(|text| Pattern::new(text).unwrap());
        table.set_terms(Some(std::sync::Arc::new(patterns.into())), None);
        let terms = |id: ChannelId| id.terms().map(TermsIndex::get);
        assert_eq!(terms(id(&mut table, Space::Channel)), Some(1));
        assert_eq!(terms(id(&mut table, Space::Sharded)), None);
    }

    #[test]
    fn the_channel_is_removed_with_its_last_subscription() {
        let mut table = ChannelTable::<()>::new(3);
        let ids = [1, 2].map(|id| SocketId::new(id).unwrap());
        for space in [Space::Channel, Space::Sharded] {
            for id in ids {
                table
                    .get_or_make(key(space))
                    .insert(id, route(0, id.get()), 9);
            }
            table.count(2, 0);
        }
        assert_eq!((table.len(), table.subscriptions()), (2, 4));
        for (gone, space) in [Space::Channel, Space::Sharded].into_iter().enumerate() {
            let key = key(space);
            let channel = table.get(key).unwrap().id;
            let left = |socket, last| Left {
                channel,
                route: route(0, socket),
                last,
                is_due: false,
            };
            assert_eq!(table.remove(key, ids[0]), Some(left(1, false)));
            assert_eq!(table.remove(key, ids[0]), None);
            assert_eq!(table.remove(key, ids[1]), Some(left(2, true)));
            assert_eq!(
                (table.len(), table.subscriptions()),
                (1 - gone, 2 - 2 * gone)
            );
            assert_ne!(table.get_or_make(key).id, channel, "ids are not reused");
            table.discard(key);
            assert!(table.get(key).is_none());
        }
    }
}
