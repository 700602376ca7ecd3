//! What a session may do with other connections of its shard.

use super::Context;
use crate::socket::connection::Swelling;
use crate::socket::links::{Dial, Dialled, Link};
use crate::socket::moment::Moment;

impl Context<'_> {
    /// The link to this connection, for other connections.
    pub(crate) fn link(&self) -> Link {
        Link {
            slot: self.connection.slot,
            socket: self.connection.socket,
        }
    }

    /// Bytes that wait in another connection's outbox, as [charged](crate::socket::outbox::Outbox::charge) there,
    /// including those to be written when the turn ends; `None`: it cannot be written to any more.
    pub(crate) fn queued_of(&self, link: Link) -> Option<usize> {
        let other = self.env.find(link.slot, link.socket)?;
        // the call is refused for connections whose session is being called, including this one
        let io = other.io.try_borrow().ok()?;
        io.phase
            .is_open()
            .then(|| io.outbox.charge() + io.outbox.chunk_bytes())
    }

    /// Writes to another connection without a limit, so callers check [`queued_of`](Self::queued_of) first. Like
    /// replies it is not counted against the limits of the outbox. False: the connection is not open.
    pub(crate) fn write_to(&mut self, link: Link, encode: impl FnOnce(&mut Vec<u8>)) -> bool {
        let Some(other) = self.env.find(link.slot, link.socket) else {
            return false;
        };
        let Ok(mut io) = other.io.try_borrow_mut() else {
            return false;
        };
        if !io.phase.is_open() {
            return false;
        }
        let env = self.env;
        io.outbox.lend(|| env.relay_buffer());
        let before = io.outbox.chunk_bytes();
        io.outbox.append_control(env.ledger(), encode);
        // the message counts as activity of both connections
        io.times.message = Moment::at(env.now());
        self.outcome.passed = true;
        env.write_ahead(&other, &mut io);
        env.count_relayed(io.outbox.chunk_bytes().saturating_sub(before));
        drop(io);
        env.mark_dirty(&other);
        true
    }

    /// Whether another connection has room for more; the threshold is that of its read pause. `None`: it is not open.
    /// If it has no room, its session is [woken](crate::socket::Wake::Room) when it has.
    pub(crate) fn room_of(&mut self, link: Link) -> Option<bool> {
        let other = self.env.find(link.slot, link.socket)?;
        let mut io = other.io.try_borrow_mut().ok()?;
        if !io.phase.is_open() {
            return None;
        }
        if io.outbox.charge() <= self.env.limits().outbox_read_pause_bytes {
            return Some(true);
        }
        io.extra.get_or_insert_default().wants_room = true;
        if io.swelling == Swelling::None {
            io.swelling = Swelling::Awaited;
        }
        Some(false)
    }

    /// Closes another connection, after what was posted to it before.
    pub(crate) fn close_link(&mut self, link: Link, code: u16, reason: &str) {
        self.env
            .post_close(link, code, reason, &mut self.outcome.dirty);
    }

    /// Dials a connection with the configuration of this connection's listener.
    pub(crate) fn dial(&mut self, dial: Dial) -> Dialled {
        let dialled = self.env.dials.push(dial, &self.connection.listener);
        self.env.schedule();
        dialled
    }
}
