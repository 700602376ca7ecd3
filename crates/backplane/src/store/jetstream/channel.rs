//! What a node knows about one channel of a stream: its newest record, what waits to be published behind it, and whether the
//! channel is followed. Owns which publications go together; does no I/O.
//!
//! A record is accepted only behind the newest one, so one is under way at a time. What arrives meanwhile goes together into
//! the next one.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use millrace_core::{Epoch, HistoryTerms, Position};

use super::super::feed::{Appended, StoreError};
use super::super::follow::Follower;
use super::super::remembered::Newest;
use super::super::requests::Publication;
use super::record::{self, Head, MESSAGE_BYTES, RECORD_BYTES, State};
use crate::outlet::random;

/// See the module.
#[derive(Default)]
pub(super) struct Channel {
    /// The place of its stream.
    pub(super) stream: usize,
    /// `None`: none is known.
    pub(super) head: Option<Head>,
    /// Whether there is a newer one.
    is_outdated: bool,
    /// It was asked for.
    pub(super) is_asking: bool,
    queue: VecDeque<Waiting>,
    flight: Option<Flight>,
    /// How many records were sent.
    flights: u64,
    pub(super) followed: Option<Followed>,
}

/// A publication that is not answered yet.
pub(super) struct Waiting {
    publication: Publication,
    since: Instant,
    /// The record which had its key and is not kept any more; 0: none is known.
    twin: u64,
}

/// A record that is under way.
struct Flight {
    waiting: Vec<Waiting>,
    /// The record behind which it goes.
    expected: u64,
    before: Vec<u64>,
    /// Where the numbers are behind each of its publications.
    states: Vec<State>,
}

/// A channel that is followed.
pub(super) struct Followed {
    pub(super) terms: HistoryTerms,
    pub(super) generation: u64,
    pub(super) follower: Follower,
    /// The number of the subscription; `None`: there is none on this link.
    pub(super) subscription: Option<u64>,
    /// The epoch that must end before the channel is read.
    pub(super) renew: Option<Epoch>,
    /// The node was told that it failed.
    pub(super) is_failure_told: bool,
    pub(super) is_refused: bool,
}

impl Followed {
    /// The link was lost, or the store refused.
    pub(super) fn lost(&mut self) {
        self.follower.lost();
        // what is read next says anew whether numbers are gone, because the follower remembers until it is filled
        self.renew = None;
    }

    /// Whether this epoch must end before the channel is read. It is asked for as long as the newest record has the epoch:
    /// another node's record may come before the one that ends it, and have a number that this node has told.
    pub(super) fn must_leave(&mut self, epoch: Epoch) -> bool {
        self.renew = self.renew.filter(|renew| *renew == epoch);
        self.renew.is_some()
    }
}

/// A record to be published.
pub(super) struct Sending {
    /// The number of the record in this channel.
    pub(super) number: u64,
    pub(super) body: Vec<u8>,
    pub(super) expected: u64,
    /// The key of its only publication, and what else names it.
    pub(super) key: Option<(Box<[u8]>, u64)>,
}

impl Waiting {
    pub(super) fn new(publication: Publication, now: Instant) -> Self {
        Self {
            publication,
            since: now,
            twin: 0,
        }
    }

    fn bytes(&self) -> usize {
        self.publication.charge.bytes()
    }

    /// The bytes that it has in a record.
    fn length(&self) -> usize {
        MESSAGE_BYTES + self.publication.message.payload.len()
    }

    fn has_key(&self) -> bool {
        self.publication.message.key.is_some()
    }
}

impl Channel {
    pub(super) fn new(stream: usize) -> Self {
        Self {
            stream,
            ..Self::default()
        }
    }

    /// Whether nothing is lost if it is forgotten.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.flight.is_none() && self.followed.is_none() && !self.is_asking
    }

    /// Whether something waits that can be published, once the head is known.
    pub(super) fn wants_head(&self) -> bool {
        let is_known = self.head.is_some() && !self.is_outdated;
        !is_known && self.flight.is_none() && !self.queue.is_empty()
    }

    /// Whether the record with this number is under way.
    pub(super) fn is_under_way(&self, number: u64) -> bool {
        self.flight.is_some() && self.flights == number
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.queue.push_back(waiting);
    }

    /// Takes note of a record, unless a newer one is known.
    pub(super) fn learn(&mut self, head: Head) {
        let known = self.head.as_ref().map_or(0, |known| known.sequence);
        if self.head.is_none() || head.sequence > known {
            self.head = Some(head);
            self.is_outdated = false;
        }
    }

    /// Takes note of what the server has said about the newest record.
    pub(super) fn found(&mut self, head: Head) {
        self.is_asking = false;
        if std::mem::take(&mut self.is_outdated) {
            // the one that is known may be gone, and have had a greater number
            self.head = None;
        }
        self.learn(head);
    }

    /// The same for an answer to this node's own question, during which nothing of it was accepted. If the server has lost the
    /// newest message that is known here, another epoch begins with what is published next. Returns whether it has.
    pub(super) fn asked(&mut self, mut head: Head, newest: Option<Newest>) -> bool {
        let State {
            epoch, offset, id, ..
        } = head.state;
        let is_lost = newest.is_some_and(|known| known.is_gone_at(Newest { epoch, offset, id }));
        if is_lost {
            head.state.epoch = Epoch::new(random());
        }
        self.found(head);
        is_lost
    }

    /// Whether the channel had a record on this link.
    pub(super) fn had_record(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.sequence > 0)
    }

    /// The server may have been restored from a copy.
    pub(super) fn forget_head(&mut self) {
        self.head = None;
        self.is_asking = false;
        self.is_outdated = false;
    }

    /// Begins to publish what waits, as far as it fits into a record. `None`: nothing can be published now.
    pub(super) fn begin(&mut self, node: u64, now_ms: u64, most: usize) -> Option<Sending> {
        let may_begin = self.flight.is_none() && !self.is_outdated;
        let head = self.head.as_ref().filter(|_| may_begin)?;
        let first = self.queue.pop_front()?;
        let key = first.publication.message.key.clone();
        let key = key.map(|key| (key, first.twin));
        let before = head.chain();
        let (mut body, mut states) = (Vec::new(), Vec::new());
        record::begin(&before, &mut body);
        let most = most.min(RECORD_LENGTH);
        let (mut state, mut waiting) = (head.state, Vec::new());
        let mut next = Some(first);
        while let Some(one) = next.take() {
            let message = &one.publication.message;
            let published = state.next(one.publication.id, now_ms, message, node);
            record::put(&published, message, &mut body);
            state = State::behind(&published);
            states.push(state);
            waiting.push(one);
            let fits = |one: &Waiting| !one.has_key() && body.len() + one.length() <= most;
            let is_open = key.is_none() && waiting.len() < RECORD_MESSAGES;
            if is_open && self.queue.front().is_some_and(fits) {
                next = self.queue.pop_front();
            }
        }
        let expected = head.sequence;
        self.flight = Some(Flight {
            waiting,
            expected,
            before,
            states,
        });
        self.flights += 1;
        Some(Sending {
            number: self.flights,
            body,
            expected,
            key,
        })
    }

    /// The record was accepted with this number. Returns who is told what.
    pub(super) fn accepted(&mut self, sequence: u64) -> Vec<(Waiting, Appended)> {
        let Some(flight) = self.flight.take() else {
            return Vec::new();
        };
        if let Some(state) = flight.states.last() {
            self.learn(Head {
                sequence,
                state: *state,
                before: flight.before,
                is_foreign: false,
            });
        }
        let appended = |state: &State| Appended {
            position: Position {
                epoch: state.epoch,
                offset: state.offset,
            },
            is_repeated: false,
        };
        let appended = flight.states.iter().map(appended);
        flight.waiting.into_iter().zip(appended).collect()
    }

    /// Another record was faster, or the head is not known any more: everything waits again.
    pub(super) fn overtaken(&mut self) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        let is_newest = |head: &Head| head.sequence <= flight.expected;
        self.is_outdated = self.head.as_ref().is_none_or(is_newest);
        for waiting in flight.waiting.into_iter().rev() {
            self.queue.push_front(waiting);
        }
    }

    /// The key of the only publication under way was used by this record. `state` is where the numbers were behind the
    /// publication with the key, if it is still kept.
    pub(super) fn repeated(
        &mut self,
        sequence: u64,
        state: Option<State>,
        now_ms: u64,
    ) -> Option<(Waiting, Appended)> {
        let flight = self.flight.as_ref()?;
        let (waiting, own) = (flight.waiting.first()?, flight.states.first()?);
        let terms = waiting.publication.message.terms;
        let is_kept = |state: &State| {
            let age = now_ms.saturating_sub(state.unix_ms);
            let behind = own.offset.saturating_sub(state.offset);
            behind <= u64::from(terms.messages) && age < terms.age_ms
        };
        let Some(state) = state.filter(is_kept) else {
            let mut flight = self.flight.take()?;
            for waiting in &mut flight.waiting {
                waiting.twin = sequence;
            }
            self.flight = Some(flight);
            let is_outdated = self.is_outdated;
            self.overtaken();
            self.is_outdated = is_outdated;
            return None;
        };
        let position = Position {
            epoch: own.epoch,
            offset: state.offset,
        };
        let appended = Appended {
            position,
            is_repeated: true,
        };
        let waiting = self.flight.take()?.waiting.pop()?;
        Some((waiting, appended))
    }

    /// Takes what was sent and has no result.
    pub(super) fn sent(&mut self) -> Vec<Waiting> {
        self.flight.take().map_or_else(Vec::new, |flight| {
            self.is_outdated = true;
            flight.waiting
        })
    }

    /// Takes what was not sent, if it has waited for so long.
    pub(super) fn unsent(&mut self, now: Instant, since: Duration) -> Vec<Waiting> {
        let is_old = |waiting: &Waiting| now.saturating_duration_since(waiting.since) >= since;
        let old = self.queue.iter().take_while(|waiting| is_old(waiting));
        let count = old.count();
        self.queue.drain(..count).collect()
    }
}

impl Waiting {
    /// The message that it becomes at this position.
    pub(super) fn at(&self, position: Position) -> Newest {
        Newest::at(position, self.publication.id)
    }

    /// Answers. Returns the bytes that it was charged.
    pub(super) fn give(self, result: Result<Appended, StoreError>) -> usize {
        let bytes = self.bytes();
        self.publication.reply.give(result);
        bytes
    }
}

/// The most publications of a record.
const RECORD_MESSAGES: usize = 64;

/// The most bytes of a record with several publications.
const RECORD_LENGTH: usize = 128 * 1024;

/// The bytes that a publication has in a record of its own, beside its payload.
pub(super) const ALONE_BYTES: usize = RECORD_BYTES + MESSAGE_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(renew: Epoch) -> Followed {
        Followed {
            terms: HistoryTerms {
                messages: 10,
                age_ms: 1000,
            },
            generation: 1,
            follower: Follower::default(),
            subscription: None,
            renew: Some(renew),
            is_failure_told: false,
            is_refused: false,
        }
    }

    #[test]
    fn an_epoch_is_left_until_the_newest_record_has_another() {
        let (old, new) = (Epoch::new(1), Epoch::new(2));
        let mut one = followed(old);
        // a record of another node came first
        assert!(one.must_leave(old) && one.must_leave(old));
        assert!(!one.must_leave(new));
        assert!(
            !one.must_leave(old),
            "another copy of the store may have it"
        );
        let mut one = followed(old);
        one.lost();
        assert!(!one.must_leave(old));
    }
}
