//! Real sockets. Owns opening, closing, resolving and tokens.

use super::Core;
use crate::id::SocketId;
use crate::post::Post;
use crate::route::{Route, ShardIndex};
use crate::sockets::{Closed, SocketInfo, Token};
use crate::sync::Ordering;

/// Why a token was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// No open real socket has this id; a virtual socket has no token.
    #[error("socket not found: {0}")]
    SocketNotFound(SocketId),
}

impl<K> Core<K> {
    /// Registers a real socket that lives in a slot of an I/O shard. From now on it can be sent to and
    /// subscribed.
    pub fn open(&self, shard: ShardIndex, slot: u32, info: SocketInfo) -> SocketId {
        let turn = self.opened.fetch_add(1, Ordering::Relaxed);
        self.sockets.lock(turn).open(shard, slot, info)
    }

    /// Removes a real socket, its virtual sockets and all their subscriptions; `None` if there is no such
    /// real socket. Takes time in proportion to the number of virtual sockets and subscriptions removed.
    pub fn close<P: Post<Kept = K>>(&self, id: SocketId, post: &mut P) -> Option<Closed> {
        let (closed, removed) = self.socket_table(id).close(id)?;
        if !removed.is_empty() {
            self.leave_all(removed, post);
        }
        Some(closed)
    }

    /// Tells the real socket behind an id to close, by calling `post`, once in its life; false if there is no
    /// such socket. The socket's lock is held during the call, so messages that are sent to the socket later
    /// follow the close.
    pub fn begin_close(&self, id: SocketId, post: impl FnOnce(Route)) -> bool {
        let mut table = self.socket_table(id);
        let Some((route, first)) = table.begin_close(id) else {
            return false;
        };
        if first {
            post(route);
        }
        true
    }

    /// Where the real socket behind an id lives; `None` if the id does not resolve.
    pub fn route(&self, id: SocketId) -> Option<Route> {
        self.socket_table(id).resolve(id).map(|(route, _)| route)
    }

    /// Attaches a token to a real socket and returns the one attached before.
    pub fn set_token(
        &self,
        id: SocketId,
        token: impl Into<Token>,
    ) -> Result<Option<Token>, TokenError> {
        self.socket_table(id)
            .set_token(id, token.into())
            .map_err(|_| TokenError::SocketNotFound(id))
    }

    /// The token of a real socket; `None` if it has none or there is no such real socket.
    pub fn token(&self, id: SocketId) -> Option<Token> {
        self.socket_table(id).token(id)
    }
}
