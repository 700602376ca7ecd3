//! Connections that are not read because their worker is behind. Owns their order: whoever waits longest reads
//! first, and only as many are let go at once as lately found something to do.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Shard;
use super::connection::{Io, Shared, Wait};

/// See the module.
#[derive(Debug)]
pub(super) struct Waiting<T = Shared> {
    line: VecDeque<T>,
    /// Those that were let go and found the worker's queue full again before they read anything, in order.
    unlucky: Vec<T>,
    /// How many are let go at once: as many as found room lately, or else each of many would run for nothing.
    width: usize,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            unlucky: Vec::new(),
            width: LEAST_WIDTH,
        }
    }
}

impl<T> Waiting<T> {
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
        self.width = match self.unlucky.len() {
            0 => self.width.saturating_mul(2).min(MOST_WIDTH),
            unlucky => self.width.saturating_sub(unlucky).max(LEAST_WIDTH),
        };
        for connection in self.unlucky.drain(..).rev() {
            self.line.push_front(connection);
        }
        std::mem::take(&mut self.line)
    }
}

impl Shard {
    /// Has a connection wait until its worker has caught up.
    pub(super) fn wait_for_worker(&self, connection: &Shared, io: &mut Io) {
        let unlucky = std::mem::replace(&mut io.wait, Wait::InLine) == Wait::LetGo;
        self.waiting
            .borrow_mut()
            .push(Rc::clone(connection), unlucky);
    }

    /// Lets connections read again whose worker has caught up.
    pub(super) fn resume_waiting(&self) {
        let (mut line, width) = {
            let mut waiting = self.waiting.borrow_mut();
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
        self.waiting.borrow_mut().line = still;
    }
}

const LEAST_WIDTH: usize = 16;
const MOST_WIDTH: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_let_go_and_got_nothing_is_next() {
        let mut waiting = Waiting::default();
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
        let mut waiting = Waiting::default();
        for _ in 0..3 {
            waiting.begin();
        }
        assert_eq!(waiting.width, 8 * LEAST_WIDTH);
        for _ in 0..100 {
            waiting.push((), true);
        }
        waiting.begin();
        assert_eq!(waiting.width, 8 * LEAST_WIDTH - 100);
        for _ in 0..100 {
            waiting.push((), true);
        }
        waiting.begin();
        assert_eq!(waiting.width, LEAST_WIDTH);
        for _ in 0..40 {
            waiting.begin();
        }
        assert_eq!(waiting.width, MOST_WIDTH);
    }
}
