//! The queue of an outbox that the kernel has not accepted: entries by reference, their counts, and the policies that drop
//! some of them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Outbox;
use super::lates::Lates;
use crate::frame::{Frame, Late, Ledger, Outcome};
use crate::limits::{ENTRY_CHARGE, GatewayLimits, OutboxPolicy};

/// What is queued.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pub(super) queue: VecDeque<Entry>,
    /// Bytes of the first entry that are already written.
    pub(super) written: usize,
    /// Bytes in the queue, including the written part of the first entry.
    pub(super) bytes: usize,
    pub(super) messages: u32,
    /// Bytes in the queue that the peer or the protocol asked for. Input limits them, so they do not count as output
    /// that the peer fails to read.
    pub(super) asked: u32,
    /// The entries whose frames are being compressed, if there are any. Until then they have the uncompressed frame, so
    /// that their charge never rises.
    pub(super) lates: Option<Box<Lates>>,
    /// While a message is sent in parts: what may be written before its end, with counts of its own. Everything above
    /// then waits for the end.
    pub(super) ahead: Option<Box<Backlog>>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) frame: Frame,
    /// The number of messages; 0 for a control frame or a part of something longer, which are never dropped.
    pub(super) messages: u32,
    /// Bytes of control frames.
    pub(super) asked: u32,
}

impl Backlog {
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        self.bytes += entry.frame.len();
        self.messages += entry.messages;
        self.asked = self.asked.saturating_add(entry.asked);
        self.queue.push_back(entry);
    }

    /// Like [`push`](Self::push), for an entry whose frame is being compressed.
    #[cold]
    pub(super) fn push_late(&mut self, entry: Entry, late: Late) {
        let lates = self.lates.get_or_insert_default();
        lates.push(self.queue.len(), late);
        self.push(entry);
    }

    /// Replaces the entries of a frame that is made now. Its `outcome` is never longer than what they have.
    pub(super) fn settle(&mut self, late: &Late, outcome: &Outcome, ledger: &Arc<Ledger>) {
        if let Some(ahead) = &mut self.ahead {
            ahead.settle(late, outcome, ledger);
        }
        let Some(lates) = self.lates.as_deref_mut() else {
            return;
        };
        for index in lates.take(late) {
            if let (Some(entry), Outcome::Frame(frame)) = (self.queue.get_mut(index), outcome) {
                frame.count(ledger);
                self.bytes = self.bytes + frame.len() - entry.frame.len();
                entry.frame = frame.clone();
            }
        }
        self.drop_empty();
    }

    pub(super) fn drop_empty(&mut self) {
        if self.lates.as_deref().is_some_and(Lates::is_empty) {
            self.lates = None;
        }
    }

    /// The number of entries that may be written now, at the front of the queue.
    pub(super) fn ready(&self) -> usize {
        self.lates.as_deref().map_or(usize::MAX, Lates::first)
    }

    /// Whether nothing may be written before a frame is made.
    pub(super) fn is_parked(&self) -> bool {
        match &self.ahead {
            Some(ahead) => ahead.is_parked(),
            None => self.lates.is_some() && self.ready() == 0,
        }
    }

    /// Whether some frame is being compressed.
    pub(super) fn has_lates(&self) -> bool {
        self.lates.is_some() || self.ahead.as_ref().is_some_and(|ahead| ahead.has_lates())
    }

    /// Whether everything may be written, in the order in which it was appended.
    pub(super) fn is_plain(&self) -> bool {
        self.lates.is_none() && self.ahead.is_none()
    }

    /// Records that `count` bytes from the front are written; returns whether nothing is left.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) -> bool {
        if !self.is_plain() {
            return self.advance_slowly(count);
        }
        self.forget_written(count)
    }

    #[cold]
    fn advance_slowly(&mut self, count: usize) -> bool {
        if let Some(ahead) = &mut self.ahead {
            // the message in parts is left
            ahead.advance(count);
            return false;
        }
        let before = self.queue.len();
        let is_empty = self.forget_written(count);
        let left = before - self.queue.len();
        if let Some(lates) = self.lates.as_deref_mut() {
            lates.leave(left);
        }
        is_empty
    }

    #[inline]
    fn forget_written(&mut self, count: usize) -> bool {
        self.written += count;
        while let Some(first) = self.queue.front() {
            let length = first.frame.len();
            if self.written < length {
                break;
            }
            self.written -= length;
            if let Some(entry) = self.queue.pop_front() {
                self.forget(&entry);
            }
        }
        self.queue.is_empty()
    }

    pub(super) fn is_over(&self, limits: &GatewayLimits) -> bool {
        if self.ahead.is_some() {
            return self.is_over_in_parts(limits);
        }
        let Some(first) = self.queue.front() else {
            return false;
        };
        let asked = wide(self.asked).saturating_sub(wide(first.asked));
        let bytes = self.bytes - first.frame.len() - asked;
        let charge = bytes + (self.queue.len() - 1) * ENTRY_CHARGE;
        charge > limits.outbox_bytes + ENTRY_CHARGE
            || wide(self.messages - first.messages) > limits.outbox_frames
    }

    pub(super) fn drop_excess(&mut self, limits: &GatewayLimits) -> u64 {
        let mut dropped = 0;
        while self.is_over(limits) {
            let oldest = limits.outbox_policy == OutboxPolicy::DropOldest;
            let messages = if self.ahead.is_some() {
                self.drop_one_in_parts(oldest)
            } else {
                // the entry that is being written stays
                self.drop_one(1, oldest).map(|(_, entry)| entry.messages)
            };
            let Some(messages) = messages else {
                break;
            };
            dropped += u64::from(messages);
        }
        dropped
    }

    /// Drops the oldest or newest message from this index on; returns its entry, and the index that this had. Control
    /// frames and parts are never dropped.
    pub(super) fn drop_one(&mut self, from: usize, oldest: bool) -> Option<(usize, Entry)> {
        let droppable = |&index: &usize| {
            let entry = &self.queue[index];
            entry.messages > 0 && entry.asked == 0
        };
        let mut entries = from..self.queue.len();
        let index = if oldest {
            entries.find(droppable)
        } else {
            entries.rfind(droppable)
        };
        let index = index?;
        let entry = self.queue.remove(index)?;
        if let Some(lates) = self.lates.as_deref_mut() {
            lates.remove(index);
            self.drop_empty();
        }
        self.forget(&entry);
        Some((index, entry))
    }

    /// Drops every entry but the one that was begun; returns the number of dropped messages.
    pub(super) fn truncate(&mut self) -> u64 {
        let mut dropped = self.cut_parts();
        // an entry that was begun is none of them
        self.lates = None;
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

    #[inline]
    pub(super) fn forget(&mut self, entry: &Entry) {
        self.bytes -= entry.frame.len();
        self.messages -= entry.messages;
        self.asked = self.asked.saturating_sub(entry.asked);
    }
}

impl Outbox {
    /// The [charge](Self::charge) without the entry that is being written.
    pub(crate) fn charge_behind(&self) -> usize {
        let backlog = self.backlog.as_deref();
        let first = backlog.filter(|backlog| backlog.ahead.is_none());
        let first = first.and_then(|backlog| {
            let left = backlog.queue.front()?.frame.len() - backlog.written;
            Some(left + ENTRY_CHARGE)
        });
        self.charge() - first.unwrap_or_default()
    }
}

pub(super) fn wide(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
