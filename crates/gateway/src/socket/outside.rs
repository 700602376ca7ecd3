//! What reaches connections from outside: commands about their lives, closing one for another, and closing many at
//! once.

use millrace_core::ShardSet;
use millrace_protocol::websocket::close::ABNORMAL;

use super::connection::{Connection, Phase, Shared};
use super::env::Env;
use super::links::Link;
use crate::close::CloseReason;
use crate::event::{Calling, Instruction, Reply};
use crate::inbox::Command;
use crate::socket::Wake;

impl Env {
    /// Closes another connection, after what was posted to it before.
    pub(crate) fn close_link(&self, link: Link, code: u16, reason: &str) {
        let mut dirty = ShardSet::default();
        self.post_close(link, code, reason, &mut dirty);
        self.hub.wake(&mut dirty);
    }

    pub(super) fn post_close(&self, link: Link, code: u16, reason: &str, dirty: &mut ShardSet) {
        let command = Command::Close {
            slot: link.slot,
            socket: link.socket,
            code,
            reason: reason.into(),
        };
        self.hub.inboxes().post(self.index, command);
        dirty.insert(self.index);
    }
}

impl Env {
    /// Applies a command about one connection's life.
    pub(crate) fn apply_for(&self, connection: &Shared, command: Command) {
        match command {
            Command::Hold { events, bytes, .. } => {
                connection.io.borrow_mut().credit.hold(events, bytes);
            }
            Command::Release { events, bytes, .. } => {
                let io = &mut *connection.io.borrow_mut();
                io.credit.release(events, bytes);
                self.finish_ending(connection, io);
            }
            Command::Close { code, reason, .. } => {
                self.close_by_application(connection, code, reason);
            }
            Command::Admit { answer, .. } => self.admit(connection, answer),
            Command::Answer { answer, .. } => self.answer(connection, answer),
            Command::Tell { instruction, .. } => {
                let io = &mut *connection.io.borrow_mut();
                self.tell_session(connection, io, Wake::Told(instruction.view()));
            }
            Command::Wake { .. } => self.wake_posted(connection),
            Command::Stream { id, step, .. } => self.stream_step(connection, id, *step),
            Command::WhenDrained { question, .. } => self.when_drained(connection, *question),
            Command::Call { calling, .. } => self.call_client(connection, *calling),
            _ => {}
        }
    }

    /// Has the session call its client.
    fn call_client(&self, connection: &Shared, calling: Calling) {
        let io = &mut *connection.io.borrow_mut();
        if io.session.calls_client() {
            self.tell_session(connection, io, Wake::Called(calling));
        } else {
            calling.question.answer(Reply::Unable);
        }
    }

    /// Passes an instruction of a worker to the session; it is encoded [in one piece](Instruction::append).
    pub(crate) fn tell_in_one_piece(&self, connection: &Shared, instruction: &[u8]) {
        if let Some(instruction) = Instruction::read(instruction) {
            let io = &mut *connection.io.borrow_mut();
            self.tell_session(connection, io, Wake::Told(instruction));
        }
    }

    /// The session's waker was used.
    fn wake_posted(&self, connection: &Shared) {
        let io = &mut *connection.io.borrow_mut();
        let extra = io.extra.as_deref();
        if let Some(waker) = extra.and_then(|extra| extra.waker.as_deref()) {
            waker.arrived();
            // the session may still send while the worker handles the peer's last messages
            if matches!(io.phase, Phase::Open | Phase::Ending(_)) {
                self.tell_session(connection, io, Wake::Posted);
            }
        }
    }

    /// The application closes a socket, or cuts it with the code 1006, which no close frame has. One that waits for
    /// `handleOpen` is refused.
    fn close_by_application(&self, connection: &Shared, code: u16, reason: Box<str>) {
        let pending = matches!(connection.io.borrow().phase, Phase::Pending(_));
        if pending {
            self.refuse(connection, 403, "Connection rejected");
        } else {
            let reason = if code == ABNORMAL {
                CloseReason::ABNORMAL
            } else {
                CloseReason::by_application(code, reason)
            };
            self.close(connection, &mut connection.io.borrow_mut(), &reason);
        }
    }

    /// Closes all connections of a worker that is gone or leaving.
    pub(crate) fn close_of_worker(&self, worker: u32, reason: &CloseReason) {
        let deadline = self.closing_deadline();
        for connection in self.select(|connection| connection.worker.id() == worker) {
            let io = &mut *connection.io.borrow_mut();
            self.wake_session(&connection, io, Wake::WorkerGone);
        }
        self.close_all(reason, "No worker available", deadline, |connection| {
            connection.worker.id() == worker
        });
    }

    /// Closes every connection that matches; pending ones are refused with 503 and `refusal`. Queued output has until
    /// `deadline` to be sent.
    pub(crate) fn close_all(
        &self,
        reason: &CloseReason,
        refusal: &'static str,
        deadline: u64,
        matches: impl Fn(&Connection) -> bool,
    ) {
        for connection in self.select(matches) {
            self.close_or_refuse(&connection, reason, refusal, deadline);
        }
    }

    /// Closes one connection in this way.
    pub(crate) fn close_or_refuse(
        &self,
        connection: &Shared,
        reason: &CloseReason,
        refusal: &'static str,
        deadline: u64,
    ) {
        let pending = matches!(connection.io.borrow().phase, Phase::Pending(_));
        if pending {
            self.refuse(connection, 503, refusal);
        } else {
            let io = &mut *connection.io.borrow_mut();
            self.close_until(connection, io, reason, deadline);
        }
    }

    /// The connections that match.
    pub(crate) fn select(&self, matches: impl Fn(&Connection) -> bool) -> Vec<Shared> {
        let connections = self.connections.borrow();
        connections
            .iter()
            .filter(|connection| matches(connection))
            .cloned()
            .collect()
    }
}
