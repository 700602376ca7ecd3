//! Reading on JetStream: who lives, who has members in a channel, and which. Owns the questions that need several answers.

use std::collections::VecDeque;
use std::time::Instant;

use ahash::{AHashMap, AHashSet};

use super::super::super::jetstream::answers::{self, Failure, Outcome};
use super::super::super::jetstream::api::{self, EXPECTED};
use super::super::super::jetstream::json;
use super::super::super::jetstream::wire::Message;
use super::super::super::link::Fault;
use super::super::register::{Event, Place, Register, Reply, Request};
use super::super::session::Session;
use super::record::{self, Found};
use super::{NatsRegister, Sent};

/// A channel, with the number of the look that the worker has asked for.
type Asked = (Place, u32);

/// See the module.
#[derive(Default)]
pub(super) struct Looks {
    /// Those that wait until it is known who lives, with the sessions that are known anyway.
    waiting: Vec<(Asked, Vec<Session>)>,
    /// Those for which that was asked; `None`: it is not being asked.
    asked: Option<Vec<(Asked, Vec<Session>)>>,
    /// Those that are known to have no question under way, and wait for room on the link.
    pub(super) ready: VecDeque<(Asked, Vec<Session>)>,
    open: AHashMap<u64, Look>,
}

/// Who has members in a channel, as far as it is answered.
struct Look {
    of: Asked,
    /// How many answers have not come.
    left: usize,
    found: Vec<(Session, Option<u64>)>,
}

impl Looks {
    pub(super) fn is_empty(&self) -> bool {
        let none_waits = self.waiting.is_empty() && self.ready.is_empty();
        none_waits && self.asked.is_none() && self.open.is_empty()
    }
}

impl NatsRegister {
    /// The number of the last record of a session's life is known, or there is none.
    pub(super) fn life_seen(&mut self, session: Session, message: &Message, now: Instant) {
        match answers::failure(message) {
            Some((answers::NO_MESSAGE, _)) => self.has_ended(),
            Some((_, failure)) => self.not_beaten(failure),
            None => match json::number(&message.payload, "seq") {
                Some(sequence) => self.extend(session, Some(sequence), now),
                None => self.beaten(Ok(Reply::Done)),
            },
        }
    }

    /// Extends the life of a session, if the last record has this number; `None`: begins it.
    pub(super) fn extend(&mut self, session: Session, sequence: Option<u64>, now: Instant) {
        let subject = self.names.life(session);
        let expected = sequence.map(|sequence| sequence.to_string());
        let header = expected.as_deref().map(|expected| (EXPECTED, expected));
        self.link.request(
            Sent::LifeKept(session),
            &subject,
            header.as_slice(),
            &[],
            now,
        );
    }

    /// The life of a session was extended, or has ended.
    pub(super) fn life_kept(&mut self, session: Session, message: &Message, now: Instant) {
        match answers::outcome(message) {
            Outcome::Kept(sequence) | Outcome::Repeated(sequence) => {
                self.life = Some((session, sequence));
                self.ask_lives(true, now);
            }
            Outcome::Overtaken => self.has_ended(),
            Outcome::Failed(failure) => self.not_beaten(failure),
        }
    }

    fn has_ended(&mut self) {
        self.life = None;
        let live = self.live.clone();
        self.beaten(Ok(Reply::Beat { lives: false, live }));
    }

    fn not_beaten(&mut self, failure: Failure) {
        let fault = self.fault(failure);
        self.beaten(Err(fault));
    }

    fn beaten(&mut self, reply: Result<Reply, Fault>) {
        self.out.push_back(Event::Answer(Request::Beat, reply));
    }

    fn ask_lives(&mut self, is_beat: bool, now: Instant) {
        let (api, body) = api::subjects(&self.names.sessions(), &self.names.lives());
        let what = Sent::Lives(is_beat);
        self.link.request(what, &api, &[], &[&body], now);
    }

    /// Who lives.
    pub(super) fn lives(&mut self, is_beat: bool, message: &Message, now: Instant) {
        let live = match answers::failure(message) {
            Some((_, failure)) => Err(self.fault(failure)),
            None => lives(&message.payload).ok_or(Fault::Lost),
        };
        if let Ok(live) = &live {
            // a session that is not there any more never comes again
            let ended: Vec<_> = self.live.difference(live).copied().collect();
            let own = self.own.map(|own| own.node);
            for session in ended {
                if Some(session.node) != own {
                    self.purge_session(session, now);
                }
            }
            self.live.clone_from(live);
        }
        if is_beat {
            return self.beaten(live.map(|live| Reply::Beat { lives: true, live }));
        }
        for (of, known) in self.looks.asked.take().unwrap_or_default() {
            match &live {
                Ok(_) => self.looks.ready.push_back((of, known)),
                Err(fault) => self.looked(of, Err(fault.clone())),
            }
        }
        self.look(now);
    }

    /// Asks who lives, for all channels of which it is asked who has members there.
    pub(super) fn look(&mut self, now: Instant) {
        if self.looks.asked.is_none() && !self.looks.waiting.is_empty() {
            self.looks.asked = Some(std::mem::take(&mut self.looks.waiting));
            self.ask_lives(false, now);
        }
    }

    /// Waits for the next answer to who lives: what is asked now may be too early for a channel that was just subscribed to.
    pub(super) fn await_look(&mut self, of: Asked, known: Vec<Session>) {
        self.looks.waiting.push((of, known));
    }

    /// Whether a look waits for which there is room: each is a question for every session.
    pub(super) fn may_look(&self) -> bool {
        !self.looks.ready.is_empty() && self.has_much_room()
    }

    /// Begins looks as far as there is room.
    pub(super) fn begin_looks(&mut self, now: Instant) {
        while self.has_much_room()
            && let Some((of, known)) = self.looks.ready.pop_front()
        {
            self.begin_look(of, known, now);
        }
    }

    fn begin_look(&mut self, of: Asked, known: Vec<Session>, now: Instant) {
        let own = self.own.map(|own| own.node);
        let sessions: AHashSet<_> = known
            .into_iter()
            .chain(self.live.iter().copied())
            .filter(|session| Some(session.node) != own)
            .collect();
        if sessions.is_empty() {
            return self.looked(of, Ok(Vec::new()));
        }
        self.last += 1;
        let number = self.last;
        let stream = self.names.members();
        for session in &sessions {
            let subject = self.names.log(&of.0.channel, *session);
            let (api, body) = api::newest(&stream, &subject);
            let what = Sent::Index(number, *session);
            self.link.request(what, &api, &[], &[&body], now);
        }
        let look = Look {
            of,
            left: sessions.len(),
            found: Vec::new(),
        };
        self.looks.open.insert(number, look);
    }

    /// The newest record of a session in a channel.
    pub(super) fn seen(&mut self, number: u64, session: Session, message: &Message) {
        let Some(look) = self.looks.open.get_mut(&number) else {
            return;
        };
        match record::found(message, (&look.of.0.channel, session)) {
            Ok(Found::Record(sequence, record)) => {
                let complete = record.complete(sequence);
                if complete.is_some() || record.is_part() {
                    let version = complete.map(|(version, _)| version);
                    look.found.push((session, version));
                }
            }
            Ok(Found::Nothing | Found::Foreign(_)) => {}
            Err(failure) => {
                let look = self.looks.open.remove(&number);
                let fault = self.fault(failure);
                if let Some(look) = look {
                    self.looked(look.of, Err(fault));
                }
                return;
            }
        }
        look.left -= 1;
        if look.left == 0
            && let Some(look) = self.looks.open.remove(&number)
        {
            self.looked(look.of, Ok(look.found));
        }
    }

    fn looked(&mut self, of: Asked, found: Result<Vec<(Session, Option<u64>)>, Fault>) {
        let reply = found.map(Reply::Index);
        self.out
            .push_back(Event::Answer(Request::Index(of.0, of.1), reply));
    }

    /// A record of a session, read for its members.
    pub(super) fn paged(
        &mut self,
        place: Place,
        (session, mark, asked): (Session, u32, u64),
        message: &Message,
    ) {
        let reply = match record::found(message, (&place.channel, session)) {
            // 0 asks for the newest one
            Ok(Found::Record(sequence, record)) if [0, sequence].contains(&asked) => {
                Ok(Reply::Page(record.page(sequence, asked == 0)))
            }
            Ok(_) => Ok(Reply::Page(None)),
            Err(failure) => Err(self.fault(failure)),
        };
        let what = Request::Page(place, session, mark);
        self.out.push_back(Event::Answer(what, reply));
    }
}

/// The sessions in what a stream says of its subjects; `None`: it says nothing, or more than can be known. A part of them would
/// not do, because those that are missing are dead.
fn lives(payload: &[u8]) -> Option<AHashSet<Session>> {
    let state = json::object(payload, "state")?;
    let subjects = json::object(state, "subjects").unwrap_or_default();
    let session = |word: &[u8]| Session::parse(word.rsplit(|byte| *byte == b'.').next()?);
    let words = subjects.split(|byte| *byte == b'"').filter_map(session);
    let sessions: AHashSet<_> = words.take(MOST_SESSIONS + 1).collect();
    (sessions.len() <= MOST_SESSIONS).then_some(sessions)
}

/// The most sessions that are known at a time.
const MOST_SESSIONS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lives_is_in_the_subjects_of_the_stream() {
        let session = Session { node: 1, number: 2 };
        let json = format!(
            r#"{{"config":{{"subjects":["app!l.*"]}},"state":{{"messages":1,"subjects":{{"app!l.{session}":1,"app!l.x":1}}}}}}"#
        );
        let expected = Some([session].into_iter().collect());
        assert_eq!(lives(json.as_bytes()), expected);
        let none = br#"{"config":{"subjects":["app!l.*"]},"state":{"messages":0}}"#;
        assert_eq!(lives(none), Some(AHashSet::new()));
        assert_eq!(lives(b"{}"), None);
        let many = |count: u64| {
            let subject = |number| format!(r#""app!l.{}":1"#, Session { node: 1, number });
            let subjects: Vec<_> = (0..count).map(subject).collect();
            format!(r#"{{"state":{{"subjects":{{{}}}}}}}"#, subjects.join(","))
        };
        assert_eq!(
            lives(many(4096).as_bytes()).map(|all| all.len()),
            Some(4096)
        );
        assert_eq!(
            lives(many(4097).as_bytes()),
            None,
            "a part says that others are dead"
        );
    }
}
