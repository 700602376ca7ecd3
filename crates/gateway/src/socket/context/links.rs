//! What a session may do with other connections of its shard.

use super::Context;
use crate::socket::connection::Swelling;
use crate::socket::links::{Dial, Dialled, Link};

impl Context<'_> {
    /// This connection, for others.
    pub(crate) fn link(&self) -> Link {
        Link {
            slot: self.connection.slot,
            socket: self.connection.socket,
        }
    }

    /// Bytes that wait in another connection's outbox, as they are [charged](crate::socket::outbox::Outbox::charge), and those that
    /// are to be written when the turn ends; `None`: nothing can be written to it any more.
    pub(crate) fn queued_of(&self, link: Link) -> Option<usize> {
        let other = self.env.find(link.slot, link.socket)?;
        // a session writes to no connection whose session is being called, its own among them
        let io = other.io.try_borrow().ok()?;
        io.phase
            .is_open()
            .then(|| io.outbox.charge() + io.outbox.chunk_bytes())
    }

    /// Writes to another connection, whatever waits there: who writes looks [first](Self::queued_of). As replies, it counts
    /// against no limit of the outbox. False: it is not open.
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
        io.outbox.append_control(env.hub().ledger(), encode);
        // neither of the two is idle
        io.times.message = env.now();
        self.outcome.passed = true;
        env.write_ahead(&other, &mut io);
        env.count_relayed(io.outbox.chunk_bytes().saturating_sub(before));
        drop(io);
        env.mark_dirty(&other);
        true
    }

    /// Whether another connection has room for more, by the bytes above which it is not read itself; `None`: it is not open. Where
    /// it has none, its session is [woken](crate::socket::Wake::Room) when it has.
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

    /// Closes another connection, behind what was posted before.
    pub(crate) fn close_link(&mut self, link: Link, code: u16, reason: &str) {
        self.env
            .post_close(link, code, reason, &mut self.outcome.dirty);
    }

    /// Has a connection made, on the terms of this one's listener.
    pub(crate) fn dial(&mut self, dial: Dial) -> Dialled {
        let dialled = self.env.dials.push(dial, &self.connection.listener);
        self.env.schedule();
        dialled
    }
}
