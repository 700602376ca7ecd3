//! Subscriptions. Owns the rules of reference counts and the one place where both directions of the
//! index are written together.

use std::collections::HashSet;

use smallvec::SmallVec;

use super::Core;
use crate::id::SocketId;
use crate::post::{Post, Recipient};

/// Whom an operation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// One socket.
    Socket(SocketId),
    /// Everyone who is subscribed to the channel of this name.
    Channel(&'a [u8]),
}

impl Core {
    /// Changes the reference counts of subscriptions to a channel by `delta` and returns, each once, the
    /// ids whose subscription is new (`delta` above 0) or gone (below 0).
    ///
    /// The subscribers of channels in `who` are taken once, before anything changes. Counts saturate at
    /// [`SUBSCRIPTION_COUNT`](crate::limits::SUBSCRIPTION_COUNT) and at 0, which ends the subscription.
    /// An id that does not exist or resolves to nothing is returned as new, but nothing is stored for it.
    pub fn subscribe<P: Post>(
        &self,
        who: &[Target<'_>],
        channel: &[u8],
        delta: i32,
        post: &mut P,
    ) -> Vec<SocketId> {
        let ids = if delta == 0 {
            SmallVec::new()
        } else {
            self.expand(who)
        };
        let step = u16::try_from(delta.unsigned_abs()).unwrap_or(u16::MAX);
        let mut changed = Vec::new();
        let mut nowhere = 0;
        for ids in ids.chunks(IDS_PER_LOCK) {
            if delta > 0 {
                nowhere += self.add(channel, ids, step, &mut changed, post);
            } else {
                self.take_away(channel, ids, step, &mut changed, post);
            }
        }
        if nowhere > 0 && changed.len() > 1 {
            let mut seen = HashSet::with_capacity(changed.len());
            changed.retain(|id| seen.insert(*id));
        }
        changed
    }

    /// True if the channel has a subscriber.
    pub fn has_subscriptions(&self, channel: &[u8]) -> bool {
        self.channel_table(channel).get(channel).is_some()
    }

    /// The ids meant by `who`, in its order.
    fn expand(&self, who: &[Target<'_>]) -> SmallVec<[SocketId; 8]> {
        let mut ids = SmallVec::with_capacity(who.len());
        for target in who {
            match target {
                Target::Socket(id) => ids.push(*id),
                Target::Channel(name) => {
                    if let Some(source) = self.channel_table(name).get(name) {
                        ids.extend(source.members.keys().copied());
                    }
                }
            }
        }
        ids
    }

    /// Returns how many ids led nowhere.
    fn add<P: Post>(
        &self,
        name: &[u8],
        ids: &[SocketId],
        step: u16,
        changed: &mut Vec<SocketId>,
        post: &mut P,
    ) -> usize {
        let mut table = self.channel_table(name);
        let channel = table.get_or_make(name);
        let before = channel.members.len();
        let mut nowhere = 0;
        for &id in ids {
            if let Some(member) = channel.members.get_mut(&id) {
                member.count = member.count.saturating_add(step);
                continue;
            }
            changed.push(id);
            let joined = self.socket_table(id).join(id, &channel.name);
            match joined {
                Some((route, annotation)) => {
                    channel.insert(id, route, step);
                    post.join(
                        channel.id,
                        Recipient {
                            subscriber: id,
                            route,
                            annotation,
                        },
                    );
                }
                None => nowhere += 1,
            }
        }
        let after = channel.members.len();
        table.count(after, before);
        table.discard_empty(name);
        nowhere
    }

    fn take_away<P: Post>(
        &self,
        name: &[u8],
        ids: &[SocketId],
        step: u16,
        changed: &mut Vec<SocketId>,
        post: &mut P,
    ) {
        let mut table = self.channel_table(name);
        let Some(channel) = table.get_mut(name) else {
            return;
        };
        let before = channel.members.len();
        for &id in ids {
            if let Some(route) = channel.lower(id, step) {
                self.socket_table(id).leave(id, &channel.name);
                post.leave(channel.id, id, route);
                changed.push(id);
            }
        }
        let after = channel.members.len();
        table.count(after, before);
        table.discard_empty(name);
    }
}

/// Ids handled before the channel's lock is given to others.
const IDS_PER_LOCK: usize = 1024;
