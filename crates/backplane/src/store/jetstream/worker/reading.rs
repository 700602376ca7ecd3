//! How the worker reads channels: for those who follow them, and for the node. A channel that has no record yet gets one,
//! which says where its numbers begin.

use std::time::Instant;

use millrace_core::{Epoch, HistoryTerms};

use super::super::super::feed::StoreError;
use super::super::super::requests::Reading;
use super::super::super::scripts::Cut;
use super::super::answers::{self, Failure, Found, Outcome};
use super::super::api::{EXPECTED, newest, next_from, numbered};
use super::super::channel::Followed;
use super::super::link::Link;
use super::super::record::{self, Head, Record};
use super::super::wire::Message;
use super::job::{Job, Next, Wanted, Why};
use super::{Part, Place, Request, Worker, unix_ms};
use crate::gauges::count;
use crate::outlet::random;

impl Worker {
    /// Begins to read what waits to be read, as far as there is room.
    pub(super) fn begin_reads(&mut self, link: &mut Link<Request>, now: Instant) {
        let is_page = |job: &&Job| job.is_page();
        let mut pages = self.jobs.values().filter(is_page).count();
        while self.jobs.len() < MOST_JOBS && link.has_room() {
            // what nodes read does not hold up what is followed
            let job = if let Some(place) = self.reads.pop_front() {
                self.follow_job(place)
            } else if pages < MOST_PAGES
                && let Some(reading) = self.pages.pop_front()
            {
                pages += 1;
                self.node_job(reading)
            } else {
                break;
            };
            if let Some(job) = job {
                let number = self.add(job);
                self.ask_head(number, link, now);
            }
        }
    }

    fn add(&mut self, job: Job) -> u64 {
        self.last_job += 1;
        self.jobs.insert(self.last_job, job);
        self.last_job
    }

    /// A channel in which publications wait had a record and has none any more: its numbers begin anew, unless others have
    /// begun them.
    pub(super) fn begin_anew(&mut self, channel: &[u8], link: &mut Link<Request>, now: Instant) {
        let Some(stream) = self.channels.get(channel).map(|known| known.stream) else {
            return;
        };
        let nothing = Cut {
            from: None,
            floor: 1,
            most: 0,
            is_reverse: false,
        };
        let terms = HistoryTerms {
            messages: 1,
            age_ms: 1,
        };
        let wanted = wanted(nothing, terms, 0);
        let number = self.add(Job::new(channel.into(), stream, Why::Begin, wanted));
        let head = Head::nothing(Epoch::new(random()));
        self.put_mark(number, &head, link, now);
    }

    fn follow_job(&mut self, place: Place) -> Option<Job> {
        let known = self.channels.get_mut(&place.channel)?;
        let stream = known.stream;
        let followed = known.followed.as_mut()?;
        if followed.generation != place.generation {
            return None;
        }
        let from = followed.follower.sent()?;
        let cut = Cut {
            from: Some(from),
            floor: 1,
            most: usize::MAX,
            is_reverse: false,
        };
        let most_bytes = if followed.follower.is_filled() {
            MOST_MISSED
        } else {
            MOST_FILLED
        };
        let wanted = wanted(cut, followed.terms, most_bytes);
        let channel = place.channel.clone();
        Some(Job::new(channel, stream, Why::Follow(place), wanted))
    }

    fn node_job(&mut self, reading: Reading) -> Option<Job> {
        let Some(stream) = self.streams.place(&reading.channel) else {
            reading.fail(StoreError::Refused);
            return None;
        };
        let wanted = wanted(reading.cut(), reading.terms, reading.most_bytes());
        let channel = reading.channel.clone();
        Some(Job::new(channel, stream, Why::Node(reading), wanted))
    }

    /// Asks for the newest record of a job's channel.
    fn ask_head(&mut self, number: u64, link: &mut Link<Request>, now: Instant) {
        let Some(job) = self.jobs.get_mut(&number) else {
            return;
        };
        if !job.may_ask() {
            let why = "too many others write at the same time";
            return self.job_failed(number, Some(Failure::Refused(why.to_owned())), link, now);
        }
        if let Some(stream) = self.streams.get(job.stream) {
            let (api, body) = newest(&stream.name(), &stream.kept(&job.channel));
            let what = Request::Job(number, Part::Head);
            link.request(what, &api, &[], &[&body], now);
        }
    }

    /// An answer for a job.
    pub(super) fn job_answered(
        &mut self,
        (number, part): (u64, Part),
        message: &Message,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let Some(job) = self.jobs.get_mut(&number) else {
            return;
        };
        match part {
            Part::Head => match answers::found(message, self.node) {
                Found::Record(sequence, record) => {
                    let head = Head::of(sequence, &record);
                    self.job_head(number, (head, &record), link, now);
                }
                // otherwise each attempt would begin other numbers, and tell it
                Found::Nothing if job.is_marked => {
                    let failure = Failure::Refused(FORGETS.to_owned());
                    self.job_failed(number, Some(failure), link, now);
                }
                Found::Nothing => {
                    let head = Head::nothing(Epoch::new(random()));
                    self.put_mark(number, &head, link, now);
                }
                Found::Foreign(sequence) => {
                    let of = (job.channel.clone(), job.stream);
                    self.scan(of, (sequence, Some(number)), link, now);
                }
                Found::Failed(failure) => self.job_failed(number, Some(failure), link, now),
            },
            Part::Mark => match answers::outcome(message) {
                Outcome::Kept(_) => {
                    // only what can be read counts
                    job.is_marked = true;
                    let followed = self.followed_by(number);
                    if followed.is_some_and(|followed| followed.renew.is_some()) {
                        count(&self.shared.counters.renewed, 1);
                    }
                    self.ask_head(number, link, now);
                }
                Outcome::Overtaken | Outcome::Repeated(_) => self.ask_head(number, link, now),
                Outcome::Failed(failure) => self.job_failed(number, Some(failure), link, now),
            },
            Part::Search => {
                let next = match answers::found(message, self.node) {
                    Found::Failed(failure) => {
                        return self.job_failed(number, Some(failure), link, now);
                    }
                    found => job.searched(found),
                };
                self.go_on(number, next, link, now);
            }
            Part::Record(place) => {
                let found = match answers::found(message, self.node) {
                    Found::Failed(failure) => {
                        return self.job_failed(number, Some(failure), link, now);
                    }
                    found => found,
                };
                let next = job.found(place, found);
                self.go_on(number, next, link, now);
            }
        }
    }

    pub(super) fn job_head(
        &mut self,
        number: u64,
        (head, record): (Head, &Record),
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let followed = self.followed_by(number);
        if followed.is_some_and(|followed| followed.must_leave(head.state.epoch)) {
            let state = super::super::record::State {
                epoch: Epoch::new(random()),
                ..head.state
            };
            return self.put_mark(number, &Head { state, ..head }, link, now);
        }
        let Some(job) = self.jobs.get_mut(&number) else {
            return;
        };
        let next = job.begin(head, record);
        self.go_on(number, next, link, now);
    }

    /// The channel whose follower a job reads for.
    fn followed_by(&mut self, number: u64) -> Option<&mut Followed> {
        let place = self.jobs.get(&number)?.place()?;
        self.channels.get_mut(&place.channel)?.followed.as_mut()
    }

    /// Writes where the numbers are. `head` has the number of the record behind which it goes, and the new
    /// state.
    pub(super) fn put_mark(
        &mut self,
        number: u64,
        head: &Head,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let Some(job) = self.jobs.get(&number) else {
            return;
        };
        let Some(stream) = self.streams.get(job.stream) else {
            return;
        };
        let subject = stream.kept(&job.channel);
        let body = record::mark(&head.state, &head.chain());
        let expected = head.sequence.to_string();
        let what = Request::Job(number, Part::Mark);
        let headers = [(EXPECTED, &*expected)];
        link.request(what, &subject, &headers, &[&body], now);
    }

    fn go_on(&mut self, number: u64, next: Next, link: &mut Link<Request>, now: Instant) {
        match next {
            Next::Wait => {}
            Next::Records(sequences) => {
                let stream = self.jobs.get(&number).map(|job| job.stream);
                let Some(stream) = stream.and_then(|stream| self.streams.get(stream)) else {
                    return;
                };
                for (place, sequence) in sequences.into_iter().enumerate() {
                    let (api, body) = numbered(&stream.name(), sequence);
                    let what = Request::Job(number, Part::Record(place));
                    link.request(what, &api, &[], &[&body], now);
                }
            }
            Next::From(sequence) => {
                let Some(job) = self.jobs.get(&number) else {
                    return;
                };
                if let Some(stream) = self.streams.get(job.stream) {
                    let subject = stream.kept(&job.channel);
                    let (api, body) = next_from(&stream.name(), &subject, sequence);
                    let what = Request::Job(number, Part::Search);
                    link.request(what, &api, &[], &[&body], now);
                }
            }
            Next::Done => self.job_done(number, link, now),
        }
    }

    fn job_done(&mut self, number: u64, link: &mut Link<Request>, now: Instant) {
        let Some(job) = self.jobs.remove(&number) else {
            return;
        };
        if job.is_beginning() {
            if let Some(head) = job.known() {
                self.head_found(&job.channel, head.clone(), link, now);
            }
            return;
        }
        if let (Some(head), Some(known)) = (job.known(), self.channels.get_mut(&job.channel)) {
            known.learn(head.clone());
        }
        match job.finish() {
            (Why::Node(reading), Some(page)) => {
                // a page of this store is the last one
                self.pages.extend(reading.add(page));
            }
            (Why::Node(reading), None) => reading.fail(StoreError::Refused),
            (Why::Follow(place), Some(page)) => {
                let mut steps = std::mem::take(&mut self.steps);
                if let Some(followed) = self.current(&place) {
                    followed.follower.page(page, &mut steps);
                }
                self.steps = steps;
                self.heed(&place.channel);
            }
            (Why::Follow(_) | Why::Begin, _) => {}
        }
    }

    /// A job cannot be finished. `failure` is `None` if an answer did not come in time.
    pub(super) fn job_failed(
        &mut self,
        number: u64,
        failure: Option<Failure>,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let Some(job) = self.jobs.remove(&number) else {
            return;
        };
        if job.is_beginning() {
            return match failure {
                None => self.head_late(&job.channel, link, now),
                Some(failure) => self.head_failed(&job.channel, failure, link, now),
            };
        }
        let is_away = failure == Some(Failure::Away);
        let (error, why) = match failure {
            None => (StoreError::Away, "a request took too long".to_owned()),
            Some(Failure::Away) => (StoreError::Away, answers::AWAY.to_owned()),
            Some(Failure::Refused(why)) => (StoreError::Refused, why),
        };
        let place = job.fail(error);
        match (place, error) {
            (Some(place), StoreError::Refused) => self.refused(&place, &why, now),
            (None, StoreError::Refused) => self.report_refusal(&why, now),
            // it would wait for ever
            (Some(_), _) => link.fail(&why),
            // as after a publication: the next link makes a stream that is missing
            (None, _) if is_away => link.fail(&why),
            (None, _) => {}
        }
    }
}

fn wanted(cut: Cut, terms: HistoryTerms, most_bytes: usize) -> Wanted {
    Wanted {
        cut,
        messages: u64::from(terms.messages.max(1)),
        since_ms: unix_ms().saturating_sub(terms.age_ms.max(1)),
        most_bytes,
    }
}

/// Why a server is of no use whose files were removed while it runs. It accepts records as the first of their channels, and
/// answers that there is none.
const FORGETS: &str = "its stream does not keep what it has accepted; restart the server";

/// How many channels are read at a time.
const MOST_JOBS: usize = 16;

/// How many of them for nodes that do not follow them thereby.
const MOST_PAGES: usize = 8;

/// The most bytes of kept messages that a node is given at once, see [`Follower`](super::super::super::follow::Follower).
const MOST_FILLED: usize = 16 * 1024 * 1024;

/// The most bytes of messages that a node can have missed. Beyond that, it is a gap.
const MOST_MISSED: usize = 64 * 1024 * 1024;
