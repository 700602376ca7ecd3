//! The registry: all tables together. Owns the order in which their locks are taken (the table of patterns,
//! a channel, one pattern, a socket; never two of one kind). No lock is held when a call returns.

mod debug_state;
mod history;
mod lifecycle;
mod listing;
mod others;
mod own;
mod presence;
mod publish;
mod recover;
mod replica;
mod store;
mod subscribe;
mod topics;
mod virtual_sockets;

use std::fmt;
use std::sync::{Arc, OnceLock};

use ahash::RandomState;

use crate::channels::ChannelTable;
use crate::dangling::DanglingTable;
use crate::hash::{name_hasher, random_bits};
use crate::history::{ChannelTerms, HistoryBounds};
use crate::id::SocketId;
use crate::keys::KeyTable;
use crate::name::{Name, Space};
use crate::name_map::Hashed;
use crate::past_totals::Totals;
use crate::pasts::PastTable;
use crate::patterns::PatternTable;
use crate::post::Post;
use crate::presence::Totals as PresenceTotals;
use crate::sockets::{Removed, SocketTable};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Sharded};
use crate::terms::TermsList;

pub use self::debug_state::{ChannelState, Counts, SocketState};
pub use self::history::Past;
pub use self::lifecycle::TokenError;
pub use self::listing::{Bookmark, ChannelSummary};
pub use self::others::OtherMembers;
pub use self::own::OwnError;
pub use self::presence::NoPresence;
pub use self::publish::Reach;
pub use self::recover::Entrance;
pub use self::subscribe::Target;
pub use self::topics::EnterError;

/// Sockets, virtual sockets, channels, subscriptions, tokens and the key/value store of one gateway.
///
/// Every function may be called from any thread. It waits only for locks that are held briefly. Share it by
/// [`Arc`](std::sync::Arc). `K` is the form in which [history](crate::HistoryTerms) keeps messages.
pub struct Core<K = ()> {
    /// Taken before the other locks by a caller that changes subscriptions to patterns.
    patterns: Mutex<PatternTable>,
    channels: Sharded<ChannelTable<K>>,
    sockets: Sharded<SocketTable>,
    /// Taken without any other lock.
    dangling: Mutex<DanglingTable>,
    /// Taken without any other lock.
    keys: Sharded<KeyTable>,
    /// The size of all keys and values in all lock shards.
    key_bytes: AtomicU64,
    /// Counts real sockets and so deals them to the lock shards in turn.
    opened: AtomicU64,
    hasher: RandomState,
    /// What the pasts of all channels keep; set with the terms.
    history: OnceLock<Arc<Totals>>,
    /// What the members of all channels take; set if some have presence.
    presence: OnceLock<Arc<PresenceTotals>>,
}

impl<K> Core<K> {
    /// Makes an empty core.
    pub fn new() -> Self {
        let hasher = name_hasher();
        Self {
            patterns: Mutex::new(PatternTable::new(hasher.clone())),
            channels: Sharded::new(ChannelTable::new),
            sockets: Sharded::new(SocketTable::new),
            dangling: Mutex::new(DanglingTable::default()),
            keys: Sharded::new(|_| KeyTable::default()),
            key_bytes: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            hasher,
            history: OnceLock::new(),
            presence: OnceLock::new(),
        }
    }

    /// Sets the terms of channels, at most 64: the first whose pattern matches counts. A channel's terms are found once,
    /// when it gets its first subscription, and its [id](crate::ChannelId::terms) has them; those of channels that exist
    /// stay. What channels have kept by earlier terms goes.
    pub fn set_terms(&self, terms: Vec<ChannelTerms>, bounds: HistoryBounds) {
        let history: Arc<[_]> = terms.iter().map(|terms| terms.history).collect();
        let patterns: Vec<_> = terms.into_iter().map(|terms| terms.pattern).collect();
        let patterns: Option<TermsList> = (!patterns.is_empty()).then(|| Arc::new(patterns));
        let totals = self.history.get_or_init(Arc::default);
        totals.set_bounds(bounds);
        let keeps = history.iter().any(Option::is_some);
        let epoch = random_bits();
        for mut table in self.channels.each() {
            let pasts = || PastTable::new(Arc::clone(&history), Arc::clone(totals), epoch);
            table.set_terms(patterns.clone(), keeps.then(pasts));
        }
    }

    /// Computes the hash of a name. Every lookup of one call uses this value.
    fn hashed<'a>(&self, space: Space, name: &'a [u8]) -> Hashed<'a> {
        let hash = self.hasher.hash_one(name);
        Hashed { hash, space, name }
    }

    fn channel_table(&self, key: Hashed<'_>) -> MutexGuard<'_, ChannelTable<K>> {
        self.channels.lock(lock_bits(key.hash))
    }

    /// Locks the table that holds a socket, all virtual sockets on it, and its real socket.
    fn socket_table(&self, id: SocketId) -> MutexGuard<'_, SocketTable> {
        self.sockets.lock(id.get() - 1)
    }

    /// Removes sockets that no longer exist from their channels and patterns.
    fn leave_all<P: Post<Kept = K>>(&self, removed: Removed, post: &mut P) {
        let mut patterns: Vec<(SocketId, Name)> = Vec::new();
        for (subscriber, channels) in removed {
            channels.for_each(|name| {
                if name.space() == Space::Pattern {
                    patterns.push((subscriber, name.clone()));
                    return;
                }
                let key = self.hashed(name.space(), name.as_bytes());
                let mut table = self.channel_table(key);
                if let Some(left) = table.remove(key, subscriber) {
                    post.leave(left.channel, subscriber, left.route);
                    if left.last {
                        post.wanted(left.channel, name, false);
                    }
                    if left.is_due {
                        post.presence_is_due();
                    }
                }
            });
        }
        if !patterns.is_empty() {
            self.leave_patterns(&patterns, post);
        }
    }
}

/// The bits of a hash that the tables use neither for the bucket nor for the tag.
fn lock_bits(hash: u64) -> u64 {
    hash >> 48
}

impl<K> Default for Core<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for Core<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Core").field(&self.counts()).finish()
    }
}
