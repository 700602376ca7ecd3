//! The tree of virtual sockets below each real one. Owns the links between the entries of a table. Never
//! recurses, because a dangling chain may be of any length.

use super::entry::{Alias, AliasState};
use super::{Entry, Nature, Removed, SocketTable};
use crate::id::SocketId;

impl SocketTable {
    /// Makes `id` the first child of `target`.
    pub(super) fn link(&mut self, id: SocketId, target: SocketId) {
        let second = self
            .entries
            .get_mut(target)
            .and_then(|entry| entry.first_child_mut().replace(id));
        if let Some(second) = second {
            self.alias_mut(second).previous = Some(id);
        }
        self.alias_mut(id).next = second;
    }

    /// Removes a deleted entry without children, and then each deleted entry above it that has no child
    /// left.
    pub(super) fn prune(&mut self, mut id: SocketId) {
        loop {
            let Some(entry) = self.entries.get(id) else {
                return;
            };
            if entry.exists() || entry.first_child().is_some() {
                return;
            }
            let alias = self.alias_mut(id);
            let (target, next, previous) = (alias.target, alias.next, alias.previous);
            if let Some(next) = next {
                self.alias_mut(next).previous = previous;
            }
            match previous {
                Some(previous) => self.alias_mut(previous).next = next,
                None => *self.entry_mut(target).first_child_mut() = next,
            }
            self.entries.remove(id);
            id = target;
        }
    }

    /// Makes everything below a deleted entry dangle, and collects its channels in `removed`.
    pub(super) fn let_dangle(&mut self, root: SocketId, removed: &mut Removed) {
        let mut next = self.following(root, root, true);
        while let Some(id) = next {
            let entry = self.entry_mut(id);
            let Nature::Virtual(alias) = &mut entry.nature else {
                return;
            };
            // below an entry that does not resolve, no other does
            let live = alias.state == AliasState::Live;
            if live {
                alias.state = AliasState::Dangling;
                entry.take_channels(id, removed);
            }
            next = self.following(id, root, live);
        }
    }

    /// Removes everything below an entry.
    pub(super) fn remove_descendants(&mut self, root: SocketId, removed: &mut Removed) {
        let mut ids = Vec::new();
        let mut next = self.following(root, root, true);
        while let Some(id) = next {
            ids.push(id);
            next = self.following(id, root, true);
        }
        for id in ids {
            if let Some(mut entry) = self.entries.remove(id) {
                self.virtuals -= usize::from(entry.exists());
                entry.take_channels(id, removed);
            }
        }
    }

    /// Visits the entries below `root`, including deleted and dangling ones, until `visit` asks to stop.
    pub(crate) fn visit_descendants(
        &self,
        root: SocketId,
        mut visit: impl FnMut(SocketId) -> bool,
    ) {
        let mut next = self.following(root, root, true);
        while let Some(id) = next.filter(|id| visit(*id)) {
            next = self.following(id, root, true);
        }
    }

    /// The real socket above an entry, even if the entry is deleted or dangles.
    pub(crate) fn root(&self, id: SocketId) -> Option<SocketId> {
        self.entries.get(id).map(|entry| entry.route(id).socket)
    }

    /// Whether one of `links` is on the chain from `id`, with `id` included.
    pub(crate) fn passes_through(&self, mut id: SocketId, links: &[SocketId]) -> bool {
        loop {
            if links.contains(&id) {
                return true;
            }
            match self.entries.get(id).map(|entry| &entry.nature) {
                Some(Nature::Virtual(alias)) => id = alias.target,
                _ => return false,
            }
        }
    }

    /// The entry after `id` in a walk over everything below `root`, parents before children.
    fn following(&self, mut id: SocketId, root: SocketId, descend: bool) -> Option<SocketId> {
        if descend && let Some(child) = self.entries.get(id)?.first_child() {
            return Some(child);
        }
        while id != root {
            let Nature::Virtual(alias) = &self.entries.get(id)?.nature else {
                return None;
            };
            if alias.next.is_some() {
                return alias.next;
            }
            id = alias.target;
        }
        None
    }

    fn entry_mut(&mut self, id: SocketId) -> &mut Entry {
        self.entries.get_mut(id).expect("links lead to entries")
    }

    fn alias_mut(&mut self, id: SocketId) -> &mut Alias {
        match &mut self.entry_mut(id).nature {
            Nature::Virtual(alias) => alias,
            Nature::Real(_) => unreachable!("only virtual sockets have siblings"),
        }
    }
}
