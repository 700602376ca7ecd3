//! A worker's queue: many I/O shards append event records, and one JavaScript thread takes them in batches. Owns the
//! records, the credits that limit each connection, and the doorbell's flag. Never calls JavaScript.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{SocketId, Token};

use super::sidecar::{AsciiText, Sidecar};
use crate::event::record;
use crate::event::{Event, RecordKind};
use crate::frame::Blocks;
use crate::limits::{ASCII_SIDECAR_BYTES, BATCH_BYTES, SIDECAR_BYTES};
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};

/// The records that a worker takes at once.
#[derive(Debug)]
pub struct Batch {
    /// Records, see [`record`](crate::event::record).
    pub bytes: Vec<u8>,
    /// Payloads too large to be copied, by index.
    pub sidecars: Vec<Sidecar>,
    /// Whether the records contain a binary payload, which handlers read in place.
    pub has_binary: bool,
    seq: u64,
}

/// A close that no worker has begun to handle.
#[derive(Clone, Debug)]
pub(crate) struct PendingClose {
    pub(crate) socket: SocketId,
    pub(crate) code: u16,
    pub(crate) reason: Box<str>,
    pub(crate) token: Option<Token>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    ringing: AtomicBool,
    /// The number of answered rings.
    answers: AtomicU64,
    /// Whether a limit was met when the last message was appended.
    full: AtomicBool,
    /// Sequence number of the newest batch whose records are all handled or held.
    handled: AtomicU64,
    /// One bit per I/O shard that has a connection waiting for room or credit.
    paused: AtomicU64,
    /// The buffers of long texts.
    blocks: Arc<Blocks>,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Chunk>,
    /// Sequence number of the newest chunk.
    seq: u64,
    events: usize,
    bytes: usize,
    /// The OPEN and CLOSE records among the events.
    lives: Load,
    free_slots: Vec<u32>,
    next_slot: u32,
    connections: u64,
    /// The number of all events so far.
    told: u64,
    closes: AHashMap<SocketId, PendingClose>,
    spare: Vec<Vec<u8>>,
    retired: bool,
}

#[derive(Debug)]
struct Chunk {
    seq: u64,
    bytes: Vec<u8>,
    sidecars: Vec<Sidecar>,
    sidecar_bytes: usize,
    has_binary: bool,
    events: usize,
    /// The OPEN and CLOSE records among the events.
    lives: Load,
}

/// The locked queue, for one reader's messages. Drop it before calling anything that locks.
#[derive(Debug)]
pub(crate) struct Appender<'a> {
    state: MutexGuard<'a, State>,
    full: &'a AtomicBool,
    blocks: &'a Arc<Blocks>,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            ringing: AtomicBool::new(false),
            answers: AtomicU64::new(0),
            full: AtomicBool::new(false),
            handled: AtomicU64::new(0),
            paused: AtomicU64::new(0),
            blocks: Arc::default(),
        }
    }

    /// Locks the queue to append messages; `None` once the worker is retired.
    pub(crate) fn appender(&self) -> Option<Appender<'_>> {
        let state = self.state.lock();
        if state.retired {
            None
        } else {
            Some(Appender {
                state,
                full: &self.full,
                blocks: &self.blocks,
            })
        }
    }

    /// Appends a DRAIN record.
    pub(crate) fn drained(&self, slot: u32) {
        let mut state = self.state.lock();
        if !state.retired {
            record::append_empty(&mut state.room(0).bytes, RecordKind::Drain, slot);
        }
    }

    /// Takes the oldest batch; also returns which I/O shards wait for the room that this frees.
    pub(crate) fn take(&self) -> Option<(Batch, u64)> {
        let mut state = self.state.lock();
        if state.retired {
            return None;
        }
        let chunk = state.chunks.pop_front()?;
        state.events -= chunk.events;
        state.bytes -= chunk.bytes.len() + chunk.sidecar_bytes;
        state.lives.subtract(chunk.lives);
        drop(state);
        let batch = Batch {
            bytes: chunk.bytes,
            sidecars: chunk.sidecars,
            has_binary: chunk.has_binary,
            seq: chunk.seq,
        };
        Some((batch, self.paused.swap(0, Ordering::SeqCst)))
    }

    /// Records that every record of `batch` is handled or held. Returns whether more is pending, and which I/O shards
    /// wait for room or credit.
    pub(crate) fn finish(&self, batch: Batch) -> (bool, u64) {
        let mut bytes = batch.bytes;
        let more = {
            let mut state = self.state.lock();
            if state.spare.len() < SPARE_CHUNKS && bytes.capacity() <= 2 * BATCH_BYTES {
                bytes.clear();
                state.spare.push(bytes);
            }
            !state.chunks.is_empty()
        };
        self.handled.store(batch.seq, Ordering::SeqCst);
        (more, self.paused.swap(0, Ordering::SeqCst))
    }

    /// Announces that a connection of I/O shard `bit` waits. The caller then has to check its condition again, so that
    /// it does not miss a batch that was finished meanwhile.
    pub(crate) fn pause(&self, bit: u64) {
        self.paused.fetch_or(bit, Ordering::SeqCst);
    }

    /// Sequence number of the newest batch whose records are all handled or held.
    pub(crate) fn handled(&self) -> u64 {
        self.handled.load(Ordering::SeqCst)
    }

    /// The number of waiting events and their bytes.
    pub(crate) fn backlog(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.events, state.bytes)
    }

    /// Whether messages may be appended. Checks the limits only if they were met; [`finish`](Self::finish) wakes shards
    /// that wait for room.
    pub(crate) fn has_room(&self, events: usize, bytes: usize) -> bool {
        if !self.full.load(Ordering::SeqCst) {
            return true;
        }
        let state = self.state.lock();
        let room = state.has_room(events, bytes);
        if room {
            self.full.store(false, Ordering::SeqCst);
        }
        room
    }

    /// The number of events passed to the worker so far.
    pub(crate) fn events(&self) -> u64 {
        self.state.lock().told
    }

    /// The number of connections pinned to the worker.
    pub(crate) fn connections(&self) -> u64 {
        self.state.lock().connections
    }

    /// Whether nothing waits, including closes that no handler has begun.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.chunks.is_empty() && state.closes.is_empty()
    }

    /// Sets the ringing flag; true if the caller has to ring.
    pub(crate) fn start_ringing(&self) -> bool {
        !self.ringing.swap(true, Ordering::SeqCst)
    }

    /// Whether the doorbell was rung and not yet answered.
    pub(crate) fn is_ringing(&self) -> bool {
        self.ringing.load(Ordering::SeqCst)
    }

    /// Clears the ringing flag. Has to happen before the drain, never after it.
    pub(crate) fn stop_ringing(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.ringing.store(false, Ordering::SeqCst);
    }

    /// The number of answered rings.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Refuses everything from now on, and returns the closes that no handler has begun.
    pub(crate) fn retire(&self) -> Vec<PendingClose> {
        let mut state = self.state.lock();
        state.retired = true;
        state.chunks.clear();
        state.spare.clear();
        (state.events, state.bytes, state.lives) = (0, 0, Load::default());
        std::mem::take(&mut state.closes).into_values().collect()
    }
}

impl Appender<'_> {
    /// Appends a message; returns the sequence number of its batch.
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
            return self.message_beside(kind, slot, ascii, payload);
        }
        let chunk = self.state.room(length);
        chunk.has_binary |= kind == RecordKind::Binary;
        record::append_message(&mut chunk.bytes, kind, slot, ascii, &payload);
        chunk.seq
    }

    /// A function of its own, so that short payloads are appended from registers.
    #[inline(never)]
    fn message_beside(
        &mut self,
        kind: RecordKind,
        slot: u32,
        ascii: bool,
        payload: Cow<'_, [u8]>,
    ) -> u64 {
        let sidecar = if ascii && kind == RecordKind::Text {
            Sidecar::Text(AsciiText::new(&payload, self.blocks))
        } else {
            Sidecar::Bytes(payload.into_owned())
        };
        self.state.beside(8, sidecar, |out, index| {
            record::append_sidecar(out, kind, slot, ascii, index);
        })
    }

    /// Appends a protocol's event; returns the sequence number of its batch.
    pub(crate) fn event(
        &mut self,
        slot: u32,
        event: Event,
        fields: &[u8],
        payload: Cow<'_, [u8]>,
    ) -> u64 {
        if payload.len() > SIDECAR_BYTES {
            let length = record::event_bytes(fields.len(), 8);
            let sidecar = Sidecar::Bytes(payload.into_owned());
            return self.state.beside(length, sidecar, |out, index| {
                record::append_event_beside(out, slot, event, fields, index);
            });
        }
        let length = record::event_bytes(fields.len(), payload.len());
        let chunk = self.state.room(length);
        record::append_event(&mut chunk.bytes, slot, event, fields, &payload);
        chunk.seq
    }

    /// Whether another message may follow. If not, connections append none until there is room.
    pub(crate) fn has_room(&self, events: usize, bytes: usize) -> bool {
        let room = self.state.has_room(events, bytes);
        if !room {
            self.full.store(true, Ordering::SeqCst);
        }
        room
    }
}

impl State {
    fn has_room(&self, events: usize, bytes: usize) -> bool {
        self.events < events.max(1) && self.bytes < bytes.max(1)
    }

    /// The chunk for an OPEN or CLOSE record with this payload, which is already counted.
    fn room_for_life(&mut self, payload: usize) -> &mut Chunk {
        let bytes = record::record_bytes(payload);
        self.lives.add(bytes);
        let chunk = self.room(payload);
        chunk.lives.add(bytes);
        chunk
    }

    /// Appends a record with a sidecar, whose index and length are its payload; returns the sequence number of the
    /// chunk.
    fn beside(
        &mut self,
        payload: usize,
        sidecar: Sidecar,
        append: impl FnOnce(&mut Vec<u8>, (u32, u32)),
    ) -> u64 {
        let length = sidecar.payload().len();
        let chunk = self.room(payload);
        let index = (
            u32::try_from(chunk.sidecars.len()).unwrap_or(u32::MAX),
            u32::try_from(length).unwrap_or(u32::MAX),
        );
        append(&mut chunk.bytes, index);
        chunk.sidecars.push(sidecar);
        chunk.sidecar_bytes += length;
        let seq = chunk.seq;
        self.bytes += length;
        seq
    }

    /// The chunk for a record with this payload, which is already counted.
    fn room(&mut self, payload: usize) -> &mut Chunk {
        let needed = record::record_bytes(payload);
        let fits = self.chunks.back().is_some_and(|chunk| {
            chunk.bytes.len() + needed <= BATCH_BYTES && chunk.sidecar_bytes <= CHUNK_SIDECAR_BYTES
        });
        if !fits {
            self.seq += 1;
            let bytes = self.spare.pop().unwrap_or_default();
            self.chunks.push_back(Chunk {
                seq: self.seq,
                bytes,
                sidecars: Vec::new(),
                sidecar_bytes: 0,
                has_binary: false,
                events: 0,
                lives: Load::default(),
            });
        }
        self.events += 1;
        self.told += 1;
        self.bytes += needed;
        let chunk = self.chunks.back_mut().expect("a chunk was just pushed");
        chunk.events += 1;
        chunk
    }
}

/// Events without a handler are passed on together with the next event that has one, or once there are this many.
const QUIET_EVENTS: usize = 256;

/// Emptied record buffers kept for reuse.
const SPARE_CHUNKS: usize = 4;

/// Sidecar bytes after which a new batch begins, so that one drain stays short.
const CHUNK_SIDECAR_BYTES: usize = 1024 * 1024;

mod lives;
mod load;
mod requests;

use load::Load;
pub(crate) use requests::Taken;

#[cfg(test)]
mod accounting_tests;
#[cfg(test)]
mod tests;

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: checks every interleaving of the calls above.
#[cfg(all(test, millrace_loom))]
mod loom_tests;
