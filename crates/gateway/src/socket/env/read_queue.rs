//! Connections that are not read because their worker is behind. Owns their order: the connection that has waited
//! longest reads first, and only as many are released at once as recently found something to do.

use std::collections::VecDeque;
use std::rc::Rc;

use smallvec::SmallVec;

use super::Env;
use crate::socket::connection::{Io, Shared, Wait};
use crate::worker::queue::Queue;

/// See the module.
#[derive(Debug)]
pub(crate) struct ReadQueue<T = Shared> {
    line: VecDeque<T>,
    /// Connections that were released and found the worker's queue full again before they read anything, in order.
    unlucky: Vec<T>,
    /// How many are released at once: as many as recently found room, because releasing all of many would make most run
    /// for nothing.
    width: usize,
    /// How many were released in the current round.
    let_go: usize,
    /// Connections that publish, and wait until no I/O shard and no backplane is congested.
    publishers: Vec<T>,
}

impl<T> Default for ReadQueue<T> {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            unlucky: Vec::new(),
            width: LEAST_WIDTH,
            let_go: 0,
            publishers: Vec::new(),
        }
    }
}

impl<T> ReadQueue<T> {
    /// Queues a connection that may not read; in front if it was released and got nothing.
    fn push(&mut self, connection: T, unlucky: bool) {
        if unlucky {
            self.unlucky.push(connection);
        } else {
            self.line.push_back(connection);
        }
    }

    /// Begins a round, which the caller has to [end](Self::end). Puts the unlucky connections of the last round back to
    /// their places, and adjusts the width to their number. Takes the queue out.
    fn begin(&mut self) -> Round<T> {
        let let_go = std::mem::take(&mut self.let_go);
        if !self.unlucky.is_empty() {
            self.width = let_go.saturating_sub(self.unlucky.len()).max(LEAST_WIDTH);
        } else if let_go == self.width {
            self.width = self.width.saturating_mul(2).min(MOST_WIDTH);
        }
        for connection in self.unlucky.drain(..).rev() {
            self.line.push_front(connection);
        }
        Round {
            line: std::mem::take(&mut self.line),
            still: VecDeque::new(),
            width: self.width,
            let_go: 0,
        }
    }

    /// Puts back the connections that go on waiting.
    fn end(&mut self, round: Round<T>) {
        let Round {
            mut line,
            still,
            let_go,
            ..
        } = round;
        self.line = still;
        self.line.append(&mut line);
        self.let_go = let_go;
    }
}

/// A round in which some of the waiting connections are released.
struct Round<T> {
    /// Connections that were not examined yet.
    line: VecDeque<T>,
    /// Connections that were examined and go on waiting.
    still: VecDeque<T>,
    width: usize,
    let_go: usize,
}

impl<T> Round<T> {
    /// The next connection to release: the one that has waited longest of those with room.
    fn next(&mut self, mut has_room: impl FnMut(&T) -> bool) -> Option<T> {
        while self.let_go < self.width {
            let connection = self.line.pop_front()?;
            if has_room(&connection) {
                self.let_go += 1;
                return Some(connection);
            }
            self.still.push_back(connection);
        }
        None
    }
}

impl Env {
    /// Makes a connection wait until its worker has caught up.
    pub(crate) fn wait_for_worker(&self, connection: &Shared, io: &mut Io) {
        let unlucky = std::mem::replace(&mut io.wait, Wait::InLine) == Wait::LetGo;
        self.read_queue
            .borrow_mut()
            .push(Rc::clone(connection), unlucky);
    }

    /// Makes a connection wait until the I/O shards and the backplane have caught up, because its publications go to
    /// all of them.
    pub(crate) fn wait_for_shards(&self, connection: &Shared, io: &mut Io) {
        io.wait = Wait::InLine;
        let mut queue = self.read_queue.borrow_mut();
        queue.publishers.push(Rc::clone(connection));
        // the turn announces that, and finds out whether they have caught up already
        self.schedule();
    }

    /// Lets connections read again that waited for the I/O shards or the backplane.
    pub(crate) fn resume_publishers(&self) {
        if self.read_queue.borrow().publishers.is_empty() {
            return;
        }
        if self.hub.is_congested() {
            self.hub.inboxes().await_room(self.index);
            // the last of them may have caught up between the check and the announcement
            if self.hub.is_congested() {
                return;
            }
        }
        let publishers = std::mem::take(&mut self.read_queue.borrow_mut().publishers);
        for connection in publishers {
            let io = &mut *connection.io.borrow_mut();
            io.wait = Wait::Never;
            self.restart_clocks(io);
            self.run_soon(&connection);
        }
    }

    /// Lets connections read again whose worker has caught up.
    pub(crate) fn resume_read_queue(&self) {
        let mut round = {
            let mut waiting = self.read_queue.borrow_mut();
            if waiting.line.is_empty() && waiting.unlucky.is_empty() {
                return;
            }
            waiting.begin()
        };
        let mut full = SmallVec::new();
        while let Some(connection) = round.next(|one| self.may_leave(one, &mut full)) {
            let io = &mut *connection.io.borrow_mut();
            io.wait = Wait::LetGo;
            self.restart_clocks(io);
            self.run_soon(&connection);
        }
        if !round.line.is_empty() {
            // there may be room for more connections
            self.schedule();
        }
        self.read_queue.borrow_mut().end(round);
    }

    /// Whether a connection has nothing to wait for. `full` has the workers of this round whose queues are full: each is
    /// asked once, because any number of its connections may wait.
    fn may_leave(&self, connection: &Shared, full: &mut SmallVec<[u32; 4]>) -> bool {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() {
            return true;
        }
        let worker = &connection.worker;
        if full.contains(&worker.id()) {
            return false;
        }
        if !self.queue_has_room(worker.queue()) {
            full.push(worker.id());
            return false;
        }
        // what the worker is asked does not count as an event of its connection
        !connection.traits.get().feeds_worker || self.worker_has_room(connection, io)
    }

    /// Whether a worker's queue can take another event. If not, the worker wakes this shard when it has caught up.
    pub(crate) fn queue_has_room(&self, queue: &Queue) -> bool {
        let (events, bytes) = self.queue_limits();
        if queue.has_room(events, bytes) {
            return true;
        }
        queue.pause(1 << self.index.get());
        // a batch may have been finished between the check and the announcement
        queue.has_room(events, bytes)
    }
}

const LEAST_WIDTH: usize = 16;
const MOST_WIDTH: usize = 1 << 16;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod model;

#[cfg(test)]
mod tests;
