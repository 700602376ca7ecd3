//! Ends that wait: what came complete before a peer's goodbye, its mistake or the end of its stream is handled first, and
//! what handlers send of it leaves before ours. Owns who waits for which worker's batch; never waits for longer than a
//! closing may take, which the timers see to.

use std::collections::VecDeque;
use std::sync::Arc;

use millrace_core::SocketId;

use super::Env;
use crate::close::{CloseMode, CloseReason};
use crate::hub::Worker;
use crate::inbox::Mail;
use crate::socket::Liveness;
use crate::socket::connection::{Ending, Io, PeerClose, Phase, Shared};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    lines: Vec<Line>,
    /// Whose events are handled, as of this turn.
    handled: Vec<(u32, SocketId)>,
}

/// Who waits for one worker, in the order of batches.
#[derive(Debug)]
struct Line {
    worker: Arc<Worker>,
    waiting: VecDeque<Waiting>,
}

/// A connection whose newest event lies in this batch, or an earlier one.
#[derive(Debug)]
struct Waiting {
    batch: u64,
    slot: u32,
    socket: SocketId,
}

impl Endings {
    fn push(&mut self, worker: &Arc<Worker>, mut waiting: Waiting) {
        let known = |line: &&mut Line| Arc::ptr_eq(&line.worker, worker);
        if let Some(line) = self.lines.iter_mut().find(known) {
            // in order, so that a look at the first says enough; an earlier batch is waited for a little longer
            let last = line.waiting.back().map_or(0, |last| last.batch);
            waiting.batch = waiting.batch.max(last);
            line.waiting.push_back(waiting);
        } else {
            self.lines.push(Line {
                worker: Arc::clone(worker),
                waiting: VecDeque::from([waiting]),
            });
        }
    }

    /// Finds those whose events are handled or held. Workers that others still wait for will wake the shard of this bit.
    #[cold]
    fn look(&mut self, bit: u64) {
        let handled = &mut self.handled;
        self.lines.retain_mut(|line| {
            let queue = line.worker.queue();
            loop {
                let done = queue.handled();
                while let Some(first) = line.waiting.front()
                    && first.batch <= done
                {
                    handled.push((first.slot, first.socket));
                    line.waiting.pop_front();
                }
                if line.waiting.is_empty() {
                    return false;
                }
                queue.pause(bit);
                // a batch may have been finished between the look and the announcement
                if queue.handled() == done {
                    return true;
                }
            }
        });
    }

    /// This worker handles nothing any more.
    fn forget(&mut self, worker: u32) {
        self.lines.retain(|line| line.worker.id() != worker);
    }
}

impl Env {
    /// The peer said goodbye, or did wrong.
    pub(crate) fn peer_ended(&self, connection: &Shared, io: &mut Io, reason: CloseReason) {
        let peer_close = PeerClose::of(&reason);
        self.end_after_events(connection, io, reason, peer_close);
    }

    /// The peer said its last: it is parted from once its worker has handled what came before.
    fn end_after_events(
        &self,
        connection: &Shared,
        io: &mut Io,
        reason: CloseReason,
        peer_close: PeerClose,
    ) {
        let Some(batch) = io.credit.newest().filter(|_| io.phase.is_open()) else {
            return self.close(connection, io, &reason);
        };
        io.phase = Phase::Ending(Box::new(Ending {
            reason,
            peer_close,
            handled: false,
        }));
        io.times.deadline = self.closing_deadline();
        self.arm(connection, io, io.times.deadline);
        let (slot, socket) = (connection.slot, connection.socket);
        let waiting = Waiting {
            batch,
            slot,
            socket,
        };
        self.endings.borrow_mut().push(&connection.worker, waiting);
        // also where all is handled: what handlers sent may still lie in the inbox
        self.schedule();
    }

    /// The peer has sent its last byte, and the stash is empty. It may still read.
    pub(crate) fn input_ended(&self, connection: &Shared, io: &mut Io) {
        let is_behind = io.is_behind() || !io.outbox.is_empty();
        let traits = &connection.traits;
        // who asks for events and hangs up reads no more
        let may_read = traits.liveness != Liveness::Tells;
        match &mut io.phase {
            Phase::Open if traits.half_close => self.half_close(connection, io),
            Phase::Open if io.credit.newest().is_some() => {
                self.end_after_events(connection, io, CloseReason::ABNORMAL, PeerClose::StreamEnd);
            }
            // its goodbye came before
            Phase::Ending(_) => {}
            // what was said to it leaves
            Phase::Open if is_behind && may_read => {
                let deadline = self.closing_deadline();
                self.part(
                    connection,
                    io,
                    &CloseReason::ABNORMAL,
                    PeerClose::StreamEnd,
                    deadline,
                );
            }
            Phase::Closing { peer_close } if is_behind && may_read => {
                *peer_close = PeerClose::StreamEnd;
            }
            _ => self.close(connection, io, &CloseReason::ABNORMAL),
        }
    }

    /// Lets the session say what becomes of it: writing may go on, but the peer's silence means nothing any more.
    fn half_close(&self, connection: &Shared, io: &mut Io) {
        connection.half_closed.set(true);
        (io.times.unfinished, io.times.ping) = (0, 0);
        let (result, _) = self.call_session(connection, io, |session, cx| session.input_ended(cx));
        // what was received of something is whole by that, or nobody's
        let unfinished = io.session.unfinished();
        self.count_unfinished(connection, io, unfinished);
        if let Err(reason) = result
            && io.phase.is_open()
        {
            self.end_after_events(connection, io, reason, PeerClose::StreamEnd);
        }
        self.arm_first(connection, io);
    }

    /// Takes what has come since the last turn: first whose events are handled, then the mail, in which all is that their
    /// handlers sent.
    pub(crate) fn collect(&self, mail: &mut Mail) {
        let inboxes = self.hub.inboxes();
        // first of all: a worker that finishes a batch behind the look has to wake this shard again
        inboxes.turn_begins(self.index);
        self.look_at_endings();
        inboxes.take(self.index, mail);
    }

    pub(in crate::socket) fn look_at_endings(&self) {
        if !self.endings.borrow().lines.is_empty() {
            let bit = 1 << self.index.get();
            self.endings.borrow_mut().look(bit);
        }
    }

    /// Parts from those, but for some whose handlers returned promises: they follow when these are settled.
    pub(crate) fn finish_endings(&self) {
        if !self.endings.borrow().handled.is_empty() {
            self.part_from_handled();
        }
    }

    /// Apart, because most turns have none.
    #[cold]
    fn part_from_handled(&self) {
        let handled = std::mem::take(&mut self.endings.borrow_mut().handled);
        for (slot, socket) in handled {
            if let Some(connection) = self.find(slot, socket) {
                let io = &mut *connection.io.borrow_mut();
                if let Phase::Ending(ending) = &mut io.phase {
                    ending.handled = true;
                }
                self.finish_ending(&connection, io);
            }
        }
    }

    /// Parts from a connection if that is all it waits for.
    pub(crate) fn finish_ending(&self, connection: &Shared, io: &mut Io) {
        if !matches!(&io.phase, Phase::Ending(ending) if ending.handled) || io.credit.is_holding() {
            return;
        }
        if let Some(Ending {
            reason, peer_close, ..
        }) = io.phase.take_ending()
        {
            self.part(connection, io, &reason, peer_close, self.closing_deadline());
        }
    }

    /// Something else ends a connection before its events are handled.
    pub(crate) fn cut_ending_short(
        &self,
        connection: &Shared,
        io: &mut Io,
        reason: &CloseReason,
        deadline: u64,
    ) {
        let Some(ending) = io.phase.take_ending() else {
            return;
        };
        if reason.mode == CloseMode::Cut {
            self.leave_core(connection, io, &ending.reason);
            return self.cut(connection, io);
        }
        self.part(connection, io, reason, ending.peer_close, deadline);
    }

    /// Nobody waits for this worker any more.
    pub(crate) fn forget_endings(&self, worker: u32) {
        self.endings.borrow_mut().forget(worker);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::Weak;

    use super::*;
    use crate::doorbell::Doorbell;
    use crate::event::Handlers;
    use crate::event::RecordKind;

    struct Nobody;

    impl Doorbell for Nobody {
        fn ring(&self) {}
    }

    fn worker(id: u32) -> Arc<Worker> {
        let handlers = Handlers::NONE;
        Arc::new(Worker::new(id, handlers, Arc::new(Nobody), Weak::new()))
    }

    /// Appends an event that fills a batch; returns the batch.
    fn event(worker: &Worker) -> u64 {
        let payload = Cow::Owned(vec![0; 2 << 20]);
        let mut appender = worker.queue().appender().unwrap();
        appender.message(RecordKind::Binary, 0, false, payload)
    }

    fn waiting(socket: u64, batch: u64) -> Waiting {
        Waiting {
            batch,
            slot: 0,
            socket: SocketId::new(socket).unwrap(),
        }
    }

    fn taken(endings: &mut Endings) -> Vec<u64> {
        endings.look(1);
        let handled = endings.handled.drain(..);
        handled.map(|(_, socket)| socket.get()).collect()
    }

    #[test]
    fn an_end_waits_for_its_batch_and_is_announced() {
        let (first, second) = (worker(1), worker(2));
        let mut endings = Endings::default();
        let batch = event(&first);
        endings.push(&first, waiting(10, batch));
        endings.push(&second, waiting(20, event(&second)));
        assert!(taken(&mut endings).is_empty());
        let mut announced = 0;
        while let Some((next, paused)) = first.queue().take() {
            announced |= paused;
            announced |= first.queue().finish(next).1;
        }
        assert_eq!(announced, 1, "the shard is woken");
        assert_eq!(first.queue().handled(), batch);
        assert_eq!(taken(&mut endings), [10]);
        endings.forget(2);
        assert!(endings.lines.is_empty());
    }

    #[test]
    fn whoever_ends_later_is_let_go_later() {
        let worker = worker(1);
        let mut endings = Endings::default();
        let early = event(&worker);
        let late = event(&worker);
        endings.push(&worker, waiting(1, late));
        endings.push(&worker, waiting(2, early));
        let mut order = Vec::new();
        while let Some((next, _)) = worker.queue().take() {
            worker.queue().finish(next);
            order.extend(taken(&mut endings));
        }
        assert_eq!(order, [1, 2]);
        endings.push(&worker, waiting(3, late));
        assert_eq!(taken(&mut endings), [3], "handled before");
    }
}
