//! What the task of members does with its links: extends the life of this node's session, writes its members, follows those of
//! others, and passes on what comes. Owns the followed channels and what this node has written; the task owns the links and the
//! clock.

mod answers;
mod following;
mod writing;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahash::AHashMap;

use super::follow::{Follower, Step};
use super::lease::Lease;
use super::message::Told;
use super::own::Own;
use super::register::{Event, Place, Register};
use super::roll::Roll;
use super::session::Session;
use super::shared::Shared;
use crate::gauges::count;
use crate::link_error::LinkError;

/// See the module.
pub(super) struct Worker {
    /// The number of this node.
    node: u64,
    roll: Arc<dyn Roll>,
    shared: Arc<Shared>,
    lease: Lease,
    followed: AHashMap<Box<[u8]>, Followed>,
    /// How often a channel was begun to be followed.
    generations: u64,
    own: AHashMap<Box<[u8]>, Own>,
    /// The number of the last change of this node.
    versions: u64,
    /// What is to be sent, in this order.
    subscriptions: VecDeque<Subscription>,
    reads: VecDeque<Read>,
    writes: VecDeque<Box<[u8]>>,
    /// Channels that wait for the next beat, with a session that may be dead.
    suspects: Vec<(Place, Session)>,
    /// How many pages are on their way.
    reading: usize,
    steps: Vec<Step>,
    /// When what the store refused is tried again.
    retries_at: Option<Instant>,
    prolongs_at: Instant,
    /// Whether the servers of this link are marked.
    is_marked: bool,
    is_leaving: bool,
    loss: Loss,
    reported: Option<Instant>,
    has_told: bool,
    state: State,
}

/// The time by both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) unix_ms: u64,
    pub(super) at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There was no link yet, and not each of the given servers was tried.
    Awaited,
    /// There is a link, but whether this node's session lives is not known.
    Connected,
    Up,
    Away,
}

/// Whether the servers have lost something.
#[derive(Default)]
struct Loss {
    /// What they had when the last link was made.
    era: Option<Box<[u8]>>,
    /// They have: who is missing there may not have written it again.
    spares: bool,
    /// Whether all that this node has written is being compared.
    is_checking: bool,
    /// How many beats were answered.
    beats: usize,
}

impl Loss {
    fn heed_era(&mut self, era: Option<&[u8]>) {
        self.spares |= self.era.is_some() && self.era.as_deref() != era;
        self.era = era.map(Into::into);
    }
}

struct Followed {
    /// The number that the node knows it by.
    following: u64,
    /// What answers of the store are for.
    generation: u64,
    follower: Follower,
    /// The node was told that it failed.
    is_failure_told: bool,
    is_refused: bool,
    /// How often something was missing that belongs to its members.
    missing: u32,
}

enum Subscription {
    Begin(Place),
    End(Box<[u8]>),
}

enum Read {
    Index(Place),
    Page(Place, Session),
    /// Whether the store has what this node has written.
    Check(Box<[u8]>),
    Purge(Box<[u8]>, Session),
}

impl Worker {
    pub(super) fn new((shared, node, roll): (Arc<Shared>, u64, Arc<dyn Roll>), now: Now) -> Self {
        count(&shared.counters.sessions, 1);
        Self {
            node,
            roll,
            shared,
            lease: Lease::new(node, now.unix_ms, now.at),
            followed: AHashMap::new(),
            generations: 0,
            own: AHashMap::new(),
            versions: 0,
            subscriptions: VecDeque::new(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            suspects: Vec::new(),
            reading: 0,
            steps: Vec::new(),
            retries_at: None,
            prolongs_at: now.at + PROLONGS,
            is_marked: false,
            is_leaving: false,
            loss: Loss::default(),
            reported: None,
            has_told: false,
            state: State::Awaited,
        }
    }

    /// There is a link: every channel is subscribed to on it, and what this node has written is compared.
    pub(super) fn up(&mut self, register: &mut dyn Register, now: Now) {
        self.state = State::Connected;
        self.lease.back(now.at);
        self.loss.heed_era(register.era());
        if register.is_split() {
            self.is_disturbed(now);
        }
        register.follow_sessions(now.at);
        for (channel, followed) in &mut self.followed {
            followed.is_refused = false;
            self.subscriptions.push_back(Subscription::Begin(Place {
                channel: channel.clone(),
                generation: followed.generation,
            }));
        }
        for (channel, own) in &mut self.own {
            if own.version != 0 {
                self.reads.push_back(Read::Check(channel.clone()));
            }
            if !std::mem::replace(&mut own.is_queued, true) {
                self.writes.push_back(channel.clone());
            }
        }
    }

    /// One of several servers may have lost what others have written, and nothing says so.
    fn is_disturbed(&mut self, now: Now) {
        self.lease.back(now.at);
        self.loss.spares |= self.lease.is_begun();
    }

    /// There is no link: nothing of it will be answered. What is known of other nodes stays.
    pub(super) fn down(&mut self) {
        self.state = State::Away;
        self.lease.lost();
        self.subscriptions.clear();
        self.reads.clear();
        self.writes.clear();
        self.suspects.clear();
        self.reading = 0;
        self.retries_at = None;
        self.is_marked = false;
        self.loss.is_checking = false;
        for own in self.own.values_mut() {
            own.lost();
        }
        let roll = &self.roll;
        for (channel, followed) in &mut self.followed {
            followed.follower.lost();
            self.has_told |= followed.fail(roll, channel);
        }
        self.flush();
    }

    /// Looks at what the node has noted.
    pub(super) fn heed(&mut self) {
        let changes = self.shared.changes();
        for (channel, change) in changes.followed {
            let followed = self.followed.get(&channel).map(|one| one.following);
            if change.ends || change.begins.is_some() && change.begins != followed {
                self.forget(&channel);
            }
            if let Some(following) = change.begins
                && !self.followed.contains_key(&channel)
            {
                self.follow(channel, following);
            }
        }
        for channel in changes.members {
            self.wants_to_write(channel);
        }
    }

    fn follow(&mut self, channel: Box<[u8]>, following: u64) {
        self.generations += 1;
        let mut followed = Followed {
            following,
            generation: self.generations,
            follower: Follower::default(),
            is_failure_told: false,
            is_refused: false,
            missing: 0,
        };
        match self.state {
            State::Awaited => {}
            State::Connected | State::Up => {
                let place = Place {
                    channel: channel.clone(),
                    generation: self.generations,
                };
                self.subscriptions.push_back(Subscription::Begin(place));
            }
            State::Away => self.has_told |= followed.fail(&self.roll, &channel),
        }
        self.followed.insert(channel, followed);
    }

    fn forget(&mut self, channel: &[u8]) {
        let Some(followed) = self.followed.get_mut(channel) else {
            return;
        };
        followed.follower.end(&mut self.steps);
        self.step(channel);
        self.followed.remove(channel);
        if self.is_connected() {
            let end = Subscription::End(channel.into());
            self.subscriptions.push_back(end);
        }
    }

    fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected | State::Up)
    }

    /// What came from the store.
    pub(super) fn handle(&mut self, event: Event, register: &mut dyn Register, now: Now) {
        match event {
            Event::Told(None, Some(Told::Gone(session))) => {
                self.lease.gone(session);
                self.is_dead(session);
            }
            Event::Told(None, _) => {}
            Event::Told(Some(channel), told) => self.arrived(&channel, told, now),
            Event::Answer(request, answer) => self.answered(request, answer, register, now),
            Event::Refused(why) => self.report_refusal(&why, now),
            Event::Disturbed => self.is_disturbed(now),
        }
    }

    fn arrived(&mut self, channel: &[u8], told: Option<Told>, now: Now) {
        let Some(told) = told else {
            let name = channel.escape_ascii();
            return self.report(
                &format!("another program publishes on the topic of the members of {name}"),
                now,
            );
        };
        let session = told.session();
        let Some(followed) = self.followed.get_mut(channel) else {
            return;
        };
        if session.node == self.node {
            return;
        }
        // whether it lives is seen with the next beat
        self.lease.see(session, now.at);
        followed.follower.told(told, &mut self.steps);
        self.step(channel);
    }

    /// A session of another node is dead: its members have left all channels.
    fn is_dead(&mut self, session: Session) {
        if session.node == self.node {
            return;
        }
        let channels: Vec<_> = self.followed.keys().cloned().collect();
        for channel in channels {
            let Some(followed) = self.followed.get_mut(&channel) else {
                continue;
            };
            if !followed.follower.sessions().any(|one| one == session) {
                continue;
            }
            followed.follower.dead(session, &mut self.steps);
            self.step(&channel);
            self.reads.push_back(Read::Purge(channel, session));
        }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Lets the node wake who was told something.
    pub(super) fn flush(&mut self) {
        if std::mem::take(&mut self.has_told) {
            self.roll.flush();
        }
    }

    /// When there is something to do if nothing happens before.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let beats_at = self.lease.beats_at().filter(|_| !self.is_leaving);
        let times = [beats_at, self.retries_at, Some(self.prolongs_at)];
        times.into_iter().flatten().min()
    }

    /// Tells an operator that the link was lost, or could not be made.
    pub(super) fn report_loss(&self, error: &LinkError) {
        self.roll.report(&format!(
            "no link to the members of other nodes; it is tried again: {error}"
        ));
    }

    fn report_refusal(&mut self, why: &str, now: Now) {
        self.report(
            &format!("the store refused a command about members: {why}"),
            now,
        );
    }

    /// Tells an operator something, at most once a minute.
    fn report(&mut self, message: &str, now: Now) {
        let is_due = self
            .reported
            .is_none_or(|last| now.at.saturating_duration_since(last) >= REPORTS);
        if is_due {
            self.reported = Some(now.at);
            self.roll.report(message);
        }
    }
}

impl Followed {
    /// Tells the node that a channel cannot be followed, unless it knows the members. Returns whether it was told.
    fn fail(&mut self, roll: &Arc<dyn Roll>, channel: &[u8]) -> bool {
        if self.follower.is_filled() || std::mem::replace(&mut self.is_failure_told, true) {
            return false;
        }
        roll.failed(channel, self.following);
        true
    }
}

/// After this time what the store refused is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// How often what this node has written is made to live on.
const PROLONGS: Duration = Duration::from_secs(60 * 60);

const REPORTS: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
