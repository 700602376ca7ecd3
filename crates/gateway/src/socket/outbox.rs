//! A socket's outbox: output that the kernel has not accepted yet. While the connection keeps up, the frames of the
//! current turn are gathered in one private chunk; once a write falls short, everything behind it is queued by
//! reference. Pure: writes nothing itself.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use crate::frame::{Frame, Ledger};
use crate::limits::{ENTRY_CHARGE, GatewayLimits, OutboxPolicy};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Entry>,
    /// Bytes of the first entry that are already written.
    written: usize,
    /// Bytes in the queue, including the written part of the first entry.
    bytes: usize,
    messages: u32,
    /// Bytes in the queue that the peer or the protocol asked for. Input limits them, so they do not count as output
    /// that the peer fails to read.
    asked: u32,
    chunk: Vec<u8>,
    chunk_messages: u32,
    chunk_asked: u32,
}

#[derive(Debug)]
struct Entry {
    frame: Frame,
    /// The number of messages; 0 for a control frame or a part of something longer, which are never dropped.
    messages: u32,
    /// Bytes of control frames.
    asked: u32,
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
        self.append_counted::<1>(ledger, encode);
    }

    /// Appends a control frame, encoded by `encode`.
    pub(crate) fn append_control(
        &mut self,
        ledger: &Arc<Ledger>,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        self.append_counted::<0>(ledger, encode);
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
    pub(crate) fn append_frame(&mut self, ledger: &Arc<Ledger>, frame: &Frame, messages: u32) {
        if self.queue.is_empty() && frame.len() <= COPY_BYTES && self.chunk.len() <= CHUNK_BYTES {
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
        if self.queue.is_empty() && bytes.len() <= COPY_BYTES && self.chunk.len() <= CHUNK_BYTES {
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
        (self.queue.is_empty() && !self.chunk.is_empty()).then_some(&self.chunk[..])
    }

    /// The whole output, if it is in one piece.
    #[cfg(any(test, all(target_os = "linux", target_pointer_width = "64")))]
    pub(crate) fn single(&self) -> Option<&[u8]> {
        let Some(only) = self.queue.front() else {
            return self.chunk();
        };
        let alone = self.queue.len() == 1 && self.chunk.is_empty();
        alone.then(|| only.frame.bytes().get(self.written..))?
    }

    /// Records that `count` bytes of [`single`](Self::single) are written.
    #[cfg(any(test, all(target_os = "linux", target_pointer_width = "64")))]
    pub(crate) fn advance_single(&mut self, count: usize, ledger: &Arc<Ledger>) {
        if self.queue.is_empty() {
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
        self.written = count;
    }

    /// Fills `slices` with the front of the queue; returns their number.
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut used = 0;
        let mut skip = self.written;
        for (slice, entry) in slices.iter_mut().zip(&self.queue) {
            *slice = IoSlice::new(entry.frame.bytes().get(skip..).unwrap_or_default());
            skip = 0;
            used += 1;
        }
        used
    }

    /// Records that `count` bytes from the front of the queue are written.
    pub(crate) fn advance(&mut self, count: usize) {
        self.written += count;
        while let Some(first) = self.queue.front() {
            let length = first.frame.len();
            if self.written < length {
                break;
            }
            self.written -= length;
            self.pop_front();
        }
        if self.queue.is_empty() && self.queue.capacity() > KEPT_ENTRIES {
            self.queue = VecDeque::new();
        }
    }

    /// Bytes that are not written yet.
    pub(crate) fn unwritten(&self) -> usize {
        self.bytes - self.written + self.chunk.len()
    }

    /// Bytes in the chunk.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk.len()
    }

    /// Whether everything is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.chunk.is_empty()
    }

    /// Whether output waits for the kernel.
    pub(crate) fn is_backlogged(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Entries in the queue.
    pub(crate) fn entries(&self) -> usize {
        self.queue.len()
    }

    /// The charge: the length of each queued entry and [`ENTRY_CHARGE`] for each.
    pub(crate) fn charge(&self) -> usize {
        self.bytes - self.written + self.queue.len() * ENTRY_CHARGE
    }

    /// Whether what waits behind the entry that is being written exceeds a limit. That entry may be of any length:
    /// writing it takes time that does not depend on the reader alone.
    pub(crate) fn is_over(&self, limits: &GatewayLimits) -> bool {
        let Some(first) = self.queue.front() else {
            return false;
        };
        let asked = wide(self.asked).saturating_sub(wide(first.asked));
        let bytes = self.bytes - first.frame.len() - asked;
        let charge = bytes + (self.queue.len() - 1) * ENTRY_CHARGE;
        charge > limits.outbox_bytes + ENTRY_CHARGE
            || wide(self.messages - first.messages) > limits.outbox_frames
    }

    /// Applies a dropping policy until the limits hold or nothing is left that may be dropped; returns the number of
    /// dropped messages.
    pub(crate) fn drop_excess(&mut self, limits: &GatewayLimits) -> u64 {
        let mut dropped = 0;
        while self.is_over(limits) {
            // the entry that is being written stays, and control frames are never dropped
            let mut behind = 1..self.queue.len();
            let droppable = |&index: &usize| {
                let entry = &self.queue[index];
                entry.messages > 0 && entry.asked == 0
            };
            let index = if limits.outbox_policy == OutboxPolicy::DropOldest {
                behind.find(droppable)
            } else {
                behind.rfind(droppable)
            };
            let Some(entry) = index.and_then(|index| self.queue.remove(index)) else {
                break;
            };
            self.forget(&entry);
            dropped += u64::from(entry.messages);
        }
        dropped
    }

    /// Drops everything except the entry that was begun. The stream ends there, so that no message is missing in
    /// between; returns the number of dropped messages.
    pub(crate) fn truncate(&mut self) -> u64 {
        let mut dropped = self.messages_in_chunk();
        (self.chunk, self.chunk_messages, self.chunk_asked) = (Vec::new(), 0, 0);
        let keep = usize::from(self.written > 0);
        while self.queue.len() > keep {
            if let Some(entry) = self.queue.pop_back() {
                self.forget(&entry);
                dropped += u64::from(entry.messages);
            }
        }
        self.queue.shrink_to_fit();
        dropped
    }

    /// Messages that are not written yet.
    pub(crate) fn messages(&self) -> u64 {
        u64::from(self.messages) + self.messages_in_chunk()
    }

    /// The messages in the chunk. A message may have no bytes, and then it waits for nothing.
    fn messages_in_chunk(&self) -> u64 {
        if self.chunk.is_empty() {
            return 0;
        }
        u64::from(self.chunk_messages)
    }

    /// Whether the chunk is large enough to be written before the turn ends.
    pub(crate) fn wants_flush(&self) -> bool {
        self.chunk.len() > CHUNK_BYTES
    }

    /// Appends a message or a control frame, which has 0 messages.
    #[inline]
    fn append_counted<const MESSAGES: u32>(
        &mut self,
        ledger: &Arc<Ledger>,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let asked = |bytes: usize| {
            let is_message = MESSAGES > 0;
            if is_message { 0 } else { narrow(bytes) }
        };
        if self.queue.is_empty() && self.chunk.len() <= CHUNK_BYTES {
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
        self.push(Entry {
            asked: asked(bytes.len()),
            frame: Frame::new(bytes, ledger),
            messages: MESSAGES,
        });
    }

    fn push(&mut self, entry: Entry) {
        self.bytes += entry.frame.len();
        self.messages += entry.messages;
        self.asked = self.asked.saturating_add(entry.asked);
        self.queue.push_back(entry);
    }

    fn pop_front(&mut self) {
        if let Some(entry) = self.queue.pop_front() {
            self.forget(&entry);
        }
    }

    fn forget(&mut self, entry: &Entry) {
        self.bytes -= entry.frame.len();
        self.messages -= entry.messages;
        self.asked = self.asked.saturating_sub(entry.asked);
    }
}

/// Narrows a number of bytes, which in an outbox never comes near the limit.
fn narrow(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn wide(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Shared frames up to this size are copied into the chunk of a connection that keeps up, because one contiguous write
/// costs the kernel less than many small pieces.
const COPY_BYTES: usize = 2048;

/// A chunk of this size is written before the turn ends.
const CHUNK_BYTES: usize = 64 * 1024;

/// Queue capacity that an empty outbox keeps.
const KEPT_ENTRIES: usize = 0;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod model;

#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod tests;
