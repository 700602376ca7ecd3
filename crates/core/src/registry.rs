//! The registry: all tables together. Owns the order in which their locks are taken (a channel's, then a
//! socket's, never two of one kind); never holds one while it returns.

mod debug_state;
mod lifecycle;
mod publish;
mod store;
mod subscribe;
mod virtual_sockets;

use std::fmt;

use ahash::RandomState;

use crate::channels::ChannelTable;
use crate::dangling::DanglingTable;
use crate::hash::name_hasher;
use crate::id::SocketId;
use crate::keys::KeyTable;
use crate::post::Post;
use crate::sockets::{Removed, SocketTable};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Sharded};

pub use self::debug_state::{ChannelState, Counts, SocketState};
pub use self::lifecycle::TokenError;
pub use self::subscribe::Target;

/// Sockets, virtual sockets, channels, subscriptions, tokens and the key/value store of one gateway.
///
/// Every function may be called from any thread and returns without waiting for anything but short
/// locks. Share it by [`Arc`](std::sync::Arc).
pub struct Core {
    channels: Sharded<ChannelTable>,
    sockets: Sharded<SocketTable>,
    /// Taken alone.
    dangling: Mutex<DanglingTable>,
    /// Taken alone.
    keys: Sharded<KeyTable>,
    /// Decides the lock shard of the next real socket.
    opened: AtomicU64,
    hasher: RandomState,
}

impl Core {
    /// An empty core.
    pub fn new() -> Self {
        let hasher = name_hasher();
        Self {
            channels: Sharded::new(|index| ChannelTable::new(index, hasher.clone())),
            sockets: Sharded::new(SocketTable::new),
            dangling: Mutex::new(DanglingTable::default()),
            keys: Sharded::new(|_| KeyTable::new(hasher.clone())),
            opened: AtomicU64::new(0),
            hasher,
        }
    }

    fn channel_table(&self, name: &[u8]) -> MutexGuard<'_, ChannelTable> {
        self.channels.lock(self.name_key(name))
    }

    /// The table of a socket, of all virtual sockets on it, and of its real socket.
    fn socket_table(&self, id: SocketId) -> MutexGuard<'_, SocketTable> {
        self.sockets.lock(id.get() - 1)
    }

    fn key_table(&self, key: &[u8]) -> MutexGuard<'_, KeyTable> {
        self.keys.lock(self.name_key(key))
    }

    /// Bits that the tables, which use the same hasher, use neither as bucket nor as tag.
    fn name_key(&self, name: &[u8]) -> u64 {
        self.hasher.hash_one(name) >> 48
    }

    /// Visits the channels of sockets that no longer exist.
    fn leave_all<P: Post>(&self, removed: Removed, post: &mut P) {
        for (subscriber, channels) in removed {
            channels.for_each(|name| {
                let mut table = self.channel_table(name.as_bytes());
                if let Some((channel, route)) = table.remove(name.as_bytes(), subscriber) {
                    post.leave(channel, subscriber, route);
                }
            });
        }
    }
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
