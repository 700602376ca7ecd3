//! What the node remembers of channels that it does not follow: whether the store has lost it is seen when it numbers a message
//! anew, and after each loss of the link.

use std::time::Instant;

use millrace_core::Epoch;
use redis::Value;

use super::super::feed::Appended;
use super::super::link::Fault;
use super::super::links::Links;
use super::super::page;
use super::super::remembered::Newest;
use super::super::requests::Publication;
use super::super::scripts::Cut;
use super::{Read, Request, Worker};
use crate::gauges::count;
use crate::outlet::random;

impl Worker {
    /// Remembers a message that the store has accepted.
    pub(super) fn remember(&mut self, publication: &Publication, appended: Appended) {
        let channel = &publication.message.channel;
        // its follower sees for itself what the store has
        if appended.is_repeated || self.followed.contains_key(channel) {
            return;
        }
        let position = appended.position;
        if let Some((known, _)) = self.remembered.get(channel)
            && known.epoch == position.epoch
            && known.offset >= position.offset
        {
            self.end_epoch(channel.clone(), known.epoch);
        }
        let newest = Newest::at(position, publication.id);
        self.remembered
            .put(channel, newest, publication.message.terms);
    }

    /// Asks whether the store still has what is remembered of a channel.
    pub(super) fn check(&mut self, channel: Box<[u8]>, link: &mut Links<Request>, now: Instant) {
        if self.followed.contains_key(&channel) {
            return;
        }
        let Some((newest, terms)) = self.remembered.get(&channel) else {
            return;
        };
        let cut = Cut {
            from: Some(newest.offset.saturating_add(1)),
            floor: 1,
            most: 1,
            is_reverse: false,
        };
        let epoch = Epoch::new(random());
        let call = self.scripts.read(&channel, terms, cut, epoch);
        self.pages.sent();
        let place = link.place(&channel);
        link.send(place, Request::Check(channel, newest), (call, 0), now);
    }

    /// What the store has instead.
    pub(super) fn checked(
        &mut self,
        (channel, newest): (Box<[u8]>, Newest),
        answer: Result<Value, Fault>,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        match answer {
            Ok(value) => {
                let page = page::page(value, self.node);
                if page.is_some_and(|page| newest.is_lost(&page, &page.messages)) {
                    self.end_epoch(channel, newest.epoch);
                }
            }
            Err(Fault::NoScript) if self.may_load() => {
                self.load(link, now);
                self.doubtful.push(channel);
            }
            // it is asked again on the next link
            Err(_) => {}
        }
    }

    fn end_epoch(&mut self, channel: Box<[u8]>, epoch: Epoch) {
        count(&self.shared.counters.renewed, 1);
        self.reads.push_back(Read::Renew(channel, epoch));
    }
}
