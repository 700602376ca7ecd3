//! The I/O shards of a core whose channel is numbered by a store. Owns what each subscriber has got, and checks that nothing is
//! missing and nothing comes twice; never asks the core anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use millrace_core::{
    Annotation, ChannelId, Cursor, Entering, Epoch, HistoryTerms, Manner, Match, Name, Numbered,
    Position, Post, Recipient, Route, ShardIndex, SocketId,
};

use super::{KEPT, ROOM};

/// What a subscriber has got of the store's messages.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) cursor: Option<Cursor>,
    /// Where it is: the epoch, and the offset that it has to get next.
    pub(crate) at: (Epoch, u64),
}

/// The I/O shards.
#[derive(Default)]
pub(crate) struct Shards {
    pub(crate) readers: BTreeMap<SocketId, Reader>,
    pub(crate) joined: BTreeMap<SocketId, ShardIndex>,
    pub(crate) list: Option<(ChannelId, Name)>,
    pub(crate) entered: Option<Entering>,
    /// Messages that were given to the store, by their ticket and exceptions.
    pub(crate) handed: Vec<(u64, usize)>,
    pub(crate) stores: bool,
    pub(crate) matched: usize,
    pub(crate) gaps: usize,
}

impl Shards {
    pub(crate) fn get(&mut self, id: SocketId, position: Position) {
        let reader = self.readers.get_mut(&id).expect("it has entered");
        assert_eq!(
            (position.epoch, position.offset),
            reader.at,
            "{id} has no hole, and nothing twice"
        );
        reader.at.1 += 1;
    }

    pub(crate) fn miss(&mut self, id: SocketId, last: Position) {
        self.gaps += 1;
        if let Some(reader) = self.readers.get_mut(&id) {
            let is_further = reader.at.0 != last.epoch || reader.at.1 <= last.offset;
            assert!(is_further, "{id} has missed something");
            reader.at = (last.epoch, last.offset + 1);
        }
    }

    fn live(&self, shard: ShardIndex) -> Vec<SocketId> {
        let on = self.joined.iter().filter(|(_, at)| **at == shard);
        on.map(|(id, _)| *id).collect()
    }
}

impl Post for Shards {
    type Message = str;
    type Kept = Arc<str>;

    fn keep(&mut self, message: &str) -> (Arc<str>, usize) {
        (message.into(), message.len())
    }

    fn stores(&self) -> bool {
        self.stores
    }

    fn store(&mut self, channel: &[u8], terms: HistoryTerms, _: &str, manner: &Manner<'_>) {
        assert_eq!(
            (channel, terms.messages),
            (ROOM, KEPT.try_into().expect("few"))
        );
        self.handed.push((manner.ticket, manner.except.len()));
    }

    fn enter(&mut self, name: &Name, route: Route, entering: &Entering) {
        self.entered = Some(*entering);
        self.list = Some((entering.list, name.clone()));
        let newest = entering.entered.position.expect("the channel has history");
        let next = entering
            .cursor
            .map_or(newest.offset + 1, |cursor| cursor.next);
        let reader = Reader {
            cursor: entering.cursor,
            at: (newest.epoch, next),
        };
        self.readers.insert(route.socket, reader);
    }

    fn join(&mut self, _: ChannelId, _: &Name, recipient: Recipient) {
        let known = self
            .joined
            .insert(recipient.subscriber, recipient.route.shard);
        assert_eq!(known, None, "joins once");
        if let Some(reader) = self.readers.get_mut(&recipient.subscriber) {
            reader.cursor = None;
        }
    }

    fn leave(&mut self, _: ChannelId, subscriber: SocketId, _: Route) {
        self.joined.remove(&subscriber);
        self.readers.remove(&subscriber);
    }

    fn publish(&mut self, _: ShardIndex, _: ChannelId, _: &str, _: &[SocketId], _: u32) -> bool {
        panic!("every message has a number")
    }

    fn publish_numbered(
        &mut self,
        shard: ShardIndex,
        _: ChannelId,
        numbered: &Numbered<'_, str>,
        _: &[SocketId],
        _: u32,
    ) -> bool {
        for id in self.live(shard) {
            if self.readers.contains_key(&id) {
                self.get(id, numbered.number.position);
            }
        }
        true
    }

    fn gap(&mut self, shard: ShardIndex, _: ChannelId, last: Position) {
        for id in self.live(shard) {
            self.miss(id, last);
        }
    }

    fn publish_match(
        &mut self,
        _: ShardIndex,
        _: Match<'_>,
        _: &str,
        _: &[SocketId],
        _: u32,
    ) -> bool {
        self.matched += 1;
        true
    }

    fn direct(&mut self, _: Route, _: Option<&Arc<Annotation>>, _: &str) -> bool {
        true
    }
}
