//! The members of one channel: who they are, and what of it has not been told yet. Owns the rules of what a batch says; never
//! touches a subscription, never posts.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use ahash::RandomState;

use crate::elsewhere::Elsewhere;
use crate::id::SocketId;
use crate::name::Name;
use crate::name_map::Row;
use crate::presence::{
    Changes, Info, MemberCount, MemberId, MemberState, News, OtherMember, Unsaved,
};
use crate::present::{Maker, Present};

/// See the module.
pub(crate) struct Room {
    pub(crate) name: Name,
    /// Those on this node.
    members: BTreeMap<SocketId, Present>,
    /// What other nodes have to do with it; `None`: members are known on one node only.
    elsewhere: Option<Box<Elsewhere>>,
    /// How many members have each info.
    infos: HashMap<Info, usize, RandomState>,
    /// How many members have none.
    unnamed: usize,
    /// What has not been told yet, by member.
    changes: BTreeMap<MemberId, Change>,
    /// Only the number is told.
    is_counting: bool,
    /// The number that was told last, since all members were known.
    number: Option<usize>,
    /// Whether it is in the list of the dirty ones.
    pub(crate) is_dirty: bool,
    /// The next room with the same hash in the table's map.
    next: Option<Box<Room>>,
}

/// What has happened to a member since the last batch.
#[derive(Clone, Copy)]
struct Change {
    /// Whether it was a member then.
    was_there: bool,
    /// Whether it has left since then.
    has_left: bool,
}

impl Room {
    /// `is_shared`: other nodes have members, too.
    pub(crate) fn new(name: Name, is_shared: bool) -> Self {
        Self {
            name,
            members: BTreeMap::new(),
            elsewhere: is_shared.then(Box::default),
            infos: HashMap::default(),
            unnamed: 0,
            changes: BTreeMap::new(),
            is_counting: false,
            number: None,
            is_dirty: false,
            next: None,
        }
    }

    /// Returns whether there is something to tell.
    pub(crate) fn enter(
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
        self.note(MemberId::here(id), (false, false), most);
        true
    }

    /// `None`: it is no member.
    pub(crate) fn set_info(&mut self, id: SocketId, info: &Info, most: usize) -> Option<bool> {
        let present = self.members.get_mut(&id)?;
        if present.info.as_ref() == Some(info) {
            return Some(false);
        }
        let before = present.info.replace(info.clone());
        self.count_out(before.as_ref());
        self.count_in(Some(info));
        self.note(MemberId::here(id), (true, false), most);
        Some(true)
    }

    pub(crate) fn keep(&mut self, id: SocketId, (own, given): (bool, bool), most: usize) -> bool {
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
        self.note(MemberId::here(id), (true, true), most);
        true
    }

    /// Nobody is here any more, and nobody is told. True: nothing is left, not on other nodes either.
    pub(crate) fn close(&mut self) -> bool {
        for present in std::mem::take(&mut self.members).into_values() {
            self.count_out(present.info.as_ref());
        }
        self.changes = BTreeMap::new();
        self.is_counting = false;
        self.number = None;
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.save_all();
        }
        self.is_vacant()
    }

    /// Whether nobody is there, not on other nodes either.
    pub(crate) fn is_vacant(&self) -> bool {
        self.len() == 0
    }

    /// How many members there are on all nodes.
    fn len(&self) -> usize {
        let others = self.elsewhere.as_ref().map_or(0, |others| others.len());
        self.members.len() + others
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
    fn note(&mut self, id: MemberId, (was_there, leaves): (bool, bool), most: usize) {
        if let Some(elsewhere) = &mut self.elsewhere
            && id.node == 0
        {
            elsewhere.has_changed(id.socket, self.members.len());
        }
        if self.is_counting {
            return;
        }
        let change = self.changes.entry(id).or_insert(Change {
            was_there,
            has_left: false,
        });
        change.has_left |= leaves;
        if self.changes.len() > most || self.len() > most {
            self.count_from_now_on();
        }
    }

    pub(crate) fn count_from_now_on(&mut self) {
        self.is_counting = true;
        self.changes = BTreeMap::new();
    }

    /// Whether a member is there, and its info.
    fn find(&self, id: MemberId) -> (bool, Option<&Info>) {
        if id.node == 0 {
            let present = self.members.get(&id.socket);
            return (present.is_some(), present.and_then(|one| one.info.as_ref()));
        }
        let elsewhere = self.elsewhere.as_ref();
        let other = elsewhere.and_then(|elsewhere| elsewhere.get(id));
        (other.is_some(), other.and_then(|other| other.info()))
    }

    pub(crate) fn take_news(&mut self, most: usize) -> Option<News> {
        let count = self.len();
        if self.is_counting {
            self.is_counting = count > most;
            self.number = Some(count);
            return Some(News::Count(count));
        }
        let mut news = Changes::default();
        for (id, change) in std::mem::take(&mut self.changes) {
            let (is_there, info) = self.find(id);
            // also what was never told has to be taken back: a subscriber may have asked who is there
            if change.has_left && (change.was_there || !is_there) {
                news.left.push(id);
            }
            if !is_there {
                continue;
            }
            let list = if change.was_there && !change.has_left {
                &mut news.updated
            } else {
                &mut news.joined
            };
            list.push((id, info.cloned()));
        }
        (news != Changes::default()).then_some(News::Members(news))
    }

    /// At most so many members of this node behind a socket.
    pub(crate) fn members_here(&self, after: Option<SocketId>, most: usize) -> Vec<MemberState> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let members = self.members.range((from, Bound::Unbounded));
        members
            .take(most)
            .map(|(id, present)| present.state(*id))
            .collect()
    }

    /// At most so many members of all nodes behind one, in the order of nodes and sockets, if this is the node `here`.
    pub(crate) fn members(
        &self,
        here: u64,
        after: Option<MemberId>,
        most: usize,
    ) -> Vec<MemberState> {
        let Some(elsewhere) = &self.elsewhere else {
            return match after {
                Some(after) if after.node > here => Vec::new(),
                Some(after) if after.node == here => self.members_here(Some(after.socket), most),
                _ => self.members_here(None, most),
            };
        };
        let mut members = elsewhere.members(after, Some(here), most);
        if after.is_none_or(|after| after.node <= here) {
            let after = after.filter(|after| after.node == here);
            let left = most - members.len();
            members.extend(self.members_here(after.map(|after| after.socket), left));
        }
        let behind = after.filter(|after| after.node > here);
        let behind = behind.unwrap_or(MemberId {
            node: here,
            socket: SocketId::MOST,
        });
        let left = most - members.len();
        members.extend(elsewhere.members(Some(behind), None, left));
        members
    }

    pub(crate) fn count(&self) -> MemberCount {
        let unnamed = usize::from(self.unnamed > 0);
        MemberCount {
            members: self.infos.len() + unnamed,
            sockets: self.len(),
        }
    }
}

/// Other nodes.
impl Room {
    /// Whether other nodes have to be given something.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.elsewhere
            .as_ref()
            .is_some_and(|elsewhere| elsewhere.is_unsaved())
    }

    /// Takes what other nodes have not been given yet, at most so many changes of about so many bytes.
    pub(crate) fn take_unsaved(&mut self, most: usize, most_bytes: usize) -> Unsaved {
        let Some(sockets) = self.elsewhere.get_or_insert_default().take_unsaved(most) else {
            return Unsaved::Whole;
        };
        let mut changes = Vec::with_capacity(sockets.len());
        let mut bytes = 0;
        for socket in sockets {
            let state = self
                .members
                .get(&socket)
                .map(|present| present.state(socket));
            if bytes >= most_bytes {
                let members = self.members.len();
                if let Some(elsewhere) = &mut self.elsewhere {
                    elsewhere.has_changed(socket, members);
                }
                continue;
            }
            let info = state.as_ref().and_then(|state| state.info.as_ref());
            bytes += info.map_or(0, |info| info.text().len());
            changes.push((socket, state));
        }
        Unsaved::Changes(changes)
    }

    /// Other nodes are going to be given everything.
    pub(crate) fn begin_saving(&mut self) {
        self.elsewhere.get_or_insert_default().begin_saving();
    }

    /// Takes note that a member of another node was seen. False: it is unknown, or says something else of itself.
    pub(crate) fn saw(&mut self, id: MemberId, info: Option<&str>, mark: u32) -> bool {
        let elsewhere = self.elsewhere.as_mut();
        elsewhere.is_some_and(|elsewhere| elsewhere.saw(id, info, mark))
    }

    /// Takes over what another node says of a member. True: there is something to tell.
    pub(crate) fn put(
        &mut self,
        other: OtherMember,
        mark: u32,
        (tells, most): (bool, usize),
    ) -> bool {
        let id = other.id;
        let info = other.info().cloned();
        let elsewhere = self.elsewhere.get_or_insert_default();
        let before = elsewhere.put(other, mark);
        let was_there = before.is_some();
        if let Some(before) = before {
            self.count_out(before.info());
        }
        self.count_in(info.as_ref());
        if tells {
            self.note(id, (was_there, false), most);
        }
        tells
    }

    /// Members of other nodes are known from now on of whom nobody was told: whether a number that was told is wrong by that.
    pub(crate) fn was_told_wrong(&mut self) -> bool {
        match self.number.take() {
            None => false,
            Some(number) if self.is_counting => number != self.len(),
            // since then they were told who has come and gone here
            Some(_) => self.len() > self.members.len(),
        }
    }

    /// A member of another node has left. True: there is something to tell.
    pub(crate) fn drop_other(&mut self, id: MemberId, (tells, most): (bool, usize)) -> bool {
        let elsewhere = self.elsewhere.as_mut();
        let Some(gone) = elsewhere.and_then(|elsewhere| elsewhere.remove(id)) else {
            return false;
        };
        self.count_out(gone.info());
        if tells {
            self.note(id, (true, true), most);
        } else {
            self.changes.remove(&id);
        }
        tells
    }

    /// Members of other nodes for which this holds, by the mark of the last reading that they were in.
    pub(crate) fn others(
        &self,
        node: Option<u64>,
        is_wanted: impl Fn(MemberId, u32) -> bool,
    ) -> Vec<MemberId> {
        let elsewhere = self.elsewhere.as_ref();
        elsewhere.map_or_else(Vec::new, |elsewhere| elsewhere.list(node, is_wanted))
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
