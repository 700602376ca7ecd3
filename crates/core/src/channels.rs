//! One lock shard of the channels. Owns who is subscribed how often, and how many subscribers each I/O
//! shard has; never touches a socket, never posts.

use std::collections::HashMap;

use ahash::RandomState;
use smallvec::SmallVec;

use crate::channel_list::Name;
use crate::hash::SocketMap;
use crate::id::{ChannelId, SocketId};
use crate::route::{Route, ShardIndex};
use crate::sync::LOCK_SHARDS;

/// The channels whose names fall into one lock shard; each has at least one subscription whenever the
/// lock is free.
pub(crate) struct ChannelTable {
    index: u64,
    made: u64,
    channels: HashMap<Name, Box<Channel>, RandomState>,
    subscriptions: usize,
}

/// One channel.
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    /// The same as the key in the table.
    pub(crate) name: Name,
    pub(crate) members: SocketMap<Member>,
    recipients: Recipients,
}

/// How many subscribers live on each I/O shard that has any.
pub(crate) type Recipients = SmallVec<[(ShardIndex, u32); 2]>;

/// One subscription.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    socket: SocketId,
    slot: u32,
    pub(crate) count: u16,
    pub(crate) shard: ShardIndex,
}

impl ChannelTable {
    /// An empty table that hands out the channel ids `index + 1 + n · LOCK_SHARDS`.
    pub(crate) fn new(index: u64, hasher: RandomState) -> Self {
        Self {
            index,
            made: 0,
            channels: HashMap::with_hasher(hasher),
            subscriptions: 0,
        }
    }

    /// The channel of that name, made if need be. The caller gives it a member or calls
    /// [`discard_empty`](Self::discard_empty) before the lock is released.
    pub(crate) fn get_or_make(&mut self, name: &[u8]) -> &mut Channel {
        if !self.channels.contains_key(name) {
            let id = ChannelId::new(self.index + 1 + self.made * LOCK_SHARDS);
            self.made += 1;
            let name = Name::from(name);
            self.channels
                .insert(name.clone(), Box::new(Channel::new(id, name)));
        }
        self.channels.get_mut(name).expect("made above")
    }

    pub(crate) fn get_mut(&mut self, name: &[u8]) -> Option<&mut Channel> {
        self.channels.get_mut(name).map(|channel| &mut **channel)
    }

    /// Removes the channel if it has no member.
    pub(crate) fn discard_empty(&mut self, name: &[u8]) {
        if self
            .channels
            .get(name)
            .is_some_and(|channel| channel.members.is_empty())
        {
            self.channels.remove(name);
        }
    }

    /// Records that a channel has `after` members instead of `before`.
    pub(crate) fn count(&mut self, after: usize, before: usize) {
        self.subscriptions = self.subscriptions + after - before;
    }

    /// Removes a subscription whatever its count, and the channel with its last one.
    pub(crate) fn remove(
        &mut self,
        name: &[u8],
        subscriber: SocketId,
    ) -> Option<(ChannelId, Route)> {
        let channel = self.get_mut(name)?;
        let route = channel.remove(subscriber)?;
        let id = channel.id;
        if channel.members.is_empty() {
            self.channels.remove(name);
        }
        self.subscriptions -= 1;
        Some((id, route))
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Channel> {
        self.channels.get(name).map(|channel| &**channel)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Channel> {
        self.channels.values().map(|channel| &**channel)
    }

    pub(crate) fn len(&self) -> usize {
        self.channels.len()
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.subscriptions
    }
}

impl Channel {
    fn new(id: ChannelId, name: Name) -> Self {
        Self {
            id,
            name,
            members: SocketMap::default(),
            recipients: Recipients::new(),
        }
    }

    /// Adds a subscriber that is not a member.
    pub(crate) fn insert(&mut self, subscriber: SocketId, route: Route, count: u16) {
        self.members.insert(subscriber, Member::new(route, count));
        match self
            .recipients
            .iter_mut()
            .find(|(shard, _)| *shard == route.shard)
        {
            Some((_, recipients)) => *recipients += 1,
            None => self.recipients.push((route.shard, 1)),
        }
    }

    /// Lowers a member's count, saturating at 0; where it lived if that ended the subscription.
    pub(crate) fn lower(&mut self, subscriber: SocketId, step: u16) -> Option<Route> {
        let member = self.members.get_mut(&subscriber)?;
        member.count = member.count.saturating_sub(step);
        if member.count > 0 {
            None
        } else {
            self.remove(subscriber)
        }
    }

    /// Removes a member; where it lives.
    pub(crate) fn remove(&mut self, subscriber: SocketId) -> Option<Route> {
        let route = self.members.remove(&subscriber)?.route();
        let place = self
            .recipients
            .iter()
            .position(|(shard, _)| *shard == route.shard);
        let place = place.expect("a member's I/O shard is counted");
        self.recipients[place].1 -= 1;
        if self.recipients[place].1 == 0 {
            self.recipients.swap_remove(place);
        }
        Some(route)
    }

    pub(crate) fn recipients(&self) -> &Recipients {
        &self.recipients
    }
}

impl Member {
    fn new(route: Route, count: u16) -> Self {
        Self {
            socket: route.socket,
            slot: route.slot,
            count,
            shard: route.shard,
        }
    }

    pub(crate) fn route(self) -> Route {
        Route {
            shard: self.shard,
            slot: self.slot,
            socket: self.socket,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::name_hasher;

    fn route(shard: u8, socket: u64) -> Route {
        let socket = SocketId::new(socket).unwrap();
        Route {
            shard: ShardIndex::new(shard).unwrap(),
            slot: 7,
            socket,
        }
    }

    #[test]
    fn recipients_are_counted_by_shard() {
        let mut channel = Channel::new(ChannelId::new(1), Name::from(&b"c"[..]));
        for (shard, id) in [(0, 1), (5, 2), (5, 3)] {
            channel.insert(SocketId::new(id).unwrap(), route(shard, id), 1);
        }
        let shard = |index| ShardIndex::new(index).unwrap();
        assert_eq!(channel.recipients()[..], [(shard(0), 1), (shard(5), 2)]);
        assert_eq!(channel.remove(SocketId::new(1).unwrap()), Some(route(0, 1)));
        assert_eq!(channel.recipients()[..], [(shard(5), 2)]);
        assert_eq!(channel.remove(SocketId::new(1).unwrap()), None);
        channel.remove(SocketId::new(2).unwrap());
        channel.remove(SocketId::new(3).unwrap());
        assert!(channel.recipients().is_empty());
    }

    #[test]
    fn the_last_subscription_takes_the_channel_along() {
        let mut table = ChannelTable::new(3, name_hasher());
        let ids = [1, 2].map(|id| SocketId::new(id).unwrap());
        for id in ids {
            table.get_or_make(b"c").insert(id, route(0, id.get()), 9);
        }
        table.count(2, 0);
        let channel = table.get(b"c").unwrap().id;
        assert_eq!(table.remove(b"c", ids[0]), Some((channel, route(0, 1))));
        assert_eq!((table.len(), table.subscriptions()), (1, 1));
        assert_eq!(table.remove(b"c", ids[0]), None);
        assert_eq!(table.remove(b"c", ids[1]), Some((channel, route(0, 2))));
        assert_eq!((table.len(), table.subscriptions()), (0, 0));
        assert_ne!(table.get_or_make(b"c").id, channel, "ids are not reused");
        table.discard_empty(b"c");
        assert!(table.get(b"c").is_none());
    }

    #[test]
    fn a_subscription_is_two_words_beside_its_key() {
        assert_eq!(size_of::<Member>(), 16);
    }
}
