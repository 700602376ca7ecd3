//! What other nodes have to do with the members of a channel: those that they have, and which changes of our own they have not
//! been given yet. Owns both; tells nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::id::SocketId;
use crate::presence::{Info, MemberId, MemberState, OtherMember};

/// See the module.
pub(crate) struct Elsewhere {
    others: BTreeMap<MemberId, Other>,
    /// The sockets of this node that have changed.
    unsaved: BTreeSet<SocketId>,
    /// What has changed is not known.
    is_whole: bool,
    /// Whether any has changed.
    is_used: bool,
}

struct Other {
    member: OtherMember,
    /// In which reading of its node it was seen last.
    mark: u32,
}

impl Default for Elsewhere {
    fn default() -> Self {
        Self {
            others: BTreeMap::new(),
            unsaved: BTreeSet::new(),
            // other nodes may know of a room of this name that was closed
            is_whole: true,
            is_used: false,
        }
    }
}

impl Elsewhere {
    /// How many members other nodes have.
    pub(crate) fn len(&self) -> usize {
        self.others.len()
    }

    /// A member of this node, of which there are so many, has changed.
    pub(crate) fn has_changed(&mut self, socket: SocketId, members: usize) {
        self.is_used = true;
        if self.is_whole {
            return;
        }
        self.unsaved.insert(socket);
        // while nobody takes them
        if self.unsaved.len() > members.saturating_add(MOST_GONE) {
            self.save_all();
        }
    }

    /// Everything has to be given to the others.
    pub(crate) fn save_all(&mut self) {
        self.is_whole = true;
        self.unsaved = BTreeSet::new();
    }

    /// All that has changed so far is going to be given.
    pub(crate) fn begin_saving(&mut self) {
        self.is_whole = false;
        self.unsaved = BTreeSet::new();
    }

    pub(crate) fn is_unsaved(&self) -> bool {
        self.is_used && (self.is_whole || !self.unsaved.is_empty())
    }

    /// Takes at most so many sockets that have changed; `None`: everything has to be given, and what changes from now on
    /// is noted.
    pub(crate) fn take_unsaved(&mut self, most: usize) -> Option<BTreeSet<SocketId>> {
        if std::mem::take(&mut self.is_whole) {
            return None;
        }
        let rest = self.unsaved.iter().nth(most).copied();
        let rest = rest.map_or_else(BTreeSet::new, |first| self.unsaved.split_off(&first));
        Some(std::mem::replace(&mut self.unsaved, rest))
    }

    /// See [`Room::saw`](crate::room::Room::saw).
    pub(crate) fn saw(&mut self, id: MemberId, info: Option<&str>, mark: u32) -> bool {
        let Some(other) = self.others.get_mut(&id) else {
            return false;
        };
        other.mark = mark;
        other.member.info().map(Info::text) == info
    }

    /// Takes over a member of another node. Returns what was there.
    pub(crate) fn put(&mut self, member: OtherMember, mark: u32) -> Option<OtherMember> {
        let before = self.others.insert(member.id, Other { member, mark });
        before.map(|other| other.member)
    }

    pub(crate) fn remove(&mut self, id: MemberId) -> Option<OtherMember> {
        self.others.remove(&id).map(|other| other.member)
    }

    pub(crate) fn get(&self, id: MemberId) -> Option<&OtherMember> {
        self.others.get(&id).map(|other| &other.member)
    }

    /// The members of one node or of all for which this holds.
    pub(crate) fn list(
        &self,
        node: Option<u64>,
        is_wanted: impl Fn(MemberId, u32) -> bool,
    ) -> Vec<MemberId> {
        let wanted = |(id, other): (&MemberId, &Other)| is_wanted(*id, other.mark).then_some(*id);
        match node {
            None => self.others.iter().filter_map(wanted).collect(),
            Some(node) => {
                let all = MemberId::all_of(node);
                self.others.range(all).filter_map(wanted).collect()
            }
        }
    }

    /// At most so many members behind one, of nodes in front of this one if it is given.
    pub(crate) fn members(
        &self,
        after: Option<MemberId>,
        before_node: Option<u64>,
        most: usize,
    ) -> Vec<MemberState> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = self.others.range((from, Bound::Unbounded));
        let wanted = behind.take_while(|(id, _)| before_node.is_none_or(|node| id.node < node));
        let state = |(id, other): (&MemberId, &Other)| MemberState {
            node: id.node,
            socket: id.socket,
            since_ms: other.member.since_ms,
            info: other.member.info().cloned(),
        };
        wanted.take(most).map(state).collect()
    }
}

/// How many changes are noted beside those of members that are there.
const MOST_GONE: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(id: u64) -> SocketId {
        SocketId::new(id).unwrap()
    }

    #[test]
    fn changes_are_taken_in_parts_behind_everything() {
        let mut elsewhere = Elsewhere::default();
        elsewhere.has_changed(socket(1), 1);
        assert!(elsewhere.is_unsaved());
        assert_eq!(elsewhere.take_unsaved(9), None);
        assert!(!elsewhere.is_unsaved());
        for id in [3, 1, 2, 1] {
            elsewhere.has_changed(socket(id), 3);
        }
        let mut take = |most| {
            let taken = elsewhere.take_unsaved(most).unwrap();
            taken.into_iter().map(SocketId::get).collect::<Vec<_>>()
        };
        assert_eq!(
            [take(2), take(2), take(2)],
            [vec![1, 2], vec![3], Vec::new()]
        );
    }

    #[test]
    fn what_nobody_takes_is_bounded() {
        let mut elsewhere = Elsewhere::default();
        assert_eq!(elsewhere.take_unsaved(1), None);
        for id in 1..=1024 {
            elsewhere.has_changed(socket(id), 0);
        }
        assert_eq!(elsewhere.unsaved.len(), 1024);
        elsewhere.has_changed(socket(1025), 0);
        assert!(elsewhere.unsaved.is_empty());
        assert_eq!(elsewhere.take_unsaved(1), None);
    }
}
