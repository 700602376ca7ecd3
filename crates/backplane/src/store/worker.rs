//! What the store's task does with its link: sends what the node asks for, follows channels, and passes on what comes. Owns
//! the followed channels; the task owns the link and the clock.

mod answers;
mod changes;
mod pages;
mod remembering;
pub(super) mod reports;
mod sending;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ahash::AHashMap;
use bytes::Bytes;
use millrace_core::{Epoch, HistoryTerms};

use super::feed::{Feed, StoreError};
use super::follow::{Follower, Step};
use super::link::Event;
use super::links::Links;
use super::names::Names;
use super::publication::{self, Told};
use super::remembered::Remembered;
use super::requests::{Publication, Reading};
use super::scripts::Scripts;
use super::shared::Shared;
use crate::config::{Config, Protocol};
use crate::gauges::count;
use crate::link_error::LinkError;
use crate::outlet::random;
use pages::Pages;
use remembering::Doubt;
use reports::Reports;

/// See the module.
pub(super) struct Worker {
    /// The number of this node.
    node: u64,
    feed: Arc<dyn Feed>,
    shared: Arc<Shared>,
    scripts: Scripts,
    followed: AHashMap<Box<[u8]>, Followed>,
    /// Of channels that were not followed when they were published to, or are followed no more.
    remembered: Remembered,
    /// What the store may have lost, and of that what it has refused to say.
    doubts: Vec<Doubt>,
    put_off: Vec<Doubt>,
    /// How often a channel was begun to be followed.
    generations: u64,
    /// The numbers of this node's messages.
    numbers: u64,
    /// Subscriptions that are to be sent.
    subscriptions: VecDeque<Subscription>,
    /// Pages that are to be read, and epochs that are to be ended.
    reads: VecDeque<Read>,
    pages: Pages,
    /// How many answers are expected to scripts that are sent once more. Publications wait, so that none overtakes another.
    loading: usize,
    /// How often that happened on this link.
    loads: u32,
    /// The channels whose subscriptions are being ended.
    ending: Vec<Box<[u8]>>,
    steps: Vec<Step>,
    reports: Reports,
    /// When channels that the store refused are tried again.
    retries_at: Option<Instant>,
    pub(super) pings_at: Instant,
    /// Whether nodes were told anything since the last flush.
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

struct Followed {
    terms: HistoryTerms,
    generation: u64,
    follower: Follower,
    /// The node was told that it failed.
    is_failure_told: bool,
    is_refused: bool,
}

/// A channel, as long as it is followed.
#[derive(Clone)]
pub(super) struct Place {
    channel: Box<[u8]>,
    generation: u64,
}

enum Subscription {
    Begin(Place),
    End(Box<[u8]>),
}

enum Read {
    Follow(Place),
    Renew(Place, Epoch),
    Node(Reading),
}

/// What a command was sent for.
pub(super) enum Request {
    Publish(Publication),
    Read(Reading),
    Follow(Place),
    Check(Doubt),
    Renew(Place, Epoch),
    Subscribe(Place),
    End(Box<[u8]>),
    /// The answer shows that everything before it is answered, too.
    Load,
    /// The answer shows only that the store lives.
    Other,
}

impl Worker {
    pub(super) fn new(
        config: &Config,
        shared: Arc<Shared>,
        node: u64,
        feed: Arc<dyn Feed>,
    ) -> Self {
        let is_cluster = config.protocol == Protocol::RedisCluster;
        let scripts = Scripts::new(Names::new(&config.prefix), shared.longest, is_cluster);
        let pages = Pages::new(shared.longest);
        Self {
            node,
            feed,
            shared,
            scripts,
            followed: AHashMap::new(),
            remembered: Remembered::default(),
            doubts: Vec::new(),
            put_off: Vec::new(),
            generations: 0,
            // so that a node that was restarted with the same number does not repeat itself
            numbers: random(),
            subscriptions: VecDeque::new(),
            reads: VecDeque::new(),
            pages,
            loading: 0,
            ending: Vec::new(),
            loads: 0,
            steps: Vec::new(),
            reports: Reports::default(),
            retries_at: None,
            pings_at: Instant::now(),
            has_told: false,
            state: State::Awaited,
        }
    }

    /// There is a link: every channel is subscribed to on it.
    pub(super) fn up(&mut self, link: &mut Links<Request>, now: Instant) {
        self.state = State::Up;
        self.loading = 0;
        self.ending.clear();
        self.loads = 0;
        self.pages.begin();
        self.shared
            .counters
            .is_connected
            .store(true, Ordering::Relaxed);
        link.load(|| Request::Other, now);
        let places = self.followed.iter_mut().map(|(channel, followed)| {
            followed.is_refused = false;
            Place {
                channel: channel.clone(),
                generation: followed.generation,
            }
        });
        self.subscriptions = places.map(Subscription::Begin).collect();
        self.doubt();
    }

    /// There is no link: nothing of it will be answered.
    pub(super) fn down(&mut self, link: Option<Links<Request>>) {
        self.state = State::Away;
        self.shared
            .counters
            .is_connected
            .store(false, Ordering::Relaxed);
        self.subscriptions.clear();
        for request in link.into_iter().flat_map(Links::abandoned) {
            self.abandon(request);
        }
        for read in std::mem::take(&mut self.reads) {
            if let Read::Node(reading) = read {
                reading.fail(StoreError::Away);
            }
        }
        let mut followed = std::mem::take(&mut self.followed);
        for (channel, followed) in &mut followed {
            followed.follower.lost();
            self.tell_failure(channel, followed, StoreError::Away);
        }
        self.followed = followed;
        self.flush();
    }

    /// Nothing is known about a publication that was sent.
    fn abandon(&mut self, request: Request) {
        match request {
            Request::Publish(publication) => {
                count(&self.shared.counters.failed, 1);
                publication.reply.give(Err(StoreError::Unknown));
            }
            Request::Read(reading) => reading.fail(StoreError::Away),
            Request::Check(doubt) => self.doubts.push(doubt),
            Request::Follow(_)
            | Request::Renew(..)
            | Request::Subscribe(_)
            | Request::End(_)
            | Request::Load
            | Request::Other => {}
        }
    }

    /// Whether requests are refused while there is no link: at first each of the given servers is tried.
    pub(super) fn is_away(&self) -> bool {
        self.state == State::Away
    }

    /// What came from the store.
    pub(super) fn handle(
        &mut self,
        event: Event<Request>,
        link: &mut Links<Request>,
        now: Instant,
    ) {
        match event {
            Event::Message(topic, bytes) => self.arrived(&topic, bytes, now),
            Event::Ended(topic) => self.ended(&topic, link),
            Event::Answer(request, answer) => self.answered(request, answer, link, now),
        }
    }

    fn arrived(&mut self, topic: &[u8], bytes: Vec<u8>, now: Instant) {
        let Some(channel) = self.scripts.names().channel(topic) else {
            return;
        };
        let Some(followed) = self.followed.get_mut(&*channel) else {
            return;
        };
        match publication::parse(&Bytes::from(bytes), self.node) {
            Some(Told::Published(message)) => {
                followed.follower.arrived(message, &mut self.steps);
            }
            Some(Told::Renewed) => followed.follower.renewed(&mut self.steps),
            None => self.found_foreign(&channel, 1, now),
        }
        self.heed(&channel);
    }

    /// A subscription has ended, which the node wanted or which has moved to another server.
    fn ended(&mut self, topic: &[u8], link: &mut Links<Request>) {
        let Some(channel) = self.scripts.names().channel(topic) else {
            return;
        };
        let is_ending = self.ending.iter().any(|ending| **ending == *channel);
        if !is_ending && self.followed.contains_key(&*channel) {
            link.fail("a slot has moved to another server");
        }
    }

    fn found_foreign(&mut self, channel: &[u8], messages: u64, now: Instant) {
        count(&self.shared.counters.foreign, messages);
        if self.reports.foreign.is_due(now) {
            self.feed.report(&format!(
                "another program writes under the name of the channel {} in the store; its messages are dropped",
                channel.escape_ascii()
            ));
        }
    }

    /// Does what a follower needs.
    fn heed(&mut self, channel: &[u8]) {
        if self.steps.is_empty() {
            return;
        }
        let Some(generation) = self
            .followed
            .get(channel)
            .map(|followed| followed.generation)
        else {
            return self.steps.clear();
        };
        let counters = &self.shared.counters;
        let place = || Place {
            channel: channel.into(),
            generation,
        };
        for step in self.steps.drain(..) {
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
                Step::Read => self.reads.push_back(Read::Follow(place())),
                Step::Repair => {
                    count(&counters.reread, 1);
                    self.reads.push_back(Read::Follow(place()));
                }
                Step::Renew(epoch) => {
                    count(&counters.renewed, 1);
                    self.reads.push_back(Read::Renew(place(), epoch));
                }
            }
        }
    }

    /// The channel, if it is still followed.
    fn current(&mut self, place: &Place) -> Option<&mut Followed> {
        self.followed
            .get_mut(&place.channel)
            .filter(|followed| followed.generation == place.generation)
    }

    /// Tells the node that a channel cannot be followed, unless it knows what the channel has.
    fn tell_failure(&mut self, channel: &[u8], followed: &mut Followed, error: StoreError) {
        if !followed.follower.is_filled() && !std::mem::replace(&mut followed.is_failure_told, true)
        {
            self.feed.failed(channel, error);
            self.has_told = true;
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

/// After this time channels that the store refused are tried again.
const RETRY: Duration = Duration::from_secs(5);
