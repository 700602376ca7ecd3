//! One channel. Owns each subscriber's reference count and the number of subscribers on each I/O shard; never touches
//! a socket, never posts.

use smallvec::SmallVec;

use crate::hash::SocketMap;
use crate::id::{ChannelId, SocketId};
use crate::name::Name;
use crate::name_map::Row;
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
    /// Whether what this changes among the members has to be [told](crate::Post::presence_is_due).
    pub(crate) is_due: bool,
}

/// One subscription: the application's, that of the socket's own client, or both.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    socket: SocketId,
    slot: u32,
    /// The application's references.
    pub(crate) count: u16,
    pub(crate) shard: ShardIndex,
    /// [`OWN`] and [`BEHIND`].
    flags: u8,
}

/// What became of a subscription that was lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lowered {
    /// It stands, or there was none.
    Nothing,
    /// The application's has ended, and that of the client stands.
    Own,
    /// It has ended.
    Ended(Route),
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
        self.count_in(route.shard);
    }

    /// Adds a subscriber that is not a member and reads on in the past.
    pub(crate) fn insert_behind(&mut self, subscriber: SocketId, route: Route, count: u16) {
        let mut member = Member::new(route, count);
        member.set(BEHIND, true);
        self.members.insert(subscriber, member);
    }

    /// Has a member read on in the past, or makes it live. Returns its route if that changed anything.
    pub(crate) fn set_behind(&mut self, subscriber: SocketId, is_behind: bool) -> Option<Route> {
        let member = self.members.get_mut(&subscriber)?;
        if member.set(BEHIND, is_behind) == is_behind {
            return None;
        }
        let route = member.route();
        if is_behind {
            self.count_out(route.shard);
        } else {
            self.count_in(route.shard);
        }
        Some(route)
    }

    fn count_in(&mut self, shard: ShardIndex) {
        match self.recipients.iter_mut().find(|entry| entry.0 == shard) {
            Some((_, recipients)) => *recipients += 1,
            None => self.recipients.push((shard, 1)),
        }
    }

    fn count_out(&mut self, shard: ShardIndex) {
        let place = self.recipients.iter().position(|entry| entry.0 == shard);
        let place = place.expect("a live member's I/O shard is counted");
        self.recipients[place].1 -= 1;
        if self.recipients[place].1 == 0 {
            self.recipients.swap_remove(place);
        }
    }

    /// Lowers a member's count, saturating at 0.
    pub(crate) fn lower(&mut self, subscriber: SocketId, step: u16) -> Lowered {
        let Some(member) = self.members.get_mut(&subscriber) else {
            return Lowered::Nothing;
        };
        let before = member.count;
        member.count = before.saturating_sub(step);
        if member.count > 0 {
            return Lowered::Nothing;
        }
        if member.is_own() {
            return if before > 0 {
                Lowered::Own
            } else {
                Lowered::Nothing
            };
        }
        self.remove(subscriber)
            .map_or(Lowered::Nothing, Lowered::Ended)
    }

    /// Ends the subscription of a client. Returns the member's route if the application has none either.
    pub(crate) fn disown(&mut self, subscriber: SocketId) -> Option<Route> {
        let member = self.members.get_mut(&subscriber)?;
        let was_own = member.set(OWN, false);
        if was_own && member.count == 0 {
            return self.remove(subscriber);
        }
        None
    }

    /// Removes a member and returns its route.
    pub(crate) fn remove(&mut self, subscriber: SocketId) -> Option<Route> {
        let member = self.members.remove(&subscriber)?;
        let route = member.route();
        if !member.is_behind() {
            self.count_out(route.shard);
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
            is_due: false,
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
            flags: 0,
        }
    }

    /// The references of the application, and that of the client.
    pub(crate) fn references(self) -> u16 {
        self.count.saturating_add(u16::from(self.is_own()))
    }

    /// Whether the client has subscribed itself.
    pub(crate) fn is_own(self) -> bool {
        self.flags & OWN != 0
    }

    /// The client subscribes itself. Returns whether it had done so before.
    pub(crate) fn own(&mut self) -> bool {
        self.set(OWN, true)
    }

    /// Whether it reads on in the past and is not on its shard's list yet.
    pub(crate) fn is_behind(self) -> bool {
        self.flags & BEHIND != 0
    }

    /// Sets or clears a flag; returns what it was.
    fn set(&mut self, flag: u8, value: bool) -> bool {
        let before = self.flags & flag != 0;
        self.flags = if value {
            self.flags | flag
        } else {
            self.flags & !flag
        };
        before
    }

    pub(crate) fn route(self) -> Route {
        Route {
            shard: self.shard,
            slot: self.slot,
            socket: self.socket,
        }
    }
}

/// The flag of a member whose client has subscribed itself.
const OWN: u8 = 1;

/// The flag of a member that reads on in the past.
const BEHIND: u8 = 2;

impl Row for Channel {
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
    fn a_member_that_is_behind_is_no_recipient() {
        let mut channel = Channel::new(ChannelId::new(1), Name::new(Space::Channel, b"c"));
        let [one, two] = [1, 2].map(|id| SocketId::new(id).unwrap());
        let shard = ShardIndex::new(3).unwrap();
        channel.insert_behind(one, route(3, 1), 1);
        channel.insert(two, route(3, 2), 1);
        assert_eq!(channel.recipients()[..], [(shard, 1)]);
        assert_eq!(channel.set_behind(one, true), None);
        assert_eq!(channel.set_behind(one, false), Some(route(3, 1)));
        assert_eq!(channel.recipients()[..], [(shard, 2)]);
        assert_eq!(channel.set_behind(two, true), Some(route(3, 2)));
        assert_eq!(channel.remove(two), Some(route(3, 2)));
        assert_eq!(channel.recipients()[..], [(shard, 1)]);
        channel.remove(one);
        assert!(channel.recipients().is_empty());
    }

    #[test]
    fn a_subscription_is_two_words_beside_its_key() {
        assert_eq!(size_of::<Member>(), 16);
    }
}
