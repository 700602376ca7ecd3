//! New entries of the recipient lists, and what clients are told of them.

use millrace_core::{ChannelId, Cursor, Entering, Name, Number, Position, SocketId};

use super::Shard;
use super::recipients::Local;
use crate::inbox::Enter;
use crate::socket::Wake;
use crate::socket::connection::{Io, Shared};

impl Shard {
    /// Adds a recipient to the list of a channel or pattern. `is_known`: its client knows of it.
    pub(super) fn join(&self, list: ChannelId, name: Name, local: Local, is_known: bool) {
        let is_real = local.subscriber == local.socket;
        if !is_known && is_real && self.hub.has_clients() {
            self.tell_subscribed((local.slot, local.socket), &name, None);
        }
        self.recipients.borrow_mut().join(list, name, local);
    }

    /// The application has subscribed a socket that its client has subscribed, too, or to a channel with history, or at a
    /// position. `cursor`: where the subscriber reads on.
    pub(super) fn tell_entered(&self, enter: &Enter, cursor: Option<Cursor>) {
        let Entering {
            entered,
            cursor: begun,
            ..
        } = &enter.entering;
        let begins = entered.is_new || entered.recovered.is_some() || begun.is_some();
        if !begins || !self.hub.has_clients() {
            return;
        }
        let behind = entered.position.map(|newest| Position {
            offset: cursor.map_or(newest.offset, |cursor| cursor.next.saturating_sub(1)),
            ..newest
        });
        self.tell_subscribed((enter.slot, enter.socket), &enter.name, behind);
    }

    /// Tells the client of a connection, if its protocol says such things, that the application has subscribed it, and
    /// behind which message it begins.
    #[cold]
    fn tell_subscribed(
        &self,
        (slot, socket): (u32, SocketId),
        name: &Name,
        behind: Option<Position>,
    ) {
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
            session.append_subscribed(name.as_bytes(), behind, out);
        });
        self.mark_dirty(connection);
    }

    /// Tells all recipients of a channel that they have missed messages up to this position; not virtual sockets, whose
    /// messages have no place among those of their real socket.
    pub(super) fn tell_gap(&self, list: ChannelId, end: Position) {
        let (name, places) = {
            let recipients = self.recipients.borrow();
            let Some(list) = recipients.of(list) else {
                return;
            };
            let real = |local: &&Local| local.subscriber == local.socket;
            let locals = list.locals.iter().filter(real);
            let places = locals.map(|local| (local.slot, local.socket));
            (list.name.clone(), places.collect::<Vec<_>>())
        };
        for (slot, socket) in places {
            if let Some(connection) = self.find(slot, socket) {
                let why = Wake::Gap(&name, end);
                self.tell_session(&connection, &mut connection.io.borrow_mut(), why);
            }
        }
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
