//! What the node remembers of channels that it does not follow: after each loss of the link the store is asked whether it still
//! has that.

use std::time::Instant;

use ahash::AHashSet;
use millrace_core::Epoch;
use redis::Value;

use super::super::feed::{Appended, StoreError};
use super::super::link::Fault;
use super::super::links::Links;
use super::super::remembered::Newest;
use super::super::requests::Publication;
use super::{RETRY, Request, Worker};
use crate::gauges::count;
use crate::outlet::random;

/// The newest message of a channel that the node knew when the link was lost.
pub(super) type Doubt = (Box<[u8]>, Newest);

impl Worker {
    /// Remembers a message that the store has accepted.
    pub(super) fn remember(&mut self, publication: &Publication, appended: Appended) {
        let channel = &publication.message.channel;
        // otherwise its follower sees for itself what the store has
        if !appended.is_repeated && !self.is_followed(channel) {
            let newest = Newest::at(appended.position, publication.id);
            self.remembered.put(channel, newest);
        }
    }

    /// Whether a follower knows what a channel has kept.
    fn is_followed(&self, channel: &[u8]) -> bool {
        let followed = self.followed.get(channel);
        followed.is_some_and(|followed| followed.follower.is_filled())
    }

    /// There is a new link. What was not checked on the last one is checked on this one, whatever was published since.
    pub(super) fn doubt(&mut self) {
        let mut doubts: AHashSet<Doubt> = self.doubts.drain(..).collect();
        doubts.extend(self.put_off.drain(..));
        let all = self.remembered.all();
        let unseen = all.filter(|(channel, _)| !self.is_followed(channel));
        let room = MOST_DOUBTS.saturating_sub(doubts.len());
        doubts.extend(
            unseen
                .take(room)
                .map(|(name, newest)| (name.into(), newest)),
        );
        self.doubts = doubts.into_iter().collect();
    }

    /// Asks about what may be lost, as far as there is room.
    pub(super) fn check_doubts(&mut self, link: &mut Links<Request>, now: Instant) {
        while link.has_much_room()
            && let Some((channel, newest)) = self.doubts.pop()
        {
            let check = self.scripts.check(&channel, newest, Epoch::new(random()));
            let place = link.place(&channel);
            let request = Request::Check((channel, newest));
            link.send(place, request, (check, 0), now);
        }
    }

    /// The store has said whether something is lost. If so, it has ended the epoch.
    pub(super) fn checked(
        &mut self,
        doubt: Doubt,
        answer: Result<Value, Fault>,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        match answer {
            Ok(value) => {
                if value == Value::Int(1) {
                    count(&self.shared.counters.renewed, 1);
                }
            }
            Err(Fault::NoScript) if self.may_load() => {
                self.load(link, now);
                self.doubts.push(doubt);
            }
            Err(Fault::NoScript) => self.put_check_off(doubt, "it keeps no scripts", now),
            Err(Fault::Refused(why) | Fault::Untold(why)) => self.put_check_off(doubt, &why, now),
            Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => self.doubts.push(doubt),
        }
    }

    fn put_check_off(&mut self, doubt: Doubt, why: &str, now: Instant) {
        self.report_refusal(why, StoreError::Refused, now);
        self.put_off.push(doubt);
        self.retries_at.get_or_insert(now + RETRY);
    }
}

/// More is not checked at a time, if links are lost before it is.
const MOST_DOUBTS: usize = 65_536;
