//! Requests and transfers in a worker's queue, beside the events of connections.

use std::borrow::Cow;

use super::{Appender, Queue};
use crate::event::Turn;
use crate::event::record::{self, Asking};
use crate::limits::SIDECAR_BYTES;
use crate::worker::sidecar::Sidecar;

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
        if let Some(mut appender) = self.appender() {
            appender.piece(id, Cow::Owned(piece), last);
        }
    }

    /// Appends the end of a request's body, with its trailers.
    pub(crate) fn trailers(&self, id: u64, trailers: &[u8]) {
        if let Some(mut appender) = self.appender() {
            let chunk = appender.state.room(8 + trailers.len());
            record::append_trailers(&mut chunk.bytes, id, trailers);
        }
    }

    /// Appends a change in the state of a transfer.
    pub(crate) fn turn(&self, id: u64, turn: Turn) {
        if let Some(mut appender) = self.appender() {
            appender.turn(id, turn);
        }
    }
}

impl Appender<'_> {
    /// Appends a piece of a transfer's body; returns the sequence number of its batch.
    pub(crate) fn piece(&mut self, id: u64, piece: Cow<'_, [u8]>, last: bool) -> u64 {
        let length = piece.len();
        if length <= SIDECAR_BYTES {
            let chunk = self.state.room(8 + length);
            record::append_piece(&mut chunk.bytes, id, &piece, last);
            return chunk.seq;
        }
        let piece = Sidecar::Bytes(piece.into_owned());
        self.state.beside(12, piece, |out, (index, _length)| {
            record::append_piece_beside(out, id, index, last);
        })
    }

    /// Appends a change in the state of a transfer; returns the sequence number of its batch.
    pub(crate) fn turn(&mut self, id: u64, turn: Turn) -> u64 {
        let chunk = self.state.room(12);
        record::append_turn(&mut chunk.bytes, id, turn);
        chunk.seq
    }
}
