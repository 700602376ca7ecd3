//! Which channels this node follows in a store of histories, who waits until they are followed, and what is remembered of
//! messages until they come back. Owns when a channel is followed and when it is forgotten; the messages are in the core.

mod ahead;
mod counts;
mod depth;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ahash::AHashMap;
use millrace_backplane::store::{SharedHistory, StoreError, StoreStats};
use millrace_core::{HistoryTerms, Pattern, ShardIndex, ShardSet, SocketId, TermsIndex};

use super::Hub;
use super::following::{Following, Overdue, State};
use super::teller::Teller;
use crate::stats::HistoryStats;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};
pub(super) use ahead::Ahead;
use ahead::Waiting;
use counts::Counts;
use depth::Depth;
pub(super) use depth::{Answered, Look};

/// See the module. Its calls may come under a channel's lock of the core, and never call the core.
#[derive(Default)]
pub(crate) struct Replicas {
    /// Whether a store numbers the messages of channels with history, whether it can be reached or not.
    is_on: AtomicBool,
    terms: Mutex<TermsList>,
    link: Mutex<Option<Link>>,
    channels: Mutex<Following<Replica>>,
    /// How many wait until this node has come as far as their clients.
    ahead: AtomicUsize,
    /// The I/O shards that ask for pages again when the store can be reached.
    put_off: Mutex<ShardSet>,
    remembered: Mutex<AHashMap<u64, Remembered>>,
    tickets: Mutex<AHashMap<u64, Teller>>,
    /// The last mark or ticket.
    last: AtomicU64,
    counts: Counts,
}

/// The patterns of all terms in order, and how much is kept of the channels.
type TermsList = Arc<[(Pattern, Option<HistoryTerms>)]>;

/// What a running store is reached by.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) store: SharedHistory,
    pub(super) hub: Weak<Hub>,
}

/// What this node has of a channel.
struct Replica {
    terms: HistoryTerms,
    is_filled: bool,
    /// Those whose clients know more of it than this node.
    ahead: Waiting,
    /// What the store has in front of what this node was given.
    depth: Depth,
}

/// What the sending node remembers of a message until it comes back.
#[derive(Debug)]
pub(crate) struct Remembered {
    /// The sockets that do not get it.
    pub(crate) except: Box<[SocketId]>,
    /// Whether it may be compressed.
    pub(crate) compresses: bool,
    since: Instant,
}

/// What has waited, or was not needed, for too long.
pub(super) struct Due {
    pub(super) entrants: Vec<Teller>,
    /// Who has waited in vain for what a client claims to have.
    pub(super) ahead: Vec<Teller>,
    pub(super) unused: Vec<Box<[u8]>>,
}

impl Replicas {
    /// Sets whether a store numbers messages, and of which channels.
    pub(crate) fn set(&self, is_on: bool, terms: TermsList) {
        *self.terms.lock() = terms;
        self.is_on.store(is_on, Ordering::SeqCst);
    }

    /// Whether a store numbers the messages of channels with history.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// What is kept of channels with these terms, if a store numbers their messages.
    fn history_of(&self, terms: Option<TermsIndex>) -> Option<HistoryTerms> {
        if !self.is_on() {
            return None;
        }
        let place = terms?.get();
        self.terms
            .lock()
            .get(place)
            .and_then(|(_, history)| *history)
    }

    /// What is kept of a channel whose messages a store numbers.
    pub(crate) fn terms_of(&self, channel: &[u8]) -> Option<HistoryTerms> {
        if !self.is_on() {
            return None;
        }
        let terms = Arc::clone(&self.terms.lock());
        let first = terms.iter().find(|(pattern, _)| pattern.matches(channel));
        first.and_then(|(_, history)| *history)
    }

    /// From now on the store is reached by this. What was needed before is followed.
    pub(crate) fn connect(&self, store: SharedHistory, hub: Weak<Hub>) {
        let channels = self.channels.lock();
        for (channel, replica) in channels.iter() {
            store.follow(channel, replica.terms);
        }
        *self.link.lock() = Some(Link { store, hub });
    }

    /// The store has ended: nothing is followed any more, and nobody may wait.
    pub(crate) fn disconnect(&self) -> Vec<Teller> {
        if let Some(link) = self.link.lock().take() {
            self.counts.ended(&link.store.stats());
        }
        let all = self.channels.lock().take_all();
        let all = all.flat_map(|(_, mut replica, entrants)| {
            let ahead = self.counted_off(replica.ahead.take_all());
            let looking = replica.depth.forget();
            entrants.into_iter().chain(ahead).chain(looking)
        });
        all.collect()
    }

    pub(super) fn link(&self) -> Option<Link> {
        self.link.lock().clone()
    }

    /// Takes note that a channel has got its first subscriber here, or lost its last one. False: it is none whose messages a
    /// store numbers.
    pub(crate) fn wanted(&self, terms: Option<TermsIndex>, channel: &[u8], wanted: bool) -> bool {
        let Some(terms) = self.history_of(terms) else {
            return false;
        };
        let now = Instant::now();
        let mut channels = self.channels.lock();
        if channels.want(channel, (wanted, now), || Replica::new(terms)) {
            self.follow(channel, terms);
        }
        true
    }

    /// Has a caller told when a channel is followed, and when this node has come as far as a client that is `ahead` of it.
    /// False: it is already, and `teller` was not called.
    pub(super) fn enter(
        &self,
        (channel, terms): (&[u8], HistoryTerms),
        ahead: Option<Ahead>,
        teller: impl FnOnce() -> Teller,
    ) -> bool {
        let now = Instant::now();
        let mut channels = self.channels.lock();
        if let Some(known) = channels.get_mut(channel) {
            known.use_at(now);
            let replica = &mut known.state;
            if !replica.is_filled {
                known.wait(now, teller());
                return true;
            }
            let Some(ahead) = ahead.filter(|ahead| replica.ahead.may_come(*ahead)) else {
                return false;
            };
            let place = (ahead.offset, self.number());
            replica.ahead.add(place, now, teller());
            self.ahead.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        channels.add(channel, now, Replica::new(terms), teller());
        self.follow(channel, terms);
        true
    }

    /// Has the store follow a channel. The table is locked.
    fn follow(&self, channel: &[u8], terms: HistoryTerms) {
        if let Some(link) = &*self.link.lock() {
            link.store.follow(channel, terms);
        }
    }

    /// Whether a channel was filled since it is followed.
    pub(crate) fn is_filled(&self, channel: &[u8]) -> bool {
        let channels = self.channels.lock();
        let known = channels.get(channel);
        known.is_some_and(|known| known.state.is_filled)
    }

    /// A channel is followed from here on: returns who has waited for that. `None`: it is not to be followed any more.
    pub(crate) fn filled(&self, channel: &[u8]) -> Option<Vec<Teller>> {
        let mut channels = self.channels.lock();
        let known = channels.get_mut(channel)?;
        if known.state.is_filled {
            self.counts.gap();
        }
        known.state.is_filled = true;
        let now = Instant::now();
        // those who have waited are going to enter
        known.use_at(now);
        let mut tellers = known.take_waiting(now);
        tellers.append(&mut self.counted_off(known.state.ahead.take_all()));
        tellers.append(&mut known.state.depth.forget());
        Some(tellers)
    }

    /// This node has a channel's messages up to this one: returns who has waited for that.
    #[inline]
    pub(super) fn reached(&self, channel: &[u8], offset: u64) -> Vec<Teller> {
        // who waits has added itself before it looked, under the channel's lock of the core, what the node has
        if self.ahead.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let mut channels = self.channels.lock();
        let Some(known) = channels.get_mut(channel) else {
            return Vec::new();
        };
        known.use_at(Instant::now());
        self.counted_off(known.state.ahead.reached(offset))
    }

    /// The same tellers, which do not wait any more until this node has come as far as their clients.
    fn counted_off(&self, tellers: Vec<Teller>) -> Vec<Teller> {
        self.ahead.fetch_sub(tellers.len(), Ordering::Relaxed);
        tellers
    }

    /// A channel cannot be followed now: returns who has waited for it.
    pub(crate) fn failed(&self, channel: &[u8]) -> Vec<Teller> {
        let mut channels = self.channels.lock();
        let known = channels.get_mut(channel);
        known.map_or_else(Vec::new, |known| known.take_waiting(Instant::now()))
    }

    /// What is due at this time. Unused channels are still followed until [`forget`](Self::forget).
    pub(super) fn due(&self, now: Instant) -> Due {
        let mut channels = self.channels.lock();
        let Overdue {
            waiting: entrants,
            unused,
        } = channels.overdue(now);
        let mut ahead = Vec::new();
        if self.ahead.load(Ordering::Relaxed) > 0 {
            for replica in channels.states_mut() {
                ahead.append(&mut self.counted_off(replica.ahead.late(now)));
            }
        }
        drop(channels);
        let mut remembered = self.remembered.lock();
        remembered.retain(|_, one| now.duration_since(one.since) < REMEMBERED);
        Due {
            entrants,
            ahead,
            unused,
        }
    }

    /// Ends following a channel that is unused at this time. The caller holds the channel's lock of the core.
    pub(super) fn forget(&self, channel: &[u8], now: Instant) -> bool {
        let mut channels = self.channels.lock();
        if !channels.forget(channel, now) {
            return false;
        }
        if let Some(link) = &*self.link.lock() {
            link.store.forget(channel);
        }
        true
    }

    /// A shard has to ask for a page again.
    pub(super) fn put_off(&self, shard: ShardIndex) {
        self.put_off.lock().insert(shard);
    }

    /// Takes the shards that may ask again now.
    pub(super) fn take_put_off(&self) -> ShardSet {
        std::mem::take(&mut *self.put_off.lock())
    }

    /// Remembers what the store is not told of a message. Returns the message's mark; 0: there is nothing to remember.
    /// `None`: too much is remembered already.
    pub(super) fn remember(&self, except: &[SocketId], compresses: bool) -> Option<u64> {
        if except.is_empty() && compresses {
            return Some(0);
        }
        let mut remembered = self.remembered.lock();
        if remembered.len() >= MOST_REMEMBERED {
            return None;
        }
        let mark = self.number();
        let one = Remembered {
            except: except.into(),
            compresses,
            since: Instant::now(),
        };
        remembered.insert(mark, one);
        Some(mark)
    }

    /// Takes what is remembered of a message.
    pub(crate) fn recall(&self, mark: u64) -> Option<Remembered> {
        if mark == 0 {
            return None;
        }
        self.remembered.lock().remove(&mark)
    }

    /// A ticket by which a caller is told what comes of a message.
    pub(super) fn open_ticket(&self, teller: Teller) -> u64 {
        let ticket = self.number();
        self.tickets.lock().insert(ticket, teller);
        ticket
    }

    pub(super) fn take_ticket(&self, ticket: u64) -> Option<Teller> {
        if ticket == 0 {
            return None;
        }
        self.tickets.lock().remove(&ticket)
    }

    fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a message that was not published, or of which that is not known.
    pub(super) fn count_failure(&self, error: StoreError) {
        self.counts.failure(error);
    }

    /// The state and the counters of the store; `None`: there is none now.
    pub(super) fn store_stats(&self) -> Option<StoreStats> {
        let link = self.link();
        link.map(|link| link.store.stats())
    }

    /// `None`: no store numbers messages.
    pub(super) fn stats(&self) -> Option<HistoryStats> {
        if !self.is_on() {
            return None;
        }
        let followed = self.channels.lock().len();
        Some(self.counts.stats(followed, self.store_stats()))
    }
}

impl Replica {
    fn new(terms: HistoryTerms) -> Self {
        Self {
            terms,
            is_filled: false,
            ahead: Waiting::default(),
            depth: Depth::default(),
        }
    }
}

impl State for Replica {
    fn is_needed(&self) -> bool {
        !self.ahead.is_empty() || !self.depth.is_idle()
    }
}

/// How long the exceptions of a message are remembered that does not come back, and of how many.
const REMEMBERED: Duration = Duration::from_secs(60);
const MOST_REMEMBERED: usize = 65_536;

#[cfg(test)]
mod tests;
