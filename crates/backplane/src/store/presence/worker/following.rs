//! Following channels: what is read for it, and what the node is told. Owns the order of reads.

use std::sync::atomic::Ordering;

use super::super::follow::Step;
use super::super::register::{Place, Register};
use super::{Now, Read, Subscription, Worker};
use crate::gauges::count;

impl Worker {
    /// Does what a follower needs.
    pub(super) fn step(&mut self, channel: &[u8]) {
        let mut steps = std::mem::take(&mut self.steps);
        let Some(followed) = self.followed.get(channel) else {
            // nobody wants them any more
            return;
        };
        let (generation, following) = (followed.generation, followed.following);
        let place = || Place {
            channel: channel.into(),
            generation,
        };
        for step in steps.drain(..) {
            self.has_told = true;
            match step {
                Step::Index => self.reads.push_back(Read::Index(place())),
                Step::Page(session) => self.reads.push_back(Read::Page(place(), session)),
                Step::Repair(session) => {
                    count(&self.shared.counters.reread, 1);
                    self.reads.push_back(Read::Page(place(), session));
                }
                Step::Put { node, mark, seats } => self.roll.put(channel, node, mark, seats),
                Step::Left { node, sockets } => self.roll.left(channel, node, &sockets),
                Step::Sweep { node, mark } => self.roll.sweep(channel, node, mark),
                Step::Filled(nodes) => self.roll.filled(channel, following, &nodes),
            }
        }
        self.steps = steps;
    }

    /// Sends what waits, as far as there is room.
    pub(in super::super) fn pump(&mut self, register: &mut dyn Register, now: Now) {
        if self.retries_at.is_some_and(|at| at <= now.at) {
            self.retry();
        }
        if !self.is_leaving {
            self.beat(register, now);
        }
        if self.prolongs_at <= now.at {
            self.prolong(now);
        }
        while register.has_much_room()
            && let Some(subscription) = self.subscriptions.pop_front()
        {
            self.subscribe(subscription, register, now);
        }
        while register.has_much_room()
            && self.reading < MOST_READING
            && let Some(read) = self.reads.pop_front()
        {
            self.read(read, register, now);
        }
        self.write_all(register, now);
    }

    fn beat(&mut self, register: &mut dyn Register, now: Now) {
        let Some(begins) = self.lease.beat(now.at) else {
            return;
        };
        let session = self.lease.own();
        register.beat(session, begins, now.at);
        let was_marked = std::mem::replace(&mut self.is_marked, true);
        register.mark(session, was_marked, now.at);
    }

    fn subscribe(&mut self, what: Subscription, register: &mut dyn Register, now: Now) {
        match what {
            Subscription::Begin(place) => {
                let Some(followed) = self.current(&place) else {
                    return;
                };
                let mut steps = Vec::new();
                followed.follower.begin(&mut steps);
                let channel = place.channel.clone();
                register.subscribe(place, now.at);
                self.steps.append(&mut steps);
                self.step(&channel);
            }
            Subscription::End(channel) => register.unsubscribe(&channel, now.at),
        }
    }

    fn read(&mut self, read: Read, register: &mut dyn Register, now: Now) {
        match read {
            Read::Index(place) => {
                if let Some(followed) = self.current(&place)
                    && let Some(look) = followed.follower.index_sent()
                {
                    let known = followed.follower.sessions().collect();
                    register.index((place, look), known, now.at);
                }
            }
            Read::Page(place, session) => {
                let sent = self
                    .current(&place)
                    .and_then(|followed| followed.follower.sent(session));
                if let Some((cursor, mark)) = sent {
                    self.reading += 1;
                    register.page(place, (session, mark), &cursor, now.at);
                }
            }
            Read::Check(channel) => {
                let session = self.lease.own();
                if let Some(own) = self.own.get(&channel).filter(|own| own.version != 0) {
                    register.check((&channel, session), own.version, now.at);
                }
            }
            Read::Purge(channel, session) => register.purge((&channel, session), now.at),
        }
    }

    /// Reads who has members once more, in all channels.
    pub(super) fn look_again(&mut self) {
        let channels: Vec<_> = self.followed.keys().cloned().collect();
        for channel in channels {
            let Some(followed) = self.followed.get_mut(&channel) else {
                continue;
            };
            if !followed.is_refused && followed.follower.is_filled() {
                followed.follower.begin(&mut self.steps);
                self.step(&channel);
            }
        }
    }

    /// Tries channels again that were refused.
    fn retry(&mut self) {
        self.retries_at = None;
        for (channel, followed) in &mut self.followed {
            if std::mem::take(&mut followed.is_refused) {
                self.subscriptions.push_back(Subscription::Begin(Place {
                    channel: channel.clone(),
                    generation: followed.generation,
                }));
            }
        }
        for (channel, own) in &mut self.own {
            if own.is_whole() && own.writing.is_none() && !own.is_queued {
                own.is_queued = true;
                self.writes.push_back(channel.clone());
            }
        }
    }

    /// The channel, if it is still followed.
    pub(super) fn current(&mut self, place: &Place) -> Option<&mut super::Followed> {
        self.followed
            .get_mut(&place.channel)
            .filter(|followed| followed.generation == place.generation)
    }

    /// Whether the session of this node has been told to end.
    pub(in super::super) fn has_left(&self) -> bool {
        let is_up = self.shared.counters.is_connected.load(Ordering::Relaxed);
        !is_up || self.is_leaving && self.reads.is_empty()
    }
}

/// The most pages of members that are on their way; each may have about a mebibyte.
const MOST_READING: usize = 8;
