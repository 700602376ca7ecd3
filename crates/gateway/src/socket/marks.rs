//! The marks of an outbox: what its bytes look like to other threads, who is told when it is congested, and who waits
//! for it to fall.

use super::connection::{Connection, Io, Phase, Shared, Swelling};
use super::env::Env;
use crate::event::{Handlers, Question, RecordKind};

impl Env {
    /// Answers when the outbox is at or below its low-water mark, at the earliest when this turn's output is written.
    /// The question of a socket that is closing is dropped, which answers it.
    pub(super) fn when_drained(&self, connection: &Shared, question: Question) {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() {
            return;
        }
        let extra = io.extra.get_or_insert_default();
        extra.drain_waits.get_or_insert_default().push(question);
        if io.swelling == Swelling::None {
            io.swelling = Swelling::Awaited;
        }
        self.mark_dirty(connection);
    }

    /// The outbox has exceeded the mark above which the connection is not read.
    pub(super) fn tell_congested(&self, connection: &Connection, io: &Io) {
        self.tell_level(connection, io, (Handlers::CONGESTED, RecordKind::Congested));
    }

    /// Tells the worker that the outbox has crossed a mark, if it has the handler.
    pub(super) fn tell_level(
        &self,
        connection: &Connection,
        io: &Io,
        (handler, kind): (Handlers, RecordKind),
    ) {
        let worker = &connection.worker;
        if matches!(io.phase, Phase::Open) && worker.handlers().contains(handler) {
            let slot = connection.worker_slot.get();
            self.queue_of(worker).level(slot, kind);
            self.ring_later(worker);
        }
    }

    /// Shows other threads the bytes in the outbox, or no longer.
    #[inline(never)]
    pub(super) fn show_backlog(&self, connection: &Connection, bytes: usize) {
        let backlogs = self.hub.backlogs();
        let is_shown = backlogs.put(self.index, connection.socket, bytes);
        connection.is_shown.set(is_shown);
    }
}
