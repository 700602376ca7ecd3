//! Parcels: what one I/O shard has for one worker. The shard collects the records of a turn without a lock, and hands
//! them over together, so that its reads do not take turns with other shards and the worker.

use std::borrow::Cow;
use std::sync::Arc;

use millrace_core::ShardIndex;

use super::Queue;
use super::chunk::{Chunk, Mark, Records};
use crate::event::record;
use crate::event::{Event, RecordKind, Turn};
use crate::frame::Blocks;
use crate::limits::{ASCII_SIDECAR_BYTES, BATCH_BYTES, SIDECAR_BYTES};
use crate::worker::sidecar::{AsciiText, Sidecar};

/// Records that are not handed over yet. Whatever else its shard appends to the queue has to follow them, so it hands
/// them over first.
#[derive(Debug)]
pub(crate) struct Parcel {
    shard: ShardIndex,
    /// Its number among the parcels from this shard to this worker.
    seq: u64,
    pub(super) chunk: Chunk,
    /// As many events or bytes are handed over before the turn ends.
    most: (usize, usize),
    /// The buffers of long texts.
    blocks: Arc<Blocks>,
    /// What `seq` was at the last trim.
    seq_before: u64,
}

impl Parcel {
    /// The next parcel of a shard for a queue with these limits, which `shards` shards use.
    pub(crate) fn new(
        shard: ShardIndex,
        queue: &Queue,
        (events, bytes): (usize, usize),
        shards: usize,
    ) -> Self {
        let shards = shards.max(1);
        let seq = queue.issued(shard) + 1;
        Self {
            shard,
            seq,
            seq_before: seq,
            chunk: Chunk::default(),
            most: (
                for_parcels(events) / shards,
                (for_parcels(bytes) / shards).min(BATCH_BYTES / 2),
            ),
            blocks: Arc::clone(&queue.blocks),
        }
    }

    /// Appends a message; returns the number of its parcel.
    #[inline]
    pub(crate) fn message(
        &mut self,
        kind: RecordKind,
        slot: u32,
        ascii: bool,
        payload: Cow<'_, [u8]>,
    ) -> u64 {
        let length = payload.len();
        let ascii_text = ascii && kind == RecordKind::Text;
        if length > SIDECAR_BYTES || ascii_text && length > ASCII_SIDECAR_BYTES {
            self.message_beside(kind, slot, ascii, payload);
            return self.seq;
        }
        let chunk = &mut self.chunk;
        chunk.events += 1;
        chunk.has_binary |= kind == RecordKind::Binary;
        record::append_message(&mut chunk.bytes, kind, slot, ascii, &payload);
        self.seq
    }

    /// A function of its own, so that short payloads are appended from registers.
    #[inline(never)]
    fn message_beside(&mut self, kind: RecordKind, slot: u32, ascii: bool, payload: Cow<'_, [u8]>) {
        let length = payload.len();
        let append = |out: &mut Vec<u8>, index| {
            record::append_sidecar(out, kind, slot, ascii, index);
        };
        if !ascii || kind != RecordKind::Text {
            self.beside((8, length), Sidecar::Bytes(payload.into_owned()), append);
            return;
        }
        let text = Sidecar::Text(AsciiText::with_room(length, &self.blocks));
        // filled in its place: what is moved after a long copy waits for it
        if let Some(Sidecar::Text(text)) = self.beside((8, length), text, append) {
            text.fill(&payload);
        }
    }

    /// Appends a protocol's event; returns the number of its parcel.
    pub(crate) fn event(
        &mut self,
        slot: u32,
        event: Event,
        fields: &[u8],
        payload: Cow<'_, [u8]>,
    ) -> u64 {
        if payload.len() > SIDECAR_BYTES {
            let lengths = (record::event_bytes(fields.len(), 8), payload.len());
            let sidecar = Sidecar::Bytes(payload.into_owned());
            self.beside(lengths, sidecar, |out, index| {
                record::append_event_beside(out, slot, event, fields, index);
            });
        } else {
            let length = record::event_bytes(fields.len(), payload.len());
            let chunk = self.room(length);
            record::append_event(&mut chunk.bytes, slot, event, fields, &payload);
        }
        self.seq
    }

    /// Appends a piece of a transfer's body; returns the number of its parcel.
    pub(crate) fn piece(&mut self, id: u64, piece: Cow<'_, [u8]>, last: bool) -> u64 {
        Records::piece(self, id, piece, last);
        self.seq
    }

    /// Appends a change in the state of a transfer; returns the number of its parcel.
    pub(crate) fn turn(&mut self, id: u64, turn: Turn) -> u64 {
        Records::turn(self, id, turn);
        self.seq
    }

    /// Whether nothing waits to be handed over.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunk.events == 0
    }

    /// Frees the buffer for later records, if none was handed over since the last call.
    pub(crate) fn trim(&mut self) {
        if self.seq == self.seq_before && self.is_empty() {
            self.chunk.bytes = Vec::new();
        }
        self.seq_before = self.seq;
    }

    /// Whether it is handed over before the turn ends, which checks the limits of the queue.
    #[inline]
    pub(super) fn is_ample(&self) -> bool {
        self.chunk.events >= self.most.0 || self.chunk.size() >= self.most.1
    }

    /// Ends this parcel and begins the next one, which takes its number; returns the mark of the ended one.
    pub(super) fn end(&mut self) -> Mark {
        let mark = Mark {
            shard: self.shard,
            seq: self.seq,
        };
        self.seq += 1;
        mark
    }
}

#[cfg(test)]
impl Parcel {
    /// The bytes of memory that it keeps for records.
    pub(super) fn kept_bytes(&self) -> usize {
        self.chunk.bytes.capacity()
    }
}

impl Records for Parcel {
    fn room(&mut self, _payload: usize) -> &mut Chunk {
        self.chunk.events += 1;
        &mut self.chunk
    }

    fn count_beside(&mut self, _bytes: usize) {}

    fn newest_sidecar(&mut self) -> Option<&mut Sidecar> {
        self.chunk.sidecars.last_mut()
    }
}

/// What a limit of the queue leaves for the queue itself. The rest is for what is in parcels, so that both together stay
/// within the limit.
pub(super) fn beside_parcels(limit: usize) -> usize {
    limit - for_parcels(limit)
}

/// What the parcels of all shards together may take of a limit of the queue: nothing if it is small, so that every event
/// is handed over at once.
fn for_parcels(limit: usize) -> usize {
    if limit < SMALL { 0 } else { limit / PARCELS }
}

const SMALL: usize = 1024;
const PARCELS: usize = 16;
