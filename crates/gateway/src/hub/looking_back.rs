//! Subscribers that begin in front of what this node keeps of a channel: whether the store has what they want is looked up
//! before they enter. Owns which message is asked for.

use std::sync::Arc;

use millrace_backplane::store::{Range, StoreError, StoredPast};
use millrace_core::{HistoryTerms, Position, Start};

use super::Hub;
use super::replicas::{Answered, Look};
use super::teller::{Outcome, Teller};

impl Hub {
    /// Has a caller told when it is known whether the store has what a subscriber wants that begins there; false: it is
    /// known now, or nothing is missing here.
    pub(super) fn asks_first(
        &self,
        (channel, terms): (&[u8], HistoryTerms),
        start: Start,
        teller: impl FnOnce() -> Teller,
    ) -> bool {
        let known = self.replicas.in_store(channel);
        let Some(wanted) = self.core.unknown_in_store(channel, start, known) else {
            return false;
        };
        match self.replicas.look(channel, wanted, teller) {
            // who enters without knowing comes back here
            None => false,
            Some(Look::Waits) => true,
            Some(Look::Asks(teller)) => {
                self.look_up((channel, terms), wanted, teller);
                true
            }
        }
    }

    /// Asks the store for the message, and the one behind it if that is gone.
    fn look_up(&self, (channel, terms): (&[u8], HistoryTerms), wanted: Position, teller: Teller) {
        let Some(link) = self.replicas.link() else {
            return self.looked_up((channel, wanted), teller, Err(StoreError::Away));
        };
        let range = Range {
            after: wanted.offset - 1,
            most: 1,
            most_bytes: 1,
            is_reverse: false,
        };
        let (hub, name): (_, Arc<[u8]>) = (link.hub, channel.into());
        let done = move |outcome| {
            if let Some(hub) = hub.upgrade() {
                hub.looked_up((&name, wanted), teller, outcome);
            }
        };
        link.store.read(channel, terms, range, Box::new(done));
    }

    fn looked_up(
        &self,
        (channel, wanted): (&[u8], Position),
        teller: Teller,
        outcome: Result<StoredPast, StoreError>,
    ) {
        let answered = outcome.ok().map(|past| Answered {
            newest: past.position,
            oldest: past.entries.first().map(|entry| entry.offset),
        });
        let others = self.replicas.looked(channel, wanted, answered);
        for teller in others.into_iter().chain([teller]) {
            // who enters now begins with what is known
            let outcome = if answered.is_some() {
                Outcome::Followed
            } else {
                Outcome::Away
            };
            teller.tell(self, outcome);
        }
    }
}
