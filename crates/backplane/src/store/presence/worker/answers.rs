//! The answers of the store: what each means for what was asked.

use super::super::super::link::Fault;
use super::super::lease::Beat;
use super::super::own::Written;
use super::super::register::{Place, Register, Reply, Request};
use super::super::session::Session;
use super::{Now, RETRY, Read, State, Worker};
use crate::link_error::LinkError;

type Answer = Result<Reply, Fault>;

impl Worker {
    pub(super) fn answered(
        &mut self,
        request: Request,
        answer: Answer,
        register: &mut dyn Register,
        now: Now,
    ) {
        if let Err(Fault::Refused(why) | Fault::Untold(why)) = &answer {
            self.report_refusal(why, now);
        }
        match request {
            Request::Beat => self.beaten(answer, register, now),
            Request::Mark(session, was_marked) => {
                let is_lost = matches!(answer, Ok(Reply::Lost));
                if was_marked && is_lost && session == self.lease.own() {
                    let old = self.lease.begin_again(now.unix_ms, now.at);
                    self.begin_again(old);
                }
            }
            Request::Subscribe(place) => {
                if let Err(Fault::Refused(_)) = answer {
                    self.refused(&place, now);
                } else if let Some(followed) = self.current(&place) {
                    followed.follower.subscribed();
                }
            }
            Request::Index(place, look) => self.index((&place, look), answer, now),
            Request::Page(place, session, mark) => {
                self.reading = self.reading.saturating_sub(1);
                self.page(&place, (session, mark), answer, now);
            }
            Request::Write(channel, session) => {
                if session == self.lease.own() {
                    self.written(channel, &answer, register, now);
                }
            }
            Request::Check(channel, session, version) => {
                if let Ok(Reply::Version(found)) = answer
                    && session == self.lease.own()
                {
                    self.checked(channel, (version, found), register);
                }
            }
        }
    }

    fn beaten(&mut self, answer: Answer, register: &mut dyn Register, now: Now) {
        let (lives, live) = match answer {
            Ok(Reply::Beat { lives, live }) => (lives, live),
            answer => {
                // it is repeated; without one in time the link is not fit
                self.lease.lost();
                if matches!(answer, Err(Fault::NoScript)) {
                    self.lease.hurry(now.at);
                }
                return;
            }
        };
        let beat = self.lease.beaten(lives, live, (now.unix_ms, now.at));
        let dead = match beat {
            Beat::Again(old) => return self.begin_again(old),
            Beat::Dead(dead) => dead,
            Beat::Late => return,
        };
        self.state = State::Up;
        if self.loss.spares && !self.lease.has_grace(now.at) {
            self.loss.spares = false;
            self.look_again();
        }
        for session in &dead {
            self.is_dead(*session);
        }
        for (place, session) in std::mem::take(&mut self.suspects) {
            if dead.contains(&session) {
                let purge = Read::Purge(place.channel.clone(), session);
                self.reads.push_back(purge);
            }
            self.with_steps(&place, |followed, steps| followed.follower.begin(steps));
        }
        if register.is_split() {
            self.look_after_one();
        }
    }

    /// Compares one channel that this node has written. If something is missing there, all are compared.
    fn look_after_one(&mut self) {
        self.loss.beats = self.loss.beats.wrapping_add(1);
        self.loss.is_checking = false;
        let turn = self.loss.beats.checked_rem(self.own.len());
        let channel = turn.and_then(|turn| self.own.keys().nth(turn)).cloned();
        self.reads.extend(channel.map(Read::Check));
    }

    /// Who has members in a channel.
    fn index(&mut self, (place, look): (&Place, u32), answer: Answer, now: Now) {
        let sessions = match answer {
            Ok(Reply::Index(sessions)) => sessions,
            Ok(_) | Err(Fault::Refused(_) | Fault::Untold(_) | Fault::NoScript) => {
                return self.refused(place, now);
            }
            // the link ends
            Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => return,
        };
        if self.current(place).is_none() {
            return;
        }
        let (mut found, mut is_clear) = (Vec::new(), true);
        for (session, version) in sessions {
            if session.node == self.node {
                self.see_own(&place.channel, session);
                continue;
            }
            if !self.lease.see(session, now.at) {
                self.suspects.push((place.clone(), session));
                is_clear = false;
            }
            found.push((session, version));
        }
        if !is_clear {
            return self.lease.hurry(now.at);
        }
        let spares = self.loss.spares;
        self.with_steps(place, |followed, steps| {
            if spares {
                followed.follower.spare();
            }
            followed.follower.index(look, &found, steps);
        });
    }

    /// An earlier session of this node has left something.
    fn see_own(&mut self, channel: &[u8], session: Session) {
        let own = self.own.get(channel);
        let is_known = own.is_some_and(|own| own.old == Some(session));
        if session != self.lease.own() && !is_known {
            self.reads.push_back(Read::Purge(channel.into(), session));
        }
    }

    /// A page of the members of a session.
    fn page(&mut self, place: &Place, of: (Session, u32), answer: Answer, now: Now) {
        let page = match answer {
            Ok(Reply::Page(page)) => page,
            Ok(_) | Err(Fault::Refused(_) | Fault::Untold(_) | Fault::NoScript) => {
                return self.refused(place, now);
            }
            Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => return,
        };
        let Some(page) = page else {
            return self.page_missing(place, of, now);
        };
        self.with_steps(place, |followed, steps| {
            if page.next.is_none() {
                followed.missing = 0;
            }
            followed.follower.page(of.0, of.1, page, steps);
        });
    }

    /// Something that belongs to a page is not there any more: it was written once more meanwhile, or is lost.
    fn page_missing(&mut self, place: &Place, of: (Session, u32), now: Now) {
        let mut is_lost = false;
        self.with_steps(place, |followed, steps| {
            followed.missing += 1;
            is_lost = followed.missing > MOST_MISSING;
            if is_lost {
                followed.missing = 0;
            } else {
                followed.follower.missing(of.0, of.1, steps);
            }
        });
        if is_lost {
            self.refused(place, now);
        }
    }

    fn with_steps(
        &mut self,
        place: &Place,
        apply: impl FnOnce(&mut super::Followed, &mut Vec<super::Step>),
    ) {
        let mut steps = std::mem::take(&mut self.steps);
        if let Some(followed) = self.current(place) {
            apply(followed, &mut steps);
        }
        self.steps = steps;
        self.step(&place.channel);
    }

    /// A channel cannot be followed now.
    fn refused(&mut self, place: &Place, now: Now) {
        self.generations += 1;
        let generation = self.generations;
        let followed = self.followed.get_mut(&place.channel);
        let Some(followed) = followed.filter(|one| one.generation == place.generation) else {
            return;
        };
        // a page that was asked for is not expected any more
        followed.generation = generation;
        followed.follower.lost();
        followed.is_refused = true;
        self.has_told |= followed.fail(&self.roll, &place.channel);
        self.retries_at.get_or_insert(now.at + RETRY);
    }

    fn written(
        &mut self,
        channel: Box<[u8]>,
        answer: &Answer,
        register: &mut dyn Register,
        now: Now,
    ) {
        let written = match answer {
            Ok(Reply::Written(written)) => *written,
            _ => Written::Doubtful,
        };
        let Some(own) = self.own.get_mut(&channel) else {
            return;
        };
        let behind = own.written(written);
        if let Err(Fault::Refused(_) | Fault::Untold(_)) = answer {
            // not at once: it would refuse again
            self.retries_at.get_or_insert(now.at + RETRY);
            return;
        }
        self.go_on(channel, behind, register, now);
    }

    /// Compares what the store has with what this node has written.
    fn checked(
        &mut self,
        channel: Box<[u8]>,
        (version, found): (u64, Option<u64>),
        register: &mut dyn Register,
    ) {
        let Some(own) = self.own.get_mut(&channel) else {
            return;
        };
        if own.version != version || own.writing.is_some() {
            return;
        }
        if found == Some(version) {
            if register.is_long(&channel) {
                self.queue(channel);
            }
            return;
        }
        own.is_doubtful = true;
        self.wants_to_write(channel);
        if register.is_split() && !std::mem::replace(&mut self.loss.is_checking, true) {
            self.check_all();
        }
    }

    /// Gives up on what was not answered in time. An error ends the link.
    pub(in super::super) fn expire(
        &mut self,
        register: &mut dyn Register,
        now: Now,
    ) -> Result<(), LinkError> {
        while let Some(event) = register.overdue(now.at)? {
            self.handle(event, register, now);
        }
        Ok(())
    }
}

/// How often the members of a session are read once more without delay because something is missing.
const MOST_MISSING: u32 = 4;
