//! Requests in a worker's queue: what is told of them beside the events of connections.

use super::Queue;
use crate::event::Turn;
use crate::event::record::{self, Asking};
use crate::limits::SIDECAR_BYTES;
use crate::worker::sidecar::Sidecar;

/// Whether a worker takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Yes,
    /// Too much waits.
    Full,
    /// It is retired.
    Gone,
}

impl Queue {
    /// Appends a REQUEST record, unless so many events or bytes wait.
    pub(crate) fn ask(&self, asking: &Asking<'_>, events: usize, bytes: usize) -> Taken {
        let mut state = self.state.lock();
        if state.retired {
            return Taken::Gone;
        }
        if !state.has_room(events, bytes) {
            return Taken::Full;
        }
        let length = record::asking_bytes(asking);
        record::append_asking(&mut state.room(length).bytes, asking);
        Taken::Yes
    }

    /// Appends a piece of a request's body.
    pub(crate) fn piece(&self, id: u64, piece: Vec<u8>, last: bool) {
        let mut state = self.state.lock();
        if state.retired {
            return;
        }
        let length = piece.len();
        if length <= SIDECAR_BYTES {
            let chunk = state.room(8 + length);
            return record::append_piece(&mut chunk.bytes, id, &piece, last);
        }
        state.beside(12, Sidecar::Bytes(piece), |out, (index, _length)| {
            record::append_piece_beside(out, id, index, last);
        });
    }

    /// Appends what became of a request.
    pub(crate) fn turn(&self, id: u64, turn: Turn) {
        let mut state = self.state.lock();
        if !state.retired {
            record::append_turn(&mut state.room(12).bytes, id, turn);
        }
    }
}
