//! Who is present in channels whose terms ask for it. Owns in which order this is told; the rules of what is told are in the
//! tables.

use std::sync::Arc;

use super::Core;
use crate::channels::ChannelTable;
use crate::id::SocketId;
use crate::name::{Name, Space};
use crate::name_map::Hashed;
use crate::post::Post;
use crate::presence::{
    Batch, Info, InfoError, MemberCount, MemberId, MemberState, PresenceBounds, Totals,
};
use crate::present::Maker;
use crate::rooms::Rooms;
use crate::route::ShardSet;
use crate::sync::MutexGuard;

/// There is no presence in the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the channel has no presence")]
pub struct NoPresence;

impl<K> Core<K> {
    /// Says which [terms](Self::set_terms) ask for presence, by their place.
    pub fn set_presence(&self, terms: &[bool], bounds: PresenceBounds) {
        if !terms.contains(&true) && self.presence.get().is_none() {
            return;
        }
        let totals = self.presence.get_or_init(|| Arc::new(Totals::new()));
        totals.bound(bounds);
        let bits = terms.iter().zip(0..u64::BITS);
        let bits = bits.fold(0, |all, (asks, place)| all | u64::from(*asks) << place);
        for mut table in self.channels.each() {
            let rooms = table.keep_rooms(|| Rooms::new(Arc::clone(totals)));
            rooms.set_terms(bits);
        }
    }

    /// An info for members. It is charged until its last holder drops it.
    pub fn info(&self, text: &str) -> Result<Info, InfoError> {
        let totals = self.presence.get().ok_or(InfoError::NoPresence)?;
        Info::new(text, totals)
    }

    /// What all infos are charged.
    pub fn presence_bytes(&self) -> u64 {
        self.presence.get().map_or(0, |totals| totals.bytes())
    }

    /// Whether a channel has presence.
    pub fn has_presence(&self, channel: &[u8]) -> bool {
        self.presence.get().is_some() && {
            let key = self.hashed(Space::Channel, channel);
            self.channel_table(key).rooms_of(key).is_some()
        }
    }

    /// Makes those of `ids` members that are subscribed by this maker; the others are left out, as are all if the channel
    /// has no presence. Those that are members already stay so, with the new info if one is given.
    pub fn make_members<P: Post<Kept = K>>(
        &self,
        ids: &[SocketId],
        channel: &[u8],
        (maker, info): (Maker, Option<&Info>),
        post: &mut P,
    ) {
        if self.presence.get().is_none() {
            return;
        }
        let key = self.hashed(Space::Channel, channel);
        for ids in ids.chunks(IDS_PER_LOCK) {
            let now = post.unix_ms();
            let mut table = self.channel_table(key);
            let mut is_due = false;
            for id in ids {
                is_due |= enter(&mut table, key, (*id, maker), info, now);
            }
            drop(table);
            if is_due {
                post.presence_is_due();
            }
        }
    }

    /// Replaces what a member says of itself. Returns whether it is a member.
    pub fn set_info<P: Post<Kept = K>>(
        &self,
        id: SocketId,
        channel: &[u8],
        info: &Info,
        post: &mut P,
    ) -> Result<bool, NoPresence> {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let rooms = table.rooms_of(key).ok_or(NoPresence)?;
        let is_due = rooms.set_info(key, id, info);
        drop(table);
        if is_due == Some(true) {
            post.presence_is_due();
        }
        Ok(is_due.is_some())
    }

    /// At most so many members of a channel, those behind `after`, in the order of the numbers of nodes and sockets. `here`
    /// is the number of this node, which `after` names by it; 0: there are no others.
    pub fn members(
        &self,
        channel: &[u8],
        here: u64,
        after: Option<MemberId>,
        most: usize,
    ) -> Result<Vec<MemberState>, NoPresence> {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let rooms = table.rooms_of(key).ok_or(NoPresence)?;
        Ok(rooms.members(key, here, after, most))
    }

    /// How many members a channel has.
    pub fn member_count(&self, channel: &[u8]) -> Result<MemberCount, NoPresence> {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let rooms = table.rooms_of(key).ok_or(NoPresence)?;
        Ok(rooms.count(key))
    }

    /// Tells the subscribers what has changed among the members of their channels since the last call. Called some time
    /// after [`Post::presence_is_due`], by one thread at a time.
    pub fn tell_presence<P: Post<Kept = K>>(&self, post: &mut P) {
        let Some(totals) = self.presence.get() else {
            return;
        };
        totals.begin_telling();
        let mut dirty = Vec::new();
        for mut table in self.channels.each() {
            if let Some(rooms) = table.rooms_mut() {
                dirty.append(&mut rooms.take_dirty());
            }
        }
        for (hash, name) in &dirty {
            let key = Hashed {
                hash: *hash,
                space: name.space(),
                name: name.as_bytes(),
            };
            if tell(self.channel_table(key), (key, name), post) {
                post.presence_is_due();
            }
        }
    }

    /// Whether no channel has a member, and nothing is to be told.
    pub fn is_deserted(&self) -> bool {
        let mut tables = self.channels.each();
        tables.all(|mut table| table.rooms_mut().is_none_or(|rooms| rooms.is_empty()))
    }
}

/// Makes a subscriber a member. True: what is noted has to be told.
fn enter<K>(
    table: &mut ChannelTable<K>,
    key: Hashed<'_>,
    (id, maker): (SocketId, Maker),
    info: Option<&Info>,
    now: u64,
) -> bool {
    let Some(channel) = table.get(key) else {
        return false;
    };
    let is_made = channel.members.get(&id).is_some_and(|one| match maker {
        Maker::Client => one.is_own(),
        Maker::Application => one.count > 0,
    });
    let name = channel.name.clone();
    let Some(rooms) = table.rooms_of(key).filter(|_| is_made) else {
        return false;
    };
    rooms.enter(key, &name, (id, maker), info, now)
}

/// Posts what a channel has to tell to every I/O shard with a subscriber, under the channel's lock: the batch is behind the
/// joins of those who are live, and names those who are not. True: it did not reach all, and has to be told again.
fn tell<K, P: Post<Kept = K>>(
    mut table: MutexGuard<'_, ChannelTable<K>>,
    (key, name): (Hashed<'_>, &Name),
    post: &mut P,
) -> bool {
    let Some(rooms) = table.rooms_mut() else {
        return false;
    };
    if rooms.is_unsaved(key) {
        post.unsaved(name);
    }
    let Some(news) = rooms.take_news(key) else {
        return false;
    };
    let Some(channel) = table.get(key) else {
        return false;
    };
    let cursors = table.pasts().and_then(|pasts| pasts.get(key));
    let behind = cursors.into_iter().flat_map(|past| past.behind.keys());
    let behind = behind.filter_map(|id| channel.members.get(id).map(|member| member.route()));
    let behind: Vec<_> = behind.collect();
    let mut shards = ShardSet::default();
    let live = channel.recipients().iter().map(|(shard, _)| *shard);
    for shard in live.chain(behind.iter().map(|route| route.shard)) {
        shards.insert(shard);
    }
    let batch = Arc::new(Batch {
        list: channel.id,
        name: channel.name.clone(),
        news,
        behind,
    });
    let mut is_refused = false;
    for shard in shards.iter() {
        is_refused |= !post.presence(shard, &batch);
    }
    is_refused
        && table
            .rooms_mut()
            .is_some_and(|rooms| rooms.tell_again(key, name))
}

/// The number of ids that are handled before the channel's lock is released for a moment.
const IDS_PER_LOCK: usize = 1024;
