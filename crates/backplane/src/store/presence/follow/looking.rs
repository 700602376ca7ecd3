//! Reading the index of a channel: who has members there, and what was told meanwhile. Owns which of the two is newer.

use std::collections::BTreeMap;

use super::super::message::Change;
use super::super::session::Session;
use super::Follower;
use super::known::{Index, Newest};
use super::step::Step;

impl Follower {
    /// The channel was subscribed to on a new link.
    pub(in super::super) fn begin(&mut self, out: &mut Vec<Step>) {
        self.index = Index::Wanted;
        self.told.clear();
        out.push(Step::Index);
    }

    /// The subscription is confirmed. What was told until now may have come by an earlier one, and between the two something may
    /// be missing: so it is not known to be newer than the index that is being read.
    pub(in super::super) fn subscribed(&mut self) {
        if self.index == Index::Sent && !self.told.is_empty() {
            self.index = Index::Outdated;
        }
    }

    /// The index is asked for now: returns the number of this look. `None`: it is not needed.
    pub(in super::super) fn index_sent(&mut self) -> Option<u32> {
        if self.index != Index::Wanted {
            return None;
        }
        self.index = Index::Sent;
        // it has everything that was told before
        self.told.clear();
        self.looks = self.looks.wrapping_add(1);
        Some(self.looks)
    }

    /// The store may have lost something: who is missing in the index that comes next has not left.
    pub(in super::super) fn spare(&mut self) {
        self.spares = true;
    }

    /// The index that was asked for by this look: each session with the number of its last change; `None`: its members are
    /// being written, and what is known of them counts.
    pub(in super::super) fn index(
        &mut self,
        look: u32,
        sessions: &[(Session, Option<u64>)],
        out: &mut Vec<Step>,
    ) {
        let spares = std::mem::take(&mut self.spares);
        let is_awaited = matches!(self.index, Index::Sent | Index::Outdated);
        // an earlier one does not have what was told in front of the last look
        if !is_awaited || look != self.looks {
            return;
        }
        let told = std::mem::take(&mut self.told);
        let is_outdated = self.index == Index::Outdated;
        self.index = Index::Known;
        let mut newest: BTreeMap<u64, (Session, u64)> = BTreeMap::new();
        for (session, version) in sessions {
            let Some(version) = version else {
                continue;
            };
            let place = newest.entry(session.node).or_insert((*session, *version));
            *place = (*place).max((*session, *version));
        }
        let is_there = |node: u64| sessions.iter().any(|(session, _)| session.node == node);
        let is_gone = |node: &u64| !spares && !is_there(*node) && !told.contains_key(node);
        let gone: Vec<_> = self.known.keys().copied().filter(is_gone).collect();
        for node in gone {
            self.forget(node, out);
        }
        for (node, (session, version)) in newest {
            match told.get(&node) {
                // of a session that has ended it says nothing about a later one
                Some(Newest::Applied(of)) if *of >= session => {}
                Some(Newest::Unknown(later, newer)) if *later == session => {
                    self.meet(session, version.max(*newer), out);
                }
                _ => self.meet(session, version, out),
            }
        }
        if is_outdated {
            return self.begin(out);
        }
        self.complete(out);
    }

    /// The index has a session with this last change.
    fn meet(&mut self, session: Session, version: u64, out: &mut Vec<Step>) {
        let is_known = self.known.get(&session.node).is_some_and(|known| {
            known.session > session
                || known.session == session
                    && (known.version == Some(version) || known.reading.is_some())
        });
        if !is_known {
            self.read(session, version);
            out.push(Step::Page(session));
        }
    }

    /// Nothing is known of what was in front of a change.
    pub(super) fn await_index(&mut self, change: &Change, out: &mut Vec<Step>) {
        let session = change.session;
        match self.index {
            Index::Known => self.begin(out),
            Index::Wanted => {}
            Index::Sent | Index::Outdated => {
                self.told
                    .insert(session.node, Newest::Unknown(session, change.version));
                // the index may not have the session at all
                self.index = Index::Outdated;
            }
        }
    }

    /// What is known of a session is newer than an index that is being read.
    pub(super) fn note(&mut self, session: Session) {
        if matches!(self.index, Index::Sent | Index::Outdated) {
            self.told.insert(session.node, Newest::Applied(session));
        }
    }
}
