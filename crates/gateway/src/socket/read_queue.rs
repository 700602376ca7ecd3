//! Connections that are not read because their worker is behind. Owns their order: whoever waits longest reads
//! first, and only as many are let go at once as lately found something to do.

use std::collections::VecDeque;
use std::rc::Rc;

use super::connection::{Io, Shared, Wait};
use super::env::Env;

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

    /// Ends a round: puts the unlucky back where they stood and learns from their number. Takes the line out.
    fn begin(&mut self) -> VecDeque<T> {
        let let_go = std::mem::take(&mut self.let_go);
        if !self.unlucky.is_empty() {
            self.width = let_go.saturating_sub(self.unlucky.len()).max(LEAST_WIDTH);
        } else if let_go == self.width {
            self.width = self.width.saturating_mul(2).min(MOST_WIDTH);
        }
        for connection in self.unlucky.drain(..).rev() {
            self.line.push_front(connection);
        }
        std::mem::take(&mut self.line)
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
        let (mut line, width) = {
            let mut waiting = self.read_queue.borrow_mut();
            if waiting.line.is_empty() && waiting.unlucky.is_empty() {
                return;
            }
            (waiting.begin(), waiting.width)
        };
        let mut still = VecDeque::new();
        let mut let_go = 0;
        while let_go < width
            && let Some(connection) = line.pop_front()
        {
            let io = &mut *connection.io.borrow_mut();
            if io.is_live() && !self.worker_has_room(&connection, io) {
                still.push_back(Rc::clone(&connection));
                continue;
            }
            io.wait = Wait::LetGo;
            self.restart_clocks(io);
            connection.wake();
            let_go += 1;
        }
        if !line.is_empty() {
            // there may be room for them as well
            self.schedule();
        }
        still.append(&mut line);
        let mut waiting = self.read_queue.borrow_mut();
        waiting.line = still;
        waiting.let_go = let_go;
    }
}

const LEAST_WIDTH: usize = 16;
const MOST_WIDTH: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_let_go_and_got_nothing_is_next() {
        let mut waiting = ReadQueue::default();
        for connection in 0..4 {
            waiting.push(connection, false);
        }
        let mut line = waiting.begin();
        // 0 read and is back already, 1 and 2 found the queue full, 3 was not let go
        waiting.push(line.pop_front().unwrap(), false);
        waiting.push(line.pop_front().unwrap(), true);
        waiting.push(line.pop_front().unwrap(), true);
        line.append(&mut waiting.line);
        waiting.line = line;
        assert_eq!(waiting.begin(), [1, 2, 3, 0]);
    }

    #[test]
    fn as_many_are_let_go_as_found_room() {
        let mut waiting = ReadQueue::default();
        let mut round = |let_go: usize, unlucky: usize| {
            waiting.let_go = let_go;
            (0..unlucky).for_each(|_| waiting.push((), true));
            waiting.begin();
            waiting.width
        };
        // nobody was let go, or fewer than might have been: nothing is learned
        assert_eq!(round(0, 0), LEAST_WIDTH);
        assert_eq!(round(LEAST_WIDTH - 1, 0), LEAST_WIDTH);
        assert_eq!(round(LEAST_WIDTH, 0), 2 * LEAST_WIDTH);
        assert_eq!(round(2 * LEAST_WIDTH, 0), 4 * LEAST_WIDTH);
        assert_eq!(round(4 * LEAST_WIDTH, 10), 4 * LEAST_WIDTH - 10);
        assert_eq!(round(4 * LEAST_WIDTH - 10, 1000), LEAST_WIDTH);
        let mut width = LEAST_WIDTH;
        for _ in 0..40 {
            width = round(width, 0);
        }
        assert_eq!(width, MOST_WIDTH);
    }
}
