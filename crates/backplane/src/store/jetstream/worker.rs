//! What the task does with its link to JetStream: publishes, follows channels and reads them. Owns the channels; the task
//! owns the link and the clock.

mod following;
mod job;
mod publishing;
mod reading;
mod scanning;
mod search;
mod watching;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ahash::AHashMap;

use super::super::feed::{Feed, StoreError};
use super::super::follow::Step;
use super::super::publication::Id;
use super::super::remembered::Remembered;
use super::super::requests::{Command, Reading};
use super::super::shared::Shared;
use super::super::worker::reports::Reports;
use super::channel::{Channel, Waiting};
use super::link::{DEADLINE, Event, Link};
use super::names::Streams;
use super::wire::Message;
use crate::config::Config;
use crate::gauges::count;
use crate::link_error::LinkError;
use crate::outlet::random;
use job::Job;
use scanning::Scan;
use watching::Leaders;

/// See the module.
pub(in crate::store) struct Worker {
    /// The number of this node.
    node: u64,
    feed: Arc<dyn Feed>,
    shared: Arc<Shared>,
    streams: Arc<Streams>,
    channels: AHashMap<Box<[u8]>, Channel>,
    /// The channels of the link's subscriptions.
    subscriptions: AHashMap<u64, Box<[u8]>>,
    /// Channels that are to be subscribed to.
    beginning: VecDeque<Place>,
    /// Channels that are to be read for their followers.
    reads: VecDeque<Place>,
    /// What nodes want to read.
    pages: VecDeque<Reading>,
    jobs: AHashMap<u64, Job>,
    scans: AHashMap<u64, Scan>,
    /// Who leads each stream, in a cluster.
    leaders: Leaders,
    /// How many channels are followed.
    followed: usize,
    /// The last number of a job or a scan.
    last_job: u64,
    /// How often a channel was begun to be followed.
    generations: u64,
    /// The numbers of this node's messages.
    numbers: u64,
    /// The publications that were taken and are not answered, and their bytes.
    taken: (usize, usize),
    /// Of channels that are not followed, and of those in which this node publishes.
    remembered: Remembered,
    steps: Vec<Step>,
    reports: Reports,
    /// When channels that the store refused are tried again.
    retries_at: Option<Instant>,
    pub(super) pings_at: Instant,
    pub(super) sweeps_at: Instant,
    /// From this many channels on, those that are idle are forgotten.
    most_channels: usize,
    /// Whether the node was told anything since the last flush.
    has_told: bool,
    state: State,
}

/// Whether there is a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// There was no link yet, and not each of the given servers was tried.
    Awaited,
    Up,
    Away,
}

/// A channel, as long as it is followed.
#[derive(Clone)]
struct Place {
    channel: Box<[u8]>,
    generation: u64,
}

/// What a request was sent for.
pub(in crate::store) enum Request {
    /// A stream is looked up, made or changed.
    Setup,
    /// The record with this number that is under way in this channel.
    Publish(Box<[u8]>, u64),
    /// The newest record of this channel.
    Head(Box<[u8]>),
    /// The record with the last number in the stream, which has the key of the publication under way.
    Twin(Box<[u8]>, u64, u64),
    /// A part of what a job reads.
    Job(u64, Part),
    /// The next message of a scan.
    Scan(u64),
    /// Who leads the stream with this place.
    Leader(usize),
}

/// What a job has asked for.
#[derive(Clone, Copy)]
pub(in crate::store) enum Part {
    Head,
    /// The record that says where the numbers are.
    Mark,
    /// The first record from a number on.
    Search,
    /// One of the records that were asked for together.
    Record(usize),
}

impl Worker {
    pub(in crate::store) fn new(
        config: &Config,
        shared: Arc<Shared>,
        (node, feed): (u64, Arc<dyn Feed>),
    ) -> Self {
        Self {
            node,
            feed,
            shared,
            streams: Arc::new(Streams::new(config)),
            channels: AHashMap::new(),
            subscriptions: AHashMap::new(),
            beginning: VecDeque::new(),
            reads: VecDeque::new(),
            pages: VecDeque::new(),
            jobs: AHashMap::new(),
            scans: AHashMap::new(),
            leaders: Leaders::default(),
            followed: 0,
            last_job: 0,
            generations: 0,
            // so that a node that was restarted with the same number does not repeat itself
            numbers: random(),
            taken: (0, 0),
            remembered: Remembered::default(),
            steps: Vec::new(),
            reports: Reports::default(),
            retries_at: None,
            pings_at: Instant::now(),
            sweeps_at: Instant::now(),
            most_channels: MOST_CHANNELS,
            has_told: false,
            state: State::Awaited,
        }
    }

    /// What has to be on the server.
    pub(super) fn streams(&self) -> Arc<Streams> {
        Arc::clone(&self.streams)
    }

    /// There is a link: every followed channel is subscribed to on it.
    pub(super) fn up(&mut self) {
        self.state = State::Up;
        let counters = &self.shared.counters;
        counters.is_connected.store(true, Ordering::Relaxed);
        self.leaders = Leaders::unknown(self.streams.iter().count());
        self.subscriptions.clear();
        self.beginning.clear();
        for (channel, known) in &mut self.channels {
            known.forget_head();
            if let Some(followed) = &mut known.followed {
                followed.subscription = None;
                followed.is_refused = false;
                self.beginning.push_back(Place {
                    channel: channel.clone(),
                    generation: followed.generation,
                });
            }
        }
    }

    /// There is no link: nothing of it will be answered.
    pub(super) fn down(&mut self) {
        self.state = State::Away;
        let counters = &self.shared.counters;
        counters.is_connected.store(false, Ordering::Relaxed);
        self.beginning.clear();
        let mut channels = std::mem::take(&mut self.channels);
        for (channel, known) in &mut channels {
            self.fail(known.sent(), StoreError::Unknown);
            self.fail(
                known.unsent(Instant::now(), Duration::ZERO),
                StoreError::Away,
            );
            known.is_asking = false;
            if let Some(followed) = &mut known.followed {
                followed.lost();
                self.tell_failure(channel, followed, StoreError::Away);
            }
        }
        channels.retain(|_, known| !known.is_idle());
        self.channels = channels;
        self.scans.clear();
        let jobs = std::mem::take(&mut self.jobs).into_values();
        self.reads.clear();
        let waiting = std::mem::take(&mut self.pages);
        for reading in jobs.filter_map(Job::reading).chain(waiting) {
            reading.fail(StoreError::Away);
        }
        self.flush();
    }

    /// Whether requests are refused while there is no link: at first each of the given servers is tried.
    pub(super) fn is_away(&self) -> bool {
        self.state == State::Away
    }

    /// Whether another publication may be taken.
    pub(super) fn has_room(&self) -> bool {
        let (publications, bytes) = self.taken;
        publications < MOST_TAKEN && bytes < MOST_TAKEN_BYTES
    }

    /// Whether nothing waits for an answer.
    pub(super) fn is_idle(&self) -> bool {
        self.taken.0 == 0 && self.jobs.is_empty() && self.reads.is_empty() && self.pages.is_empty()
    }

    /// Takes a request of the node.
    pub(super) fn take(&mut self, command: Command, link: &mut Link<Request>, now: Instant) {
        match command {
            Command::Publish(mut publication) => {
                self.numbers = self.numbers.wrapping_add(1);
                publication.id = Id {
                    node: self.node,
                    number: self.numbers,
                };
                self.publish(publication, link, now);
            }
            Command::Read(reading) => self.pages.push_back(reading),
        }
    }

    /// What came from the server.
    pub(super) fn handle(&mut self, event: Event<Request>, link: &mut Link<Request>, now: Instant) {
        match event {
            Event::Answer(request, message) => self.answered(request, &message, link, now),
            Event::Told(message) => self.told(&message, link, now),
            Event::Forbidden {
                is_publish,
                subject,
                text,
            } => self.forbidden((is_publish, &subject), &text, link, now),
        }
    }

    fn answered(
        &mut self,
        request: Request,
        message: &Message,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        match request {
            Request::Publish(channel, number) => {
                self.published((&channel, number), message, link, now);
            }
            Request::Head(channel) => self.head(&channel, message, link, now),
            Request::Twin(channel, number, sequence) => {
                self.twin((&channel, number, sequence), message, link, now);
            }
            Request::Job(job, part) => self.job_answered((job, part), message, link, now),
            Request::Scan(scan) => self.scanned(scan, message, link, now),
            Request::Leader(place) => self.leader(place, message, link),
            Request::Setup => {}
        }
    }

    /// Gives up on what was not answered in time. An error ends the link.
    pub(super) fn expire(
        &mut self,
        link: &mut Link<Request>,
        now: Instant,
    ) -> Result<(), LinkError> {
        while let Some(request) = link.overdue(now)? {
            match request {
                Request::Publish(channel, number) | Request::Twin(channel, number, _) => {
                    if let Some(known) = self.under_way(&channel, number) {
                        let sent = known.sent();
                        self.fail(sent, StoreError::Unknown);
                    }
                    self.advance(&channel, link, now);
                }
                Request::Head(channel) => self.head_late(&channel, link, now),
                Request::Job(job, _) => self.job_failed(job, None, link, now),
                Request::Scan(scan) => self.scan_late(scan, link, now),
                Request::Leader(place) => self.leaders.unheard(place),
                Request::Setup => {}
            }
        }
        Ok(())
    }

    /// Gives up on publications that have waited too long to be sent. To be called from time to time.
    pub(super) fn sweep(&mut self, now: Instant) {
        if self.taken.0 == 0 {
            return;
        }
        let mut channels = std::mem::take(&mut self.channels);
        for known in channels.values_mut() {
            self.fail(known.unsent(now, DEADLINE), StoreError::Away);
        }
        self.channels = channels;
    }

    fn fail(&mut self, waiting: Vec<Waiting>, error: StoreError) {
        let counter = &self.shared.counters.failed;
        count(counter, u64::try_from(waiting.len()).unwrap_or(u64::MAX));
        for one in waiting {
            self.given(one.give(Err(error)));
        }
    }

    /// A publication with so many bytes was answered.
    fn given(&mut self, bytes: usize) {
        self.taken = (
            self.taken.0.saturating_sub(1),
            self.taken.1.saturating_sub(bytes),
        );
    }

    fn report_refusal(&mut self, why: &str, now: Instant) {
        if self.reports.refused.is_due(now) {
            self.feed
                .report(&format!("the store of histories refused a command: {why}"));
        }
    }

    /// Another program has written something under the name of a channel.
    fn found_foreign(&mut self, channel: &[u8], now: Instant) {
        count(&self.shared.counters.foreign, 1);
        if self.reports.foreign.is_due(now) {
            self.feed.report(&format!(
                "another program writes under the name of the channel {} in the store; its messages are dropped",
                channel.escape_ascii()
            ));
        }
    }

    /// Lets the node wake who was given something.
    pub(super) fn flush(&mut self) {
        if std::mem::take(&mut self.has_told) {
            self.feed.flush();
        }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// When channels that the store refused are tried again.
    pub(super) fn retries_at(&self) -> Option<Instant> {
        self.retries_at
    }

    /// Tells an operator that the link was lost, or could not be made.
    pub(super) fn report_loss(&self, error: &LinkError) {
        self.feed.report(&format!(
            "no link to the store of histories; it is tried again: {error}"
        ));
    }
}

/// The time of this node's clock, in milliseconds of Unix time.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The most publications that are taken and not answered. Others wait in the queue.
const MOST_TAKEN: usize = 8192;

/// From this many bytes of taken publications on, none is taken.
const MOST_TAKEN_BYTES: usize = 8 * 1024 * 1024;

/// The most channels of which the newest record is remembered, beside those in use.
const MOST_CHANNELS: usize = 10_000;
