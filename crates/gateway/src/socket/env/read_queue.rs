//! Connections that are not read because their worker is behind. Owns their order: whoever waits longest reads
//! first, and only as many are let go at once as lately found something to do.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Env;
use crate::socket::connection::{Io, Shared, Wait};

/// See the module.
#[derive(Debug)]
pub(crate) struct ReadQueue<T = Shared> {
    line: VecDeque<T>,
    /// Those that were let go and found the worker's queue full again before they read anything, in order.
    unlucky: Vec<T>,
    /// How many are let go at once: as many as found room lately, or else each of many would run for nothing.
    width: usize,
    /// How many were, in the round that runs.
    let_go: usize,
    /// Those that publish, and wait until no I/O shard and no backplane has too much to do.
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
    /// Lines up a connection that may not read; in front if it was let go and got nothing.
    fn push(&mut self, connection: T, unlucky: bool) {
        if unlucky {
            self.unlucky.push(connection);
        } else {
            self.line.push_back(connection);
        }
    }

    /// Begins a round, which is to be [ended](Self::end): puts the unlucky of the last one back where they stood and learns
    /// from their number. Takes the line out.
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

    /// Puts back who waits on.
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

/// A round in which some of those who wait are let go.
struct Round<T> {
    /// Who has not been looked at.
    line: VecDeque<T>,
    /// Who waits on, though looked at.
    still: VecDeque<T>,
    width: usize,
    let_go: usize,
}

impl<T> Round<T> {
    /// The next one that is let go: who has waited longest of those for whom there is room.
    fn next(&mut self, has_room: impl Fn(&T) -> bool) -> Option<T> {
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
    /// Has a connection wait until its worker has caught up.
    pub(crate) fn wait_for_worker(&self, connection: &Shared, io: &mut Io) {
        let unlucky = std::mem::replace(&mut io.wait, Wait::InLine) == Wait::LetGo;
        self.read_queue
            .borrow_mut()
            .push(Rc::clone(connection), unlucky);
    }

    /// Has a connection wait until the I/O shards and the backplane have caught up: what it publishes goes to all of them.
    pub(crate) fn wait_for_shards(&self, connection: &Shared, io: &mut Io) {
        io.wait = Wait::InLine;
        let mut queue = self.read_queue.borrow_mut();
        queue.publishers.push(Rc::clone(connection));
        // the turn announces it, and finds out if they have caught up already
        self.schedule();
    }

    /// Lets connections read again that waited for the I/O shards or the backplane.
    pub(crate) fn resume_publishers(&self) {
        if self.read_queue.borrow().publishers.is_empty() {
            return;
        }
        if self.hub.is_congested() {
            self.hub.inboxes().await_room(self.index);
            // the last of them may have caught up between the look and the announcement
            if self.hub.is_congested() {
                return;
            }
        }
        let publishers = std::mem::take(&mut self.read_queue.borrow_mut().publishers);
        for connection in publishers {
            let io = &mut *connection.io.borrow_mut();
            io.wait = Wait::Never;
            self.restart_clocks(io);
            connection.wake();
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
        let has_room = |connection: &Shared| {
            let io = &mut *connection.io.borrow_mut();
            !io.is_live() || self.worker_has_room(connection, io)
        };
        while let Some(connection) = round.next(has_room) {
            let io = &mut *connection.io.borrow_mut();
            io.wait = Wait::LetGo;
            self.restart_clocks(io);
            connection.wake();
        }
        if !round.line.is_empty() {
            // there may be room for them as well
            self.schedule();
        }
        self.read_queue.borrow_mut().end(round);
    }
}

const LEAST_WIDTH: usize = 16;
const MOST_WIDTH: usize = 1 << 16;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod model;

#[cfg(test)]
mod tests;
