//! Records on their way to a worker, and the payloads beside them. A chunk becomes one batch.

use std::borrow::Cow;

use millrace_core::ShardIndex;

use super::load::Load;
use crate::event::Turn;
use crate::event::record;
use crate::limits::SIDECAR_BYTES;
use crate::worker::sidecar::Sidecar;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) sidecars: Vec<Sidecar>,
    pub(super) sidecar_bytes: usize,
    pub(super) has_binary: bool,
    pub(super) events: usize,
    /// The OPEN and CLOSE records among the events.
    pub(super) lives: Load,
    pub(super) marks: Marks,
}

/// The newest parcel of each shard in a chunk. Most chunks have parcels of one shard.
#[derive(Debug, Default)]
pub(super) struct Marks {
    first: Option<Mark>,
    more: Vec<Mark>,
}

/// A parcel's shard and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) shard: ShardIndex,
    pub(super) seq: u64,
}

impl Marks {
    pub(super) fn of(mark: Mark) -> Self {
        Self {
            first: Some(mark),
            more: Vec::new(),
        }
    }

    /// Adds a parcel, which replaces an earlier one of its shard.
    pub(super) fn add(&mut self, mark: Mark) {
        let known = self.first.iter_mut().chain(&mut self.more);
        let mut of_shard = known.filter(|known| known.shard == mark.shard);
        if let Some(known) = of_shard.next() {
            *known = mark;
        } else if self.first.is_none() {
            self.first = Some(mark);
        } else {
            self.more.push(mark);
        }
    }

    #[inline]
    pub(super) fn for_each(&self, mut visit: impl FnMut(Mark)) {
        if let Some(first) = self.first {
            visit(first);
        }
        for &mark in &self.more {
            visit(mark);
        }
    }
}

impl Chunk {
    /// An empty chunk that reuses a buffer.
    pub(super) fn reusing(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// The bytes of the records and beside them.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.sidecar_bytes
    }

    /// Appends the records of another chunk that has neither sidecars nor OPEN or CLOSE records, which empties it.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.bytes.extend_from_slice(&other.bytes);
        self.has_binary |= std::mem::take(&mut other.has_binary);
        self.events += std::mem::take(&mut other.events);
        other.bytes.clear();
    }
}

/// What has room for records: a worker's queue, and a parcel for it.
pub(super) trait Records {
    /// The chunk for a record with this payload, which is already counted.
    fn room(&mut self, payload: usize) -> &mut Chunk;

    /// Counts bytes beside the records, apart from the chunk's own count.
    fn count_beside(&mut self, bytes: usize);

    /// The sidecar that was appended last.
    fn newest_sidecar(&mut self) -> Option<&mut Sidecar>;

    /// Appends a record with this payload and a sidecar that has or gets this length; index and length are part of the
    /// payload. Returns the sidecar.
    fn beside(
        &mut self,
        (payload, length): (usize, usize),
        sidecar: Sidecar,
        append: impl FnOnce(&mut Vec<u8>, (u32, u32)),
    ) -> Option<&mut Sidecar> {
        let chunk = self.room(payload);
        let index = (
            u32::try_from(chunk.sidecars.len()).unwrap_or(u32::MAX),
            u32::try_from(length).unwrap_or(u32::MAX),
        );
        append(&mut chunk.bytes, index);
        chunk.sidecars.push(sidecar);
        chunk.sidecar_bytes += length;
        self.count_beside(length);
        self.newest_sidecar()
    }

    /// Appends a piece of a transfer's body.
    fn piece(&mut self, id: u64, piece: Cow<'_, [u8]>, last: bool) {
        let length = piece.len();
        if length <= SIDECAR_BYTES {
            let chunk = self.room(8 + length);
            return record::append_piece(&mut chunk.bytes, id, &piece, last);
        }
        let piece = Sidecar::Bytes(piece.into_owned());
        self.beside((12, length), piece, |out, (index, _length)| {
            record::append_piece_beside(out, id, index, last);
        });
    }

    /// Appends a change in the state of a transfer.
    fn turn(&mut self, id: u64, turn: Turn) {
        record::append_turn(&mut self.room(12).bytes, id, turn);
    }
}
