//! The messages of one connection that are sent in parts: the one whose turn it is, and those behind it. Knows no outbox.

use std::collections::VecDeque;

use crate::event::{Question, Reply, StreamId};

/// See the module. Dropped, it tells every sender that the socket is closed.
#[derive(Debug, Default)]
pub(crate) struct MessageStreams(VecDeque<MessageStream>);

/// A message.
#[derive(Debug)]
pub(crate) struct MessageStream {
    pub(super) id: StreamId,
    /// Answered when it is its turn.
    turn: Option<Question>,
    /// Answered when its last part is in the outbox.
    end: Question,
    /// Whether a part was sent.
    pub(super) has_begun: bool,
    /// Whether its sender gave it up before it was its turn.
    pub(super) is_over: bool,
    /// Those that wait for room, one for each part that was sent without.
    room: Vec<Question>,
}

impl MessageStreams {
    pub(super) fn push(&mut self, id: StreamId, (turn, end): (Question, Question)) {
        self.0.push_back(MessageStream {
            id,
            turn: Some(turn),
            end,
            has_begun: false,
            is_over: false,
            room: Vec::new(),
        });
    }

    /// The message whose turn it is.
    pub(super) fn current(&mut self) -> Option<&mut MessageStream> {
        self.0.front_mut()
    }

    /// The message whose turn it is, if it is this one.
    pub(super) fn at_turn(&mut self, id: StreamId) -> Option<&mut MessageStream> {
        self.current().filter(|stream| stream.id == id)
    }

    pub(super) fn find(&mut self, id: StreamId) -> Option<&mut MessageStream> {
        self.0.iter_mut().find(|stream| stream.id == id)
    }

    /// Removes the message whose turn it was.
    pub(super) fn pop(&mut self) -> Option<MessageStream> {
        self.0.pop_front()
    }
}

impl MessageStream {
    /// Tells the sender that it is the turn of this message.
    pub(super) fn begin(&mut self) {
        if let Some(turn) = self.turn.take() {
            turn.answer(Reply::Yes);
        }
    }

    pub(super) fn wait_for_room(&mut self, room: Question) {
        self.room.push(room);
    }

    pub(super) fn tell_room(&mut self) {
        for room in self.room.drain(..) {
            room.answer(Reply::Yes);
        }
    }

    /// Tells the sender that the message is in the outbox.
    pub(super) fn end(mut self) {
        self.tell_room();
        self.end.answer(Reply::Yes);
    }
}
