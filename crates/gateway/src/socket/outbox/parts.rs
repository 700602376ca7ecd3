//! Messages that are sent in parts while they are made: the parts are written as they come, with control frames between
//! them, and everything else waits for the end of the message.

use std::sync::Arc;

use super::backlog::{Backlog, Entry, wide};
use super::lates::Lates;
use super::notices::Spot;
use super::{Outbox, narrow};
use crate::frame::{Frame, Ledger};
use crate::limits::{ENTRY_CHARGE, GatewayLimits};

impl Outbox {
    /// Begins a message in parts, behind everything that was appended before. False: another one has not ended; this one
    /// has its turn when [`end_parts`](Self::end_parts) says so.
    pub(crate) fn begin_parts(&mut self, ledger: &Arc<Ledger>) -> bool {
        self.seal(ledger);
        let backlog = self.backlog.get_or_insert_default();
        if backlog.ahead.is_none() {
            let ahead = std::mem::take(&mut **backlog);
            backlog.ahead = Some(Box::new(ahead));
            return true;
        }
        // an entry without bytes marks its place
        backlog.push(Entry {
            frame: Frame::new(Vec::new(), ledger),
            messages: 0,
            asked: 0,
        });
        false
    }

    /// Appends a part of the message whose turn it is. Its sender waits for room, so it does not count as output that the
    /// peer fails to read, and it is never dropped.
    pub(crate) fn append_to_parts(
        &mut self,
        ledger: &Arc<Ledger>,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        self.push_between(Entry {
            asked: narrow(bytes.len()),
            frame: Frame::new(bytes, ledger),
            messages: 0,
        });
    }

    /// Appends an answer to the peer, encoded by `encode`. It is no message that counts, and keeps its place like one.
    pub(crate) fn append_reply(&mut self, ledger: &Arc<Ledger>, encode: impl FnOnce(&mut Vec<u8>)) {
        self.append_counted::<0, false>(ledger, encode);
    }

    /// Appends an entry that does not wait for the end of a message in parts.
    pub(super) fn push_between(&mut self, entry: Entry) {
        let backlog = self.backlog.get_or_insert_default();
        match &mut backlog.ahead {
            Some(ahead) => ahead.push(entry),
            None => backlog.push(entry),
        }
    }

    /// Ends the message in parts: what waited may be written, up to the next one. Returns whether there is a next one,
    /// whose turn it is now.
    pub(crate) fn end_parts(&mut self) -> bool {
        let Some(backlog) = self.backlog.as_deref_mut() else {
            return false;
        };
        let has_next = backlog.end_parts();
        self.drop_empty();
        has_next
    }

    /// Drops what waits for the end of a message in parts, because nothing is sent any more; returns the number of
    /// messages.
    pub(crate) fn cut_parts(&mut self) -> u64 {
        let backlog = self.backlog.as_deref_mut();
        let dropped = backlog.map_or(0, Backlog::cut_parts);
        self.drop_empty();
        dropped
    }

    /// The charge of what may be written now, without what waits for the end of a message in parts.
    pub(crate) fn charge_of_parts(&self) -> usize {
        let backlog = self.backlog.as_deref();
        backlog.map_or(0, |backlog| {
            let ready = backlog.ahead.as_deref().unwrap_or(backlog);
            ready.unwritten() + ready.entries() * ENTRY_CHARGE
        })
    }

    pub(super) fn drop_empty(&mut self) {
        let backlog = self.backlog.as_deref();
        if backlog.is_some_and(|backlog| backlog.queue.is_empty() && backlog.ahead.is_none()) {
            self.backlog = None;
        }
    }
}

impl Backlog {
    /// Whether something may be written now.
    #[inline]
    pub(super) fn has_output(&self) -> bool {
        let ahead = self.ahead.as_deref();
        ahead.is_none_or(|ahead| !ahead.queue.is_empty())
    }

    pub(super) fn unwritten(&self) -> usize {
        let ahead = self.ahead.as_deref();
        self.bytes - self.written + ahead.map_or(0, Self::unwritten)
    }

    pub(super) fn entries(&self) -> usize {
        let ahead = self.ahead.as_deref();
        self.queue.len() + ahead.map_or(0, Self::entries)
    }

    pub(super) fn all_messages(&self) -> u32 {
        let ahead = self.ahead.as_deref();
        self.messages + ahead.map_or(0, Self::all_messages)
    }

    /// Whether what waits, apart from the entry that is being written, exceeds a limit. Parts and control frames do not
    /// count.
    #[cold]
    pub(super) fn is_over_in_parts(&self, limits: &GatewayLimits) -> bool {
        let Some(ahead) = &self.ahead else {
            return false;
        };
        let (mut bytes, mut entries, mut messages) = (self.bytes, self.queue.len(), self.messages);
        if let Some(first) = ahead.queue.front() {
            let asked = wide(ahead.asked).saturating_sub(wide(first.asked));
            bytes += ahead.bytes - first.frame.len() - asked;
            entries += ahead.queue.len() - 1;
            messages += ahead.messages - first.messages;
        }
        bytes + entries * ENTRY_CHARGE > limits.outbox_bytes + ENTRY_CHARGE
            || wide(messages) > limits.outbox_frames
    }

    /// Like [`drop_one`](Self::drop_one): what waits for the end is newer than what does not.
    #[cold]
    pub(super) fn drop_one_in_parts(&mut self, oldest: bool) -> Option<u32> {
        self.drop_around_parts(oldest)
            .map(|(_, entry)| entry.messages)
    }

    /// The same, with where the entry was.
    pub(super) fn drop_around_parts(&mut self, oldest: bool) -> Option<(Spot, Entry)> {
        let ahead = |(index, entry)| {
            (
                Spot {
                    is_ahead: true,
                    index,
                },
                entry,
            )
        };
        let behind = |(index, entry)| {
            (
                Spot {
                    is_ahead: false,
                    index,
                },
                entry,
            )
        };
        if oldest {
            // the entry that is being written stays
            let first = self.ahead.as_mut()?.drop_one(1, true).map(ahead);
            return first.or_else(|| self.drop_one(0, true).map(behind));
        }
        let last = self.drop_one(0, false).map(behind);
        last.or_else(|| self.ahead.as_mut()?.drop_one(1, false).map(ahead))
    }

    fn end_parts(&mut self) -> bool {
        let Some(mut ahead) = self.ahead.take() else {
            return false;
        };
        while let Some(entry) = self.queue.pop_front() {
            let late = self.lates.as_deref_mut().and_then(Lates::leave_first);
            self.forget(&entry);
            if entry.frame.is_empty() {
                self.drop_empty();
                self.ahead = Some(ahead);
                return true;
            }
            match late {
                Some(late) => ahead.push_late(entry, late),
                None => ahead.push(entry),
            }
        }
        *self = *ahead;
        false
    }

    pub(super) fn cut_parts(&mut self) -> u64 {
        let Some(ahead) = self.ahead.take() else {
            return 0;
        };
        let dropped = u64::from(self.messages);
        *self = *ahead;
        dropped
    }
}
