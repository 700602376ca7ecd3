//! The registry: all tables together. Owns the order in which their locks are taken (that of the patterns, a
//! channel's, one pattern's, a socket's; never two of one kind); never holds one while it returns.

mod debug_state;
mod lifecycle;
mod publish;
mod store;
mod subscribe;
mod topics;
mod virtual_sockets;

use std::fmt;

use ahash::RandomState;

use crate::channels::ChannelTable;
use crate::dangling::DanglingTable;
use crate::hash::name_hasher;
use crate::id::SocketId;
use crate::keys::KeyTable;
use crate::name::{Name, Space};
use crate::name_map::Hashed;
use crate::patterns::PatternTable;
use crate::post::Post;
use crate::sockets::{Removed, SocketTable};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Sharded};

pub use self::debug_state::{ChannelState, Counts, SocketState};
pub use self::lifecycle::TokenError;
pub use self::publish::Reach;
pub use self::subscribe::Target;
pub use self::topics::EnterError;

/// Sockets, virtual sockets, channels, subscriptions, tokens and the key/value store of one gateway.
///
/// Every function may be called from any thread and returns without waiting for anything but short
/// locks. Share it by [`Arc`](std::sync::Arc).
pub struct Core {
    /// Taken first, by those who change subscriptions to patterns.
    patterns: Mutex<PatternTable>,
    channels: Sharded<ChannelTable>,
    sockets: Sharded<SocketTable>,
    /// Taken alone.
    dangling: Mutex<DanglingTable>,
    /// Taken alone.
    keys: Sharded<KeyTable>,
    /// What they take all together.
    key_bytes: AtomicU64,
    /// Decides the lock shard of the next real socket.
    opened: AtomicU64,
    hasher: RandomState,
}

impl Core {
    /// An empty core.
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
        }
    }

    /// The hash of a name is taken once, here.
    fn hashed<'a>(&self, space: Space, name: &'a [u8]) -> Hashed<'a> {
        let hash = self.hasher.hash_one(name);
        Hashed { hash, space, name }
    }

    fn channel_table(&self, key: Hashed<'_>) -> MutexGuard<'_, ChannelTable> {
        self.channels.lock(lock_bits(key.hash))
    }

    /// The table of a socket, of all virtual sockets on it, and of its real socket.
    fn socket_table(&self, id: SocketId) -> MutexGuard<'_, SocketTable> {
        self.sockets.lock(id.get() - 1)
    }

    /// Visits the channels and patterns of sockets that no longer exist.
    fn leave_all<P: Post>(&self, removed: Removed, post: &mut P) {
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
                        post.wanted(name, false);
                    }
                }
            });
        }
        if !patterns.is_empty() {
            self.leave_patterns(&patterns, post);
        }
    }
}

/// Bits of a hash that the tables use neither as bucket nor as tag.
fn lock_bits(hash: u64) -> u64 {
    hash >> 48
}

impl Default for Core {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Core").field(&self.counts()).finish()
    }
}
