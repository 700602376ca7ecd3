//! The members of the channels in one lock shard: who they are, and what of it has not been told yet. Owns the rules of
//! what a batch says; never touches a subscription, never posts.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use ahash::RandomState;

use crate::channel::Channel;
use crate::id::{SocketId, TermsIndex};
use crate::name::Name;
use crate::name_map::{Hashed, NameMap, Row};
use crate::presence::{Changes, Info, MemberCount, MemberState, News, Totals};

/// The rooms. Whenever the lock is free, each of them has a member, which is a subscriber of its channel, or something to
/// tell.
pub(crate) struct Rooms {
    rows: NameMap<Room>,
    /// The terms that ask for presence, a bit each.
    terms: u64,
    totals: Arc<Totals>,
    /// The rooms that have something to tell.
    dirty: Vec<(u64, Name)>,
}

/// The members of one channel.
struct Room {
    name: Name,
    members: BTreeMap<SocketId, Present>,
    /// How many members have each info.
    infos: HashMap<Info, usize, RandomState>,
    /// How many members have none.
    unnamed: usize,
    /// What has not been told yet, by socket.
    changes: BTreeMap<SocketId, Change>,
    /// Only the number is told.
    is_counting: bool,
    /// Whether it is in the list of the dirty ones.
    is_dirty: bool,
    /// The next room with the same hash in the table's map.
    next: Option<Box<Room>>,
}

struct Present {
    info: Option<Info>,
    since_ms: u64,
    /// A member for as long as its client has subscribed itself.
    own: bool,
    /// A member for as long as the application has it subscribed.
    given: bool,
}

/// What has happened to a socket since the last batch.
#[derive(Clone, Copy)]
struct Change {
    /// Whether it was a member then.
    was_there: bool,
    /// Whether it has left since then.
    has_left: bool,
}

/// Who makes a socket a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Its own client, by subscribing itself: it is one until that ends.
    Client,
    /// The application, by subscribing it: it is one until that ends.
    Application,
}

impl Rooms {
    pub(crate) fn new(totals: Arc<Totals>) -> Self {
        Self {
            rows: NameMap::default(),
            terms: 0,
            totals,
            dirty: Vec::new(),
        }
    }

    /// Replaces the terms that ask for presence.
    pub(crate) fn set_terms(&mut self, terms: u64) {
        self.terms = terms;
    }

    /// Whether channels with these terms have presence.
    pub(crate) fn has(&self, terms: Option<TermsIndex>) -> bool {
        terms.is_some_and(|index| self.terms >> index.number() & 1 != 0)
    }

    /// Makes a subscriber a member, or adds to why it is one; an info replaces the one before. True: what is noted has
    /// to be told.
    pub(crate) fn enter(
        &mut self,
        key: Hashed<'_>,
        name: &Name,
        (id, maker): (SocketId, Maker),
        info: Option<&Info>,
        now: u64,
    ) -> bool {
        if self.rows.get(key).is_none() {
            self.rows
                .insert(key.hash, Box::new(Room::new(name.clone())));
        }
        let most = self.totals.most_events();
        let Some(room) = self.rows.get_mut(key) else {
            return false;
        };
        let has_changed = room.enter(id, maker, info, now, most);
        has_changed && self.mark(key)
    }

    /// Replaces what a member says of itself. `None`: it is none; true: what is noted has to be told.
    pub(crate) fn set_info(&mut self, key: Hashed<'_>, id: SocketId, info: &Info) -> Option<bool> {
        let most = self.totals.most_events();
        let has_changed = self.rows.get_mut(key)?.set_info(id, info, most)?;
        Some(has_changed && self.mark(key))
    }

    /// Subscriptions of these sockets have ended, or one of two has: those without the one that made them members are
    /// none any more. True: what is noted has to be told.
    pub(crate) fn keep_up(
        &mut self,
        key: Hashed<'_>,
        channel: Option<&Channel>,
        ids: &[SocketId],
    ) -> bool {
        if channel.is_some_and(|channel| !self.has(channel.id.terms())) {
            return false;
        }
        let most = self.totals.most_events();
        let Some(room) = self.rows.get_mut(key) else {
            return false;
        };
        let mut has_changed = false;
        for id in ids {
            let subscription = channel.and_then(|channel| channel.members.get(id));
            let own = subscription.is_some_and(|one| one.is_own());
            let given = subscription.is_some_and(|one| one.count > 0);
            has_changed |= room.keep(*id, (own, given), most);
        }
        has_changed && self.mark(key)
    }

    /// The channel has no subscriber any more: nobody is there, and nobody is told.
    pub(crate) fn close(&mut self, key: Hashed<'_>) {
        let Some(room) = self.rows.get_mut(key) else {
            return;
        };
        if room.is_dirty {
            // it stays until its place in the list is taken
            *room = Room {
                is_dirty: true,
                next: room.next.take(),
                ..Room::new(room.name.clone())
            };
        } else {
            self.rows.remove(key);
        }
    }

    /// Takes the list of rooms that have something to tell.
    pub(crate) fn take_dirty(&mut self) -> Vec<(u64, Name)> {
        std::mem::take(&mut self.dirty)
    }

    /// Takes what a room has to tell.
    pub(crate) fn take_news(&mut self, key: Hashed<'_>) -> Option<News> {
        let room = self.rows.get_mut(key)?;
        room.is_dirty = false;
        let news = room.take_news(self.totals.most_events());
        if room.members.is_empty() {
            self.rows.remove(key);
        }
        news
    }

    /// What was taken last has not reached all subscribers: the number is told, and with it that they should ask anew.
    /// True: it has to be told.
    pub(crate) fn tell_again(&mut self, key: Hashed<'_>, name: &Name) -> bool {
        if self.rows.get(key).is_none() {
            self.rows
                .insert(key.hash, Box::new(Room::new(name.clone())));
        }
        if let Some(room) = self.rows.get_mut(key) {
            room.count_from_now_on();
        }
        self.mark(key)
    }

    /// At most so many members behind a socket, in the order of the sockets.
    pub(crate) fn members(
        &self,
        key: Hashed<'_>,
        after: Option<SocketId>,
        most: usize,
    ) -> Vec<MemberState> {
        let Some(room) = self.rows.get(key) else {
            return Vec::new();
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let members = room.members.range((from, Bound::Unbounded));
        let state = |(id, present): (&SocketId, &Present)| MemberState {
            socket: *id,
            since_ms: present.since_ms,
            info: present.info.clone(),
        };
        members.take(most).map(state).collect()
    }

    pub(crate) fn count(&self, key: Hashed<'_>) -> MemberCount {
        self.rows
            .get(key)
            .map_or_else(MemberCount::default, |room| {
                let unnamed = usize::from(room.unnamed > 0);
                MemberCount {
                    members: room.infos.len() + unnamed,
                    sockets: room.members.len(),
                }
            })
    }

    /// Whether nothing is left of any channel.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    fn mark(&mut self, key: Hashed<'_>) -> bool {
        let Some(room) = self.rows.get_mut(key) else {
            return false;
        };
        if !std::mem::replace(&mut room.is_dirty, true) {
            self.dirty.push((key.hash, room.name.clone()));
        }
        self.totals.is_due_now()
    }
}

impl Room {
    fn new(name: Name) -> Self {
        Self {
            name,
            members: BTreeMap::new(),
            infos: HashMap::default(),
            unnamed: 0,
            changes: BTreeMap::new(),
            is_counting: false,
            is_dirty: false,
            next: None,
        }
    }

    /// Returns whether there is something to tell.
    fn enter(
        &mut self,
        id: SocketId,
        maker: Maker,
        info: Option<&Info>,
        now: u64,
        most: usize,
    ) -> bool {
        let (own, given) = (maker == Maker::Client, maker == Maker::Application);
        if let Some(present) = self.members.get_mut(&id) {
            present.own |= own;
            present.given |= given;
            return info
                .and_then(|info| self.set_info(id, info, most))
                .unwrap_or(false);
        }
        let present = Present {
            info: info.cloned(),
            since_ms: now,
            own,
            given,
        };
        self.count_in(info);
        self.members.insert(id, present);
        self.note(id, (false, false), most);
        true
    }

    /// `None`: it is no member.
    fn set_info(&mut self, id: SocketId, info: &Info, most: usize) -> Option<bool> {
        let present = self.members.get_mut(&id)?;
        if present.info.as_ref() == Some(info) {
            return Some(false);
        }
        let before = present.info.replace(info.clone());
        self.count_out(before.as_ref());
        self.count_in(Some(info));
        self.note(id, (true, false), most);
        Some(true)
    }

    fn keep(&mut self, id: SocketId, (own, given): (bool, bool), most: usize) -> bool {
        let Some(present) = self.members.get_mut(&id) else {
            return false;
        };
        present.own &= own;
        present.given &= given;
        if present.own || present.given {
            return false;
        }
        let before = self.members.remove(&id).and_then(|present| present.info);
        self.count_out(before.as_ref());
        self.note(id, (true, true), most);
        true
    }

    fn count_in(&mut self, info: Option<&Info>) {
        match info {
            None => self.unnamed += 1,
            Some(info) => *self.infos.entry(info.clone()).or_default() += 1,
        }
    }

    fn count_out(&mut self, info: Option<&Info>) {
        let Some(info) = info else {
            self.unnamed -= 1;
            return;
        };
        if let Some(holders) = self.infos.get_mut(info) {
            *holders -= 1;
            if *holders == 0 {
                self.infos.remove(info);
            }
        }
        if self.infos.is_empty() {
            self.infos = HashMap::default();
        }
    }

    /// Notes a change. Above the bound only the number is told.
    fn note(&mut self, id: SocketId, (was_there, leaves): (bool, bool), most: usize) {
        if self.is_counting {
            return;
        }
        let change = self.changes.entry(id).or_insert(Change {
            was_there,
            has_left: false,
        });
        change.has_left |= leaves;
        if self.members.len() > most || self.changes.len() > most {
            self.count_from_now_on();
        }
    }

    fn count_from_now_on(&mut self) {
        self.is_counting = true;
        self.changes = BTreeMap::new();
    }

    fn take_news(&mut self, most: usize) -> Option<News> {
        let count = self.members.len();
        if self.is_counting {
            self.is_counting = count > most;
            return Some(News::Count(count));
        }
        let mut news = Changes::default();
        for (id, change) in std::mem::take(&mut self.changes) {
            let present = self.members.get(&id);
            // also what was never told has to be taken back: a subscriber may have asked who is there
            if change.has_left && (change.was_there || present.is_none()) {
                news.left.push(id);
            }
            let Some(present) = present else {
                continue;
            };
            let list = if change.was_there && !change.has_left {
                &mut news.updated
            } else {
                &mut news.joined
            };
            list.push((id, present.info.clone()));
        }
        (news != Changes::default()).then_some(News::Members(news))
    }
}

impl Row for Room {
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
