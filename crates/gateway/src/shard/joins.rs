//! New entries of the recipient lists, and what clients are told of them.

use millrace_core::{ChannelId, Name, Number, SocketId};

use super::Shard;
use super::recipients::Local;
use crate::socket::connection::{Io, Shared};

impl Shard {
    /// Adds a recipient to the list of a channel or pattern. `is_own`: its client has subscribed itself.
    pub(super) fn join(&self, list: ChannelId, name: Name, local: Local, is_own: bool) {
        let is_real = local.subscriber == local.socket;
        if !is_own && is_real && self.hub.has_clients() {
            self.tell_subscribed((local.slot, local.socket), &name);
        }
        self.recipients.borrow_mut().join(list, name, local);
    }

    /// Tells the client of a connection, if its protocol says such things, that the application has subscribed it.
    #[cold]
    fn tell_subscribed(&self, (slot, socket): (u32, SocketId), name: &Name) {
        let connections = self.connections.borrow();
        let connection = connections.get(slot);
        let Some(connection) = connection.filter(|connection| connection.socket == socket) else {
            return;
        };
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() || !self.hub.encodings().shows_marks(io.encoding) {
            return;
        }
        let Io {
            session, outbox, ..
        } = io;
        outbox.append_part(self.ledger(), |out| {
            session.append_subscribed(name.as_bytes(), out);
        });
        self.mark_dirty(connection);
    }

    /// Tells the client of a connection, if its protocol says such things, of a message that it does not get, so that it
    /// sees no hole in the numbers.
    #[cold]
    pub(super) fn tell_excepted(&self, connection: &Shared, name: &Name, number: &Number) {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() || !self.hub.encodings().shows_marks(io.encoding) {
            return;
        }
        let Io {
            session, outbox, ..
        } = io;
        outbox.append_part(self.ledger(), |out| {
            session.append_excepted(name.as_bytes(), number, out);
        });
        self.mark_dirty(connection);
    }
}
