//! Following one channel, without I/O: which message is the next, which was missed, and when everything must be read
//! afresh. Owns the decision; knows no link.
//!
//! A message is passed on if its number is the next one and it names the last one as the message before it. Everything
//! else, such as a hole, another epoch or a message that came twice, is answered by reading on from the last one: what is
//! missing is passed on, and if the store does not have it any more, or has other messages under these numbers, all that
//! it has is read afresh.

use std::collections::VecDeque;

use millrace_core::{Epoch, Position};

use super::feed::{Entry, StoredPast};
use super::page::Page;
use super::publication::{HEAD_BYTES, Id, Published};
use super::remembered::Newest;

/// What a follower needs, or passes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A page must be read, which begins where [`Follower::sent`] says.
    Read,
    /// The same, because of a message that was not the next one.
    Repair,
    /// The store has other messages under known numbers: this epoch must end there. A [`Step::Read`] follows, which must
    /// be sent behind it.
    Renew(Epoch),
    /// Everything that the channel has kept.
    Filled(StoredPast),
    /// The next message.
    Next(Entry),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Follower {
    /// The last message that was passed on; `None`: nothing was.
    known: Option<Newest>,
    /// The last message that the node knew before it followed the channel.
    remembered: Option<Newest>,
    reading: Option<Reading>,
    /// What arrived since the page was asked for.
    held: VecDeque<Published>,
    held_bytes: usize,
    /// More arrived than is held back, or the epoch was renewed: what is read must be checked once more.
    is_outdated: bool,
    /// There is no link, or the store refused: nothing is read until it is begun again.
    is_paused: bool,
}

#[derive(Debug)]
struct Reading {
    /// The first offset of the page.
    from: u64,
    is_sent: bool,
    /// What was read of everything that is kept; `None`: only what is missing is read.
    past: Option<Past>,
}

#[derive(Debug, Default)]
struct Past {
    epoch: Option<Epoch>,
    messages: VecDeque<Published>,
    bytes: usize,
}

impl Follower {
    /// Follows a channel of which the node knows this message.
    pub(super) fn remembering(remembered: Option<Newest>) -> Self {
        Self {
            remembered,
            ..Self::default()
        }
    }

    /// Whether it is not known yet what the store has on this link.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.is_paused || self.reading.is_some()
    }

    /// The last message that was passed on.
    pub(super) fn known(&self) -> Option<Newest> {
        self.known
    }

    /// Whether the node knows what the channel has kept.
    pub(super) fn is_filled(&self) -> bool {
        self.known.is_some()
    }

    /// The channel was subscribed to on a new link, or is tried again.
    pub(super) fn begin(&mut self, out: &mut Vec<Step>) {
        self.is_paused = false;
        self.read(out, Step::Read);
    }

    /// The link was lost, or the store refused.
    pub(super) fn lost(&mut self) {
        self.is_paused = true;
        self.reading = None;
        self.release();
    }

    /// A page is asked for now. Returns the offset at which it begins; `None`: none is needed any more.
    pub(super) fn sent(&mut self) -> Option<u64> {
        // the page contains everything that has arrived before
        self.release();
        let reading = self.reading.as_mut()?;
        reading.is_sent = true;
        Some(reading.from)
    }

    /// A message was published.
    pub(super) fn arrived(&mut self, message: Published, out: &mut Vec<Step>) {
        if let Some(reading) = &self.reading {
            // otherwise what is read later contains it
            if reading.is_sent {
                self.hold(message);
            }
        } else if self.known.is_some() && !self.advance(message, out) {
            self.read(out, Step::Repair);
        }
    }

    /// Another node has renewed the epoch.
    pub(super) fn renewed(&mut self, out: &mut Vec<Step>) {
        match &self.reading {
            Some(reading) => self.is_outdated |= reading.is_sent,
            None if self.known.is_some() => self.read(out, Step::Repair),
            None => {}
        }
    }

    /// The page that was asked for.
    pub(super) fn page(&mut self, mut page: Page, out: &mut Vec<Step>) {
        let Some(reading) = self.reading.take() else {
            return;
        };
        // a server that does not get on is not asked for ever
        page.next = page.next.filter(|next| *next > reading.from);
        match reading.past {
            Some(past) => self.fill(past, page, out),
            None => self.catch_up(page, out),
        }
    }

    fn fill(&mut self, mut past: Past, mut page: Page, out: &mut Vec<Step>) {
        past.add(page.epoch, std::mem::take(&mut page.messages));
        if let Some(next) = page.next {
            self.start(next, Some(past));
            out.push(Step::Read);
            return;
        }
        if let Some(newest) = self.remembered
            && newest.is_lost(&page, &past.messages)
        {
            return self.renew(newest.epoch, out);
        }
        self.remembered = None;
        let position = Position {
            epoch: page.epoch,
            offset: page.newest,
        };
        self.known = Some(Newest::at(position, page.last));
        out.push(Step::Filled(past.finish(position, page.last)));
        self.go_live(out);
    }

    fn catch_up(&mut self, page: Page, out: &mut Vec<Step>) {
        let Some(known) = self.known else {
            return self.read_afresh(out);
        };
        if page.epoch != known.epoch {
            return self.read_afresh(out);
        }
        if page.newest < known.offset {
            return self.renew(known.epoch, out);
        }
        for mut message in page.messages {
            let is_next = message.entry.offset == self.offset().saturating_add(1);
            // kept messages may be older than the epoch
            message.epoch = known.epoch;
            if !self.advance(message, out) {
                if is_next {
                    self.renew(known.epoch, out);
                } else {
                    self.read_afresh(out);
                }
                return;
            }
        }
        if let Some(next) = page.next {
            self.start(next, None);
            out.push(Step::Read);
            return;
        }
        match self.known {
            Some(known) if known.offset != page.newest => self.read_afresh(out),
            Some(known) if known.id != page.last => self.renew(known.epoch, out),
            _ => self.go_live(out),
        }
    }

    /// Passes a message on if it is the next one.
    fn advance(&mut self, message: Published, out: &mut Vec<Step>) -> bool {
        let Some(known) = &mut self.known else {
            return false;
        };
        let is_next = message.epoch == known.epoch
            && known.offset.checked_add(1) == Some(message.entry.offset)
            && message.before == known.id;
        if is_next {
            known.offset = message.entry.offset;
            known.id = message.id;
            out.push(Step::Next(message.entry));
        }
        is_next
    }

    /// Nothing is being read any more: passes on what was held back.
    fn go_live(&mut self, out: &mut Vec<Step>) {
        let is_outdated = self.is_outdated;
        let held = std::mem::take(&mut self.held);
        self.release();
        if is_outdated {
            return self.read(out, Step::Repair);
        }
        for message in held {
            let is_double = self.known.is_some_and(|known| {
                message.epoch == known.epoch && message.entry.offset <= known.offset
            });
            if !is_double && !self.advance(message, out) {
                // the rest will be read
                return self.read(out, Step::Repair);
            }
        }
    }

    fn hold(&mut self, message: Published) {
        let bytes = message.entry.payload.len() + HEAD_BYTES;
        if self.is_outdated || self.held_bytes + bytes > MOST_HELD {
            self.release();
            self.is_outdated = true;
            return;
        }
        self.held_bytes += bytes;
        self.held.push_back(message);
    }

    fn release(&mut self) {
        self.held = VecDeque::new();
        self.held_bytes = 0;
        self.is_outdated = false;
    }

    /// Reads what is behind the last message, or everything.
    fn read(&mut self, out: &mut Vec<Step>, step: Step) {
        if self.is_paused {
            return;
        }
        match self.known {
            Some(_) => self.start(self.offset().saturating_add(1), None),
            None => self.start(1, Some(Past::default())),
        }
        out.push(step);
    }

    fn read_afresh(&mut self, out: &mut Vec<Step>) {
        self.start(1, Some(Past::default()));
        out.push(Step::Read);
    }

    fn renew(&mut self, epoch: Epoch, out: &mut Vec<Step>) {
        out.push(Step::Renew(epoch));
        self.read_afresh(out);
    }

    fn start(&mut self, from: u64, past: Option<Past>) {
        self.reading = Some(Reading {
            from,
            is_sent: false,
            past,
        });
    }

    fn offset(&self) -> u64 {
        self.known.map_or(0, |known| known.offset)
    }
}

impl Past {
    fn add(&mut self, epoch: Epoch, messages: Vec<Published>) {
        if self.epoch.replace(epoch) != Some(epoch) {
            self.clear();
        }
        for message in messages {
            let is_next = self.messages.back().is_none_or(|last| {
                last.entry.offset.checked_add(1) == Some(message.entry.offset)
                    && last.id == message.before
            });
            if !is_next {
                // what is in front of a hole is not kept any more
                self.clear();
            }
            self.bytes += message.entry.payload.len() + HEAD_BYTES;
            self.messages.push_back(message);
            while self.bytes > MOST_FILLED
                && self.messages.len() > 1
                && let Some(oldest) = self.messages.pop_front()
            {
                self.bytes -= oldest.entry.payload.len() + HEAD_BYTES;
            }
        }
    }

    fn finish(self, position: Position, id: Id) -> StoredPast {
        let is_newest = |last: &Published| last.entry.offset == position.offset && last.id == id;
        let is_whole = self.messages.back().is_some_and(is_newest);
        let messages = self.messages.into_iter().filter(|_| is_whole);
        StoredPast {
            position,
            entries: messages.map(|message| message.entry).collect(),
        }
    }

    fn clear(&mut self) {
        self.messages.clear();
        self.bytes = 0;
    }
}

/// The most bytes of messages that are held back while a channel is read.
const MOST_HELD: usize = 1024 * 1024;

/// The most bytes of kept messages that a node is given at once. Older ones can be read.
const MOST_FILLED: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests;
