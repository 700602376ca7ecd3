//! Channels whose messages a store numbers and keeps, and what this node has of them. Owns how the messages of the store
//! reach subscribers; never numbers a message, never asks the store.

use super::Core;
use super::history::{DROPPED, LEAST};
use crate::channel::Recipients;
use crate::channels::ChannelTable;
use crate::history::{
    ENTRY_CHARGE, HistoryTerms, MOST_OFFSET, Manner, Position, Published, Stored,
};
use crate::id::SocketId;
use crate::name::{Name, Space, Topic};
use crate::name_map::Hashed;
use crate::past::{New, Past};
use crate::post::{Post, Recipient};
use crate::sync::MutexGuard;

impl<K> Core<K> {
    /// Gives a message to the store instead of numbering it.
    #[cold]
    #[inline(never)]
    pub(super) fn hand_over<P: Post<Kept = K>>(
        &self,
        table: MutexGuard<'_, ChannelTable<K>>,
        (key, terms): (Hashed<'_>, HistoryTerms),
        message: &P::Message,
        manner: &Manner<'_>,
        post: &mut P,
    ) -> Published {
        let deliveries = table.get(key).map_or(0, |channel| {
            let excluded = match manner.except {
                [] => 0,
                except => self.excluded(channel, except).len(),
            };
            channel.members.len() - excluded
        });
        drop(table);
        post.store(key.name, terms, message, manner);
        Published {
            deliveries,
            is_stored: true,
            ..Published::default()
        }
    }

    /// Replaces what a channel with history keeps by what a store has, and its numbers: the newest is `position`. The channel
    /// is followed from here on, if `may` is true, which is asked under the channel's lock and must not call the core.
    ///
    /// If its newest message was another one, all subscribers that it has are told of a gap up to `position` and are live: what
    /// they miss is not known. So those learn their position that have subscribed before it was followed. False: nothing was
    /// done.
    pub fn fill<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        (position, entries): (Position, Vec<Stored<K>>),
        may: impl FnOnce() -> bool,
        post: &mut P,
    ) -> bool {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let Some(terms) = table.history_of(key) else {
            return false;
        };
        let is_subscribed = table.get(key).is_some();
        let Some(pasts) = table.pasts_mut() else {
            return false;
        };
        if position.offset > MOST_OFFSET || !may() {
            return false;
        }
        pasts.make(key, terms, || Name::new(key.space, key.name));
        let is_other = |past: &Past<K>| past.position() != position;
        let is_told = is_subscribed && pasts.get(key).is_some_and(is_other);
        let now = post.unix_ms();
        let bytes: usize = entries.iter().map(|stored| stored.length).sum();
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let charge = wide(bytes + key.name.len())
            .saturating_add(ENTRY_CHARGE.saturating_mul(wide(entries.len())));
        pasts.refill(key, (position, entries), bytes <= WHOLE_BYTES);
        pasts.change(key, |past| past.expire(now));
        if is_told {
            Self::tell_all(&mut table, key, position, post);
        }
        drop(table);
        self.settle_history(DROPPED.saturating_add(charge / LEAST));
        true
    }

    /// Adds the next message of the store to a channel that is [followed](Self::fill), and posts it for the channel's live
    /// subscribers except `except`; not for those of patterns. Returns the deliveries that were posted; `None`: the channel
    /// is not followed, or has had the message. If one in front of it is missing, all are told of the gap.
    pub fn apply<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        stored: Stored<K>,
        (message, except): (&P::Message, &[SocketId]),
        post: &mut P,
    ) -> Option<usize> {
        let key = self.hashed(Space::Channel, channel);
        if !post.is_ready(message, None) {
            post.make_ready(message, None);
        }
        let mut table = self.channel_table(key);
        let pasts = table.pasts_mut()?;
        let known = pasts.get(key).filter(|known| known.is_followed)?;
        let newest = known.position().offset;
        if stored.offset <= newest || stored.offset > MOST_OFFSET {
            return None;
        }
        let before = known.at(stored.offset - 1);
        if before.offset > newest {
            pasts.refill(key, (before, Vec::new()), false);
            Self::tell_all(&mut table, key, before, post);
        }
        let now = post.unix_ms();
        let pasts = table.pasts_mut()?;
        pasts.change(key, |past| past.expire(now));
        let charge = u64::try_from(stored.length + key.name.len()).unwrap_or(u64::MAX);
        let new = New {
            message: stored.message,
            length: stored.length,
            from: stored.from,
            key: None,
        };
        let number = pasts.change(key, |past| past.push(new, stored.unix_ms))?;
        let deliveries = self.post_numbered(&mut table, key, (&number, message), except, post);
        drop(table);
        self.settle_history(DROPPED.saturating_add(charge / LEAST));
        Some(deliveries)
    }

    /// Ends [following](Self::fill) a channel that has no subscriber, if `may` is true, which is asked under the channel's
    /// lock and must not call the core. What is kept of it goes. False: nothing was done.
    pub fn unfollow(&self, channel: &[u8], may: impl FnOnce() -> bool) -> bool {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        if table.get(key).is_some() || !may() {
            return false;
        }
        if let Some(pasts) = table.pasts_mut() {
            pasts.unfollow(key);
        }
        true
    }

    /// The newest message of a channel that is [followed](Self::fill), and whether everything is kept that its terms allow:
    /// not if the store did not give all, or all channels together would have kept too much.
    pub fn followed(&self, channel: &[u8]) -> Option<(Position, bool)> {
        let key = self.hashed(Space::Channel, channel);
        let table = self.channel_table(key);
        let past = table.pasts()?.get(key)?;
        past.is_followed.then(|| (past.position(), !past.is_short))
    }

    /// Posts a message that the store has numbered for the subscribers of the patterns that match its channel, and tells the
    /// other nodes of it, for theirs.
    pub fn publish_to_patterns<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let topic = Topic::Channel(channel);
        if !post.is_ready(message, None) && !self.make_ready(topic, message, post) {
            return 0;
        }
        let key = self.hashed(Space::Channel, channel);
        let table = self.channel_table(key);
        post.upstream(topic, message);
        self.publish_matches(&table, key, message, except, post)
    }

    /// Makes all subscribers of a channel live, and tells them that everything up to this position may be missing.
    #[cold]
    fn tell_all<P: Post<Kept = K>>(
        table: &mut ChannelTable<K>,
        key: Hashed<'_>,
        last: Position,
        post: &mut P,
    ) {
        let Some(pasts) = table.pasts_mut() else {
            return;
        };
        let behind = pasts.take_behind(key);
        // the gap that all are told of now includes what shards have refused
        let _told_with_it = pasts.take_all_lost(key);
        let Some(channel) = table.get_mut(key) else {
            return;
        };
        let (id, name) = (channel.id, channel.name.clone());
        for subscriber in behind {
            if let Some(route) = channel.set_behind(subscriber, false) {
                let recipient = Recipient {
                    subscriber,
                    route,
                    annotation: None,
                    is_known: true,
                };
                post.join(id, &name, recipient);
            }
        }
        let recipients = Recipients::from_slice(channel.recipients());
        for (shard, _) in recipients {
            post.gap(shard, id, last);
        }
    }
}

/// What a store gives of a channel when it is followed is bounded: more payload than this may not be all.
const WHOLE_BYTES: usize = 8 * 1024 * 1024;
