//! Callers that know more of a channel than this node does, because their clients come from a node that was faster. Owns
//! who waits for which message, and which messages have not come for so long that nobody waits for them any more.

use std::collections::BTreeMap;
use std::time::Instant;

use super::Teller;
use crate::hub::following::MOST_WAIT;

/// What a client has of a channel, and this node has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hub) struct Ahead {
    /// The newest message that the client has.
    pub(in crate::hub) offset: u64,
    /// The newest one that this node has.
    pub(in crate::hub) newest: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// By the offset that is waited for, in the order in which they came.
    tellers: BTreeMap<(u64, u64), (Instant, Teller)>,
    /// The first offset that has not come for so long that it is not waited for: the store has lost it, or a client lies.
    given_up: Option<u64>,
}

impl Waiting {
    /// Whether it is worth waiting for a message.
    pub(super) fn may_come(&mut self, ahead: Ahead) -> bool {
        self.given_up = self.given_up.filter(|given_up| *given_up > ahead.newest);
        self.given_up.is_none_or(|given_up| ahead.offset < given_up)
    }

    /// `number` differs from that of any other caller.
    pub(super) fn add(&mut self, (offset, number): (u64, u64), now: Instant, teller: Teller) {
        self.tellers.insert((offset, number), (now, teller));
    }

    /// Takes those who wait for messages up to this one.
    pub(super) fn reached(&mut self, offset: u64) -> Vec<Teller> {
        let first = self.tellers.first_key_value();
        if first.is_none_or(|((wanted, _), _)| *wanted > offset) {
            return Vec::new();
        }
        let rest = self.tellers.split_off(&(offset.saturating_add(1), 0));
        tellers(std::mem::replace(&mut self.tellers, rest))
    }

    /// Takes all: the channel has begun anew, and what it has now is all that there is.
    pub(super) fn take_all(&mut self) -> Vec<Teller> {
        self.given_up = None;
        tellers(std::mem::take(&mut self.tellers))
    }

    /// Takes those who have waited too long.
    pub(super) fn late(&mut self, now: Instant) -> Vec<Teller> {
        let is_late = |since: &Instant| now.duration_since(*since) >= MOST_WAIT;
        let all = std::mem::take(&mut self.tellers);
        let (late, rest) = all.into_iter().partition(|(_, (since, _))| is_late(since));
        self.tellers = rest;
        if let Some(((offset, _), _)) = late.first_key_value() {
            let given_up = self.given_up.map_or(*offset, |before| before.min(*offset));
            self.given_up = Some(given_up);
        }
        tellers(late)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tellers.is_empty()
    }
}

fn tellers(waiting: BTreeMap<(u64, u64), (Instant, Teller)>) -> Vec<Teller> {
    waiting.into_values().map(|(_, teller)| teller).collect()
}
