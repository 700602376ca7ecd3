//! Reading what a store of histories keeps of a channel. Owns from where on is read; how the answer looks is the
//! [`Teller`]'s.

use std::sync::{Arc, Weak};

use millrace_backplane::store::{Range, SharedHistory, StoreError, StoredPast};
use millrace_core::{HistoryTerms, Past, Position, Start};

use super::asking::Asked;
use super::teller::{Outcome, Teller};
use super::{Hub, stored_past};
use crate::event::{Place, Question};
use crate::frame::KeptMessage;

/// What of a channel's past is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Only messages behind a position, if it is one of the channel's numbers; otherwise all.
    pub(crate) start: Start,
    pub(crate) is_reverse: bool,
    pub(crate) most: usize,
    /// The most bytes of all payloads; one is always read.
    pub(crate) most_bytes: usize,
}

impl Hub {
    /// Reads what the store keeps of a channel.
    pub(crate) fn read_stored(
        &self,
        (channel, terms): (&[u8], HistoryTerms),
        reading: Reading,
        teller: Teller,
    ) {
        let Some(link) = self.replicas.link() else {
            return teller.tell(self, Outcome::Away);
        };
        let reader = Reader {
            hub: link.hub,
            store: link.store,
            channel: channel.into(),
            terms,
            reading,
            teller,
        };
        reader.read();
    }
}

/// Questions of JavaScript threads.
impl Hub {
    /// Whether a store numbers the messages of channels with history, so that calls for them are answered later.
    pub fn asks_store(&self) -> bool {
        self.replicas.is_on()
    }

    /// Has a thread told, with `true` for an answer, when a channel is followed as far as `start`, so that sockets may enter
    /// there. `None`: they may now. The inner `None`: too many questions wait.
    pub fn when_followed(
        &self,
        (channel, start): (&[u8], Start),
        (number, answers): Asked<'_>,
    ) -> Option<Option<Arc<Place>>> {
        self.replicas.terms_of(channel)?;
        let Some(place) = self.place() else {
            return Some(None);
        };
        let asker = || Teller::Asker(Question::new(number, answers, &place));
        self.waits((channel, start), asker).then_some(Some(place))
    }

    /// A ticket for [`Manner::ticket`] with which a thread is told where a message is that the store has taken. `None`: too
    /// many questions wait.
    pub fn open_ticket(&self, (number, answers): Asked<'_>) -> Option<(u64, Arc<Place>)> {
        let place = self.place()?;
        let asker = Teller::Asker(Question::new(number, answers, &place));
        Some((self.replicas.open_ticket(asker), place))
    }

    /// Takes a ticket back that was not needed.
    pub fn close_ticket(&self, ticket: u64, place: &Place) {
        place.free();
        drop(self.replicas.take_ticket(ticket));
    }

    /// Reads what a channel keeps, if that has to be read from the store; the answer is read by
    /// [`read_past`](Self::read_past). `None`: [`history`](Self::history) has it. The inner `None`: too many questions wait.
    pub fn ask_history(
        &self,
        channel: &[u8],
        (start, is_reverse): (Start, bool),
        most: usize,
        (number, answers): Asked<'_>,
    ) -> Option<Option<Arc<Place>>> {
        let terms = self.terms_to_read(channel, start)?;
        let Some(place) = self.place() else {
            return Some(None);
        };
        let reading = Reading {
            start,
            is_reverse,
            most,
            most_bytes: usize::MAX,
        };
        let asker = Teller::Asker(Question::new(number, answers, &place));
        self.read_stored((channel, terms), reading, asker);
        Some(Some(place))
    }

    /// Reads an answer to [`ask_history`](Self::ask_history).
    pub fn read_past(answer: &[u8]) -> Option<Past<KeptMessage>> {
        stored_past::decode(answer)
    }
}

/// A past that is being read.
struct Reader {
    hub: Weak<Hub>,
    store: SharedHistory,
    channel: Box<[u8]>,
    terms: HistoryTerms,
    reading: Reading,
    teller: Teller,
}

impl Reader {
    fn since(&self) -> Option<Position> {
        match self.reading.start {
            Start::Since(position) => Some(position),
            _ => None,
        }
    }

    fn read(self) {
        let range = Range {
            after: self.since().map_or(0, |position| position.offset),
            most: self.reading.most,
            most_bytes: self.reading.most_bytes,
            is_reverse: self.reading.is_reverse,
        };
        let (store, channel, terms) = (Arc::clone(&self.store), self.channel.clone(), self.terms);
        let done = Box::new(move |outcome| self.done(outcome));
        store.read(&channel, terms, range, done);
    }

    fn done(mut self, outcome: Result<StoredPast, StoreError>) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        let Ok(mut past) = outcome else {
            return self.teller.tell(&hub, Outcome::Away);
        };
        let newest = past.position;
        let is_other =
            |since: Position| since.epoch != newest.epoch || since.offset > newest.offset;
        if self.since().is_some_and(is_other) {
            // it is no position of these numbers: everything is asked for
            self.reading.start = Start::Gone;
            return self.read();
        }
        let mut bytes: usize = 0;
        let most_bytes = self.reading.most_bytes;
        let fits = past.entries.iter().take_while(|entry| {
            let is_first = bytes == 0;
            bytes = bytes.saturating_add(entry.payload.len() + ENTRY_BYTES);
            is_first || bytes <= most_bytes
        });
        let count = fits.count();
        past.entries.truncate(count);
        self.teller.tell(&hub, Outcome::Read(past));
    }
}

/// What an entry counts beside its payload when it is read.
const ENTRY_BYTES: usize = 128;
