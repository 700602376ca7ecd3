//! The rooms of the channels in one lock shard. Owns which channels have members, and which have something to tell; never
//! touches a subscription, never posts.

use std::sync::Arc;

use crate::channel::Channel;
use crate::id::{SocketId, TermsIndex};
use crate::name::Name;
use crate::name_map::{Hashed, NameMap};
use crate::presence::{
    Info, InfoError, MemberCount, MemberId, MemberState, News, OtherMember, Totals, Unsaved,
};
use crate::present::Maker;
use crate::room::Room;

/// The rooms. Whenever the lock is free, each of them has a member, which is a subscriber of its channel or on another node,
/// or something to tell.
pub(crate) struct Rooms {
    rows: NameMap<Room>,
    /// The terms that ask for presence, a bit each.
    terms: u64,
    totals: Arc<Totals>,
    /// Whether other nodes have members of the same channels.
    is_shared: bool,
    /// The rooms that have something to tell.
    dirty: Vec<(u64, Name)>,
}

impl Rooms {
    pub(crate) fn new(totals: Arc<Totals>) -> Self {
        Self {
            rows: NameMap::default(),
            terms: 0,
            totals,
            is_shared: false,
            dirty: Vec::new(),
        }
    }

    /// Replaces the terms that ask for presence.
    pub(crate) fn set_terms(&mut self, terms: u64) {
        self.terms = terms;
    }

    /// Sets whether other nodes have members of the same channels.
    pub(crate) fn share(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
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
        let most = self.totals.most_events();
        let Some(room) = self.get_or_make(key, name) else {
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
        // if it is dirty, it stays until its place in the list is taken
        if room.close() && !room.is_dirty {
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
        if room.is_vacant() {
            self.rows.remove(key);
        }
        news
    }

    /// Something has not reached all subscribers: the number is told, and with it that they should ask anew. True: it has to
    /// be told.
    pub(crate) fn tell_again(&mut self, key: Hashed<'_>, name: &Name) -> bool {
        if let Some(room) = self.get_or_make(key, name) {
            room.count_from_now_on();
        }
        self.mark(key)
    }

    /// At most so many members of all nodes behind one, if this is the node `here`.
    pub(crate) fn members(
        &self,
        key: Hashed<'_>,
        here: u64,
        after: Option<MemberId>,
        most: usize,
    ) -> Vec<MemberState> {
        let room = self.rows.get(key);
        room.map_or_else(Vec::new, |room| room.members(here, after, most))
    }

    pub(crate) fn count(&self, key: Hashed<'_>) -> MemberCount {
        let room = self.rows.get(key);
        room.map_or_else(MemberCount::default, Room::count)
    }

    /// Whether nothing is left of any channel.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    fn get_or_make(&mut self, key: Hashed<'_>, name: &Name) -> Option<&mut Room> {
        if self.rows.get(key).is_none() {
            let room = Room::new(name.clone(), self.is_shared);
            self.rows.insert(key.hash, Box::new(room));
        }
        self.rows.get_mut(key)
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

/// Other nodes.
impl Rooms {
    /// Whether other nodes have to be given something of a room.
    pub(crate) fn is_unsaved(&self, key: Hashed<'_>) -> bool {
        self.is_shared && self.rows.get(key).is_some_and(Room::is_unsaved)
    }

    /// Takes what other nodes have not been given yet, at most so many changes of about so many bytes.
    pub(crate) fn take_unsaved(
        &mut self,
        key: Hashed<'_>,
        (most, most_bytes): (usize, usize),
    ) -> Unsaved {
        let room = self.rows.get_mut(key);
        room.map_or(Unsaved::Whole, |room| room.take_unsaved(most, most_bytes))
    }

    /// Takes note that other nodes are going to be given all members of this one.
    pub(crate) fn begin_saving(&mut self, key: Hashed<'_>) {
        if let Some(room) = self.rows.get_mut(key) {
            room.begin_saving();
        }
    }

    /// All members of other nodes are known from now on: those who were told a number that is wrong are told the right one.
    /// True: it has to be told.
    pub(crate) fn tell_number(&mut self, key: Hashed<'_>) -> bool {
        let Some(room) = self.rows.get_mut(key) else {
            return false;
        };
        if !room.was_told_wrong() {
            return false;
        }
        room.count_from_now_on();
        self.mark(key)
    }

    /// At most so many members of this node behind a socket.
    pub(crate) fn members_here(
        &self,
        key: Hashed<'_>,
        after: Option<SocketId>,
        most: usize,
    ) -> Vec<MemberState> {
        let room = self.rows.get(key);
        room.map_or_else(Vec::new, |room| room.members_here(after, most))
    }

    /// Takes over what another node says of a member. True: what is noted has to be told.
    pub(crate) fn put(
        &mut self,
        (key, name): (Hashed<'_>, &Name),
        id: MemberId,
        (since_ms, info): (u64, Option<&str>),
        (mark, tells): (u32, bool),
    ) -> Result<bool, InfoError> {
        let most = self.totals.most_events();
        let totals = Arc::clone(&self.totals);
        let Some(room) = self.get_or_make(key, name) else {
            return Ok(false);
        };
        if room.saw(id, info, mark) {
            return Ok(false);
        }
        let has_changed = OtherMember::new(id, (since_ms, info), &totals)
            .map(|other| room.put(other, mark, (tells, most)));
        if room.is_vacant() && !room.is_dirty {
            self.rows.remove(key);
        }
        Ok(has_changed? && self.mark(key))
    }

    /// Members of other nodes have left. True: what is noted has to be told.
    pub(crate) fn drop_others(&mut self, key: Hashed<'_>, ids: &[MemberId], tells: bool) -> bool {
        let most = self.totals.most_events();
        let Some(room) = self.rows.get_mut(key) else {
            return false;
        };
        let mut has_changed = false;
        for id in ids {
            has_changed |= room.drop_other(*id, (tells, most));
        }
        if has_changed {
            return self.mark(key);
        }
        if room.is_vacant() && !room.is_dirty {
            self.rows.remove(key);
        }
        false
    }

    /// The members of one other node, or of all, for which this holds, by the mark of the last reading that they were in.
    pub(crate) fn others(
        &self,
        key: Hashed<'_>,
        node: Option<u64>,
        is_wanted: impl Fn(MemberId, u32) -> bool,
    ) -> Vec<MemberId> {
        let room = self.rows.get(key);
        room.map_or_else(Vec::new, |room| room.others(node, is_wanted))
    }
}
