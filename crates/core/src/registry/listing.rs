//! Listing channels for people who look after a gateway: page by page, or the largest. Owns the order and how far a
//! listing has come. Each call takes the lock of one lock shard, briefly: what is sorted, or compared with other lock
//! shards, is numbers that were copied before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use super::Core;
use crate::channel::Channel;
use crate::channels::ChannelTable;
use crate::history::PastSummary;
use crate::name::{Name, Space};
use crate::name_map::Hashed;
use crate::past::Past;
use crate::pasts::PastTable;
use crate::sync::LOCK_SHARDS;

/// What a listing shows of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSummary {
    /// Its name, which may be long and is shared with the channel.
    pub name: Name,
    /// Its subscribers, virtual sockets included.
    pub subscribers: usize,
    /// What it keeps; `None`: it has no history.
    pub history: Option<PastSummary>,
    /// The sockets that are members of it, on all nodes as far as this one knows them; `None`: it has no presence.
    pub present: Option<usize>,
}

/// How far a listing has come. Channels that exist during the whole listing are listed once; others may be. Its text is
/// for those who list, and means nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bookmark {
    /// The lock shard.
    table: u64,
    /// The last hash in it that was listed.
    after: Option<u64>,
}

impl Bookmark {
    /// Reads its text.
    pub fn parse(text: &str) -> Option<Self> {
        let (table, after) = text.split_once('.')?;
        let table: u64 = table.parse().ok()?;
        let after = match after {
            "" => None,
            digits => Some(u64::from_str_radix(digits, 16).ok()?),
        };
        (table < LOCK_SHARDS).then_some(Self { table, after })
    }

    /// Behind the lock shard of this number.
    fn behind(table: u64) -> Option<Self> {
        let table = table + 1;
        (table < LOCK_SHARDS).then_some(Self { table, after: None })
    }
}

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.table)?;
        self.after.map_or(Ok(()), |hash| write!(f, "{hash:x}"))
    }
}

impl<K> Core<K> {
    /// About `most` further channels, those without subscribers that keep messages included, in an order of its own;
    /// then `Some` if there may be more. A call may list none although there are more.
    pub fn list_channels(
        &self,
        from: Bookmark,
        most: usize,
    ) -> (Vec<ChannelSummary>, Option<Bookmark>) {
        let is_further = |hash: &u64| from.after.is_none_or(|after| *hash > after);
        let mut hashes: Vec<u64> = {
            let table = self.channels.lock(from.table);
            hashes(&table).filter(is_further).collect()
        };
        let most = most.max(1);
        let is_last = hashes.len() <= most;
        if !is_last {
            // only those of this page are sorted
            hashes.select_nth_unstable(most);
            hashes.truncate(most);
        }
        hashes.sort_unstable();
        hashes.dedup();
        let mut summaries = Vec::with_capacity(hashes.len());
        let table = self.channels.lock(from.table);
        for hash in &hashes {
            add_with_hash(&table, *hash, &mut summaries);
        }
        drop(table);
        let next = match hashes.last() {
            Some(last) if !is_last => Some(Bookmark {
                after: Some(*last),
                ..from
            }),
            _ => Bookmark::behind(from.table),
        };
        (summaries, next)
    }

    /// The channels with the most subscribers in one lock shard, at most `most` of them, in no particular order; then
    /// `Some` if there are more lock shards. The caller merges them.
    pub fn largest_channels(
        &self,
        from: Bookmark,
        most: usize,
    ) -> (Vec<ChannelSummary>, Option<Bookmark>) {
        let mut largest = BinaryHeap::with_capacity(most + 1);
        let table = self.channels.lock(from.table);
        for channel in table.iter(Space::Channel) {
            let entry = Reverse((channel.members.len(), channel.id));
            if largest.len() < most {
                largest.push((entry, channel.name.as_bytes()));
            } else if largest.peek().is_some_and(|(least, _)| *least > entry)
                && let Some(mut least) = largest.peek_mut()
            {
                *least = (entry, channel.name.as_bytes());
            }
        }
        let names = largest.iter().map(|(_, name)| name);
        let found = names.filter_map(|name| table.get(self.hashed(Space::Channel, name)));
        let summaries = found
            .map(|channel| {
                let key = self.hashed(Space::Channel, channel.name.as_bytes());
                ChannelSummary::of(channel, &table, key)
            })
            .collect();
        (summaries, Bookmark::behind(from.table))
    }
}

/// The hashes of all channels, those that only keep messages included; some twice.
fn hashes<K>(table: &ChannelTable<K>) -> impl Iterator<Item = u64> {
    let pasts = table.pasts().into_iter();
    table.hashes().chain(pasts.flat_map(PastTable::hashes))
}

/// Adds the channels with this hash.
fn add_with_hash<K>(table: &ChannelTable<K>, hash: u64, summaries: &mut Vec<ChannelSummary>) {
    let key = |name| Hashed {
        hash,
        space: Space::Channel,
        name,
    };
    for channel in table.with_hash(hash) {
        let key = key(channel.name.as_bytes());
        summaries.push(ChannelSummary::of(channel, table, key));
    }
    let pasts = table.pasts().into_iter();
    for past in pasts.flat_map(|pasts| pasts.with_hash(hash)) {
        let name = past.name.as_bytes();
        if table.get(key(name)).is_none() {
            summaries.push(ChannelSummary {
                name: past.name.clone(),
                subscribers: 0,
                history: Some(past.summary()),
                present: None,
            });
        }
    }
}

impl ChannelSummary {
    fn of<K>(channel: &Channel, table: &ChannelTable<K>, key: Hashed<'_>) -> Self {
        let past = table.pasts().and_then(|pasts| pasts.get(key));
        let rooms = table.rooms().filter(|rooms| rooms.has(channel.id.terms()));
        Self {
            name: channel.name.clone(),
            subscribers: channel.members.len(),
            history: past.map(Past::summary),
            present: rooms.map(|rooms| rooms.count(key).sockets),
        }
    }
}
