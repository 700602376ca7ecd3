//! What a JavaScript thread asks the I/O shard of a socket, to be answered later: when there is room, and that a message
//! is sent in parts.

use std::sync::Arc;

use bytes::Bytes;
use millrace_core::{Kind, Route, ShardSet, SocketId};

use super::Hub;
use crate::event::{Answers, Calling, Place, Question, Reply, StreamId, StreamStep};
use crate::inbox::{COMMAND_CHARGE, Command};
use crate::limits::FixedLimits;
use crate::sync::Ordering;

/// A message to one socket that is sent in parts while it is made. The thread that has it takes its steps, in order.
#[derive(Debug)]
pub struct Sending {
    id: StreamId,
    route: Route,
}

/// A question of a thread: its number, and where the answer goes.
pub type Asked<'a> = (u32, &'a Arc<Answers>);

impl Hub {
    /// Asks to be told when the outbox of a socket, or of the socket behind a virtual one, is at or below its low-water
    /// mark, with everything that was sent before. The question is also answered if there is no such socket, or once it
    /// is closed. `None`: too many questions wait.
    pub fn when_drained(
        &self,
        id: SocketId,
        (number, answers): Asked<'_>,
        dirty: &mut ShardSet,
    ) -> Option<Arc<Place>> {
        let place = self.place()?;
        // dropped, and so answered, if there is no such socket
        let mut question = Some(Box::new(Question::new(number, answers, &place)));
        self.core.reach(id, &[], |route, _annotation| {
            if let Some(question) = question.take() {
                let command = Command::WhenDrained {
                    slot: route.slot,
                    socket: route.socket,
                    question,
                };
                self.inboxes.post(route.shard, command);
                dirty.insert(route.shard);
            }
        });
        Some(place)
    }

    /// Calls a method of the client of a socket, or of the socket behind a virtual one, with parameters if there are any.
    /// The question is answered with its result. `None`: too many questions wait.
    pub fn call_client(
        &self,
        id: SocketId,
        (method, params): (&str, Option<(Kind, &[u8])>),
        (number, answers): Asked<'_>,
        dirty: &mut ShardSet,
    ) -> Option<Arc<Place>> {
        let place = self.place()?;
        let question = || Question::new(number, answers, &place);
        let Some(route) = self.core.reach(id, &[], |route, _annotation| route) else {
            question().answer(Reply::Closed);
            return Some(place);
        };
        let length = method.len() + params.map_or(0, |(_, params)| params.len());
        let command = |_mail: &mut _| {
            let calling = Calling {
                question: question(),
                method: method.into(),
                params: params.map(|(kind, params)| (kind, params.into())),
            };
            Command::Call {
                slot: route.slot,
                socket: route.socket,
                calling: Box::new(calling),
            }
        };
        let charge = COMMAND_CHARGE + length;
        if self.inboxes.deliver(route.shard, charge, 0, command) {
            dirty.insert(route.shard);
        } else {
            let reason = "an I/O thread has too much to do";
            question().answer(Reply::Failed("limit".into(), Some(reason.into())));
        }
        Some(place)
    }

    /// Begins a message in parts to a socket, or to the socket behind a virtual one. `turn` is answered when its parts
    /// may come, and `end` when the last one is in the outbox, or once the socket is closed. The outer `None`: too many
    /// questions wait; the inner one: there is no such socket.
    pub fn begin_stream(
        &self,
        id: SocketId,
        (turn, end): (u32, u32),
        answers: &Arc<Answers>,
        dirty: &mut ShardSet,
    ) -> Option<Option<(Sending, [Arc<Place>; 2])>> {
        let places = [self.place()?, self.place()?];
        let route = self.core.reach(id, &[], |route, _annotation| route);
        let Some(route) = route else {
            return Some(None);
        };
        let id = StreamId::new(self.streams.fetch_add(1, Ordering::Relaxed));
        let sending = Sending { id, route };
        let step = StreamStep::Begin {
            turn: Question::new(turn, answers, &places[0]),
            end: Question::new(end, answers, &places[1]),
        };
        self.post_step(&sending, step, dirty);
        Some(Some((sending, places)))
    }

    /// Sends a part; `room` is answered when another one may follow. `None`: the I/O thread has too much to do.
    pub fn stream_part(
        &self,
        sending: &Sending,
        (kind, payload): (Kind, Bytes),
        (number, answers): Asked<'_>,
        dirty: &mut ShardSet,
    ) -> Option<Arc<Place>> {
        // a message has few parts on the way, so they need no limit of their own
        let place = self.questions.place(usize::MAX)?;
        let charge = COMMAND_CHARGE + payload.len();
        let step = StreamStep::Part {
            kind,
            payload,
            room: Question::new(number, answers, &place),
        };
        let route = &sending.route;
        let command = |_mail: &mut _| sending.command(step);
        let is_posted = self.inboxes.deliver(route.shard, charge, 0, command);
        if !is_posted {
            place.free();
            return None;
        }
        dirty.insert(route.shard);
        Some(place)
    }

    /// Ends a message in parts. The kind counts if it has none.
    pub fn end_stream(&self, sending: &Sending, kind: Kind, dirty: &mut ShardSet) {
        self.post_step(sending, StreamStep::End { kind }, dirty);
    }

    /// Gives a message up: if a part was sent, the socket is closed with 1011.
    pub fn abort_stream(&self, sending: &Sending, dirty: &mut ShardSet) {
        self.post_step(sending, StreamStep::Abort, dirty);
    }

    fn post_step(&self, sending: &Sending, step: StreamStep, dirty: &mut ShardSet) {
        let shard = sending.route.shard;
        self.inboxes.post(shard, sending.command(step));
        dirty.insert(shard);
    }

    /// How many questions wait.
    #[cfg(test)]
    pub(crate) fn waiting_questions(&self) -> usize {
        self.questions.count()
    }

    pub(super) fn place(&self) -> Option<Arc<Place>> {
        self.questions.place(FixedLimits::default().drain_waits)
    }
}

impl Sending {
    fn command(&self, step: StreamStep) -> Command {
        Command::Stream {
            slot: self.route.slot,
            socket: self.route.socket,
            id: self.id,
            step: Box::new(step),
        }
    }
}
