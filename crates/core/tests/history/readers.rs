//! The I/O shards of a core with history. Owns what each subscriber has got, by the rules that shards follow; never
//! asks the core anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use millrace_core::{
    Annotation, ChannelId, Cursor, Entering, Match, Name, Number, Numbered, Position, Post,
    Recipient, Route, ShardIndex, ShardSet, SocketId,
};

/// A subscriber of one channel.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) name: Name,
    pub(crate) cursor: Option<Cursor>,
    /// The offset of the message that it has to get next.
    pub(crate) next: u64,
    shard: ShardIndex,
}

/// What is posted, as the shards apply it.
#[derive(Default)]
pub(crate) struct Readers {
    pub(crate) all: BTreeMap<(ChannelId, SocketId), Reader>,
    pub(crate) full: ShardSet,
    pub(crate) now: u64,
    /// Messages without a number for subscribers of patterns and of channels without history.
    pub(crate) plain: usize,
    /// Subscriptions of sockets that did not enter at a position.
    pub(crate) joined: BTreeMap<(ChannelId, SocketId), ShardIndex>,
    pub(crate) last_entered: Option<Entering>,
    /// Who entered last, and the next message then: a join that follows at once begins there.
    begins: Option<((ChannelId, SocketId), u64)>,
}

impl Readers {
    /// The calls of one operation are over.
    pub(crate) fn settle(&mut self) {
        self.begins = None;
    }

    /// A reader gets a message.
    pub(crate) fn get(&mut self, place: (ChannelId, SocketId), number: &Number) {
        if let Some(reader) = self.all.get_mut(&place) {
            assert_eq!(reader.next, number.position.offset, "{place:?} has no hole");
            reader.next += 1;
        }
    }

    /// A reader is told that messages are missing.
    pub(crate) fn miss(&mut self, place: (ChannelId, SocketId), last: Position) {
        if let Some(reader) = self.all.get_mut(&place) {
            assert!(reader.next <= last.offset, "{place:?} has missed something");
            reader.next = last.offset + 1;
        }
    }

    fn live(&self, list: ChannelId, shard: ShardIndex) -> Vec<SocketId> {
        let on = self
            .joined
            .iter()
            .filter(|((known, _), at)| *known == list && **at == shard);
        on.map(|((_, id), _)| *id).collect()
    }
}

impl Post for Readers {
    type Message = str;
    type Kept = Arc<str>;

    fn keep(&mut self, message: &str) -> (Arc<str>, usize) {
        (message.into(), message.len())
    }

    fn unix_ms(&mut self) -> u64 {
        self.now
    }

    fn enter(&mut self, name: &Name, route: Route, entering: &Entering) {
        self.last_entered = Some(*entering);
        let Some(newest) = entering.entered.position else {
            return;
        };
        let place = (entering.list, route.socket);
        let next = entering
            .cursor
            .map_or(newest.offset + 1, |cursor| cursor.next);
        let begins_anew = entering.entered.is_new
            || entering.cursor.is_some()
            || entering.entered.recovered.is_some();
        self.begins = Some((place, next));
        if begins_anew || !self.all.contains_key(&place) {
            let reader = Reader {
                name: name.clone(),
                cursor: entering.cursor,
                next,
                shard: route.shard,
            };
            self.all.insert(place, reader);
        }
    }

    fn join(&mut self, list: ChannelId, _: &Name, recipient: Recipient) {
        let place = (list, recipient.subscriber);
        assert_eq!(
            self.joined.insert(place, recipient.route.shard),
            None,
            "joins once"
        );
        if let Some(reader) = self.all.get_mut(&place) {
            reader.cursor = None;
            if let Some((_, next)) = self.begins.filter(|(begins, _)| *begins == place) {
                reader.next = next;
            }
        }
    }

    fn leave(&mut self, list: ChannelId, subscriber: SocketId, route: Route) {
        let place = (list, subscriber);
        self.joined.remove(&place);
        let reader = self.all.remove(&place);
        assert!(reader.is_none_or(|reader| reader.shard == route.shard));
    }

    fn publish(
        &mut self,
        shard: ShardIndex,
        list: ChannelId,
        _: &str,
        except: &[SocketId],
        count: u32,
    ) -> bool {
        let live = self.live(list, shard);
        let reached = live.iter().filter(|id| except.binary_search(id).is_err());
        let count = usize::try_from(count).expect("few");
        assert_eq!(reached.count(), count);
        let mut lists = self.all.keys().map(|(known, _)| known);
        assert!(lists.all(|known| *known != list), "it has no history");
        self.plain += count;
        true
    }

    fn publish_numbered(
        &mut self,
        shard: ShardIndex,
        list: ChannelId,
        numbered: &Numbered<'_, str>,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        let live = self.live(list, shard);
        assert!(except.is_sorted() && !live.is_empty());
        let reached = live
            .iter()
            .filter(|id| except.binary_search(id).is_err())
            .count();
        assert_eq!(usize::try_from(recipients), Ok(reached));
        if self.full.contains(shard) {
            return false;
        }
        if let Some(last) = numbered.missed {
            self.gap(shard, list, last);
        }
        // those in `except` get the number without the message
        for id in live {
            self.get((list, id), numbered.number);
        }
        true
    }

    fn gap(&mut self, shard: ShardIndex, list: ChannelId, end: Position) {
        for id in self.live(list, shard) {
            // those that entered since the message was refused miss nothing, and are not told
            self.miss((list, id), end);
        }
    }

    fn has_room(&self, shard: ShardIndex) -> bool {
        !self.full.contains(shard)
    }

    fn publish_match(
        &mut self,
        _: ShardIndex,
        _: Match<'_>,
        _: &str,
        _: &[SocketId],
        count: u32,
    ) -> bool {
        self.plain += usize::try_from(count).expect("few");
        true
    }

    fn direct(&mut self, _: Route, _: Option<&Arc<Annotation>>, _: &str) -> bool {
        true
    }
}
