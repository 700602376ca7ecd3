//! Publishing in channels with history, and reading it. Owns the order of numbering and posting; the rules of what is
//! kept are in the tables.

use smallvec::SmallVec;

use super::Core;
use crate::channel::Recipients;
use crate::channels::ChannelTable;
use crate::history::{
    ENTRY_CHARGE, HistoryBounds, Kept, Manner, NAME_CHARGE, Number, Position, Published, Start,
};
use crate::id::SocketId;
use crate::limits::KEY_BYTES;
use crate::name::{Name, Space, Topic};
use crate::name_map::Hashed;
use crate::past::{Lost, New};
use crate::past_totals::Excess;
use crate::post::{Numbered, Post};
use crate::route::ShardIndex;
use crate::sync::MutexGuard;

/// What a channel has kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past<K> {
    /// The newest message, kept or not.
    pub position: Position,
    /// The messages that were asked for.
    pub messages: Vec<Kept<K>>,
}

impl<K> Core<K> {
    /// Does the same as [`publish`](Self::publish), and returns where the message is in its channel. In a channel with
    /// history it has a number, which all subscribers see in the same order, and is kept.
    pub fn publish_as<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        message: &P::Message,
        manner: &Manner<'_>,
        post: &mut P,
    ) -> Published {
        let key = self.hashed(Space::Channel, channel);
        if !post.is_ready(message, None) && !self.make_ready(Topic::Channel(channel), message, post)
        {
            return Published::default();
        }
        let table = self.channel_table(key);
        self.publish_beside(table, key, message, manner, post)
    }

    /// Whether this is a channel with history.
    pub(super) fn keeps(&self, topic: Topic<'_>) -> bool {
        let Topic::Channel(name) = topic else {
            return false;
        };
        let key = self.hashed(Space::Channel, name);
        self.channel_table(key).history_of(key).is_some()
    }

    /// Does the same as [`publish_beside`](Self::publish_beside) with nothing but exceptions, for a channel with this hash
    /// and name. A function of its own with plain arguments, so that [`publish`](Self::publish) prepares nothing for it.
    #[cold]
    #[inline(never)]
    pub(super) fn publish_but_to<P: Post<Kept = K>>(
        &self,
        table: MutexGuard<'_, ChannelTable<K>>,
        (hash, name): (u64, &[u8]),
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let space = Space::Channel;
        let key = Hashed { hash, space, name };
        let manner = Manner {
            except,
            ..Manner::default()
        };
        let published = self.publish_beside(table, key, message, &manner, post);
        published.deliveries
    }

    /// Publishes in a table whose channels may have history. The message is ready.
    #[inline(never)]
    pub(super) fn publish_beside<P: Post<Kept = K>>(
        &self,
        table: MutexGuard<'_, ChannelTable<K>>,
        key: Hashed<'_>,
        message: &P::Message,
        manner: &Manner<'_>,
        post: &mut P,
    ) -> Published {
        let mut table = table;
        let Some(terms) = table.history_of(key) else {
            return Published {
                deliveries: self.publish_plain(&table, key, message, manner.except, post),
                ..Published::default()
            };
        };
        if post.stores() {
            return self.hand_over(table, (key, terms), message, manner, post);
        }
        if !post.is_keepable(message) {
            drop(table);
            post.make_keepable(message);
            table = self.channel_table(key);
        }
        let Some(pasts) = table.pasts_mut() else {
            return Published::default();
        };
        let now = post.unix_ms();
        pasts.change(key, |past| past.expire(now));
        let window = manner.key.filter(|name| name.len() <= KEY_BYTES);
        let first = window.and_then(|name| {
            let found = pasts.get(key)?;
            found.offset_of(name).map(|offset| found.at(offset))
        });
        if first.is_some() {
            return Published {
                position: first,
                is_repeated: true,
                ..Published::default()
            };
        }
        post.upstream(Topic::Channel(key.name), message);
        pasts.make(key, terms, || Name::new(key.space, key.name));
        let (kept, length) = post.keep(message);
        let charge = u64::try_from(length + key.name.len()).unwrap_or(u64::MAX);
        let new = New {
            message: kept,
            length,
            from: manner.from,
            key: window,
        };
        let Some(number) = pasts.change(key, |past| past.push(new, now)) else {
            return Published::default();
        };
        let deliveries =
            self.post_numbered(&mut table, key, (&number, message), manner.except, post)
                + self.publish_matches(&table, key, message, manner.except, post);
        drop(table);
        // at least as much goes as has come, so what is kept beyond its bounds never grows
        self.settle_history(DROPPED.saturating_add(charge / LEAST));
        Published {
            deliveries,
            position: Some(number.position),
            ..Published::default()
        }
    }

    /// Posts a numbered message for the live subscribers of its channel. A shard that refuses it is told of the gap with
    /// the next one that it accepts.
    pub(super) fn post_numbered<P: Post<Kept = K>>(
        &self,
        table: &mut ChannelTable<K>,
        key: Hashed<'_>,
        (number, message): (&Number, &P::Message),
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let Some(channel) = table.get(key) else {
            return 0;
        };
        let list = channel.id;
        let mut recipients = Recipients::from_slice(channel.recipients());
        let mut excluded = SmallVec::new();
        if !except.is_empty() {
            excluded = self.excluded(channel, except);
            excluded.retain(|id| channel.members.get(id).is_some_and(|one| !one.is_behind()));
            for id in &excluded {
                let shard = channel.members.get(id).map(|member| member.shard);
                if let Some(entry) = recipients.iter_mut().find(|entry| Some(entry.0) == shard) {
                    entry.1 -= 1;
                }
            }
        }
        let known = table.pasts().and_then(|pasts| pasts.get(key));
        let missed = known.map(|known| known.lost.clone()).unwrap_or_default();
        let mut refused = Lost::new();
        let mut posted: u64 = 0;
        for &(shard, count) in &recipients {
            let before = missed.iter().find(|(known, _)| *known == shard);
            let numbered = Numbered {
                number,
                missed: before.map(|(_, last)| *last),
                message,
            };
            if post.publish_numbered(shard, list, &numbered, &excluded, count) {
                posted += u64::from(count);
            } else {
                refused.push((shard, number.position));
            }
        }
        if (!missed.is_empty() || !refused.is_empty())
            && let Some(pasts) = table.pasts_mut()
        {
            pasts.set_lost(key, refused);
        }
        usize::try_from(posted).unwrap_or(usize::MAX)
    }

    /// Drops the pasts that were published to longest ago, at most so many, until what is kept is within its bounds. No
    /// lock is held.
    pub(super) fn settle_history(&self, most: u64) {
        let Some(totals) = self.history.get() else {
            return;
        };
        for _ in 0..most {
            let Some(excess) = totals.excess() else {
                return;
            };
            if !self.drop_oldest(excess) {
                return;
            }
        }
    }

    /// False: there is none.
    #[cold]
    fn drop_oldest(&self, excess: Excess) -> bool {
        let oldest = |table: &ChannelTable<K>| table.pasts().and_then(|pasts| pasts.oldest(excess));
        let stamps = self.channels.each().map(|table| oldest(&table));
        let Some(first) = stamps.flatten().min() else {
            return false;
        };
        for mut table in self.channels.each() {
            if oldest(&table) == Some(first)
                && let Some(pasts) = table.pasts_mut()
            {
                pasts.drop_past(first);
                break;
            }
        }
        true
    }

    /// Tells a shard of what it has refused in a channel, if it has not been told. Called before a subscriber
    /// begins behind it, so that nobody is told of what was published before.
    pub(super) fn tell_lost<P: Post<Kept = K>>(
        table: &mut ChannelTable<K>,
        key: Hashed<'_>,
        shard: ShardIndex,
        post: &mut P,
    ) {
        let Some(pasts) = table.pasts_mut() else {
            return;
        };
        if let Some(last) = pasts.take_lost(key, shard)
            && let Some(channel) = table.get(key)
        {
            post.gap(shard, channel.id, last);
        }
    }

    /// Drops messages that are too old, and what is beyond the bounds; tells shards of gaps that they have not been
    /// told of. Called from time to time.
    pub fn expire_history<P: Post<Kept = K>>(&self, post: &mut P) {
        let now = post.unix_ms();
        for mut table in self.channels.each() {
            let Some(pasts) = table.pasts_mut() else {
                return;
            };
            pasts.expire(now);
            for (name, hash, shard) in pasts.lost() {
                let key = Hashed {
                    hash,
                    space: name.space(),
                    name: name.as_bytes(),
                };
                if post.has_room(shard) {
                    Self::tell_lost(&mut table, key, shard, post);
                }
            }
        }
        self.settle_history(DROPPED_AT_EXPIRY);
    }

    /// The bounds of what all channels together keep, once they are set.
    pub fn history_bounds(&self) -> Option<HistoryBounds> {
        self.history.get().map(|totals| totals.bounds())
    }

    /// The bytes that are charged for what all channels keep, and the number of channels that keep something and have
    /// no subscriber.
    pub fn history_size(&self) -> (u64, u64) {
        let totals = self.history.get();
        totals.map_or((0, 0), |totals| (totals.bytes(), totals.idle()))
    }
}

impl<K: Clone> Core<K> {
    /// At most `most` messages that a channel keeps, from `start` on, or the newest of them first. `None`: the channel
    /// has no history. Behind a position that is gone come all that are kept: the caller compares the epochs.
    pub fn history(
        &self,
        channel: &[u8],
        (start, is_reverse): (Start, bool),
        most: usize,
        now: u64,
    ) -> Option<Past<K>> {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        table.history_of(key)?;
        let pasts = table.pasts_mut()?;
        pasts.change(key, |past| past.expire(now));
        let Some(past) = pasts.get(key) else {
            return Some(Past {
                position: pasts.beginning(),
                messages: Vec::new(),
            });
        };
        let position = past.position();
        let first = match past.begin(start, past.first()) {
            (_, Some(false)) => past.first(),
            (next, _) => next,
        };
        let offsets = first..=position.offset;
        let get = |offset| past.get(offset).map(|(kept, _)| kept);
        let messages = if is_reverse {
            offsets.rev().take(most).filter_map(get).collect()
        } else {
            offsets.take(most).filter_map(get).collect()
        };
        Some(Past { position, messages })
    }
}

/// The most pasts that a short publication drops: many may have lost their subscribers since the last one. A long one
/// drops more, so that its own bytes have room.
pub(super) const DROPPED: u64 = 32;

/// The least that a past is charged.
pub(super) const LEAST: u64 = ENTRY_CHARGE + NAME_CHARGE;

/// The most pasts that one look for old messages drops.
const DROPPED_AT_EXPIRY: u64 = 1024;
