//! Ends of connections that wait: complete input before a peer's close, its error or the end of its stream is handled
//! first, and the output of those handlers is sent before our close. Owns which connections wait for which batch of a
//! worker. The timers limit the waiting to the time of a close.

use std::collections::VecDeque;
use std::sync::Arc;

use millrace_core::{ShardIndex, SocketId};

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
    /// Connections whose events are handled as of this turn.
    handled: Vec<(u32, SocketId)>,
}

/// The connections that wait for one worker, ordered by parcel.
#[derive(Debug)]
struct Line {
    worker: Arc<Worker>,
    waiting: VecDeque<Waiting>,
}

/// A connection whose newest event is in this parcel or an earlier one.
#[derive(Debug)]
struct Waiting {
    parcel: u64,
    slot: u32,
    socket: SocketId,
}

impl Endings {
    fn push(&mut self, worker: &Arc<Worker>, mut waiting: Waiting) {
        let known = |line: &&mut Line| Arc::ptr_eq(&line.worker, worker);
        if let Some(line) = self.lines.iter_mut().find(known) {
            // kept in order, so that checking the first is enough; a connection with an earlier parcel waits a little
            // longer
            let last = line.waiting.back().map_or(0, |last| last.parcel);
            waiting.parcel = waiting.parcel.max(last);
            line.waiting.push_back(waiting);
        } else {
            self.lines.push(Line {
                worker: Arc::clone(worker),
                waiting: VecDeque::from([waiting]),
            });
        }
    }

    /// Finds the connections whose events are handled or held. Workers that others still wait for will wake this shard.
    #[cold]
    fn look(&mut self, shard: ShardIndex) {
        let handled = &mut self.handled;
        self.lines.retain_mut(|line| {
            let queue = line.worker.queue();
            loop {
                let done = queue.handled(shard);
                while let Some(first) = line.waiting.front()
                    && first.parcel <= done
                {
                    handled.push((first.slot, first.socket));
                    line.waiting.pop_front();
                }
                if line.waiting.is_empty() {
                    return false;
                }
                queue.pause(1 << shard.get());
                // a batch may have been finished between the check and the announcement
                if queue.handled(shard) == done {
                    return true;
                }
            }
        });
    }

    /// Removes a worker, which will handle nothing more.
    fn forget(&mut self, worker: u32) {
        self.lines.retain(|line| line.worker.id() != worker);
    }
}

impl Env {
    /// The peer has sent a close or invalid input.
    pub(crate) fn peer_ended(&self, connection: &Shared, io: &mut Io, reason: CloseReason) {
        let peer_close = PeerClose::of(&reason);
        self.end_after_events(connection, io, reason, peer_close);
    }

    /// The peer has sent its last input: the connection closes once its worker has handled what came before.
    fn end_after_events(
        &self,
        connection: &Shared,
        io: &mut Io,
        reason: CloseReason,
        peer_close: PeerClose,
    ) {
        let parcel = io.credit.newest();
        if !io.phase.is_open() || parcel.is_none() && !io.session.has_pending() {
            return self.close(connection, io, &reason);
        }
        io.phase = Phase::Ending(Box::new(Ending {
            reason,
            peer_close,
            handled: parcel.is_none(),
        }));
        io.session.ending();
        let deadline = self.closing_deadline();
        io.times.change(|waits| waits.deadline = deadline);
        self.arm(connection, io, deadline);
        let Some(parcel) = parcel else {
            return;
        };
        let (slot, socket) = (connection.slot, connection.socket);
        let waiting = Waiting {
            parcel,
            slot,
            socket,
        };
        self.endings.borrow_mut().push(&connection.worker, waiting);
        // even if everything is handled, because the output of handlers may still be in the inbox
        self.schedule();
    }

    /// The peer has sent its last byte, and the stash is empty. The peer may still read.
    pub(crate) fn input_ended(&self, connection: &Shared, io: &mut Io) {
        if !connection.traits.get().half_close {
            // handlers may wait for the rest of what has begun to arrive
            self.break_transfers(connection, io);
        }
        let is_behind = io.is_behind() || !io.outbox.is_empty();
        let traits = connection.traits.get();
        // a client of an event stream that ends its side has left and reads nothing more
        let may_read = traits.liveness != Liveness::Tells;
        match &mut io.phase {
            Phase::Open if traits.half_close => self.half_close(connection, io),
            Phase::Open if io.credit.newest().is_some() || io.session.has_pending() => {
                self.end_after_events(connection, io, CloseReason::ABNORMAL, PeerClose::StreamEnd);
            }
            // the close came before
            Phase::Ending(_) => {}
            // output for the peer is sent first
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

    /// Lets the session decide what follows: writing may continue, but silence of the peer no longer counts.
    fn half_close(&self, connection: &Shared, io: &mut Io) {
        connection.half_closed.set(true);
        io.times
            .end(|waits| (waits.unfinished, waits.ping) = (0, 0));
        let (result, _) = self.call_session(connection, io, |session, cx| session.input_ended(cx));
        // the session has taken what is complete, and drops the rest
        let unfinished = io.session.unfinished();
        self.count_unfinished(connection, io, unfinished);
        if let Err(reason) = result
            && io.phase.is_open()
        {
            self.end_after_events(connection, io, reason, PeerClose::StreamEnd);
        }
        self.arm_first(connection, io);
    }

    /// Takes what has arrived since the last turn: first the connections whose events are handled, then the mail, which
    /// contains everything that their handlers have sent. Returns whether it has taken the mail: without a wake-up there is
    /// none, or one follows.
    pub(crate) fn collect(&self, mail: &mut Mail) -> bool {
        let inboxes = self.hub.inboxes();
        // first of all, so that a worker that finishes a batch after the check wakes this shard again
        let was_woken = inboxes.turn_begins(self.index);
        // what the handlers of these have sent comes before their end, even if the wake-up for it is still to come
        let takes = self.look_at_endings() || was_woken;
        if takes {
            inboxes.take(self.index, mail);
        }
        takes
    }

    /// Returns whether some wait.
    pub(in crate::socket) fn look_at_endings(&self) -> bool {
        let wait = !self.endings.borrow().lines.is_empty();
        if wait {
            self.endings.borrow_mut().look(self.index);
        }
        wait
    }

    /// Closes these connections, except those whose handlers returned promises: they follow when the promises settle.
    pub(crate) fn finish_endings(&self) {
        if !self.endings.borrow().handled.is_empty() {
            self.part_from_handled();
        }
    }

    /// A function of its own, because most turns have none.
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

    /// Closes a connection if it waits for nothing else.
    pub(crate) fn finish_ending(&self, connection: &Shared, io: &mut Io) {
        let is_handled = matches!(&io.phase, Phase::Ending(ending) if ending.handled);
        if !is_handled || io.credit.is_holding() || io.session.has_pending() {
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

    /// Removes a worker that no connection waits for any more.
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
    use crate::worker::queue::Parcel;

    struct Nobody;

    impl Doorbell for Nobody {
        fn ring(&self) {}
    }

    fn shard() -> ShardIndex {
        ShardIndex::new(0).unwrap()
    }

    fn worker(id: u32) -> Arc<Worker> {
        let handlers = Handlers::NONE;
        Arc::new(Worker::new(id, handlers, Arc::new(Nobody), Weak::new()))
    }

    /// Appends an event that fills a batch; returns the batch.
    fn event(worker: &Worker) -> u64 {
        let payload = Cow::Owned(vec![0; 2 << 20]);
        let mut parcel = Parcel::new(shard(), worker.queue(), (0, 0), 1);
        let number = parcel.message(RecordKind::Binary, 0, false, payload);
        worker.queue().hand_over(&mut parcel, (1, 1));
        number
    }

    fn waiting(socket: u64, parcel: u64) -> Waiting {
        Waiting {
            parcel,
            slot: 0,
            socket: SocketId::new(socket).unwrap(),
        }
    }

    fn taken(endings: &mut Endings) -> Vec<u64> {
        endings.look(shard());
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
        assert_eq!(first.queue().handled(shard()), batch);
        assert_eq!(taken(&mut endings), [10]);
        endings.forget(2);
        assert!(endings.lines.is_empty());
    }

    #[test]
    fn connections_that_end_later_are_released_later() {
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
