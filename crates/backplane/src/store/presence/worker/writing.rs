//! Writing the members of this node. Owns the order of writes: one of each channel at a time.

use super::super::own::Writing;
use super::super::register::{Part, Register};
use super::super::roll::{Pending, Seat};
use super::super::session::Session;
use super::{Now, PROLONGS, Read, State, Worker};
use crate::gauges::count;

impl Worker {
    /// Members of this node have changed in a channel.
    pub(super) fn wants_to_write(&mut self, channel: Box<[u8]>) {
        if self.is_leaving {
            return;
        }
        if !self.is_connected() {
            // until there is a link only channels are remembered that have members here, or in the store
            let known = self.own.get(&channel);
            let is_there = known.is_some_and(|own| own.may_be_there() || own.old.is_some());
            if is_there || !self.roll.members_here(&channel, None, 1).is_empty() {
                self.own.entry(channel).or_default();
            } else {
                self.own.remove(&channel);
            }
            return;
        }
        self.own.entry(channel.clone()).or_default();
        self.queue(channel);
    }

    pub(super) fn queue(&mut self, channel: Box<[u8]>) {
        if let Some(own) = self.own.get_mut(&channel)
            && !std::mem::replace(&mut own.is_queued, true)
        {
            self.writes.push_back(channel);
        }
    }

    /// Writes what waits, as far as there is room.
    pub(super) fn write_all(&mut self, register: &mut dyn Register, now: Now) {
        while self.state == State::Up
            && register.has_room()
            && let Some(channel) = self.writes.pop_front()
        {
            self.write(&channel, register, now);
        }
    }

    fn write(&mut self, channel: &[u8], register: &mut dyn Register, now: Now) {
        let Some(own) = self.own.get_mut(channel) else {
            return;
        };
        own.is_queued = false;
        if own.writing.is_some() {
            // it goes on when that is answered
            return;
        }
        let pending = if own.is_whole() {
            Pending::Whole
        } else {
            self.roll.take_changes(channel, (MOST_CHANGES, MOST_BYTES))
        };
        match pending {
            Pending::Changes(seats) if seats.is_empty() => {
                if own.is_over() {
                    self.own.remove(channel);
                } else if own.version != 0 && register.is_long(channel) {
                    // what changes from now on is told behind it
                    own.is_shortened = true;
                    self.write_part(channel, None, register, now);
                }
            }
            Pending::Changes(seats) => self.change(channel, &seats, register, now),
            Pending::Whole => self.write_anew(channel, register, now),
        }
    }

    fn change(
        &mut self,
        channel: &[u8],
        seats: &[Result<Seat, u64>],
        register: &mut dyn Register,
        now: Now,
    ) {
        let version = self.next_version();
        let Some(own) = self.own.get_mut(channel) else {
            return;
        };
        own.writing = Some(Writing::Change(version));
        let session = self.lease.own();
        let numbers = (own.version, version);
        let is_empty = self.roll.members_here(channel, None, 1).is_empty();
        register.change((channel, session), numbers, (seats, is_empty), now.at);
    }

    /// Writes all members of this node.
    fn write_anew(&mut self, channel: &[u8], register: &mut dyn Register, now: Now) {
        self.roll.begin(channel);
        let Some(own) = self.own.get_mut(channel) else {
            return;
        };
        if own.version == 0 && !own.is_whole() {
            // nothing is there yet: what is here has all come
            let seats = self.roll.members_here(channel, None, MOST_CHANGES + 1);
            if seats.is_empty() {
                self.own.remove(channel);
                return;
            }
            let bytes: usize = seats.iter().map(Seat::bytes).sum();
            if seats.len() <= MOST_CHANGES && bytes <= MOST_BYTES {
                let seats: Vec<_> = seats.into_iter().map(Ok).collect();
                return self.change(channel, &seats, register, now);
            }
        } else {
            count(&self.shared.counters.rewritten, 1);
        }
        own.is_doubtful = true;
        own.is_shortened = false;
        self.write_part(channel, None, register, now);
    }

    fn write_part(
        &mut self,
        channel: &[u8],
        behind: Option<u64>,
        register: &mut dyn Register,
        now: Now,
    ) {
        let mut seats = self.roll.members_here(channel, behind, PART_MEMBERS);
        let fitting = fitting(&seats);
        let is_last = seats.len() < PART_MEMBERS && fitting == seats.len();
        seats.truncate(fitting);
        let last = seats.last().filter(|_| !is_last);
        let last = last.map(|seat| seat.socket);
        let version = self.next_version();
        let session = self.lease.own();
        let Some(own) = self.own.get_mut(channel) else {
            return;
        };
        own.writing = Some(match last {
            Some(behind) => Writing::Part(behind),
            None => Writing::Last(version),
        });
        let part = Part {
            is_first: behind.is_none(),
            version: last.is_none().then_some(version),
            follows: own.is_shortened.then_some(own.version),
            seats: &seats,
            old: own.old,
        };
        register.write((channel, session), part, now.at);
    }

    /// What was written is answered: goes on.
    pub(super) fn go_on(
        &mut self,
        channel: Box<[u8]>,
        behind: Option<u64>,
        register: &mut dyn Register,
        now: Now,
    ) {
        if behind.is_some() && self.state == State::Up {
            self.write_part(&channel, behind, register, now);
        } else {
            self.queue(channel);
        }
    }

    /// This node was declared dead, or the store has lost something: everything is written by another session.
    pub(super) fn begin_again(&mut self, old: Session) {
        count(&self.shared.counters.sessions, 1);
        self.state = State::Connected;
        self.is_marked = false;
        // others may have lost theirs, too, and write what they have once more
        self.loss.spares = true;
        let mut channels = Vec::new();
        for (channel, own) in &mut self.own {
            if let Some(earlier) = own.begin_again(old) {
                self.reads.push_back(Read::Purge(channel.clone(), earlier));
            }
            channels.push(channel.clone());
        }
        for channel in channels {
            self.queue(channel);
        }
    }

    /// Lets what this node has written live on, and sees that it is still there.
    pub(super) fn prolong(&mut self, now: Now) {
        self.prolongs_at = now.at + PROLONGS;
        self.check_all();
    }

    /// Compares what the store has with all that this node has written.
    pub(super) fn check_all(&mut self) {
        let written = self.own.iter().filter(|(_, own)| own.version != 0);
        let checks = written.map(|(channel, _)| Read::Check(channel.clone()));
        self.reads.extend(checks);
    }

    /// Removes the members of this node, once.
    pub(in super::super) fn leave(&mut self, register: &mut dyn Register, now: Now) {
        if std::mem::replace(&mut self.is_leaving, true) {
            return;
        }
        self.subscriptions.clear();
        self.writes.clear();
        self.reads.clear();
        self.followed.clear();
        let session = self.lease.own();
        register.leave(session, now.at);
        for (channel, own) in std::mem::take(&mut self.own) {
            let sessions = [own.may_be_there().then_some(session), own.old];
            for session in sessions.into_iter().flatten() {
                self.reads.push_back(Read::Purge(channel.clone(), session));
            }
        }
    }

    fn next_version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }
}

/// How many of these members go into one part.
fn fitting(seats: &[Seat]) -> usize {
    let mut bytes = 0;
    let fits = |seat: &&Seat| {
        bytes += seat.bytes();
        bytes <= MOST_BYTES
    };
    let count = seats.iter().take_while(fits).count();
    // one always does
    count.max(1).min(seats.len())
}

/// The most changes that are written at once, and about the most bytes of their infos.
const MOST_CHANGES: usize = 512;
const MOST_BYTES: usize = 256 * 1024;

/// How many members are written at once when all are.
const PART_MEMBERS: usize = 256;
