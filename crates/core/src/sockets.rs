//! One lock shard of the sockets. Owns real sockets together with all virtual sockets on them, so that every change to
//! a chain happens under one lock; never touches a channel.

mod entries;
mod entry;
mod tree;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::annotation::Annotation;
use crate::channel_list::ChannelList;
use crate::id::SocketId;
use crate::limits::{CHAIN_STEPS, SOCKET_ID_END};
use crate::name::Name;
use crate::route::{Route, ShardIndex};
use crate::sync::LOCK_SHARDS;
use entries::Entries;
use entry::{Alias, AliasState, Real};
pub(crate) use entry::{Entry, Nature};

/// What is known about a real socket when it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketInfo {
    /// The peer's address; `None` for a unix socket.
    pub address: Option<IpAddr>,
    /// The worker that the connection is pinned to.
    pub worker: u32,
}

/// What remains of a closed socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// What the socket was opened with.
    pub info: SocketInfo,
    /// Its last token.
    pub token: Option<Token>,
}

/// What an application has attached to a socket. Nothing here reads the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Token {
    /// The bytes.
    pub bytes: Bytes,
    /// Whether the bytes are a value that JavaScript has serialised. Otherwise they are the bytes that the application
    /// gave.
    pub is_value: bool,
}

impl From<Bytes> for Token {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes,
            is_value: false,
        }
    }
}

/// Sockets that no longer exist, with the channels they were in. The caller removes them from the channels after it has
/// released the socket's lock.
pub(crate) type Removed = SmallVec<[(SocketId, ChannelList); 1]>;

/// The sockets whose ids fall into one lock shard.
pub(crate) struct SocketTable {
    /// The number of ids that this lock shard has handed out.
    made: u64,
    index: u64,
    entries: Entries,
    reals: usize,
    virtuals: usize,
}

impl SocketTable {
    /// Makes an empty table that hands out the ids `index + 1 + n · LOCK_SHARDS`.
    pub(crate) fn new(index: u64) -> Self {
        Self {
            made: 0,
            index,
            entries: Entries::default(),
            reals: 0,
            virtuals: 0,
        }
    }

    /// The next id of this lock shard.
    pub(crate) fn allocate(&mut self) -> SocketId {
        let number = self.index + 1 + self.made * LOCK_SHARDS;
        self.made += 1;
        debug_assert!(
            number < SOCKET_ID_END,
            "2^47 sockets take longer than any process lives"
        );
        SocketId::new(number).expect("2^47 sockets take longer than any process lives")
    }

    pub(crate) fn open(&mut self, shard: ShardIndex, slot: u32, info: SocketInfo) -> SocketId {
        let id = self.allocate();
        let nature = Nature::Real(Real::new(shard, slot, info));
        self.entries.insert(id, Entry::new(nature));
        self.reals += 1;
        id
    }

    /// Removes a real socket and every virtual socket on it.
    pub(crate) fn close(&mut self, id: SocketId) -> Option<(Closed, Removed)> {
        let entry = self
            .entries
            .get(id)
            .filter(|entry| matches!(entry.nature, Nature::Real(_)))?;
        let mut removed = Removed::new();
        if entry.first_child().is_some() {
            self.remove_descendants(id, &mut removed);
        }
        let entry = self.entries.remove(id)?;
        let Nature::Real(mut real) = entry.nature else {
            return None;
        };
        if !entry.channels.is_empty() {
            removed.push((id, entry.channels));
        }
        self.reals -= 1;
        Some((
            Closed {
                info: real.info(),
                token: real.take_token(),
            },
            removed,
        ))
    }

    /// Creates a virtual socket on `target`. Returns the annotation to the caller if there is no such target.
    pub(crate) fn attach(
        &mut self,
        target: SocketId,
        annotation: Option<Annotation>,
    ) -> Result<SocketId, Option<Annotation>> {
        let Some(parent) = self.entries.get(target).filter(|entry| entry.exists()) else {
            return Err(annotation);
        };
        let route = parent.route(target);
        let (depth, live, inherited) = match &parent.nature {
            Nature::Real(_) => (1, true, None),
            Nature::Virtual(alias) => (
                alias.depth.saturating_add(1),
                alias.state == AliasState::Live,
                alias.annotation.as_ref(),
            ),
        };
        let state = if live && depth < CHAIN_STEPS {
            AliasState::Live
        } else {
            AliasState::Dangling
        };
        let own = annotation.is_some();
        let annotation = annotation
            .map(Arc::new)
            .or_else(|| inherited.map(Arc::clone));
        let alias = Alias {
            route,
            first_child: None,
            target,
            next: None,
            previous: None,
            depth,
            state,
            own,
            annotation,
        };
        let id = self.allocate();
        let nature = Nature::Virtual(Box::new(alias));
        self.entries.insert(id, Entry::new(nature));
        self.link(id, target);
        self.virtuals += 1;
        Ok(id)
    }

    /// Deletes a virtual socket. Those that have it as their target never resolve again.
    pub(crate) fn delete(&mut self, id: SocketId, expected: Option<SocketId>) -> Option<Removed> {
        let entry = self.entries.get_mut(id).filter(|entry| entry.exists())?;
        let Nature::Virtual(alias) = &mut entry.nature else {
            return None;
        };
        if expected.is_some_and(|expected| expected != alias.target) {
            return None;
        }
        let before = std::mem::replace(&mut alias.state, AliasState::Deleted);
        let mut removed = Removed::new();
        entry.take_channels(id, &mut removed);
        if before == AliasState::Live {
            self.let_dangle(id, &mut removed);
        }
        self.prune(id);
        self.virtuals -= 1;
        Some(removed)
    }

    /// Records that a socket is in a channel, if it resolves. Returns its route and the annotation for its copies.
    pub(crate) fn join(
        &mut self,
        id: SocketId,
        channel: &Name,
    ) -> Option<(Route, Option<Arc<Annotation>>)> {
        let entry = self.entries.get_mut(id)?;
        let (route, annotation) = entry.resolve(id)?;
        let annotation = annotation.cloned();
        entry.channels.insert(channel.clone());
        Some((route, annotation))
    }

    /// Records that a socket, if it still exists, is no longer in a channel.
    pub(crate) fn leave(&mut self, id: SocketId, channel: &Name) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.channels.remove(channel);
        }
    }

    /// Replaces a real socket's token and returns the one before; `Err` if there is no such socket.
    pub(crate) fn set_token(&mut self, id: SocketId, token: Token) -> Result<Option<Token>, Token> {
        match self.entries.get_mut(id).map(|entry| &mut entry.nature) {
            Some(Nature::Real(real)) => Ok(real.set_token(token)),
            _ => Err(token),
        }
    }

    pub(crate) fn token(&self, id: SocketId) -> Option<Token> {
        match &self.entries.get(id)?.nature {
            Nature::Real(real) => real.token().cloned(),
            Nature::Virtual(_) => None,
        }
    }

    /// A socket's route and annotation; `None` if there is no such socket or it dangles.
    pub(crate) fn resolve(&self, id: SocketId) -> Option<(Route, Option<&Arc<Annotation>>)> {
        self.entries.get(id)?.resolve(id)
    }

    /// Marks the real socket behind an id as closing. Returns its route, and whether this call was the first to mark
    /// it.
    pub(crate) fn begin_close(&mut self, id: SocketId) -> Option<(Route, bool)> {
        let (route, _) = self.resolve(id)?;
        match &mut self.entries.get_mut(route.socket)?.nature {
            Nature::Real(real) => Some((route, !std::mem::replace(&mut real.is_closing, true))),
            Nature::Virtual(_) => None,
        }
    }

    /// The entry, unless it was deleted.
    pub(crate) fn get(&self, id: SocketId) -> Option<&Entry> {
        self.entries.get(id).filter(|entry| entry.exists())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SocketId, &Entry)> {
        self.entries.iter().filter(|(_, entry)| entry.exists())
    }

    /// How many real sockets there are.
    pub(crate) fn reals(&self) -> usize {
        self.reals
    }

    /// How many virtual sockets there are, dangling ones included.
    pub(crate) fn virtuals(&self) -> usize {
        self.virtuals
    }
}

#[cfg(test)]
mod tests;
