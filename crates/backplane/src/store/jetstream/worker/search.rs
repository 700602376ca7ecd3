//! Finding the record at which a page ends that is far in front of the newest one. A record names only a few of those before
//! it, and the server finds the next one of a channel from any number of the stream on, so the stream is halved until the
//! record is found. What lies behind it is not checked: those who follow the channel do that, and renew the epoch. Pure.

use super::super::super::publication::HEAD_BYTES;
use super::super::record::Record;

/// See the module.
#[derive(Debug)]
pub(super) struct Search {
    /// The first message that is wanted.
    from: u64,
    most_bytes: usize,
    /// The last message that is wanted.
    last: u64,
    /// The record is at or behind the first number, and in front of the second.
    range: (u64, u64),
    /// The first known record with the last message, or one behind it.
    best: Option<Record>,
    /// It is known how long messages are.
    is_measured: bool,
}

/// What is next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The first record from this number on.
    Ask(u64),
    /// To read back from this record.
    Found(Record),
    /// To read back from the newest record.
    Nothing,
}

impl Search {
    /// `None`: the newest record is near enough. `from`: the first message that is wanted; `most`: how many are, and their
    /// bytes.
    pub(super) fn new(
        from: u64,
        (most, most_bytes): (usize, usize),
        (sequence, newest): (u64, &Record),
    ) -> Option<Self> {
        let mut search = Self {
            from,
            most_bytes,
            last: from.saturating_add(wide(most).max(1) - 1),
            range: (1, sequence),
            best: None,
            is_measured: false,
        };
        search.shorten(newest);
        // the messages that are wanted may be longer or shorter than the newest
        search.is_measured = false;
        let is_far = newest.state.offset.saturating_sub(search.last) > NEAR;
        is_far.then_some(search)
    }

    /// The number to ask for first.
    pub(super) fn begin(&self) -> u64 {
        self.middle()
    }

    /// The first record from the number on that was asked for.
    pub(super) fn found(&mut self, sequence: u64, record: Record) -> Step {
        let asked = self.middle();
        let (first, end) = self.range;
        if record.state.offset < self.last {
            self.range = (sequence.saturating_add(1).max(asked + 1), end);
        } else {
            if !self.is_measured {
                self.shorten(&record);
            }
            let first_of_it = record.messages.first();
            let has_it = first_of_it.is_some_and(|message| message.entry.offset <= self.last);
            self.best = Some(record);
            if has_it {
                return self.end();
            }
            self.range = (first, asked);
        }
        if self.range.0 < self.range.1 {
            Step::Ask(self.middle())
        } else {
            self.end()
        }
    }

    /// The record that it ends with.
    fn end(&mut self) -> Step {
        self.best.take().map_or(Step::Nothing, Step::Found)
    }

    fn middle(&self) -> u64 {
        let (first, end) = self.range;
        first + (end.saturating_sub(first)) / 2
    }

    /// Wants no more messages than fit if they are as long as those of a record.
    fn shorten(&mut self, record: &Record) {
        let messages = record.messages.iter();
        let bytes: usize = messages
            .map(|message| message.entry.payload.len() + HEAD_BYTES)
            .sum();
        let Some(average) = bytes.checked_div(record.messages.len()) else {
            return;
        };
        let fits = wide(self.most_bytes / average.max(1));
        self.last = self.last.min(self.from.saturating_add(fits));
        self.is_measured = true;
    }
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Up to so many messages in front of the newest, all are read instead: that takes fewer requests.
const NEAR: u64 = 256;

#[cfg(test)]
mod tests;
