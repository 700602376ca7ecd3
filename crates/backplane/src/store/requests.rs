//! What a node asks of the store: publications and reads, each answered exactly once. Owns that answer.

use std::sync::Arc;

use millrace_core::{HistoryTerms, Position};

use super::feed::{Append, Appended, Done, Entry, Range, StoreError, StoredPast};
use super::page::Page;
use super::publication::{HEAD_BYTES, Id, Published};
use super::scripts::Cut;
use super::shared::Shared;

/// Calls a function once, at the latest when it is dropped.
pub(super) struct Reply<T>(Option<Done<T>>);

impl<T> Reply<T> {
    pub(super) fn new(done: Done<T>) -> Self {
        Self(Some(done))
    }

    pub(super) fn give(mut self, result: Result<T, StoreError>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done(Err(StoreError::Unknown));
        }
    }
}

/// What a waiting request takes of the bound on bytes, until it is dropped.
pub(super) struct Charge {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Charge {
    /// `None`: too much waits already.
    pub(super) fn take(shared: &Arc<Shared>, bytes: usize) -> Option<Self> {
        shared.take(bytes).then(|| Self {
            shared: Arc::clone(shared),
            bytes,
        })
    }

    /// What is taken.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shared.give_back(self.bytes);
    }
}

/// A publication that is not answered yet.
pub(super) struct Publication {
    pub(super) message: Append,
    pub(super) reply: Reply<Appended>,
    pub(super) charge: Charge,
    /// What names it in the store; the same if it is sent again.
    pub(super) id: Id,
    /// It was sent again because the store did not know the script.
    pub(super) is_again: bool,
}

/// A read that is not answered yet.
pub(super) struct Reading {
    pub(super) channel: Box<[u8]>,
    pub(super) terms: HistoryTerms,
    range: Range,
    /// Where the next page begins; `None`: where the range does.
    cursor: Option<u64>,
    position: Option<Position>,
    entries: Vec<Entry>,
    /// What names the last of the entries, or in reverse the message before it.
    chain: Id,
    bytes: usize,
    reply: Reply<StoredPast>,
    _charge: Charge,
    /// See [`Publication::is_again`].
    pub(super) is_again: bool,
}

impl Reading {
    pub(super) fn new(
        (channel, terms, range): (Box<[u8]>, HistoryTerms, Range),
        done: Done<StoredPast>,
        charge: Charge,
    ) -> Self {
        Self {
            channel,
            terms,
            range,
            cursor: None,
            position: None,
            entries: Vec::new(),
            chain: Id::default(),
            bytes: 0,
            reply: Reply::new(done),
            _charge: charge,
            is_again: false,
        }
    }

    /// Once so many bytes are read, no more are.
    pub(super) fn most_bytes(&self) -> usize {
        self.range.most_bytes.min(MOST_BYTES)
    }

    /// What to read next.
    pub(super) fn cut(&self) -> Cut {
        let floor = self.range.after.saturating_add(1);
        let first = if self.range.is_reverse {
            None
        } else {
            Some(floor)
        };
        Cut {
            from: self.cursor.or(first),
            floor,
            most: self.range.most.saturating_sub(self.entries.len()),
            is_reverse: self.range.is_reverse,
        }
    }

    /// Adds a page, and answers if it was the last one. Otherwise there is more to read.
    pub(super) fn add(mut self, page: Page) -> Option<Self> {
        let position = Position {
            epoch: page.epoch,
            offset: page.newest,
        };
        if let Some(before) = self.position.replace(position)
            && before.epoch != position.epoch
        {
            // the numbers began anew while it was read
            self.entries.clear();
            self.bytes = 0;
        }
        let is_whole = page.messages.into_iter().all(|message| self.push(message));
        let is_enough = self.entries.len() >= self.range.most || self.bytes >= self.most_bytes();
        let next = page.next.filter(|next| self.is_behind(*next));
        if next.is_none() || is_enough || !is_whole {
            self.finish();
            return None;
        }
        self.cursor = next;
        Some(self)
    }

    /// Appends a message. Returns false if it does not belong behind the last one.
    fn push(&mut self, message: Published) -> bool {
        if self.entries.len() >= self.range.most {
            return false;
        }
        let (offset, last) = (message.entry.offset, self.entries.last());
        if self.range.is_reverse {
            if last.is_some_and(|last| last.offset - 1 != offset || message.id != self.chain) {
                return false;
            }
            self.chain = message.before;
        } else {
            let is_next = last.is_none_or(|last| {
                last.offset.checked_add(1) == Some(offset) && message.before == self.chain
            });
            if !is_next {
                // what is in front of a hole is not kept any more
                self.entries.clear();
                self.bytes = 0;
            }
            self.chain = message.id;
        }
        self.bytes += message.entry.payload.len() + HEAD_BYTES;
        self.entries.push(message.entry);
        true
    }

    fn is_behind(&self, next: u64) -> bool {
        match self.cut().from {
            Some(from) if self.range.is_reverse => next < from && next > self.range.after,
            Some(from) => next > from,
            None => next > self.range.after,
        }
    }

    fn finish(self) {
        let Some(position) = self.position else {
            return self.reply.give(Err(StoreError::Refused));
        };
        let entries = self.entries;
        self.reply.give(Ok(StoredPast { position, entries }));
    }

    pub(super) fn fail(self, error: StoreError) {
        self.reply.give(Err(error));
    }
}

/// What a node asked for.
pub(super) enum Command {
    Publish(Publication),
    Read(Reading),
}

impl Command {
    pub(super) fn fail(self, error: StoreError) {
        match self {
            Self::Publish(publication) => publication.reply.give(Err(error)),
            Self::Read(reading) => reading.fail(error),
        }
    }
}

/// The most bytes of an answer, unless its last message goes beyond them.
const MOST_BYTES: usize = 64 * 1024 * 1024;
