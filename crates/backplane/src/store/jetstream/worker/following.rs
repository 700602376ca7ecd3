//! How the worker follows channels: subscribes to what the server tells, and passes on what is the next one.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millrace_core::HistoryTerms;

use super::super::super::feed::StoreError;
use super::super::super::follow::{Follower, Step};
use super::super::super::shared::Change;
use super::super::answers::Failure;
use super::super::channel::Followed;
use super::super::link::Link;
use super::super::record::{self, Head};
use super::super::wire::Message;
use super::{Place, Request, State, Worker};
use crate::gauges::count;

impl Worker {
    /// Looks at which channels are to be followed.
    pub(in super::super) fn heed_changes(&mut self, mut link: Option<&mut Link<Request>>) {
        for (channel, Change { ends, begins }) in self.shared.changes() {
            let ended = self.channels.get_mut(&channel).filter(|_| ends);
            if let Some(known) = ended
                && let Some(followed) = known.followed.take()
            {
                self.followed -= 1;
                // an answer that is on its way may be older
                if !known.is_asking
                    && let Some(newest) = followed.follower.known()
                {
                    self.remembered.put(&channel, newest);
                }
                // what was said about it before is complete
                self.has_told = true;
                if let Some(subscription) = followed.subscription {
                    self.subscriptions.remove(&subscription);
                    if let Some(link) = &mut link {
                        link.unsubscribe(subscription);
                    }
                }
            }
            if let Some(terms) = begins {
                self.begin(&channel, terms);
            }
        }
        let followed = u64::try_from(self.followed).unwrap_or(u64::MAX);
        let counter = &self.shared.counters.followed;
        counter.store(followed, Ordering::Relaxed);
    }

    fn begin(&mut self, channel: &[u8], terms: HistoryTerms) {
        let Some(stream) = self.streams.place(channel) else {
            self.feed.failed(channel, StoreError::Refused);
            self.has_told = true;
            return;
        };
        self.generations += 1;
        let generation = self.generations;
        let (state, remembered) = (self.state, self.remembered.get(channel));
        let known = self.known(channel, stream);
        if let Some(followed) = &mut known.followed {
            followed.terms = terms;
            return;
        }
        let mut followed = Followed {
            terms,
            generation,
            follower: Follower::remembering(remembered),
            subscription: None,
            renew: None,
            is_failure_told: false,
            is_refused: false,
        };
        match state {
            State::Awaited => {}
            State::Up => self.beginning.push_back(Place {
                channel: channel.into(),
                generation,
            }),
            State::Away => self.tell_failure(channel, &mut followed, StoreError::Away),
        }
        self.known(channel, stream).followed = Some(followed);
        self.followed += 1;
    }

    /// Sends what waits, as far as there is room.
    pub(in super::super) fn pump(&mut self, link: &mut Link<Request>, now: Instant) {
        if self.retries_at.is_some_and(|at| at <= now) {
            self.retry();
        }
        while link.has_room()
            && let Some(place) = self.beginning.pop_front()
        {
            self.subscribe(&place, link);
        }
        self.begin_reads(link, now);
    }

    fn subscribe(&mut self, place: &Place, link: &mut Link<Request>) {
        let known = self.channels.get_mut(&place.channel);
        let Some(known) = known else {
            return;
        };
        let (stream, followed) = (self.streams.get(known.stream), &mut known.followed);
        let followed = followed.as_mut();
        let followed = followed.filter(|followed| followed.generation == place.generation);
        let (Some(stream), Some(followed)) = (stream, followed) else {
            return;
        };
        if followed.subscription.is_none() {
            let subscription = link.subscribe(&stream.told(&place.channel));
            followed.subscription = Some(subscription);
            self.subscriptions
                .insert(subscription, place.channel.clone());
        }
        followed.follower.begin(&mut self.steps);
        self.heed(&place.channel);
    }

    /// The server has told what it has kept.
    pub(super) fn told(&mut self, message: &Message, link: &mut Link<Request>, now: Instant) {
        let Some(channel) = self.subscriptions.get(&message.subscription).cloned() else {
            return;
        };
        let record = record::parse(&message.payload, self.node);
        let Some(sequence) = message.sequence else {
            return self.found_foreign(&channel, now);
        };
        let Some(known) = self.channels.get_mut(&channel) else {
            return;
        };
        // one that says only where the numbers are counts when it was read
        if let Some(record) = record.as_ref()
            && !record.messages.is_empty()
        {
            known.learn(Head::of(sequence, record));
        }
        if let Some(followed) = &mut known.followed {
            let messages = record.map(|record| record.messages).unwrap_or_default();
            if messages.is_empty() {
                // other numbers, or a message of another program, which is found by reading
                followed.follower.renewed(&mut self.steps);
            }
            for published in messages {
                followed.follower.arrived(published, &mut self.steps);
            }
        }
        self.heed(&channel);
        self.advance(&channel, link, now);
    }

    /// Does what a follower needs.
    pub(super) fn heed(&mut self, channel: &[u8]) {
        if self.steps.is_empty() {
            return;
        }
        let mut steps = std::mem::take(&mut self.steps);
        let known = self.channels.get_mut(channel);
        let Some(followed) = known.and_then(|known| known.followed.as_mut()) else {
            return;
        };
        let counters = &self.shared.counters;
        let generation = followed.generation;
        let place = || Place {
            channel: channel.into(),
            generation,
        };
        for step in steps.drain(..) {
            match step {
                Step::Next(entry) => {
                    count(&counters.received, 1);
                    self.feed.next(channel, entry);
                    self.has_told = true;
                }
                Step::Filled(past) => {
                    count(&counters.filled, 1);
                    self.feed.filled(channel, past);
                    self.has_told = true;
                }
                Step::Read => self.reads.push_back(place()),
                Step::Repair => {
                    count(&counters.reread, 1);
                    self.reads.push_back(place());
                }
                Step::Renew(epoch) => followed.renew = Some(epoch),
            }
        }
        self.steps = steps;
    }

    /// The channel, if it is still followed.
    pub(super) fn current(&mut self, place: &Place) -> Option<&mut Followed> {
        let known = self.channels.get_mut(&place.channel)?;
        let followed = known.followed.as_mut()?;
        Some(followed).filter(|followed| followed.generation == place.generation)
    }

    /// Tells the node that a channel cannot be followed, unless it knows what the channel has.
    pub(super) fn tell_failure(
        &mut self,
        channel: &[u8],
        followed: &mut Followed,
        error: StoreError,
    ) {
        if !followed.follower.is_filled() && !std::mem::replace(&mut followed.is_failure_told, true)
        {
            self.feed.failed(channel, error);
            self.has_told = true;
        }
    }

    /// A channel cannot be followed now.
    pub(super) fn refused(&mut self, place: &Place, why: &str, now: Instant) {
        self.generations += 1;
        let generation = self.generations;
        let Some(known) = self.channels.get_mut(&place.channel) else {
            return;
        };
        let followed = &mut known.followed;
        let Some(mut followed) =
            followed.take_if(|followed| followed.generation == place.generation)
        else {
            return;
        };
        // a page that was asked for is not expected any more
        followed.generation = generation;
        followed.lost();
        followed.is_refused = true;
        self.tell_failure(&place.channel, &mut followed, StoreError::Refused);
        if let Some(known) = self.channels.get_mut(&place.channel) {
            known.followed = Some(followed);
        }
        self.report_refusal(why, now);
        self.retries_at.get_or_insert(now + RETRY);
    }

    /// Tries channels again that were refused.
    fn retry(&mut self) {
        self.retries_at = None;
        for (channel, known) in &mut self.channels {
            let Some(followed) = &mut known.followed else {
                continue;
            };
            if std::mem::take(&mut followed.is_refused) {
                self.beginning.push_back(Place {
                    channel: channel.clone(),
                    generation: followed.generation,
                });
            }
        }
    }

    /// The server does not let us publish to a subject, or subscribe to one.
    pub(super) fn forbidden(
        &mut self,
        (is_publish, subject): (bool, &[u8]),
        text: &str,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let streams = &self.streams;
        let is_it = |channel: &[u8], place: usize| {
            streams.get(place).is_some_and(|stream| {
                let own = if is_publish {
                    stream.kept(channel)
                } else {
                    stream.told(channel)
                };
                own.as_bytes() == subject
            })
        };
        let mut all = self.channels.iter();
        let channel = all.find(|(channel, known)| is_it(channel, known.stream));
        let channel = channel.map(|(channel, _)| channel.clone());
        let jobs = self.jobs.iter();
        let jobs: Vec<_> = jobs
            .filter(|(_, job)| is_publish && is_it(&job.channel, job.stream))
            .map(|(number, _)| *number)
            .collect();
        if channel.is_none() && jobs.is_empty() {
            // what is needed for every channel
            return link.fail(text);
        }
        for job in jobs {
            let failure = Failure::Refused(text.to_owned());
            self.job_failed(job, Some(failure), link, now);
        }
        let Some(channel) = channel else {
            return;
        };
        let Some(known) = self.channels.get_mut(&channel) else {
            return;
        };
        if is_publish {
            let sent = known.sent();
            self.fail(sent, StoreError::Refused);
            self.report_refusal(text, now);
            self.advance(&channel, link, now);
        } else if let Some(followed) = &mut known.followed {
            let generation = followed.generation;
            if let Some(subscription) = followed.subscription.take() {
                self.subscriptions.remove(&subscription);
            }
            let place = Place {
                channel,
                generation,
            };
            self.refused(&place, text, now);
        }
    }
}

/// After this time channels that the store refused are tried again.
const RETRY: Duration = Duration::from_secs(5);
