//! One channel. Owns each subscriber's reference count and the number of subscribers on each I/O shard; never touches
//! a socket, never posts.

use smallvec::SmallVec;

use crate::hash::SocketMap;
use crate::id::{ChannelId, SocketId};
use crate::name::Name;
use crate::route::{Route, ShardIndex};

/// One channel, or the subscribers of one pattern.
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    /// The same as the key in the table.
    pub(crate) name: Name,
    pub(crate) members: SocketMap<Member>,
    recipients: Recipients,
    /// The next channel with the same hash in the table's map.
    pub(crate) next: Option<Box<Channel>>,
}

/// How many subscribers live on each I/O shard that has any.
pub(crate) type Recipients = SmallVec<[(ShardIndex, u32); 2]>;

/// What the caller has to tell when a subscription has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) channel: ChannelId,
    pub(crate) route: Route,
    /// Whether it was the channel's last subscription.
    pub(crate) last: bool,
}

/// One subscription.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    socket: SocketId,
    slot: u32,
    pub(crate) count: u16,
    pub(crate) shard: ShardIndex,
}

impl Channel {
    /// Makes a channel without members.
    pub(crate) fn new(id: ChannelId, name: Name) -> Self {
        Self {
            id,
            name,
            members: SocketMap::default(),
            recipients: Recipients::new(),
            next: None,
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

    /// Lowers a member's count, saturating at 0. Returns the member's route if that ended the subscription.
    pub(crate) fn lower(&mut self, subscriber: SocketId, step: u16) -> Option<Route> {
        let member = self.members.get_mut(&subscriber)?;
        member.count = member.count.saturating_sub(step);
        if member.count > 0 {
            None
        } else {
            self.remove(subscriber)
        }
    }

    /// Removes a member and returns its route.
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

    /// Does the same as [`remove`](Self::remove) and returns what its caller has to tell.
    pub(crate) fn remove_with_id(&mut self, subscriber: SocketId) -> Option<Left> {
        let route = self.remove(subscriber)?;
        Some(Left {
            channel: self.id,
            route,
            last: self.members.is_empty(),
        })
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
    use crate::name::Space;

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
        let mut channel = Channel::new(ChannelId::new(1), Name::new(Space::Channel, b"c"));
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
    fn a_subscription_is_two_words_beside_its_key() {
        assert_eq!(size_of::<Member>(), 16);
    }
}
