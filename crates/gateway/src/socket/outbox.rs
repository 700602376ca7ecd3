//! A socket's outbox: output that the kernel has not accepted yet. While the connection keeps up, the frames of the
//! current turn are gathered in one private chunk; once a write falls short, everything behind it is queued by
//! reference. A frame that is being compressed holds back everything behind it. Pure: writes nothing itself. Over 400 lines
//! because each way to append keeps the same counts.

mod backlog;
mod lates;
mod notices;
mod parts;
mod references;
mod rewrite;

use std::io::IoSlice;
use std::sync::Arc;

use crate::frame::{Frame, Late, Ledger};
use crate::limits::{ENTRY_CHARGE, GatewayLimits};
use backlog::{Backlog, Entry};
pub(crate) use notices::Spot;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// `None` if its queue would be empty, as it is for nearly every connection.
    backlog: Option<Box<Backlog>>,
    chunk: Vec<u8>,
    chunk_messages: u32,
    chunk_asked: u32,
}

impl Outbox {
    /// Takes a buffer for the chunk if it has none yet.
    pub(crate) fn lend(&mut self, spare: impl FnOnce() -> Vec<u8>) {
        if self.chunk.capacity() == 0 {
            self.chunk = spare();
        }
    }

    /// Returns the chunk's buffer once it is empty.
    pub(crate) fn reclaim(&mut self) -> Option<Vec<u8>> {
        if !self.chunk.is_empty() {
            return None;
        }
        // empty messages count as written
        self.chunk_messages = 0;
        (self.chunk.capacity() > 0).then(|| std::mem::take(&mut self.chunk))
    }

    /// Appends one message, encoded by `encode`.
    pub(crate) fn append(&mut self, ledger: &Arc<Ledger>, encode: impl FnOnce(&mut Vec<u8>)) {
        self.append_counted::<1, false>(ledger, encode);
    }

    /// Appends a control frame, encoded by `encode`. It is written between the parts of a message, too.
    pub(crate) fn append_control(
        &mut self,
        ledger: &Arc<Ledger>,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        self.append_counted::<0, true>(ledger, encode);
    }

    /// Appends a part of something longer, encoded by `encode`. It counts like a message, and is never dropped alone.
    pub(crate) fn append_part(&mut self, ledger: &Arc<Ledger>, encode: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        if bytes.is_empty() {
            return;
        }
        self.seal(ledger);
        self.push(Entry {
            frame: Frame::new(bytes, ledger),
            messages: 0,
            asked: 0,
        });
    }

    /// Appends a shared frame with `messages` messages.
    #[inline]
    pub(crate) fn append_frame(&mut self, ledger: &Arc<Ledger>, frame: &Frame, messages: u32) {
        if self.backlog.is_none() && frame.len() <= COPY_BYTES && self.chunk.len() <= CHUNK_BYTES {
            self.chunk.extend_from_slice(frame.bytes());
            self.chunk_messages += messages;
            return;
        }
        self.queue_frame(ledger, frame, messages);
    }

    /// Appends the frame of a publication. Makes it only if it has to be queued; `bytes` are its bytes.
    #[inline]
    pub(crate) fn append_shared<'f>(
        &mut self,
        ledger: &Arc<Ledger>,
        (bytes, messages): (&[u8], u32),
        frame: impl FnOnce() -> &'f Frame,
    ) {
        if self.backlog.is_none() && bytes.len() <= COPY_BYTES && self.chunk.len() <= CHUNK_BYTES {
            self.chunk.extend_from_slice(bytes);
            self.chunk_messages += messages;
            return;
        }
        self.queue_frame(ledger, frame(), messages);
    }

    #[inline]
    fn queue_frame(&mut self, ledger: &Arc<Ledger>, frame: &Frame, messages: u32) {
        self.seal(ledger);
        frame.count(ledger);
        self.push(Entry {
            frame: frame.clone(),
            messages,
            asked: 0,
        });
    }

    /// Appends a message whose frame is being compressed; `plain` is its uncompressed one, which holds its place.
    pub(crate) fn append_late(&mut self, ledger: &Arc<Ledger>, plain: &Frame, late: Late) {
        self.seal(ledger);
        plain.count(ledger);
        let entry = Entry {
            frame: plain.clone(),
            messages: 1,
            asked: 0,
        };
        self.backlog.get_or_insert_default().push_late(entry, late);
    }

    /// Has a frame that is made now take its places.
    pub(crate) fn settle(&mut self, late: &Late, ledger: &Arc<Ledger>) {
        if let Some(backlog) = self.backlog.as_deref_mut() {
            backlog.settle(late, &late.outcome(), ledger);
        }
    }

    /// Whether frames are being compressed.
    pub(crate) fn has_lates(&self) -> bool {
        let backlog = self.backlog.as_deref();
        backlog.is_some_and(Backlog::has_lates)
    }

    /// Whether nothing can be written before a frame is compressed: nothing waits for the peer.
    pub(crate) fn is_parked(&self) -> bool {
        let backlog = self.backlog.as_deref();
        backlog.is_some_and(Backlog::is_parked)
    }

    /// Whether a message that is appended now follows everything before it in one write, and no policy drops it.
    pub(crate) fn is_certain(&self) -> bool {
        self.backlog.is_none() && self.chunk.len() <= CHUNK_BYTES
    }

    /// Appends a reply that the peer asked for, in a frame of its own.
    pub(crate) fn append_asked(&mut self, ledger: &Arc<Ledger>, frame: Frame) {
        self.seal(ledger);
        self.push(Entry {
            asked: narrow(frame.len()),
            frame,
            messages: 0,
        });
    }

    /// Moves the chunk to the queue, so that everything is in the queue.
    #[inline]
    pub(crate) fn seal(&mut self, ledger: &Arc<Ledger>) {
        if !self.chunk.is_empty() {
            self.seal_chunk(ledger);
        }
    }

    #[inline(never)]
    fn seal_chunk(&mut self, ledger: &Arc<Ledger>) {
        let messages = std::mem::take(&mut self.chunk_messages);
        let asked = std::mem::take(&mut self.chunk_asked);
        let mut chunk = std::mem::take(&mut self.chunk);
        if chunk.capacity() > chunk.len().saturating_mul(2).max(COPY_BYTES * 2) {
            // the large buffer holds only little
            chunk.shrink_to_fit();
        }
        let frame = Frame::new(chunk, ledger);
        self.push(Entry {
            frame,
            messages,
            asked,
        });
    }

    /// The chunk, if it is all there is.
    pub(crate) fn chunk(&self) -> Option<&[u8]> {
        (self.backlog.is_none() && !self.chunk.is_empty()).then_some(&self.chunk[..])
    }

    /// The whole output, if it is in one piece.
    #[cfg(any(test, unix))]
    pub(crate) fn single(&self) -> Option<&[u8]> {
        let Some(backlog) = self.backlog.as_deref() else {
            return self.chunk();
        };
        let alone = backlog.queue.len() == 1 && self.chunk.is_empty() && backlog.is_plain();
        let only = backlog.queue.front().filter(|_| alone)?;
        only.frame.bytes().get(backlog.written..)
    }

    /// Records that `count` bytes of [`single`](Self::single) are written.
    #[cfg(any(test, unix))]
    pub(crate) fn advance_single(&mut self, count: usize, ledger: &Arc<Ledger>) {
        if self.backlog.is_none() {
            self.advance_chunk(count, ledger);
        } else {
            self.advance(count);
        }
    }

    /// Records that `count` bytes of the chunk are written; the rest moves to the queue.
    pub(crate) fn advance_chunk(&mut self, count: usize, ledger: &Arc<Ledger>) {
        if count == self.chunk.len() {
            self.chunk.clear();
            (self.chunk_messages, self.chunk_asked) = (0, 0);
            return;
        }
        self.seal(ledger);
        if let Some(backlog) = &mut self.backlog {
            backlog.written = count;
        }
    }

    /// Fills `slices` with the front of the queue; returns their number, which is 0 if a frame that is being compressed
    /// holds back the rest.
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut used = 0;
        let Some(backlog) = self.backlog.as_deref() else {
            return used;
        };
        let backlog = backlog.ahead.as_deref().unwrap_or(backlog);
        let ready = slices.len().min(backlog.ready());
        let slices = slices.split_at_mut(ready).0;
        let mut skip = backlog.written;
        for (slice, entry) in slices.iter_mut().zip(&backlog.queue) {
            *slice = IoSlice::new(entry.frame.bytes().get(skip..).unwrap_or_default());
            skip = 0;
            used += 1;
        }
        used
    }

    /// Records that `count` bytes from the front of the queue are written.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        let Some(backlog) = self.backlog.as_deref_mut() else {
            return;
        };
        if backlog.advance(count) {
            self.backlog = None;
        }
    }

    /// Bytes that are not written yet.
    pub(crate) fn unwritten(&self) -> usize {
        self.queued_bytes() + self.chunk.len()
    }

    /// Bytes in the chunk.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk.len()
    }

    /// Whether everything is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.backlog.is_none() && self.chunk.is_empty()
    }

    /// Whether output waits for the kernel.
    pub(crate) fn is_backlogged(&self) -> bool {
        let backlog = self.backlog.as_deref();
        backlog.is_some_and(Backlog::has_output)
    }

    /// Bytes in the queue that are not written yet.
    fn queued_bytes(&self) -> usize {
        let backlog = self.backlog.as_deref();
        backlog.map_or(0, Backlog::unwritten)
    }

    /// Entries in the queue.
    pub(crate) fn entries(&self) -> usize {
        let backlog = self.backlog.as_deref();
        backlog.map_or(0, Backlog::entries)
    }

    /// The charge: the length of each queued entry and [`ENTRY_CHARGE`] for each.
    pub(crate) fn charge(&self) -> usize {
        self.queued_bytes() + self.entries() * ENTRY_CHARGE
    }

    /// Whether what waits behind the entry that is being written exceeds a limit. That entry may be of any length:
    /// writing it takes time that does not depend on the reader alone.
    pub(crate) fn is_over(&self, limits: &GatewayLimits) -> bool {
        let backlog = self.backlog.as_deref();
        backlog.is_some_and(|backlog| backlog.is_over(limits))
    }

    /// Applies a dropping policy until the limits hold or nothing is left that may be dropped; returns the number of
    /// dropped messages.
    pub(crate) fn drop_excess(&mut self, limits: &GatewayLimits) -> u64 {
        // the entry that is being written stays, so the queue does not become empty
        let backlog = self.backlog.as_deref_mut();
        backlog.map_or(0, |backlog| backlog.drop_excess(limits))
    }

    /// Drops everything except the entry that was begun. The stream ends there, so that no message is missing in
    /// between; returns the number of dropped messages.
    pub(crate) fn truncate(&mut self) -> u64 {
        let mut dropped = self.messages_in_chunk();
        (self.chunk, self.chunk_messages, self.chunk_asked) = (Vec::new(), 0, 0);
        if let Some(backlog) = self.backlog.as_deref_mut() {
            dropped += backlog.truncate();
            if backlog.queue.is_empty() {
                self.backlog = None;
            }
        }
        dropped
    }

    /// Messages that are not written yet.
    pub(crate) fn messages(&self) -> u64 {
        let queued = self.backlog.as_deref().map_or(0, Backlog::all_messages);
        u64::from(queued) + self.messages_in_chunk()
    }

    /// The messages in the chunk. A message may have no bytes, and then it waits for nothing.
    fn messages_in_chunk(&self) -> u64 {
        if self.chunk.is_empty() {
            return 0;
        }
        u64::from(self.chunk_messages)
    }

    /// Whether the chunk is to be written before the turn ends.
    pub(crate) fn wants_flush(&self) -> bool {
        self.chunk.len() > CHUNK_BYTES
    }

    /// Appends a message, or what has 0 messages; then whether it is written between the parts of a message.
    #[inline]
    fn append_counted<const MESSAGES: u32, const BETWEEN: bool>(
        &mut self,
        ledger: &Arc<Ledger>,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let asked = |bytes: usize| {
            let is_message = MESSAGES > 0;
            if is_message { 0 } else { narrow(bytes) }
        };
        if self.backlog.is_none() && self.chunk.len() <= CHUNK_BYTES {
            let before = self.chunk.len();
            encode(&mut self.chunk);
            self.chunk_messages += MESSAGES;
            let asked = asked(self.chunk.len() - before);
            self.chunk_asked = self.chunk_asked.saturating_add(asked);
            return;
        }
        self.seal(ledger);
        let mut bytes = Vec::new();
        encode(&mut bytes);
        let entry = Entry {
            asked: asked(bytes.len()),
            frame: Frame::new(bytes, ledger),
            messages: MESSAGES,
        };
        if BETWEEN {
            self.push_between(entry);
        } else {
            self.push(entry);
        }
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        self.backlog.get_or_insert_default().push(entry);
    }
}

/// Narrows a number of bytes, which in an outbox never comes near the limit.
fn narrow(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Shared frames up to this size are copied into the chunk of a connection that keeps up, because one contiguous write
/// costs the kernel less than many small pieces.
const COPY_BYTES: usize = 2048;

/// A chunk of this size is written before the turn ends.
const CHUNK_BYTES: usize = 64 * 1024;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod model;

#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod parts_tests;

#[cfg(test)]
mod tests;
