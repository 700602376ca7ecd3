//! Requests and transfers in a worker's queue, beside the events of connections.

use std::borrow::Cow;

use super::Queue;
use super::chunk::Records;
use crate::event::Turn;
use crate::event::record::{self, Asking};

/// The result of queueing a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Yes,
    /// Too many events or bytes wait.
    Full,
    /// The worker is retired.
    Gone,
}

impl Queue {
    /// Appends a REQUEST record, unless this many events or bytes wait.
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

    /// Appends a piece of a transfer's body.
    pub(crate) fn piece(&self, id: u64, piece: Vec<u8>, last: bool) {
        let mut state = self.state.lock();
        if !state.retired {
            state.piece(id, Cow::Owned(piece), last);
        }
    }

    /// Appends the end of a request's body, with its trailers.
    pub(crate) fn trailers(&self, id: u64, trailers: &[u8]) {
        let mut state = self.state.lock();
        if !state.retired {
            let chunk = state.room(8 + trailers.len());
            record::append_trailers(&mut chunk.bytes, id, trailers);
        }
    }

    /// Appends a change in the state of a transfer.
    pub(crate) fn turn(&self, id: u64, turn: Turn) {
        let mut state = self.state.lock();
        if !state.retired {
            state.turn(id, turn);
        }
    }
}
