//! A worker's queue: many I/O shards hand over parcels of event records, and one JavaScript thread takes them in
//! batches. Owns the records, the numbers by which each connection's credit comes back, and the doorbell's flag. Never
//! calls JavaScript.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{ShardIndex, SocketId, Token};

use super::sidecar::Sidecar;
use crate::event::RecordKind;
use crate::event::record::{self, TextPlace};
use crate::frame::Blocks;
use crate::limits::{BATCH_BYTES, MAX_SHARDS};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, Padded};
use chunk::{Chunk, Mark, Marks, Records};

/// The records that a worker takes at once.
#[derive(Debug)]
pub struct Batch {
    /// Records, see [`record`](crate::event::record).
    pub bytes: Vec<u8>,
    /// Payloads too large to be copied, by index.
    pub sidecars: Vec<Sidecar>,
    /// Whether the records contain a binary payload, which handlers read in place.
    pub has_binary: bool,
    marks: Marks,
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
    state: Padded<Mutex<State>>,
    /// What shards read for each message or write for each ring, apart from what is written for each batch.
    ringing: Padded<AtomicBool>,
    /// The number of answered rings.
    answers: AtomicU64,
    /// Whether a limit was met when the last parcel was handed over.
    full: AtomicBool,
    retired: AtomicBool,
    /// One bit per I/O shard that has a connection waiting for room or credit.
    paused: AtomicU64,
    lanes: Box<[Padded<Lane>]>,
    /// The buffers of long texts.
    blocks: Arc<Blocks>,
}

/// The parcels of one I/O shard, which are numbered from 1.
#[derive(Debug)]
struct Lane {
    /// The newest one that was handed over.
    issued: AtomicU64,
    /// The newest one whose records are all handled or held.
    handled: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Chunk>,
    events: usize,
    bytes: usize,
    /// The OPEN and CLOSE records among the events.
    lives: Load,
    free_slots: Vec<u32>,
    next_slot: u32,
    connections: u64,
    /// The number of all events so far.
    told: u64,
    /// The number of batches that were taken so far.
    batches: u64,
    closes: AHashMap<SocketId, PendingClose>,
    spare: Vec<Vec<u8>>,
    /// What `told` was at the last trim.
    told_before: u64,
    retired: bool,
}

impl Batch {
    /// The text of the record that begins at this word of `bytes`; `None`: there is no record with a text.
    pub fn text_at(&self, word: usize) -> Option<TextPlace<'_>> {
        record::text_at(&self.bytes, word)
    }
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            state: Padded(Mutex::new(State::default())),
            ringing: Padded(AtomicBool::new(false)),
            answers: AtomicU64::new(0),
            full: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            paused: AtomicU64::new(0),
            lanes: (0..MAX_SHARDS)
                .map(|_| {
                    Padded(Lane {
                        issued: AtomicU64::new(0),
                        handled: AtomicU64::new(0),
                    })
                })
                .collect(),
            blocks: Arc::default(),
        }
    }

    /// Whether the worker takes nothing any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Takes the records of a parcel, unless the worker is retired. Returns whether another event may follow within
    /// these limits; if not, connections send none until there is room.
    pub(crate) fn hand_over(&self, parcel: &mut Parcel, (events, bytes): (usize, usize)) -> bool {
        let mut state = self.state.lock();
        if state.retired {
            parcel.chunk = Chunk::default();
            return false;
        }
        let Mark { shard, seq } = state.take_over(parcel);
        self.lanes[shard.get()].issued.store(seq, Ordering::Relaxed);
        let room = state.has_room(beside_parcels(events), beside_parcels(bytes));
        if !room {
            self.full.store(true, Ordering::SeqCst);
        }
        room
    }

    /// Whether another event may be put into a parcel. Hands it over if it is ample, because the answer is known only
    /// then.
    #[inline]
    pub(crate) fn accepts_more(&self, parcel: &mut Parcel, limits: (usize, usize)) -> bool {
        !parcel.is_ample() || self.hand_over(parcel, limits)
    }

    /// Appends a record that has no payload: CONGESTED or DRAIN.
    pub(crate) fn level(&self, slot: u32, kind: RecordKind) {
        let mut state = self.state.lock();
        if !state.retired {
            record::append_empty(&mut state.room(0).bytes, kind, slot);
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
        state.batches += 1;
        drop(state);
        let batch = Batch {
            bytes: chunk.bytes,
            sidecars: chunk.sidecars,
            has_binary: chunk.has_binary,
            marks: chunk.marks,
        };
        Some((batch, self.paused.swap(0, Ordering::SeqCst)))
    }

    /// Frees the buffers for later events, if there was none since the last call.
    pub(crate) fn trim(&self) {
        let mut state = self.state.lock();
        if state.told_before != state.told {
            state.told_before = state.told;
            return;
        }
        let spare = std::mem::take(&mut state.spare);
        drop(state);
        drop(spare);
        self.blocks.clear();
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
        batch.marks.for_each(|mark| {
            let lane = &self.lanes[mark.shard.get()];
            lane.handled.store(mark.seq, Ordering::SeqCst);
        });
        (more, self.paused.swap(0, Ordering::SeqCst))
    }

    /// Announces that a connection of I/O shard `bit` waits. The caller then has to check its condition again, so that
    /// it does not miss a batch that was finished meanwhile.
    pub(crate) fn pause(&self, bit: u64) {
        self.paused.fetch_or(bit, Ordering::SeqCst);
    }

    /// The number of the shard's newest parcel whose records are all handled or held.
    #[inline]
    pub(crate) fn handled(&self, shard: ShardIndex) -> u64 {
        self.lanes[shard.get()].handled.load(Ordering::SeqCst)
    }

    /// The number of the shard's newest parcel.
    fn issued(&self, shard: ShardIndex) -> u64 {
        self.lanes[shard.get()].issued.load(Ordering::Relaxed)
    }

    /// The number of waiting events and their bytes.
    pub(crate) fn backlog(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.events, state.bytes)
    }

    /// Whether messages may be appended. Checks the limits only if they were met; `finish` wakes shards that wait for room.
    pub(crate) fn has_room(&self, events: usize, bytes: usize) -> bool {
        if !self.full.load(Ordering::SeqCst) {
            return true;
        }
        let state = self.state.lock();
        let room = state.has_room(beside_parcels(events), beside_parcels(bytes));
        if room {
            self.full.store(false, Ordering::SeqCst);
        }
        room
    }

    /// The number of events passed to the worker so far.
    pub(crate) fn events(&self) -> u64 {
        self.state.lock().told
    }

    /// The number of batches that the worker has taken so far.
    pub(crate) fn batches(&self) -> u64 {
        self.state.lock().batches
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
        self.retired.store(true, Ordering::Relaxed);
        state.chunks.clear();
        state.spare.clear();
        (state.events, state.bytes, state.lives) = (0, 0, Load::default());
        std::mem::take(&mut state.closes).into_values().collect()
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

    /// Whether the newest chunk has room for these bytes of records.
    fn has_room_in_chunk(&self, bytes: usize) -> bool {
        self.chunks.back().is_some_and(|chunk| {
            chunk.bytes.len() + bytes <= BATCH_BYTES && chunk.sidecar_bytes <= CHUNK_SIDECAR_BYTES
        })
    }

    /// Appends the records of a parcel; returns its mark.
    fn take_over(&mut self, parcel: &mut Parcel) -> Mark {
        let mark = parcel.end();
        let new = &mut parcel.chunk;
        self.events += new.events;
        self.told += u64::try_from(new.events).unwrap_or_default();
        self.bytes += new.size();
        let copies = new.sidecars.is_empty() && new.bytes.len() <= COPIED_BYTES;
        if copies && self.has_room_in_chunk(new.bytes.len()) {
            let chunk = self.chunks.back_mut().expect("it has room");
            chunk.append(new);
            chunk.marks.add(mark);
            return mark;
        }
        // field by field, because a chunk is large to be moved as a whole
        let bytes = self.spare.pop().unwrap_or_default();
        self.chunks.push_back(Chunk {
            bytes: std::mem::replace(&mut new.bytes, bytes),
            sidecars: std::mem::take(&mut new.sidecars),
            sidecar_bytes: std::mem::take(&mut new.sidecar_bytes),
            has_binary: std::mem::take(&mut new.has_binary),
            events: std::mem::take(&mut new.events),
            lives: Load::default(),
            marks: Marks::of(mark),
        });
        mark
    }
}

impl Records for State {
    fn room(&mut self, payload: usize) -> &mut Chunk {
        let needed = record::record_bytes(payload);
        if !self.has_room_in_chunk(needed) {
            let bytes = self.spare.pop().unwrap_or_default();
            self.chunks.push_back(Chunk::reusing(bytes));
        }
        self.events += 1;
        self.told += 1;
        self.bytes += needed;
        let chunk = self.chunks.back_mut().expect("a chunk was just pushed");
        chunk.events += 1;
        chunk
    }

    fn count_beside(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    fn newest_sidecar(&mut self) -> Option<&mut Sidecar> {
        self.chunks.back_mut()?.sidecars.last_mut()
    }
}

/// Events without a handler are passed on together with the next event that has one, or once there are this many.
const QUIET_EVENTS: usize = 256;

/// Emptied record buffers kept for reuse.
const SPARE_CHUNKS: usize = 4;

/// Parcels up to this size are appended to the newest batch, so that small ones do not need a batch each.
const COPIED_BYTES: usize = 4096;

/// Sidecar bytes after which a new batch begins, so that one drain stays short.
const CHUNK_SIDECAR_BYTES: usize = 1024 * 1024;

mod chunk;
mod lives;
mod load;
mod parcel;
mod requests;

use load::Load;
pub(crate) use parcel::Parcel;
use parcel::beside_parcels;
pub(crate) use requests::Taken;

#[cfg(test)]
mod accounting_tests;
#[cfg(test)]
mod tests;

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: checks every interleaving of the calls above.
#[cfg(all(test, millrace_loom))]
mod loom_tests;
