//! Which channels the node follows, as it changes.

use std::sync::atomic::Ordering;

use millrace_core::HistoryTerms;

use super::super::feed::StoreError;
use super::super::follow::Follower;
use super::super::shared::Change;
use super::{Followed, Place, State, Subscription, Worker};

impl Worker {
    /// Looks at which channels are to be followed.
    pub(in super::super) fn heed_changes(&mut self) {
        for (channel, Change { ends, begins }) in self.shared.changes() {
            if ends && let Some(followed) = self.followed.remove(&channel) {
                if let Some(newest) = followed.follower.known() {
                    self.remembered.put(&channel, newest);
                    if self.state == State::Up && followed.follower.is_in_doubt() {
                        self.doubts.push((channel.clone(), newest));
                    }
                }
                // what was said about it before is complete
                self.has_told = true;
                if self.state == State::Up {
                    let end = Subscription::End(channel.clone());
                    self.subscriptions.push_back(end);
                }
            }
            if let Some(terms) = begins {
                self.begin(channel, terms);
            }
        }
        let followed = u64::try_from(self.followed.len()).unwrap_or(u64::MAX);
        let counter = &self.shared.counters.followed;
        counter.store(followed, Ordering::Relaxed);
    }

    fn begin(&mut self, channel: Box<[u8]>, terms: HistoryTerms) {
        if let Some(followed) = self.followed.get_mut(&channel) {
            followed.terms = terms;
            return;
        }
        self.generations += 1;
        let remembered = self.remembered.get(&channel);
        let mut followed = Followed {
            terms,
            generation: self.generations,
            follower: Follower::remembering(remembered),
            is_failure_told: false,
            is_refused: false,
        };
        match self.state {
            State::Awaited => {}
            State::Up => self.subscriptions.push_back(Subscription::Begin(Place {
                channel: channel.clone(),
                generation: self.generations,
            })),
            State::Away => self.tell_failure(&channel, &mut followed, StoreError::Away),
        }
        self.followed.insert(channel, followed);
    }
}
