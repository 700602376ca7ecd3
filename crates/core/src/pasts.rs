//! The pasts of the channels in one lock shard. Owns the bounds of what is kept, in which order pasts go, and epochs;
//! never touches a subscription, never posts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::history::{Cursor, Epoch, HistoryTerms, InStore, Position, Start, Stored};
use crate::id::{SocketId, TermsIndex};
use crate::name::Name;
use crate::name_map::{Hashed, NameMap};
use crate::past::{Lost, Past};
use crate::past_totals::{Excess, Totals};
use crate::route::ShardIndex;
use crate::sync::Ordering;

/// The pasts. Whenever the lock is free, each of them belongs to a channel with a subscriber, or is followed in a store, or
/// keeps a message.
pub(crate) struct PastTable<K> {
    rows: NameMap<Past<K>>,
    terms: Arc<[Option<HistoryTerms>]>,
    totals: Arc<Totals>,
    /// Pasts that keep messages, those first that were published to longest ago.
    order: BTreeMap<u64, Place>,
    /// Those of them without subscribers.
    idle: BTreeMap<u64, Place>,
    /// The epoch of pasts that begin now: a random number and how many pasts were lost with their numbers.
    epoch: u64,
}

/// How a past is found.
struct Place {
    hash: u64,
    name: Name,
}

/// Where a subscriber begins.
pub(crate) struct Beginning {
    /// The newest message.
    pub(crate) position: Position,
    pub(crate) recovered: Option<bool>,
    /// The first of the kept messages that it gets; `None`: there is none.
    pub(crate) missing: Option<u64>,
}

impl<K> PastTable<K> {
    pub(crate) fn new(terms: Arc<[Option<HistoryTerms>]>, totals: Arc<Totals>, epoch: u64) -> Self {
        Self {
            rows: NameMap::default(),
            terms,
            totals,
            order: BTreeMap::new(),
            idle: BTreeMap::new(),
            epoch,
        }
    }

    /// What is kept of channels with these terms.
    pub(crate) fn terms(&self, index: Option<TermsIndex>) -> Option<HistoryTerms> {
        self.terms.get(index?.get()).copied().flatten()
    }

    pub(crate) fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    /// The position of a channel that has no past.
    pub(crate) fn beginning(&self) -> Position {
        Position {
            epoch: Epoch::new(self.epoch),
            offset: 0,
        }
    }

    pub(crate) fn get(&self, key: Hashed<'_>) -> Option<&Past<K>> {
        self.rows.get(key)
    }

    /// The past of a channel, made if it is absent. The caller adds a message to it, or [occupies](Self::occupy) it.
    pub(crate) fn make(
        &mut self,
        key: Hashed<'_>,
        terms: HistoryTerms,
        name: impl FnOnce() -> Name,
    ) {
        if self.rows.get(key).is_none() {
            let past = Past::new((key.hash, name()), terms, self.beginning().epoch);
            self.rows.insert(key.hash, Box::new(past));
        }
    }

    /// The hashes of all names; each once.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.rows.hashes()
    }

    /// The pasts with this hash.
    pub(crate) fn with_hash(&self, hash: u64) -> impl Iterator<Item = &Past<K>> {
        self.rows.with_hash(hash)
    }

    /// Changes what a past keeps, and brings its place in the order and the totals up to date. One that keeps nothing
    /// any more goes, unless it has subscribers.
    pub(crate) fn change<R>(
        &mut self,
        key: Hashed<'_>,
        change: impl FnOnce(&mut Past<K>) -> R,
    ) -> Option<R> {
        let past = self.rows.get_mut(key)?;
        let (before, newest) = (past.charge(), past.position().offset);
        let result = change(past);
        if past.charge() > self.totals.most_bytes() {
            past.clear();
        }
        let after = past.charge();
        let bytes = &self.totals.bytes;
        bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        let is_published = past.position().offset != newest;
        if is_published || past.is_empty() {
            self.place(key, is_published);
        }
        Some(result)
    }

    /// Puts a past into the order as the one that was published to last, or takes it out if it keeps nothing.
    fn place(&mut self, key: Hashed<'_>, is_published: bool) {
        let Some(past) = self.rows.get_mut(key) else {
            return;
        };
        let known = self.order.remove(&past.stamp);
        let known_idle = self.idle.remove(&past.stamp);
        past.stamp = 0;
        if past.is_empty() {
            if past.is_idle && !past.is_followed {
                self.remove(key, known_idle.is_some());
            } else if known_idle.is_some() {
                self.totals.idle.fetch_sub(1, Ordering::Relaxed);
            }
            return;
        }
        if is_published {
            past.stamp = self.totals.stamp();
            let place = known.unwrap_or_else(|| Place::of(past));
            self.order.insert(past.stamp, place);
            if past.is_idle {
                if known_idle.is_none() {
                    self.totals.idle.fetch_add(1, Ordering::Relaxed);
                }
                let place = known_idle.unwrap_or_else(|| Place::of(past));
                self.idle.insert(past.stamp, place);
            }
        }
    }

    /// The numbers of a past without subscribers are lost.
    fn remove(&mut self, key: Hashed<'_>, counted: bool) {
        if self
            .rows
            .get(key)
            .is_some_and(|past| past.position().offset > 0)
        {
            self.epoch = self.epoch.wrapping_add(1);
        }
        self.rows.remove(key);
        if counted {
            self.totals.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The channel has got its first subscriber.
    pub(crate) fn occupy(&mut self, key: Hashed<'_>) {
        let Some(past) = self.rows.get_mut(key) else {
            return;
        };
        past.is_idle = false;
        if self.idle.remove(&past.stamp).is_some() {
            self.totals.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The channel has lost its last subscriber.
    pub(crate) fn vacate(&mut self, key: Hashed<'_>) {
        let Some(past) = self.rows.get_mut(key) else {
            return;
        };
        past.is_idle = true;
        past.behind.clear();
        past.lost.clear();
        if past.is_empty() {
            if !past.is_followed {
                self.remove(key, false);
            }
        } else if self.idle.insert(past.stamp, Place::of(past)).is_none() {
            self.totals.idle.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Replaces what a past keeps, and its numbers, by what a store has. From then on it stays until it is
    /// [unfollowed](Self::unfollow).
    pub(crate) fn refill(
        &mut self,
        key: Hashed<'_>,
        (position, entries): (Position, Vec<Stored<K>>),
        is_whole: bool,
    ) {
        self.change(key, |past| past.refill(position, entries, is_whole));
        // a change sees only that the newest offset is another one
        self.place(key, true);
    }

    /// A past of a channel without subscribers is not brought up to date any more: it goes.
    pub(crate) fn unfollow(&mut self, key: Hashed<'_>) {
        self.change(key, |past| {
            past.is_followed = false;
            past.clear();
        });
    }

    /// Takes the cursors of all subscribers that are behind.
    pub(crate) fn take_behind(&mut self, key: Hashed<'_>) -> Vec<SocketId> {
        let past = self.rows.get_mut(key);
        let behind = past.map(|past| std::mem::take(&mut past.behind));
        behind.unwrap_or_default().into_keys().collect()
    }

    /// Where a subscriber begins; `None`: the channel has no past. `known`: what is known of the store.
    pub(crate) fn begin(
        &mut self,
        key: Hashed<'_>,
        (start, known): (Start, Option<InStore>),
        now: u64,
    ) -> Option<Beginning> {
        self.change(key, |past| past.expire(now))?;
        let past = self.rows.get(key)?;
        // the caller has looked whether it is known, and what has expired since then is not asked for
        let first = past.first_for(start, known);
        let (next, recovered) = past.begin(start, first.unwrap_or_else(|_| past.first()));
        Some(Beginning {
            position: past.position(),
            recovered,
            missing: (past.left(next) > 0).then_some(next),
        })
    }

    /// Sets or removes a subscriber's cursor.
    pub(crate) fn set_cursor(
        &mut self,
        key: Hashed<'_>,
        subscriber: SocketId,
        cursor: Option<Cursor>,
    ) {
        let Some(past) = self.rows.get_mut(key) else {
            return;
        };
        match cursor {
            Some(cursor) => past.behind.insert(subscriber, cursor.id),
            None => past.behind.remove(&subscriber),
        };
        if past.behind.is_empty() {
            past.behind.shrink_to_fit();
        }
    }

    /// Replaces what shards have refused and were not told of.
    pub(crate) fn set_lost(&mut self, key: Hashed<'_>, lost: Lost) {
        if let Some(past) = self.rows.get_mut(key) {
            past.lost = lost;
        }
    }

    /// Takes the position up to which a shard has no messages, if it has not been told.
    pub(crate) fn take_lost(&mut self, key: Hashed<'_>, shard: ShardIndex) -> Option<Position> {
        let past = self.rows.get_mut(key)?;
        let place = past.lost.iter().position(|lost| lost.0 == shard)?;
        Some(past.lost.swap_remove(place).1)
    }

    /// Does the same for all shards.
    pub(crate) fn take_all_lost(&mut self, key: Hashed<'_>) -> Lost {
        let past = self.rows.get_mut(key);
        past.map(|past| std::mem::take(&mut past.lost))
            .unwrap_or_default()
    }

    /// The gaps that shards have not been told of, with their channels.
    pub(crate) fn lost(&self) -> Vec<(Name, u64, ShardIndex)> {
        let lossy = self.rows.iter().filter(|past| !past.lost.is_empty());
        let each = lossy.flat_map(|past| {
            let shards = past.lost.iter();
            shards.map(|(shard, _)| (past.name.clone(), past.hash, *shard))
        });
        each.collect()
    }

    /// A subscriber that may be behind is gone.
    pub(crate) fn forget(&mut self, key: Hashed<'_>, subscriber: SocketId) {
        if let Some(past) = self.rows.get_mut(key) {
            past.behind.remove(&subscriber);
        }
    }

    /// The stamp of the past that would go first.
    pub(crate) fn oldest(&self, excess: Excess) -> Option<u64> {
        let order = match excess {
            Excess::Bytes => &self.order,
            Excess::Idle => &self.idle,
        };
        order.first_key_value().map(|(stamp, _)| *stamp)
    }

    /// Drops what the past with this stamp keeps; with it goes the past, unless it has subscribers.
    pub(crate) fn drop_past(&mut self, stamp: u64) {
        let past = self
            .order
            .get(&stamp)
            .and_then(|place| self.rows.get(place.key()));
        if let Some(place) = past.map(Place::of) {
            self.change(place.key(), Past::clear);
        }
    }

    /// Drops what is too old.
    pub(crate) fn expire(&mut self, now: u64) {
        let due = self.rows.iter().filter(|past| past.is_due(now));
        let due: Vec<Place> = due.map(Place::of).collect();
        for place in due {
            self.change(place.key(), |past| past.expire(now));
        }
    }
}

impl<K> Drop for PastTable<K> {
    fn drop(&mut self) {
        let bytes: u64 = self.rows.iter().map(Past::charge).sum();
        let idle = u64::try_from(self.idle.len()).unwrap_or(u64::MAX);
        self.totals.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.totals.idle.fetch_sub(idle, Ordering::Relaxed);
    }
}

impl Place {
    fn of<K>(past: &Past<K>) -> Self {
        Self {
            hash: past.hash,
            name: past.name.clone(),
        }
    }

    fn key(&self) -> Hashed<'_> {
        Hashed {
            hash: self.hash,
            space: self.name.space(),
            name: self.name.as_bytes(),
        }
    }
}
