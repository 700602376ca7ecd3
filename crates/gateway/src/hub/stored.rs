//! Channels with history whose messages a store numbers: publishing by it, and applying what comes from it. Owns what becomes
//! of a message; the store is reached by [`Replicas`](super::replicas::Replicas).

use std::sync::Weak;
use std::time::Instant;

use bytes::Bytes;
use millrace_backplane::store::{Append, Appended, Entry, StoreError, StoredPast};
use millrace_core::{HistoryTerms, Kept, Position, ShardSet, SocketId, Start, Stored};

use super::Hub;
use super::clients::name_of;
use super::outgoing::Outgoing;
use super::poster::Poster;
use super::replicas::Ahead;
use super::teller::{Outcome, Teller, code};
use super::uplink::Storing;
use crate::frame::{KeptMessage, Publication};

/// A message on its way to the store.
struct Awaited {
    hub: Weak<Hub>,
    channel: Box<[u8]>,
    publication: Publication,
    except: Box<[SocketId]>,
    mark: u64,
    teller: Option<Teller>,
}

impl Hub {
    /// Has a session told, by the number of its operation, when a subscriber may enter a channel; false: it may now. It waits
    /// until the channel is followed, and until this node has come as far as a client that comes from another one.
    pub(crate) fn session_waits(
        &self,
        (channel, start): (&[u8], Start),
        socket: SocketId,
        number: u32,
    ) -> bool {
        self.waits((channel, start), || Teller::Session(socket, number))
    }

    pub(super) fn waits(
        &self,
        (channel, start): (&[u8], Start),
        teller: impl Fn() -> Teller,
    ) -> bool {
        let Some(terms) = self.replicas.terms_of(channel) else {
            return false;
        };
        let ahead = self.ahead(channel, start);
        let waits = self.replicas.enter((channel, terms), ahead, &teller);
        if let Some(ahead) = ahead
            && waits
            && self.ahead(channel, start).is_none()
        {
            // the node has come that far meanwhile
            self.tell_reached(channel, ahead.offset);
        }
        waits || self.asks_first((channel, terms), start, teller)
    }

    /// What a client has of a channel that is followed, if this node has not come that far.
    fn ahead(&self, channel: &[u8], start: Start) -> Option<Ahead> {
        let Start::Since(position) = start else {
            return None;
        };
        let (newest, _) = self.core.followed(channel)?;
        let is_ahead = position.epoch == newest.epoch && position.offset > newest.offset;
        is_ahead.then_some(Ahead {
            offset: position.offset,
            newest: newest.offset,
        })
    }

    fn tell_reached(&self, channel: &[u8], offset: u64) {
        for teller in self.replicas.reached(channel, offset) {
            teller.tell(self, Outcome::Followed);
        }
    }

    /// Whether a store numbers the messages of a channel. Does not call the core.
    pub(crate) fn is_stored(&self, channel: &[u8]) -> bool {
        self.replicas.terms_of(channel).is_some()
    }

    /// What is kept of a channel, if it has to be read from the store: this node has not all of it, or less than who asks.
    pub(crate) fn terms_to_read(&self, channel: &[u8], start: Start) -> Option<HistoryTerms> {
        let terms = self.replicas.terms_of(channel)?;
        let is_here = self.replicas.is_filled(channel)
            && self
                .core
                .followed(channel)
                .is_some_and(|(_, is_whole)| is_whole)
            && self.ahead(channel, start).is_none();
        (!is_here).then_some(terms)
    }

    /// Gives a message to the store. No lock of the core is held.
    pub(crate) fn append(&self, storing: Storing<'_>) {
        let Storing {
            channel,
            terms,
            publication,
            manner,
        } = storing;
        let teller = self.replicas.take_ticket(manner.ticket);
        let link = self.replicas.link();
        let mark = self
            .replicas
            .remember(manner.except, publication.compresses());
        let (Some(link), Some(mark)) = (link, mark) else {
            let error = match mark {
                Some(mark) => {
                    self.replicas.recall(mark);
                    StoreError::Away
                }
                None => StoreError::Full,
            };
            return self.failed(error, teller);
        };
        let append = Append {
            channel: channel.into(),
            terms,
            kind: publication.kind(),
            payload: body(&publication),
            from: manner.from.map(SocketId::get),
            key: manner.key.map(Into::into),
            mark,
        };
        let awaited = Awaited {
            hub: link.hub,
            channel: channel.into(),
            publication,
            except: manner.except.into(),
            mark,
            teller,
        };
        let done = Box::new(move |outcome| awaited.settle(outcome));
        link.store.append(append, done);
    }

    /// A message was not published, or that is not known.
    fn failed(&self, error: StoreError, teller: Option<Teller>) {
        self.replicas.count_failure(error);
        match teller {
            Some(teller) => teller.tell(self, Outcome::Failed(error)),
            None => self.report(code(error), &error.to_string()),
        }
    }

    /// Posts a message that the store has taken for subscribers by patterns, here and on other nodes.
    fn publish_to_patterns(&self, channel: &[u8], publication: &Publication, except: &[SocketId]) {
        let mut dirty = ShardSet::default();
        let message = Outgoing::shared(publication);
        let mut poster = self.poster(&mut dirty);
        self.core
            .publish_to_patterns(channel, &message, except, &mut poster);
        let lost = poster.lost();
        drop(poster);
        self.account_for(lost);
        self.wake(&mut dirty);
    }

    /// A channel is followed from here on, with what the store keeps of it.
    pub(crate) fn fill(&self, channel: &[u8], past: StoredPast, dirty: &mut ShardSet) {
        let StoredPast { position, entries } = past;
        if let Some(newest) = self.continues(channel, position, &entries) {
            for entry in entries.iter().filter(|entry| entry.offset > newest) {
                self.apply(channel, entry, dirty);
            }
            return;
        }
        let entries = entries.into_iter().map(|entry| {
            self.replicas.recall(entry.mark);
            stored(&entry, true)
        });
        let entries = entries.collect();
        let mut waiting = None;
        let may = || {
            waiting = self.replicas.filled(channel);
            waiting.is_some()
        };
        let mut poster = Poster::new(&self.inboxes, dirty, None);
        self.core
            .fill(channel, (position, entries), may, &mut poster);
        drop(poster);
        for teller in waiting.unwrap_or_default() {
            teller.tell(self, Outcome::Followed);
        }
    }

    /// If what the store keeps has no hole behind what a followed channel has: the newest message that it has.
    fn continues(&self, channel: &[u8], position: Position, entries: &[Entry]) -> Option<u64> {
        let (known, _) = self.core.followed(channel)?;
        let next = position.offset.saturating_add(1);
        let first = entries.first().map_or(next, |entry| entry.offset);
        let last = entries.last().map_or(position.offset, |entry| entry.offset);
        let is_next = known.epoch == position.epoch
            && (first..=next).contains(&(known.offset + 1))
            && last == position.offset;
        (is_next && self.replicas.is_filled(channel)).then_some(known.offset)
    }

    /// The next message of a followed channel has come from the store.
    pub(crate) fn apply(&self, channel: &[u8], entry: &Entry, dirty: &mut ShardSet) {
        let remembered = self.replicas.recall(entry.mark);
        let compresses = remembered.as_ref().is_none_or(|one| one.compresses);
        let mut publication = Publication::new(entry.kind, &entry.payload);
        if !compresses {
            publication = publication.uncompressed();
        }
        let stored = stored(entry, compresses);
        if let Some(name) = publisher_of(&stored) {
            publication = publication.published_by(name);
        }
        let except = remembered.map(|one| one.except).unwrap_or_default();
        let message = Outgoing::fresh(&publication);
        let mut poster = Poster::new(&self.inboxes, dirty, None);
        self.core
            .apply(channel, stored, (&message, &except), &mut poster);
        let lost = poster.lost();
        drop(poster);
        self.account_for(lost);
        self.tell_reached(channel, entry.offset);
    }

    /// A channel cannot be followed now.
    pub(crate) fn cannot_follow(&self, channel: &[u8]) {
        for teller in self.replicas.failed(channel) {
            teller.tell(self, Outcome::Away);
        }
    }

    /// The store has ended.
    pub(crate) fn store_ended(&self) {
        for teller in self.replicas.disconnect() {
            teller.tell(self, Outcome::Away);
        }
    }

    /// Forgets channels that nobody needs, and answers those who have waited too long. Called from time to time.
    pub(super) fn sweep_replicas(&self, now: Instant) {
        if !self.replicas.is_on() {
            return;
        }
        let due = self.replicas.due(now);
        for teller in due.entrants {
            teller.tell(self, Outcome::Away);
        }
        let is_up = self
            .replicas
            .store_stats()
            .is_some_and(|store| store.is_connected);
        if is_up {
            self.read_pages_again();
        }
        for teller in due.ahead {
            // if the store can be reached, it does not have what the client claims to have
            let outcome = if is_up {
                Outcome::Followed
            } else {
                Outcome::Away
            };
            teller.tell(self, outcome);
        }
        for channel in due.unused {
            self.core
                .unfollow(&channel, || self.replicas.forget(&channel, now));
        }
    }

    /// Who has published a kept message, as clients see it.
    pub(crate) fn publisher(&self, kept: &Kept<KeptMessage>) -> Option<String> {
        let socket = kept.number.from?;
        Some(match kept.message.node() {
            0 => self.socket_name(socket),
            node => name_of(node, socket),
        })
    }
}

impl Awaited {
    fn settle(self, outcome: Result<Appended, StoreError>) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        let appended = match outcome {
            Ok(appended) => appended,
            Err(error) => {
                // what is not known may come back
                if error != StoreError::Unknown {
                    hub.replicas.recall(self.mark);
                }
                return hub.failed(error, self.teller);
            }
        };
        if !appended.is_repeated {
            hub.publish_to_patterns(&self.channel, &self.publication, &self.except);
        }
        if appended.is_repeated || !hub.replicas.is_filled(&self.channel) {
            hub.replicas.recall(self.mark);
        }
        if let Some(teller) = self.teller {
            teller.tell(&hub, Outcome::Published(appended));
        }
    }
}

/// A message of the store as the core keeps it.
pub(super) fn stored(entry: &Entry, compresses: bool) -> Stored<KeptMessage> {
    let from = entry
        .from
        .and_then(|(node, socket)| Some((node, SocketId::new(socket)?)));
    let node = from.map_or(0, |(node, _)| node);
    Stored {
        offset: entry.offset,
        unix_ms: entry.unix_ms,
        from: from.map(|(_, socket)| socket),
        message: KeptMessage::of_node(node, (entry.kind, &entry.payload), compresses),
        length: entry.payload.len(),
    }
}

fn publisher_of(stored: &Stored<KeptMessage>) -> Option<String> {
    stored
        .from
        .map(|socket| name_of(stored.message.node(), socket))
}

/// A publication's payload, for the store.
fn body(publication: &Publication) -> Bytes {
    let payload = publication.payload();
    if payload.len() > COPIED_BYTES {
        Bytes::from_owner(Shared(publication.clone()))
    } else {
        Bytes::copy_from_slice(payload)
    }
}

/// A payload that is not copied.
struct Shared(Publication);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.payload()
    }
}

/// Payloads up to this size are copied, as for the backplane.
const COPIED_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod tests;
