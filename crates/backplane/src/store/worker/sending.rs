//! What the worker sends: publications, subscriptions and reads. Owns their order.

use std::time::Instant;

use millrace_core::Epoch;

use super::super::links::Links;
use super::super::publication::Id;
use super::super::requests::{Command, Publication};
use super::super::scripts::Cut;
use super::{Place, Read, Request, Subscription, Worker};
use crate::outlet::random;

impl Worker {
    /// Whether a publication may be sent.
    pub(in super::super) fn has_room(&self, link: &Links<Request>) -> bool {
        link.has_room() && self.loading == 0
    }

    /// Takes a request of the node.
    pub(in super::super) fn take(
        &mut self,
        command: Command,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        match command {
            Command::Publish(mut publication) => {
                self.numbers = self.numbers.wrapping_add(1);
                publication.id = Id {
                    node: self.node,
                    number: self.numbers,
                };
                self.publish(publication, link, now);
            }
            Command::Read(reading) => self.reads.push_back(Read::Node(reading)),
        }
    }

    pub(super) fn publish(
        &mut self,
        publication: Publication,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        let epoch = Epoch::new(random());
        let call = self
            .scripts
            .publish(&publication.message, publication.id, epoch);
        let bytes = publication.charge.bytes();
        let place = link.place(&publication.message.channel);
        link.send(place, Request::Publish(publication), (call, bytes), now);
    }

    /// Sends what waits, as far as there is room.
    pub(in super::super) fn pump(&mut self, link: &mut Links<Request>, now: Instant) {
        if self.retries_at.is_some_and(|at| at <= now) {
            self.retry();
        }
        while link.has_much_room()
            && let Some(subscription) = self.subscriptions.pop_front()
        {
            match subscription {
                Subscription::Begin(place) => self.subscribe(place, link, now),
                Subscription::End(channel) => {
                    let end = self.scripts.unsubscribe(&channel);
                    self.ending.push(channel.clone());
                    let place = link.place(&channel);
                    link.send(place, Request::End(channel), (end, 0), now);
                }
            }
        }
        while link.has_much_room()
            && self.pages.has_room()
            && let Some(read) = self.reads.pop_front()
        {
            self.read(read, link, now);
        }
        self.check_doubts(link, now);
    }

    fn subscribe(&mut self, place: Place, link: &mut Links<Request>, now: Instant) {
        let mut steps = std::mem::take(&mut self.steps);
        let channel = place.channel.clone();
        if let Some(followed) = self.current(&place) {
            followed.follower.begin(&mut steps);
            let subscribe = self.scripts.subscribe(&channel);
            link.send(
                link.place(&channel),
                Request::Subscribe(place),
                (subscribe, 0),
                now,
            );
        }
        self.steps = steps;
        self.heed(&channel);
    }

    pub(super) fn read(&mut self, read: Read, link: &mut Links<Request>, now: Instant) {
        let epoch = Epoch::new(random());
        let (at, request, call) = match read {
            Read::Node(reading) => {
                let call = self
                    .scripts
                    .read(&reading.channel, reading.terms, reading.cut(), epoch);
                (link.place(&reading.channel), Request::Read(reading), call)
            }
            Read::Follow(place) => {
                let Some(followed) = self.current(&place) else {
                    return;
                };
                let Some(from) = followed.follower.sent() else {
                    return;
                };
                let (terms, cut) = (followed.terms, Cut::forward(from));
                let call = self.scripts.read(&place.channel, terms, cut, epoch);
                (link.place(&place.channel), Request::Follow(place), call)
            }
            Read::Renew(place, old) => {
                let call = self.scripts.renew(&place.channel, old, epoch);
                let at = link.place(&place.channel);
                return link.send(at, Request::Renew(place, old), (call, 0), now);
            }
        };
        self.pages.sent();
        link.send(at, request, (call, 0), now);
    }
}

impl Cut {
    /// Everything from this offset on.
    fn forward(from: u64) -> Self {
        Self {
            from: Some(from),
            floor: 1,
            most: usize::MAX,
            is_reverse: false,
        }
    }
}
