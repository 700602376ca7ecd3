//! The recipient lists of one I/O shard: which of its connections a channel's publications go to.
//! The mirror of the core's subscriptions, fed by the inbox. Pure.

use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{Annotation, ChannelId, Recipient, SocketId};

/// One connection (or virtual socket on it) that receives a channel.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) subscriber: SocketId,
    /// The connection's own id, against reuse of its slot.
    pub(crate) socket: SocketId,
    pub(crate) slot: u32,
    pub(crate) annotation: Option<Arc<Annotation>>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Recipients {
    channels: AHashMap<ChannelId, List>,
}

#[derive(Debug, Default)]
struct List {
    locals: Vec<Local>,
    /// Where each subscriber stands; kept only for long lists.
    positions: Option<AHashMap<SocketId, u32>>,
}

impl Recipients {
    pub(crate) fn join(&mut self, channel: ChannelId, recipient: Recipient) {
        let list = self.channels.entry(channel).or_default();
        if let Some(positions) = &mut list.positions {
            positions.insert(recipient.subscriber, position(list.locals.len()));
        } else if list.locals.len() >= SCANNED {
            let index = |(index, local): (usize, &Local)| (local.subscriber, position(index));
            let mut positions: AHashMap<_, _> = list.locals.iter().enumerate().map(index).collect();
            positions.insert(recipient.subscriber, position(list.locals.len()));
            list.positions = Some(positions);
        }
        list.locals.push(Local {
            subscriber: recipient.subscriber,
            socket: recipient.route.socket,
            slot: recipient.route.slot,
            annotation: recipient.annotation,
        });
    }

    pub(crate) fn leave(&mut self, channel: ChannelId, subscriber: SocketId) {
        let Some(list) = self.channels.get_mut(&channel) else {
            return;
        };
        list.remove(subscriber);
        if list.locals.is_empty() {
            self.channels.remove(&channel);
        }
    }

    /// The channel's recipients on this shard.
    pub(crate) fn of(&self, channel: ChannelId) -> &[Local] {
        self.channels.get(&channel).map_or(&[], |list| &list.locals)
    }

    #[cfg(test)]
    fn channels(&self) -> usize {
        self.channels.len()
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
    use millrace_core::{Route, ShardIndex};

    fn recipient(id: u32) -> Recipient {
        let subscriber = SocketId::new(u64::from(id) + 1).unwrap();
        let route = Route {
            shard: ShardIndex::new(0).unwrap(),
            slot: id,
            socket: subscriber,
        };
        Recipient {
            subscriber,
            route,
            annotation: None,
        }
    }

    #[test]
    fn long_and_short_lists_lose_exactly_who_leaves() {
        let channel = ChannelId::new(1);
        let mut recipients = Recipients::default();
        for id in 0..200 {
            recipients.join(channel, recipient(id));
        }
        for id in (0..200).filter(|id| id % 3 != 0) {
            recipients.leave(channel, recipient(id).subscriber);
        }
        let mut left: Vec<_> = recipients
            .of(channel)
            .iter()
            .map(|local| local.slot)
            .collect();
        left.sort_unstable();
        assert_eq!(left, (0..200).filter(|id| id % 3 == 0).collect::<Vec<_>>());
        recipients.leave(channel, recipient(1).subscriber);
        for id in 0..200 {
            recipients.leave(channel, recipient(id).subscriber);
        }
        assert!(recipients.of(channel).is_empty());
        assert_eq!(recipients.channels(), 0);
    }
}
