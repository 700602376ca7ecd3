//! The answers of the store: what each means for the request that it belongs to.

use std::time::Instant;

use redis::{PushKind, Value};

use super::super::feed::StoreError;
use super::super::link::Fault;
use super::super::links::Links;
use super::super::page;
use super::super::requests::{Publication, Reading};
use super::{Place, RETRY, Read, Request, Subscription, Worker};
use crate::gauges::count;
use crate::link_error::LinkError;

impl Worker {
    pub(super) fn answered(
        &mut self,
        request: Request,
        answer: Result<Value, Fault>,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        let mut answer = answer;
        if let Ok(value) = &answer
            && !self.belongs(&request, value)
        {
            // the library has taken something else for the answer, and all that follow would be wrong
            link.fail("an answer belongs to another command");
            answer = Err(Fault::Lost);
        }
        if let Err(Fault::Unfit(why)) = &answer {
            link.retire(why.clone());
        }
        match request {
            Request::Publish(publication) => self.published(publication, answer, link, now),
            Request::Read(reading) => {
                self.pages.answered(answer.as_ref().ok());
                self.was_read(reading, answer, link, now);
            }
            Request::Follow(place) => {
                self.pages.answered(answer.as_ref().ok());
                self.page(&place, answer, link, now);
            }
            Request::Check(doubt) => self.checked(doubt, answer, link, now),
            Request::Renew(place, old) => match answer {
                Ok(_) | Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => {}
                Err(Fault::NoScript) if self.may_load() => {
                    self.load(link, now);
                    self.read(Read::Renew(place, old), link, now);
                }
                Err(Fault::NoScript) => self.refused(&place, "it keeps no scripts", now),
                Err(Fault::Refused(why) | Fault::Untold(why)) => self.refused(&place, &why, now),
            },
            Request::Subscribe(place) => {
                if let Err(Fault::Refused(why)) = answer {
                    self.refused(&place, &why, now);
                }
            }
            // publications that were sent before are sent again by now
            Request::Load => self.loading = self.loading.saturating_sub(1),
            Request::End(channel) => {
                let place = self.ending.iter().position(|ending| *ending == channel);
                place.map(|place| self.ending.swap_remove(place));
            }
            Request::Other => {}
        }
    }

    /// Whether a value can be the answer to a request: only subscriptions are confirmed by a push. A server that takes a
    /// subscription away says so by a push, too.
    fn belongs(&self, request: &Request, value: &Value) -> bool {
        let (channel, kinds) = match request {
            Request::Subscribe(place) => {
                (&place.channel, [PushKind::Subscribe, PushKind::SSubscribe])
            }
            Request::End(channel) => (channel, [PushKind::Unsubscribe, PushKind::SUnsubscribe]),
            _ => return !matches!(value, Value::Push { .. }),
        };
        let Value::Push { kind, data } = value else {
            return false;
        };
        let topic = self.scripts.names().topic(channel);
        kinds.contains(kind)
            && matches!(data.first(), Some(Value::BulkString(told)) if *told == topic)
    }

    fn published(
        &mut self,
        mut publication: Publication,
        answer: Result<Value, Fault>,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        let error = match answer {
            Ok(value) => match page::appended(&value) {
                Some(appended) => {
                    let counters = &self.shared.counters;
                    let counter = if appended.is_repeated {
                        &counters.repeated
                    } else {
                        &counters.appended
                    };
                    count(counter, 1);
                    self.remember(&publication, appended);
                    return publication.reply.give(Ok(appended));
                }
                None => self.report_refusal("its answer cannot be read", StoreError::Unknown, now),
            },
            Err(Fault::NoScript) if !publication.is_again => {
                self.load(link, now);
                publication.is_again = true;
                return self.publish(publication, link, now);
            }
            Err(Fault::NoScript) => {
                self.report_refusal("it keeps no scripts", StoreError::Refused, now)
            }
            Err(Fault::Unfit(_)) => StoreError::Away,
            Err(Fault::Refused(why)) => self.report_refusal(&why, StoreError::Refused, now),
            Err(Fault::Untold(why)) => self.report_refusal(&why, StoreError::Unknown, now),
            Err(Fault::Lost | Fault::Late) => StoreError::Unknown,
        };
        count(&self.shared.counters.failed, 1);
        publication.reply.give(Err(error));
    }

    fn was_read(
        &mut self,
        mut reading: Reading,
        answer: Result<Value, Fault>,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        match answer {
            Ok(value) => match page::page(value, self.node) {
                Some(page) => {
                    if page.foreign > 0 {
                        self.found_foreign(&reading.channel, page.foreign, now);
                    }
                    self.reads.extend(reading.add(page).map(Read::Node));
                }
                None => reading.fail(StoreError::Refused),
            },
            Err(Fault::NoScript) if !reading.is_again => {
                self.load(link, now);
                reading.is_again = true;
                self.reads.push_front(Read::Node(reading));
            }
            Err(Fault::NoScript | Fault::Untold(_)) => reading.fail(StoreError::Refused),
            Err(Fault::Refused(why)) => {
                let error = self.report_refusal(&why, StoreError::Refused, now);
                reading.fail(error);
            }
            Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => reading.fail(StoreError::Away),
        }
    }

    /// A page for a follower.
    fn page(
        &mut self,
        place: &Place,
        answer: Result<Value, Fault>,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        let value = match answer {
            Ok(value) => value,
            Err(Fault::NoScript) if self.may_load() => {
                self.load(link, now);
                return self.reads.push_front(Read::Follow(place.clone()));
            }
            Err(Fault::NoScript) => return self.refused(place, "it keeps no scripts", now),
            Err(Fault::Refused(why) | Fault::Untold(why)) => {
                return self.refused(place, &why, now);
            }
            // the link ends
            Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => return,
        };
        let page = page::page(value, self.node);
        let mut steps = std::mem::take(&mut self.steps);
        let (mut is_readable, mut foreign) = (true, 0);
        if let Some(followed) = self.current(place) {
            match page {
                Some(page) => {
                    foreign = page.foreign;
                    followed.follower.page(page, &mut steps);
                }
                None => is_readable = false,
            }
        }
        self.steps = steps;
        if foreign > 0 {
            self.found_foreign(&place.channel, foreign, now);
        }
        if is_readable {
            self.heed(&place.channel);
        } else {
            self.refused(place, "its answer cannot be read", now);
        }
    }

    /// A channel cannot be followed now.
    fn refused(&mut self, place: &Place, why: &str, now: Instant) {
        let Some((channel, mut followed)) = self.followed.remove_entry(&place.channel) else {
            return;
        };
        if followed.generation == place.generation {
            // a page that was asked for is not expected any more
            self.generations += 1;
            followed.generation = self.generations;
            followed.follower.lost();
            followed.is_refused = true;
            self.tell_failure(&channel, &mut followed, StoreError::Refused);
            self.report_refusal(why, StoreError::Refused, now);
            self.retries_at.get_or_insert(now + RETRY);
        }
        self.followed.insert(channel, followed);
    }

    /// Tries channels again that were refused.
    pub(super) fn retry(&mut self) {
        self.retries_at = None;
        self.doubts.append(&mut self.put_off);
        for (channel, followed) in &mut self.followed {
            if std::mem::take(&mut followed.is_refused) {
                self.subscriptions.push_back(Subscription::Begin(Place {
                    channel: channel.clone(),
                    generation: followed.generation,
                }));
            }
        }
    }

    /// Whether the scripts may be put into the store again for a page.
    pub(super) fn may_load(&self) -> bool {
        self.loads < MOST_LOADS
    }

    /// Puts the scripts into the store again. Publications wait until those on their way are answered: one that is sent
    /// again must not be overtaken.
    pub(super) fn load(&mut self, link: &mut Links<Request>, now: Instant) {
        if self.loading == 0 {
            self.loads += 1;
            self.loading = link.load(|| Request::Load, now);
        }
    }

    pub(super) fn report_refusal(
        &mut self,
        why: &str,
        error: StoreError,
        now: Instant,
    ) -> StoreError {
        if self.reports.refused.is_due(now) {
            self.feed
                .report(&format!("the store of histories refused a command: {why}"));
        }
        error
    }

    /// Gives up on what was not answered in time. An error ends the link.
    pub(in super::super) fn expire(
        &mut self,
        link: &mut Links<Request>,
        now: Instant,
    ) -> Result<(), LinkError> {
        while let Some(request) = link.overdue(now)? {
            match &request {
                Request::Publish(_)
                | Request::Read(_)
                | Request::Check(_)
                | Request::Renew(..)
                | Request::End(_)
                | Request::Load
                | Request::Other => {}
                // it would wait for ever
                Request::Follow(_) | Request::Subscribe(_) => {
                    link.retire("a command took too long".to_owned());
                }
            }
            self.answered(request, Err(Fault::Late), link, now);
        }
        Ok(())
    }
}

/// How often the scripts are put into the store on one link before a page that needs them counts as refused.
const MOST_LOADS: u32 = 8;
