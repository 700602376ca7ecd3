//! Reading a channel, without I/O: from the newest record back to the first that is wanted, many records at a time, because
//! each names the ones before it. Owns what was read.

use std::collections::VecDeque;

use super::super::super::feed::StoreError;
use super::super::super::page::Page;
use super::super::super::publication::{HEAD_BYTES, Id, Published};
use super::super::super::requests::Reading;
use super::super::super::scripts::Cut;
use super::super::answers::Found;
use super::super::record::{Head, Record};
use super::Place;
use super::search::{Search, Step};

/// See the module.
pub(super) struct Job {
    pub(super) channel: Box<[u8]>,
    /// The place of its stream.
    pub(super) stream: usize,
    why: Why,
    wanted: Wanted,
    /// The newest record, once it is known.
    head: Option<Head>,
    /// What is wanted ends far in front of that: where it is read back from is not known yet.
    search: Option<Search>,
    /// The first message that is searched for, and the newest record, as it may have to be read back from there after all.
    newest: Option<(u64, Record)>,
    /// What names the message that is next, going back.
    chain: Id,
    messages: VecDeque<Published>,
    bytes: usize,
    /// The records that were asked for together, the newest first; `None`: it has not come.
    asked: Vec<Option<Found>>,
    /// How often the newest record was asked for.
    attempts: u32,
    /// The server has accepted the record that says where the numbers are.
    pub(super) is_marked: bool,
}

/// For whom a job reads.
pub(super) enum Why {
    Follow(Place),
    Node(Reading),
    /// Publications wait for the numbers to begin anew.
    Begin,
}

/// Which messages are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) cut: Cut,
    /// Older messages are not kept.
    pub(super) messages: u64,
    /// Messages from before this time are not kept.
    pub(super) since_ms: u64,
    pub(super) most_bytes: usize,
}

/// What a job needs next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Other answers, for which it waits.
    Wait,
    /// The records with these numbers.
    Records(Vec<u64>),
    /// The first record from this number on.
    From(u64),
    /// Nothing: everything was read.
    Done,
}

impl Job {
    pub(super) fn new(channel: Box<[u8]>, stream: usize, why: Why, wanted: Wanted) -> Self {
        Self {
            channel,
            stream,
            why,
            wanted,
            head: None,
            search: None,
            newest: None,
            chain: Id::default(),
            messages: VecDeque::new(),
            bytes: 0,
            asked: Vec::new(),
            attempts: 0,
            is_marked: false,
        }
    }

    /// Whether the newest record may be asked for once more.
    pub(super) fn may_ask(&mut self) -> bool {
        self.attempts += 1;
        self.attempts <= MOST_ATTEMPTS
    }

    /// The newest record. What is wanted is read from there back.
    pub(super) fn begin(&mut self, head: Head, record: &Record) -> Next {
        self.chain = head.state.id;
        self.messages.clear();
        self.bytes = 0;
        let from = self.wanted.cut.from.unwrap_or(0).max(self.wanted.cut.floor);
        let is_empty = from > head.state.offset || self.wanted.cut.most == 0;
        let (sequence, is_foreign) = (head.sequence, head.is_foreign);
        // what is in front of that is not kept
        let oldest = (head.state.offset.saturating_add(1)).saturating_sub(self.wanted.messages);
        let first = from.max(oldest).max(1);
        self.head = Some(head);
        if is_empty {
            return Next::Done;
        }
        (self.search, self.newest) = (None, None);
        if self.is_page() && !self.wanted.cut.is_reverse && !is_foreign {
            let most = (self.wanted.cut.most, self.wanted.most_bytes);
            self.search = Search::new(first, most, (sequence, record));
        }
        let Some(search) = &self.search else {
            return self.read_back(record);
        };
        self.newest = Some((first, record.clone()));
        Next::From(search.begin())
    }

    /// What was found at a number that was asked for by [`Next::From`].
    pub(super) fn searched(&mut self, found: Found) -> Next {
        let Some(search) = &mut self.search else {
            return Next::Done;
        };
        let step = match found {
            Found::Record(sequence, record) => search.found(sequence, record),
            // among messages of other programs it goes the long way
            Found::Nothing | Found::Foreign(_) | Found::Failed(_) => Step::Nothing,
        };
        if let Step::Ask(sequence) = step {
            return Next::From(sequence);
        }
        self.search = None;
        let epoch = self.head.as_ref().map(|head| head.state.epoch);
        match step {
            // what is behind a record of another epoch may not belong to it
            Step::Found(record) if Some(record.state.epoch) == epoch => {
                self.chain = record.state.id;
                self.read_back(&record)
            }
            _ => self.done(),
        }
    }

    fn read_back(&mut self, record: &Record) -> Next {
        if !self.take(record) {
            return self.done();
        }
        self.ask(&record.before)
    }

    /// Nothing in front is wanted. If the first message is not there that was searched for, it is too old, and the first ones
    /// that are kept are found from the newest record back.
    fn done(&mut self) -> Next {
        let first = self.messages.front().map(|message| message.entry.offset);
        let newest = self.newest.take().filter(|(from, _)| first != Some(*from));
        let (Some((_, newest)), Some(head)) = (newest, &self.head) else {
            return Next::Done;
        };
        self.chain = head.state.id;
        self.messages.clear();
        self.bytes = 0;
        self.read_back(&newest)
    }

    /// One of the records that were asked for.
    pub(super) fn found(&mut self, place: usize, found: Found) -> Next {
        if let Some(asked) = self.asked.get_mut(place) {
            *asked = Some(found);
        }
        if self.asked.iter().any(Option::is_none) {
            return Next::Wait;
        }
        let mut before = Vec::new();
        for found in std::mem::take(&mut self.asked) {
            match found {
                Some(Found::Record(_, record)) if self.take(&record) => before = record.before,
                // it is not kept any more, or nothing that is wanted is in front of it
                _ => return self.done(),
            }
        }
        self.ask(&before)
    }

    fn ask(&mut self, before: &[u64]) -> Next {
        if before.is_empty() {
            return self.done();
        }
        // records may be long
        let average = self.bytes / self.messages.len().max(1);
        let most = MOST_ASKED_BYTES / average.max(1);
        let count = before.len().min(most.max(1));
        self.asked.resize_with(count, || None);
        Next::Records(before.get(..count).unwrap_or(before).to_vec())
    }

    /// Takes the messages of a record that are wanted. False: nothing in front of it is.
    fn take(&mut self, record: &Record) -> bool {
        let newest = self.head.as_ref().map_or(0, |head| head.state.offset);
        let Wanted {
            cut,
            messages,
            since_ms,
            most_bytes,
        } = self.wanted;
        for message in record.messages.iter().rev() {
            let offset = message.entry.offset;
            let is_kept = offset.saturating_add(messages) > newest
                && message.entry.unix_ms > since_ms
                && message.id == self.chain;
            if !is_kept || offset < cut.floor || (!cut.is_reverse && Some(offset) < cut.from) {
                return false;
            }
            self.chain = message.before;
            self.bytes += message.entry.payload.len() + HEAD_BYTES;
            self.messages.push_front(message.clone());
            let is_full = self.bytes >= most_bytes || self.messages.len() >= cut.most;
            if is_full && (cut.is_reverse || self.is_following()) {
                return false;
            }
            // the first ones are wanted
            while (self.bytes > most_bytes && self.messages.len() > 1)
                || self.messages.len() > cut.most
            {
                let Some(newest) = self.messages.pop_back() else {
                    break;
                };
                self.bytes -= newest.entry.payload.len() + HEAD_BYTES;
            }
        }
        true
    }

    /// Whether it reads for a node that does not follow the channel thereby.
    pub(super) fn is_page(&self) -> bool {
        matches!(self.why, Why::Node(_))
    }

    fn is_following(&self) -> bool {
        matches!(self.why, Why::Follow(_))
    }

    /// Who follows the channel, if the job reads for one that does.
    pub(super) fn place(&self) -> Option<&Place> {
        match &self.why {
            Why::Follow(place) => Some(place),
            Why::Node(_) | Why::Begin => None,
        }
    }

    /// Whether publications wait for it.
    pub(super) fn is_beginning(&self) -> bool {
        matches!(self.why, Why::Begin)
    }

    /// The newest record, if it is known.
    pub(super) fn known(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Who asked, and what was read.
    pub(super) fn finish(self) -> (Why, Option<Page>) {
        let is_reverse = self.wanted.cut.is_reverse;
        let page = self.head.map(|head| {
            let mut messages: Vec<_> = self.messages.into();
            if is_reverse {
                messages.reverse();
            }
            Page {
                epoch: head.state.epoch,
                newest: head.state.offset,
                last: head.state.id,
                next: None,
                messages,
                foreign: 0,
            }
        });
        (self.why, page)
    }

    /// What a node waits for.
    pub(super) fn reading(self) -> Option<Reading> {
        match self.why {
            Why::Node(reading) => Some(reading),
            Why::Follow(_) | Why::Begin => None,
        }
    }

    /// Ends it without a result for a node. Returns who follows the channel.
    pub(super) fn fail(self, error: StoreError) -> Option<Place> {
        match self.why {
            Why::Node(reading) => {
                reading.fail(error);
                None
            }
            Why::Follow(place) => Some(place),
            Why::Begin => None,
        }
    }
}

/// About this many bytes are asked for at a time.
const MOST_ASKED_BYTES: usize = 1024 * 1024;

/// How often a channel's newest record is asked for before the job fails: others may be faster in beginning its numbers.
const MOST_ATTEMPTS: u32 = 32;

#[cfg(test)]
mod tests;
