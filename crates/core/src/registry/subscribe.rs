//! Subscriptions. Owns the rules of reference counts and the one place where both directions of the index
//! are written together.

use std::collections::HashSet;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Core;
use crate::channel::{Channel, Lowered, Recipients};
use crate::history::{Entered, Entering, Position};
use crate::id::{ChannelId, SocketId};
use crate::name::{Name, Space, Topic};
use crate::name_map::Hashed;
use crate::past::{Lost, Past};
use crate::pattern::PatternError;
use crate::patterns::PatternTable;
use crate::post::{Post, Recipient};
use crate::route::{Route, ShardIndex};

/// The sockets that an operation applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// One socket.
    Socket(SocketId),
    /// Every subscriber of the channel of this name.
    Channel(&'a [u8]),
}

/// The state of one call that changes subscriptions.
struct Change<'a, P> {
    step: u16,
    changed: Vec<SocketId>,
    /// The number of ids that did not resolve.
    nowhere: usize,
    /// What I/O shards have refused in the channel and were not told of.
    lost: Lost,
    /// The newest message of the channel; `None`: it has no history.
    position: Option<Position>,
    post: &'a mut P,
}

impl<P: Post> Change<'_, P> {
    /// Tells a shard of what it has refused, in front of a subscriber who misses none of it.
    #[inline]
    fn tell_lost(&mut self, list: ChannelId, shard: ShardIndex) {
        if !self.lost.is_empty()
            && let Some(place) = self.lost.iter().position(|lost| lost.0 == shard)
        {
            let (_, end) = self.lost.swap_remove(place);
            self.post.gap(shard, list, end);
        }
    }

    /// Tells the shard of a real subscriber where it begins, if the channel has history. Returns whether it has.
    fn enter(&mut self, channel: &Channel, id: SocketId, route: Route) -> bool {
        if self.position.is_none() || route.socket != id {
            return false;
        }
        self.post_entering((channel.id, &channel.name), route, false);
        true
    }

    /// Tells a shard that the application has subscribed a socket; `goes_on`: its client had done so before.
    fn post_entering(&mut self, (list, name): (ChannelId, &Name), route: Route, goes_on: bool) {
        let entering = Entering {
            list,
            entered: Entered {
                position: self.position,
                recovered: None,
                is_new: true,
            },
            cursor: None,
            goes_on,
            tag: 0,
        };
        self.post.enter(name, route, &entering);
    }
}

impl<K> Core<K> {
    /// Does the same as [`subscribe_to`](Self::subscribe_to) for a channel, which cannot fail.
    pub fn subscribe<P: Post<Kept = K>>(
        &self,
        who: &[Target<'_>],
        channel: &[u8],
        delta: i32,
        post: &mut P,
    ) -> Vec<SocketId> {
        self.subscribe_to(who, Topic::Channel(channel), delta, post)
            .expect("only patterns can be refused")
    }

    /// Changes the reference counts of subscriptions to a channel or pattern by `delta`. Returns, without
    /// duplicates, the ids whose subscription is new (`delta` above 0) or has ended (`delta` below 0).
    ///
    /// The subscribers of the channels in `who` are read once, before anything changes. Counts saturate at
    /// [`SUBSCRIPTION_COUNT`](crate::limits::SUBSCRIPTION_COUNT) and at 0, which ends the subscription. An
    /// id that does not exist or does not resolve is returned as new, but nothing is stored for it.
    pub fn subscribe_to<P: Post<Kept = K>>(
        &self,
        who: &[Target<'_>],
        topic: Topic<'_>,
        delta: i32,
        post: &mut P,
    ) -> Result<Vec<SocketId>, PatternError> {
        let ids = if delta == 0 {
            SmallVec::new()
        } else {
            self.expand(who)
        };
        let mut change = Change {
            step: u16::try_from(delta.unsigned_abs()).unwrap_or(u16::MAX),
            changed: Vec::new(),
            nowhere: 0,
            lost: Lost::new(),
            position: None,
            post,
        };
        let key = self.hashed(topic.space(), topic.as_bytes());
        for ids in ids.chunks(IDS_PER_LOCK) {
            match (topic, delta > 0) {
                (Topic::Pattern(text), true) => self.add_to_pattern(text, ids, &mut change)?,
                (Topic::Pattern(text), false) => self.take_from_pattern(text, ids, &mut change),
                (_, true) => self.add(key, ids, &mut change),
                (_, false) => self.take_away(key, ids, &mut change),
            }
        }
        let Change {
            mut changed,
            nowhere,
            ..
        } = change;
        if nowhere > 0 && changed.len() > 1 {
            let mut seen = HashSet::with_capacity(changed.len());
            changed.retain(|id| seen.insert(*id));
        }
        Ok(changed)
    }

    /// The number of sockets in `who` on each I/O shard. A socket that `who` contains several times counts
    /// as often.
    pub fn places(&self, who: &[Target<'_>]) -> SmallVec<[(ShardIndex, u32); 2]> {
        let mut counts = Recipients::new();
        let mut add = |shard, count| match counts.iter_mut().find(|(known, _)| *known == shard) {
            Some((_, sum)) => *sum = u32::saturating_add(*sum, count),
            None => counts.push((shard, count)),
        };
        for target in who {
            match target {
                Target::Socket(id) => {
                    if let Some(route) = self.route(*id) {
                        add(route.shard, 1);
                    }
                }
                Target::Channel(name) => {
                    let key = self.hashed(Space::Channel, name);
                    if let Some(source) = self.channel_table(key).get(key) {
                        let counts = source.recipients().iter();
                        counts.for_each(|(shard, count)| add(*shard, *count));
                    }
                }
            }
        }
        counts
    }

    /// The ids that `who` stands for, in its order.
    pub(super) fn expand(&self, who: &[Target<'_>]) -> SmallVec<[SocketId; 8]> {
        let mut ids = SmallVec::with_capacity(who.len());
        for target in who {
            match target {
                Target::Socket(id) => ids.push(*id),
                Target::Channel(name) => {
                    let key = self.hashed(Space::Channel, name);
                    if let Some(source) = self.channel_table(key).get(key) {
                        ids.extend(source.members.keys().copied());
                    }
                }
            }
        }
        ids
    }

    fn add<P: Post<Kept = K>>(
        &self,
        key: Hashed<'_>,
        ids: &[SocketId],
        change: &mut Change<'_, P>,
    ) {
        let mut table = self.channel_table(key);
        // a sharded channel may have the same name
        if key.space == Space::Channel && table.pasts().is_some() {
            // this makes its past, if its terms ask for one
            table.get_or_make(key);
            if let Some(pasts) = table.pasts_mut() {
                change.lost = pasts.take_all_lost(key);
                change.position = pasts.get(key).map(Past::position);
            }
        }
        let channel = table.get_or_make(key);
        let before = channel.members.len();
        self.add_members(channel, ids, change);
        let after = channel.members.len();
        if !change.lost.is_empty()
            && let Some(pasts) = table.pasts_mut()
        {
            pasts.set_lost(key, std::mem::take(&mut change.lost));
        }
        table.count(after, before);
        if after == 0 {
            table.discard(key);
        }
    }

    fn add_to_pattern<P: Post<Kept = K>>(
        &self,
        text: &[u8],
        ids: &[SocketId],
        change: &mut Change<'_, P>,
    ) -> Result<(), PatternError> {
        let mut table = self.patterns.lock();
        let listed = table.get_or_make(text)?;
        let mut list = listed.list.write();
        let before = list.members.len();
        self.add_members(&mut list, ids, change);
        let after = list.members.len();
        drop(list);
        table.count(after, before);
        if before == 0 && after > 0 {
            table.insert(listed);
            self.spread(&table);
        }
        Ok(())
    }

    /// Makes those of `ids` that resolve members of a channel or pattern, which is locked.
    fn add_members<P: Post<Kept = K>>(
        &self,
        channel: &mut Channel,
        ids: &[SocketId],
        change: &mut Change<'_, P>,
    ) {
        let empty = channel.members.is_empty();
        for &id in ids {
            if let Some(member) = channel.members.get_mut(&id) {
                let begins = member.count == 0;
                member.count = member.count.saturating_add(change.step);
                if begins {
                    // only the client has subscribed it so far
                    change.changed.push(id);
                    let route = member.route();
                    change.post_entering((channel.id, &channel.name), route, true);
                }
                continue;
            }
            change.changed.push(id);
            let joined = self.socket_table(id).join(id, &channel.name);
            match joined {
                Some((route, annotation)) => {
                    channel.insert(id, route, change.step);
                    change.tell_lost(channel.id, route.shard);
                    let recipient = Recipient {
                        subscriber: id,
                        route,
                        annotation,
                        is_known: change.enter(channel, id, route),
                    };
                    change.post.join(channel.id, &channel.name, recipient);
                }
                None => change.nowhere += 1,
            }
        }
        if empty && !channel.members.is_empty() {
            change.post.wanted(channel.id, &channel.name, true);
        }
    }

    fn take_away<P: Post<Kept = K>>(
        &self,
        key: Hashed<'_>,
        ids: &[SocketId],
        change: &mut Change<'_, P>,
    ) {
        let mut table = self.channel_table(key);
        let Some(channel) = table.get_mut(key) else {
            return;
        };
        let before = channel.members.len();
        self.take_members(channel, ids, change);
        let after = channel.members.len();
        table.count(after, before);
        if table.forget(key, ids) {
            change.post.presence_is_due();
        }
        if after == 0 {
            table.discard(key);
        }
    }

    fn take_from_pattern<P: Post<Kept = K>>(
        &self,
        text: &[u8],
        ids: &[SocketId],
        change: &mut Change<'_, P>,
    ) {
        let mut table = self.patterns.lock();
        let Some(listed) = table.get(text).map(Arc::clone) else {
            return;
        };
        let mut list = listed.list.write();
        let before = list.members.len();
        self.take_members(&mut list, ids, change);
        let after = list.members.len();
        drop(list);
        table.count(after, before);
        if after == 0 {
            table.remove(&listed);
            self.spread(&table);
        }
    }

    /// Lowers the counts of members of a channel or pattern, which is locked and has members.
    fn take_members<P: Post<Kept = K>>(
        &self,
        channel: &mut Channel,
        ids: &[SocketId],
        change: &mut Change<'_, P>,
    ) {
        for &id in ids {
            match channel.lower(id, change.step) {
                Lowered::Nothing => {}
                Lowered::Own => change.changed.push(id),
                Lowered::Ended(route) => {
                    self.socket_table(id).leave(id, &channel.name);
                    change.post.leave(channel.id, id, route);
                    change.changed.push(id);
                }
            }
        }
        if channel.members.is_empty() {
            change.post.wanted(channel.id, &channel.name, false);
        }
    }

    /// Removes sockets that no longer exist from their patterns.
    pub(super) fn leave_patterns<P: Post<Kept = K>>(
        &self,
        subscriptions: &[(SocketId, Name)],
        post: &mut P,
    ) {
        let mut table = self.patterns.lock();
        let mut ended = false;
        for &(subscriber, ref name) in subscriptions {
            let Some(listed) = table.get(name.as_bytes()).map(Arc::clone) else {
                continue;
            };
            let mut list = listed.list.write();
            let Some(left) = list.remove_with_id(subscriber) else {
                continue;
            };
            post.leave(left.channel, subscriber, left.route);
            if left.last {
                post.wanted(left.channel, name, false);
            }
            drop(list);
            table.count(0, 1);
            if left.last {
                table.remove(&listed);
                ended = true;
            }
        }
        if ended {
            self.spread(&table);
        }
    }

    /// Gives every lock shard of the channels the current index. When this returns, no publisher uses an
    /// older one.
    fn spread(&self, table: &PatternTable) {
        let patterns = table.index();
        for mut channels in self.channels.each() {
            channels.set_patterns(patterns.clone());
        }
    }
}

/// The number of ids that are handled before the channel's lock is released for a moment.
const IDS_PER_LOCK: usize = 1024;
