//! The recipient lists of one I/O shard: which of its connections get the publications of a channel or of a pattern.
//! They mirror the core's subscriptions and are updated through the inbox. Pure.

use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{Annotation, ChannelId, Name, SocketId};

use crate::inbox::AliasOf;

/// One connection, or a virtual socket on it, that receives a channel.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) subscriber: SocketId,
    /// The id of the real socket, because its slot may be reused.
    pub(crate) socket: SocketId,
    pub(crate) slot: u32,
    pub(crate) annotation: Option<Arc<Annotation>>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Recipients {
    lists: AHashMap<ChannelId, List>,
}

/// The recipients of a channel or pattern, at least one.
#[derive(Debug)]
pub(crate) struct List {
    /// The channel's name, or the pattern's text.
    pub(crate) name: Name,
    pub(crate) locals: Vec<Local>,
    /// The index of each subscriber; kept only for long lists.
    positions: Option<AHashMap<SocketId, u32>>,
}

impl Local {
    /// The recipient that a command adds.
    pub(crate) fn new(subscriber: SocketId, slot: u32, alias: Option<Box<AliasOf>>) -> Self {
        let (socket, annotation) = match alias {
            Some(alias) => (alias.socket, alias.annotation),
            None => (subscriber, None),
        };
        Self {
            subscriber,
            socket,
            slot,
            annotation,
        }
    }
}

impl Recipients {
    pub(crate) fn join(&mut self, id: ChannelId, name: Name, local: Local) {
        let list = self.lists.entry(id).or_insert_with(|| List {
            name,
            locals: Vec::new(),
            positions: None,
        });
        if let Some(positions) = &mut list.positions {
            positions.insert(local.subscriber, position(list.locals.len()));
        } else if list.locals.len() >= SCANNED {
            let index = |(index, local): (usize, &Local)| (local.subscriber, position(index));
            let mut positions: AHashMap<_, _> = list.locals.iter().enumerate().map(index).collect();
            positions.insert(local.subscriber, position(list.locals.len()));
            list.positions = Some(positions);
        }
        list.locals.push(local);
    }

    pub(crate) fn leave(&mut self, id: ChannelId, subscriber: SocketId) {
        let Some(list) = self.lists.get_mut(&id) else {
            return;
        };
        list.remove(subscriber);
        if list.locals.is_empty() {
            self.lists.remove(&id);
        }
    }

    /// The recipients on this shard; `None` if there are none.
    pub(crate) fn of(&self, id: ChannelId) -> Option<&List> {
        self.lists.get(&id)
    }
}

impl List {
    fn remove(&mut self, subscriber: SocketId) {
        let found = match &mut self.positions {
            Some(positions) => positions
                .remove(&subscriber)
                .and_then(|index| usize::try_from(index).ok()),
            None => self
                .locals
                .iter()
                .position(|local| local.subscriber == subscriber),
        };
        let Some(index) = found else { return };
        self.locals.swap_remove(index);
        if let (Some(positions), Some(moved)) = (&mut self.positions, self.locals.get(index)) {
            positions.insert(moved.subscriber, position(index));
        }
        if self.locals.len() < SCANNED / 2 {
            self.positions = None;
        }
        if self.locals.capacity() > 4 * self.locals.len().max(4) {
            self.locals.shrink_to(2 * self.locals.len());
        }
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index).expect("a shard has fewer than 2^32 recipients")
}

/// Lists up to this length are searched; longer ones have an index.
const SCANNED: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use millrace_core::Space;

    fn local(id: u32) -> Local {
        let subscriber = SocketId::new(u64::from(id) + 1).unwrap();
        Local {
            subscriber,
            socket: subscriber,
            slot: id,
            annotation: None,
        }
    }

    #[test]
    fn long_and_short_lists_lose_exactly_the_recipients_that_leave() {
        let channel = ChannelId::new(1);
        let name = Name::new(Space::Channel, b"c");
        let mut recipients = Recipients::default();
        for id in 0..200 {
            recipients.join(channel, name.clone(), local(id));
        }
        for id in (0..200).filter(|id| id % 3 != 0) {
            recipients.leave(channel, local(id).subscriber);
        }
        let list = recipients.of(channel).unwrap();
        assert!(list.name.is(&name));
        let mut left: Vec<_> = list.locals.iter().map(|local| local.slot).collect();
        left.sort_unstable();
        assert_eq!(left, (0..200).filter(|id| id % 3 == 0).collect::<Vec<_>>());
        recipients.leave(channel, local(1).subscriber);
        for id in 0..200 {
            recipients.leave(channel, local(id).subscriber);
        }
        assert!(recipients.of(channel).is_none());
        assert!(recipients.lists.is_empty());
    }
}
