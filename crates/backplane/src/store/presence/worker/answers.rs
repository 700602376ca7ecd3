//! The answers of the store: what each means for the command that it belongs to.

use ahash::AHashSet;
use redis::{PushKind, Value};

use super::super::super::link::Fault;
use super::super::super::links::Links;
use super::super::follow::Page;
use super::super::lease::Beat;
use super::super::message;
use super::super::own::Written;
use super::super::scripts::Scripts;
use super::super::session::Session;
use super::{Now, Place, RETRY, Read, Request, State, Worker};
use crate::link_error::LinkError;

type Answer = Result<Value, Fault>;

impl Worker {
    pub(super) fn answered(
        &mut self,
        request: Request,
        answer: Answer,
        links: &mut Links<Request>,
        now: Now,
    ) {
        let mut answer = answer;
        if let Ok(value) = &answer
            && !self.belongs(&request, value)
        {
            // the library has taken something else for the answer, and all that follow would be wrong
            links.fail("an answer belongs to another command");
            answer = Err(Fault::Lost);
        }
        match &answer {
            Err(Fault::Unfit(why)) => links.retire(why.clone()),
            Err(Fault::NoScript) => self.load(links, now),
            Err(Fault::Refused(why) | Fault::Untold(why)) => {
                self.report(
                    &format!("the store refused a command about members: {why}"),
                    now,
                );
            }
            _ => {}
        }
        match request {
            Request::Beat => self.beaten(&answer, now),
            Request::Mark(session, was_marked) => {
                let is_lost = match &answer {
                    Ok(Value::BulkString(known)) => Session::parse(known) != Some(session),
                    Ok(_) => true,
                    Err(_) => false,
                };
                if was_marked && is_lost && session == self.lease.own() {
                    let old = self.lease.begin_again(now.unix_ms, now.at);
                    self.begin_again(old);
                }
            }
            Request::SubscribeLeases | Request::Other => {}
            Request::Subscribe(place) => {
                if let Err(Fault::Refused(_)) = answer {
                    self.refused(&place, now);
                }
            }
            Request::End(channel) => {
                let place = self.ending.iter().position(|ending| *ending == channel);
                place.map(|place| self.ending.swap_remove(place));
            }
            Request::Index(place) => self.index(&place, answer, now),
            Request::Page(place, session, mark) => {
                self.reading = self.reading.saturating_sub(1);
                self.page(&place, (session, mark), answer, now);
            }
            Request::Write(channel, session) => {
                if session == self.lease.own() {
                    self.written(channel, &answer, links, now);
                }
            }
            Request::Check(channel, session, version) => {
                if let Ok(found) = answer
                    && session == self.lease.own()
                {
                    self.checked(channel, version, &found);
                }
            }
            Request::Load => self.loading = self.loading.saturating_sub(1),
        }
    }

    /// Whether a value can be the answer to a request: only subscriptions are confirmed by a push.
    fn belongs(&self, request: &Request, value: &Value) -> bool {
        let begins = [PushKind::Subscribe, PushKind::SSubscribe];
        let (channel, kinds) = match request {
            Request::SubscribeLeases => (None, begins),
            Request::Subscribe(place) => (Some(&*place.channel), begins),
            Request::End(channel) => (
                Some(&**channel),
                [PushKind::Unsubscribe, PushKind::SUnsubscribe],
            ),
            _ => return !matches!(value, Value::Push { .. }),
        };
        let Value::Push { kind, data } = value else {
            return false;
        };
        let topic = self.scripts.topic(channel);
        kinds.contains(kind)
            && matches!(data.first(), Some(Value::BulkString(told)) if *told == topic)
    }

    fn beaten(&mut self, answer: &Answer, now: Now) {
        let Some((lives, live)) = answer.as_ref().ok().and_then(sessions) else {
            // it is repeated; without one in time the link is not fit
            self.lease.lost();
            if matches!(answer, Err(Fault::NoScript)) {
                self.lease.hurry(now.at);
            }
            return;
        };
        let beat = self.lease.beaten(lives, live, (now.unix_ms, now.at));
        let dead = match beat {
            Beat::Again(old) => return self.begin_again(old),
            Beat::Dead(dead) => dead,
        };
        self.state = State::Up;
        for session in &dead {
            self.is_dead(*session);
        }
        for (place, session) in std::mem::take(&mut self.suspects) {
            if dead.contains(&session) {
                let purge = Read::Purge(place.channel.clone(), session);
                self.reads.push_back(purge);
            }
            let mut steps = std::mem::take(&mut self.steps);
            if let Some(followed) = self.current(&place) {
                followed.follower.begin(&mut steps);
            }
            self.steps = steps;
            self.step(&place.channel);
        }
    }

    /// Who has members in a channel.
    fn index(&mut self, place: &Place, answer: Answer, now: Now) {
        let value = match answer {
            Ok(value) => value,
            Err(Fault::Refused(_) | Fault::Untold(_) | Fault::NoScript) => {
                return self.refused(place, now);
            }
            // the link ends
            Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => return,
        };
        if self.current(place).is_none() {
            return;
        }
        let Some(pairs) = pairs(value) else {
            return self.refused(place, now);
        };
        let (mut found, mut is_clear) = (Vec::new(), true);
        for (name, version) in pairs {
            let Some(session) = Session::parse(&name) else {
                continue;
            };
            if session.node == self.node {
                self.see_own(&place.channel, session);
                continue;
            }
            if !self.lease.see(session, now.at) {
                self.suspects.push((place.clone(), session));
                is_clear = false;
            }
            // while it is written, what was there before counts
            let version = str::from_utf8(&version).ok();
            let version = version.and_then(|version| version.parse().ok());
            found.extend(version.map(|version| (session, version)));
        }
        if !is_clear {
            return self.lease.hurry(now.at);
        }
        let mut steps = std::mem::take(&mut self.steps);
        if let Some(followed) = self.current(place) {
            followed.follower.index(&found, &mut steps);
        }
        self.steps = steps;
        self.step(&place.channel);
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
        let value = match answer {
            Ok(value) => value,
            Err(Fault::Refused(_) | Fault::Untold(_) | Fault::NoScript) => {
                return self.refused(place, now);
            }
            Err(Fault::Unfit(_) | Fault::Lost | Fault::Late) => return,
        };
        let Some(page) = members(value) else {
            return self.refused(place, now);
        };
        let mut steps = std::mem::take(&mut self.steps);
        if let Some(followed) = self.current(place) {
            followed.follower.page(of.0, of.1, page, &mut steps);
        }
        self.steps = steps;
        self.step(&place.channel);
    }

    /// A channel cannot be followed now.
    fn refused(&mut self, place: &Place, now: Now) {
        self.generations += 1;
        let generation = self.generations;
        let Some(followed) = self.current(place) else {
            return;
        };
        // a page that was asked for is not expected any more
        followed.generation = generation;
        followed.follower.lost();
        followed.is_refused = true;
        let is_unknown = !followed.follower.is_filled();
        let is_news = is_unknown && !std::mem::replace(&mut followed.is_failure_told, true);
        if is_news {
            self.roll.failed(&place.channel);
            self.has_told = true;
        }
        self.retries_at.get_or_insert(now.at + RETRY);
    }

    fn written(
        &mut self,
        channel: Box<[u8]>,
        answer: &Answer,
        links: &mut Links<Request>,
        now: Now,
    ) {
        let written = match answer {
            Ok(Value::Int(1)) => Written::Done,
            Ok(Value::Int(2)) => Written::Emptied,
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
        self.go_on(channel, behind, links, now);
    }

    /// Compares what the store has with what this node has written.
    fn checked(&mut self, channel: Box<[u8]>, version: u64, found: &Value) {
        let Some(own) = self.own.get_mut(&channel) else {
            return;
        };
        let is_there =
            matches!(found, Value::BulkString(text) if *text == version.to_string().as_bytes());
        if !is_there && own.version == version && own.writing.is_none() {
            own.is_doubtful = true;
            self.wants_to_write(channel);
        }
    }

    /// Puts the scripts into the store.
    pub(super) fn load(&mut self, links: &mut Links<Request>, now: Now) {
        if self.loading > 0 {
            return;
        }
        for place in 0..links.count() {
            for command in Scripts::load() {
                self.loading += 1;
                links.send(place, Request::Load, (command, 0), now.at);
            }
        }
    }

    /// Gives up on what was not answered in time. An error ends the link.
    pub(in super::super) fn expire(
        &mut self,
        links: &mut Links<Request>,
        now: Now,
    ) -> Result<(), LinkError> {
        while let Some(request) = links.overdue(now.at)? {
            if !matches!(request, Request::Other | Request::Load | Request::End(_)) {
                links.retire("a command took too long".to_owned());
            }
            self.answered(request, Err(Fault::Late), links, now);
        }
        Ok(())
    }
}

/// What a beat returns: whether the session lives, and all that do.
fn sessions(value: &Value) -> Option<(bool, AHashSet<Session>)> {
    let Value::Array(parts) = value else {
        return None;
    };
    let (Value::Int(lives), rest) = parts.split_first()? else {
        return None;
    };
    let session = |part: &Value| match part {
        Value::BulkString(text) => Session::parse(text),
        _ => None,
    };
    Some((*lives == 1, rest.iter().filter_map(session).collect()))
}

/// What a hash has, or a part of it.
fn pairs(value: Value) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let parts = match value {
        Value::Map(pairs) => pairs
            .into_iter()
            .flat_map(|(name, value)| [name, value])
            .collect(),
        Value::Array(parts) => parts,
        _ => return None,
    };
    let mut pairs = Vec::with_capacity(parts.len() / 2);
    let mut parts = parts.into_iter();
    while let Some(name) = parts.next() {
        let (Value::BulkString(name), Some(Value::BulkString(value))) = (name, parts.next()) else {
            return None;
        };
        pairs.push((name, value));
    }
    Some(pairs)
}

/// A page of members. What other programs have written is left out.
fn members(value: Value) -> Option<Page> {
    let Value::Array(parts) = value else {
        return None;
    };
    let mut parts = parts.into_iter();
    let (Some(Value::BulkString(cursor)), Some(found)) = (parts.next(), parts.next()) else {
        return None;
    };
    let cursor = String::from_utf8(cursor).ok()?;
    let seat = |(field, value): &(Vec<u8>, Vec<u8>)| message::member(field, value);
    Some(Page {
        seats: pairs(found)?.iter().filter_map(seat).collect(),
        next: (cursor != "0").then(|| cursor.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &[u8]) -> Value {
        Value::BulkString(text.to_vec())
    }

    #[test]
    fn a_page_has_the_members_that_nodes_have_written() {
        let found = vec![
            text(&message::field(7)),
            text(b"\0\0\0\0\0\0\0\0\"Ada\""),
            text(b"foreign"),
            text(b"x"),
        ];
        for (cursor, next) in [(&b"0"[..], None), (b"17", Some("17".into()))] {
            let value = Value::Array(vec![text(cursor), Value::Array(found.clone())]);
            let page = members(value).unwrap();
            assert_eq!((page.seats.len(), page.next), (1, next));
            assert_eq!(page.seats[0].info.as_deref(), Some("\"Ada\""));
        }
        assert_eq!(members(Value::Nil), None);
        assert_eq!(members(Value::Array(vec![text(b"0")])), None);
        let odd = Value::Array(vec![text(b"0"), Value::Array(found[..3].to_vec())]);
        assert_eq!(members(odd), None);
    }

    #[test]
    fn a_beat_says_who_lives() {
        let session = Session { node: 1, number: 2 };
        let name = text(session.to_string().as_bytes());
        let value = Value::Array(vec![Value::Int(1), name, text(b"foreign")]);
        assert_eq!(
            sessions(&value),
            Some((true, [session].into_iter().collect()))
        );
        assert_eq!(sessions(&Value::Array(vec![])), None);
        assert_eq!(sessions(&Value::Int(1)), None);
    }
}
