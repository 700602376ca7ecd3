//! Connections in a worker's queue: their opens and closes, and the limit of both.

use millrace_core::SocketId;

use super::{PendingClose, QUIET_EVENTS, Queue};
use crate::event::Opening;
use crate::event::record::{self, Closing, NO_SLOT};

impl Queue {
    /// Whether a connection may open: the waiting opens and closes of other connections have not met a limit. Messages
    /// do not count, so that open connections cannot keep new ones out.
    pub(crate) fn has_room_to_open(&self, events: usize, bytes: usize) -> bool {
        let state = self.state.lock();
        !state.retired && state.lives.has_room(events, bytes)
    }

    /// Appends an OPEN record and gives the connection its slot; `None` once the worker is retired, or has [no
    /// room](Self::has_room_to_open) within `bounds`. The flag says that the worker should be rung even if the record
    /// has no handler.
    pub(crate) fn open(
        &self,
        opening: &Opening<'_>,
        (events, bytes): (usize, usize),
    ) -> Option<(u32, bool)> {
        let mut state = self.state.lock();
        if state.retired || !state.lives.has_room(events, bytes) {
            return None;
        }
        let slot = state.free_slots.pop().unwrap_or_else(|| {
            state.next_slot += 1;
            state.next_slot - 1
        });
        state.connections += 1;
        let room = state.room_for_life(opening.payload_bytes());
        record::append_open(&mut room.bytes, slot, opening);
        Some((slot, state.events >= QUIET_EVENTS))
    }

    /// Frees the slot of a connection that was refused and so had no CLOSE record.
    pub(crate) fn free_slot(&self, slot: u32) {
        let mut state = self.state.lock();
        state.free_slots.push(slot);
        state.connections -= 1;
    }

    /// Appends a CLOSE record. Closes are not limited: there is one per connection, and while they take too much, no
    /// other connection opens. `claimable` closes are kept until a handler starts. Returns the close if the worker is
    /// retired; the flag is that of [`open`](Self::open).
    pub(crate) fn close(
        &self,
        slot: u32,
        close: PendingClose,
        claimable: bool,
    ) -> Result<bool, PendingClose> {
        let mut state = self.state.lock();
        if state.retired {
            return Err(close);
        }
        let length =
            20 + close.token.as_ref().map_or(0, |token| token.bytes.len()) + close.reason.len();
        let closing = Closing {
            socket: close.socket,
            code: close.code,
            token: close.token.as_ref(),
            reason: &close.reason,
        };
        record::append_close(&mut state.room_for_life(length).bytes, slot, &closing);
        if slot != NO_SLOT {
            state.free_slots.push(slot);
            state.connections -= 1;
        }
        if claimable {
            state.closes.insert(close.socket, close);
        }
        Ok(state.events >= QUIET_EVENTS)
    }

    /// Whether the caller may run the close handler of `socket`: true once.
    pub(crate) fn claim_close(&self, socket: SocketId) -> bool {
        self.state.lock().closes.remove(&socket).is_some()
    }
}
