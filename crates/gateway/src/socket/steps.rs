//! The steps of a session's transfers: passes the worker's steps to the session, and tells the worker of room and of
//! ends.

use super::Wake;
use super::connection::{Extra, Io, Shared};
use super::env::Env;
use crate::event::{Step, TransferId, Turn};

impl Env {
    /// A step of a transfer that the session of a connection opened.
    pub(crate) fn step(&self, connection: &Shared, id: TransferId, step: Step) {
        let io = &mut *connection.io.borrow_mut();
        if let Step::Pull(bytes) = step
            && let Some(extra) = io.extra.as_deref_mut()
            && extra.bodies.pull(id, bytes)
            && !extra.holds_input
        {
            self.restart_clocks(io);
            self.run_soon(connection);
        }
        self.tell_session(connection, io, Wake::Transfer(id, step));
    }

    /// The outbox has room: tells the worker of the transfers that waited for it.
    pub(super) fn tell_room(&self, connection: &Shared, io: &mut Io) {
        let Some(extra) = io.extra.as_deref_mut() else {
            return;
        };
        for id in extra.bodies.take_awaiting() {
            self.queue_of(&connection.worker).turn(id.get(), Turn::Room);
            self.ring_later(&connection.worker);
        }
        if let Some(waits) = extra.drain_waits.take() {
            waits.answer();
        }
        if std::mem::take(&mut extra.reads_history) {
            self.history_room.borrow_mut().push(connection.socket);
            self.schedule();
        }
        if std::mem::take(&mut extra.wants_room) {
            self.tell_session(connection, io, Wake::Room);
        }
    }

    /// The peer sends nothing more: tells the worker that the rest of what it has been given a part of will not arrive.
    pub(super) fn break_transfers(&self, connection: &Shared, io: &mut Io) {
        let Some(extra) = io.extra.as_deref_mut() else {
            return;
        };
        for id in extra.bodies.take_begun() {
            self.transfers.close(id);
            self.queue_of(&connection.worker)
                .turn(id.get(), Turn::Broken);
            self.ring_later(&connection.worker);
        }
    }

    /// Drops the state that few connections have, once the session is called no more. The worker is told that its
    /// transfers have ended.
    pub(super) fn drop_extra(&self, connection: &Shared, io: &mut Io) {
        let Some(mut extra) = io.extra.take() else {
            return;
        };
        if extra.message_streams.is_some() {
            self.stats.dropped_by_close.add(io.outbox.cut_parts());
        }
        if io.outbox.has_lates() {
            // messages before our close wait for their compression
            io.extra = extra.takeover.take().map(|takeover| {
                Box::new(Extra {
                    takeover: Some(takeover),
                    ..Extra::default()
                })
            });
        }
        for id in extra.bodies.into_ids() {
            self.transfers.close(id);
            self.queue_of(&connection.worker)
                .turn(id.get(), Turn::Aborted);
            self.ring_later(&connection.worker);
        }
    }
}
