//! Following channels: what is read for it, and what the node is told. Owns the order of reads.

use std::sync::atomic::Ordering;

use super::super::super::links::Links;
use super::super::follow::Step;
use super::{Now, Place, Read, Request, Subscription, Worker};
use crate::gauges::count;

impl Worker {
    /// Does what a follower needs.
    pub(super) fn step(&mut self, channel: &[u8]) {
        let mut steps = std::mem::take(&mut self.steps);
        let Some(generation) = self.followed.get(channel).map(|one| one.generation) else {
            // nobody wants them any more
            return;
        };
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
                Step::Filled(nodes) => self.roll.filled(channel, &nodes),
            }
        }
        self.steps = steps;
    }

    /// Sends what waits, as far as there is room.
    pub(in super::super) fn pump(&mut self, links: &mut Links<Request>, now: Now) {
        if self.retries_at.is_some_and(|at| at <= now.at) {
            self.retry();
        }
        if !self.is_leaving {
            self.beat(links, now);
        }
        if self.prolongs_at <= now.at {
            self.prolong(now);
        }
        while links.has_much_room()
            && let Some(subscription) = self.subscriptions.pop_front()
        {
            self.subscribe(subscription, links, now);
        }
        while links.has_much_room()
            && self.reading < MOST_READING
            && let Some(read) = self.reads.pop_front()
        {
            self.read(read, links, now);
        }
        self.write_all(links, now);
    }

    fn beat(&mut self, links: &mut Links<Request>, now: Now) {
        let Some(begins) = self.lease.beat(now.at) else {
            return;
        };
        let session = self.lease.own();
        let beat = self.scripts.beat(session, begins);
        links.send(Self::home(links), Request::Beat, (beat, 0), now.at);
        // the session is in one place: whether other servers have lost their data is seen by marks
        if links.count() > 1 {
            let was_marked = std::mem::replace(&mut self.is_marked, true);
            for (place, tag) in links.tags() {
                let mark = self.scripts.mark(&tag, session);
                let what = Request::Mark(session, was_marked);
                links.send(place, what, (mark, 0), now.at);
            }
        }
    }

    fn subscribe(&mut self, what: Subscription, links: &mut Links<Request>, now: Now) {
        match what {
            Subscription::Leases => {
                let command = (self.scripts.subscribe(None), 0);
                links.send(Self::home(links), Request::SubscribeLeases, command, now.at);
            }
            Subscription::Begin(place) => {
                let Some(followed) = self.current(&place) else {
                    return;
                };
                let mut steps = Vec::new();
                followed.follower.begin(&mut steps);
                let command = (self.scripts.subscribe(Some(&place.channel)), 0);
                let channel = place.channel.clone();
                let at = links.place(&channel);
                links.send(at, Request::Subscribe(place), command, now.at);
                self.steps.append(&mut steps);
                self.step(&channel);
            }
            Subscription::End(channel) => {
                let command = (self.scripts.unsubscribe(&channel), 0);
                self.ending.push(channel.clone());
                let at = links.place(&channel);
                links.send(at, Request::End(channel), command, now.at);
            }
        }
    }

    fn read(&mut self, read: Read, links: &mut Links<Request>, now: Now) {
        match read {
            Read::Index(place) => {
                let is_wanted = self
                    .current(&place)
                    .is_some_and(|followed| followed.follower.index_sent());
                if is_wanted {
                    let command = (self.scripts.index(&place.channel), 0);
                    let at = links.place(&place.channel);
                    links.send(at, Request::Index(place), command, now.at);
                }
            }
            Read::Page(place, session) => {
                let sent = self
                    .current(&place)
                    .and_then(|followed| followed.follower.sent(session));
                if let Some((cursor, mark)) = sent {
                    let command = (self.scripts.page(&place.channel, session, &cursor), 0);
                    let at = links.place(&place.channel);
                    self.reading += 1;
                    links.send(at, Request::Page(place, session, mark), command, now.at);
                }
            }
            Read::Check(channel) => {
                let session = self.lease.own();
                if let Some(own) = self.own.get(&channel).filter(|own| own.version != 0) {
                    let what = Request::Check(channel.clone(), session, own.version);
                    let command = (self.scripts.version(&channel, session), 0);
                    let at = links.place(&channel);
                    links.send(at, what, command, now.at);
                    for command in self.scripts.prolong(&channel, session) {
                        links.send(at, Request::Other, (command, 0), now.at);
                    }
                }
            }
            Read::Purge(channel, session) => {
                let at = links.place(&channel);
                for command in self.scripts.purge(&channel, session) {
                    links.send(at, Request::Other, (command, 0), now.at);
                }
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
