//! Sends messages in parts while the application makes them. The outbox keeps everything else behind them; a sender is
//! told when there is room for another part.

use bytes::Bytes;
use millrace_core::Kind;

use super::Fragment;
use super::connection::{Io, Shared};
use super::env::Env;
use super::message_streams::MessageStream;
use super::moment::Moment;
use crate::close::CloseReason;
use crate::event::{Question, Reply, StreamId, StreamStep};

impl Env {
    /// A step of a message. Questions of one that cannot go on are dropped, which answers them.
    pub(super) fn stream_step(&self, connection: &Shared, id: StreamId, step: StreamStep) {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() {
            return;
        }
        match step {
            StreamStep::Begin { turn, end } => self.begin_stream(io, id, (turn, end)),
            StreamStep::Part {
                kind,
                payload,
                room,
            } => self.stream_part(io, id, (kind, payload), room),
            StreamStep::End { kind } => self.end_stream(io, id, kind),
            StreamStep::Abort => self.abort_stream(connection, io, id),
        }
        self.mark_dirty(connection);
    }

    fn begin_stream(&self, io: &mut Io, id: StreamId, (turn, end): (Question, Question)) {
        if !io.session.has_fragments() {
            end.answer(Reply::Unable);
            turn.answer(Reply::Unable);
            return;
        }
        let is_first = io.outbox.begin_parts(self.ledger());
        let streams = io.extra.get_or_insert_default();
        let streams = streams.message_streams.get_or_insert_default();
        streams.push(id, (turn, end));
        if is_first && let Some(stream) = streams.current() {
            stream.begin();
        }
    }

    fn stream_part(
        &self,
        io: &mut Io,
        id: StreamId,
        (kind, payload): (Kind, Bytes),
        room: Question,
    ) {
        io.times.message = Moment::at(self.now.get());
        let is_first = {
            let Some(stream) = at_turn(io, id) else {
                return;
            };
            stream.wait_for_room(room);
            !std::mem::replace(&mut stream.has_begun, true)
        };
        let fragment = Fragment {
            kind,
            is_first,
            is_last: false,
            payload: &payload,
        };
        self.append_fragment(io, &fragment);
    }

    fn end_stream(&self, io: &mut Io, id: StreamId, kind: Kind) {
        let Some(is_first) = at_turn(io, id).map(|stream| !stream.has_begun) else {
            return;
        };
        let fragment = Fragment {
            kind,
            is_first,
            is_last: true,
            payload: &[],
        };
        self.append_fragment(io, &fragment);
        next_stream(io, true);
    }

    /// A message of which a part was sent cannot be taken back, so the connection is closed.
    fn abort_stream(&self, connection: &Shared, io: &mut Io, id: StreamId) {
        let streams = io.extra.as_deref_mut();
        let streams = streams.and_then(|extra| extra.message_streams.as_mut());
        let Some(streams) = streams else {
            return;
        };
        match streams.at_turn(id) {
            Some(stream) if stream.has_begun => {
                self.close(connection, io, &CloseReason::STREAM_FAILED);
            }
            Some(_) => next_stream(io, false),
            None => {
                if let Some(stream) = streams.find(id) {
                    stream.is_over = true;
                }
            }
        }
    }

    fn append_fragment(&self, io: &mut Io, fragment: &Fragment<'_>) {
        let Io {
            session, outbox, ..
        } = io;
        outbox.append_to_parts(self.ledger(), |out| session.append_fragment(fragment, out));
    }

    /// Looks at an outbox with a message in parts after a write: whether more parts may come, and whether too much waits
    /// for the end of the message.
    #[inline(never)]
    pub(super) fn look_at_streams(&self, connection: &Shared, io: &mut Io) {
        let has_room = io.outbox.charge_of_parts() <= self.drained_bytes();
        let streams = io.extra.as_deref_mut();
        let streams = streams.and_then(|extra| extra.message_streams.as_mut());
        if has_room && let Some(stream) = streams.and_then(|streams| streams.current()) {
            stream.tell_room();
        }
        // an outbox that is behind was checked already
        if !io.is_behind() && io.is_live() && io.outbox.is_over(&self.limits) {
            self.overflow(connection, io);
        }
    }
}

/// The message whose turn it is, if it is this one.
fn at_turn(io: &mut Io, id: StreamId) -> Option<&mut MessageStream> {
    let extra = io.extra.as_deref_mut()?;
    extra.message_streams.as_mut()?.at_turn(id)
}

/// The message whose turn it was is complete, or will not come: the next one has its turn.
fn next_stream(io: &mut Io, is_complete: bool) {
    let Io { extra, outbox, .. } = io;
    let Some(extra) = extra.as_deref_mut() else {
        return;
    };
    let Some(streams) = extra.message_streams.as_mut() else {
        return;
    };
    if let Some(ended) = streams.pop()
        && is_complete
    {
        ended.end();
    }
    while outbox.end_parts() {
        match streams.current() {
            Some(next) if !next.is_over => return next.begin(),
            _ => drop(streams.pop()),
        }
    }
    extra.message_streams = None;
}
