//! The shard's readiness loop: watches sockets and listeners, runs the established connections whose sockets have
//! changed, without a task for each, and wakes the tasks of others. The thread's runtime keeps the tasks and timers, and
//! runs the loop. A stream that the loop cannot watch has a task that runs its connection ([`super::driver`]). [`pace`]
//! says when the runtime has its turn.

mod pace;
#[cfg(not(unix))]
#[path = "other.rs"]
mod system;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::Shard;
use crate::fault::Fault;
use crate::socket::connection::{Connection, Shared};
use pace::Pace;
pub(super) use system::{Accepting, Readiness};

/// The rounds of the loop. One that takes long ends early, and the next goes on with what is left of it.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pace: Pace,
    /// Connections that the last round has not run, in order. Each is marked as runnable.
    rest: RefCell<VecDeque<Shared>>,
    /// Whether there are such connections.
    is_cut: Cell<bool>,
}

/// What comes before the next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// A socket changes, or a connection is to run again.
    News,
    /// Other tasks of the thread run.
    Others,
    /// The runtime looks at its timers and at what other threads have sent, and other tasks run.
    Runtime,
}

/// Runs the loop for as long as the shard lives.
pub(super) async fn watch(shard: Rc<Shard>) {
    poll_fn(|cx| {
        *shard.loop_waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Ready(())
    })
    .await;
    let mut busy = 0;
    loop {
        match shard.before_round(&mut busy) {
            Before::News => shard.news().await,
            Before::Others => after_others().await,
            Before::Runtime => tokio::task::yield_now().await,
        }
        shard.round();
    }
}

/// Lets other tasks of the thread run first.
async fn after_others() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Consecutive rounds of a busy loop after which the runtime has its turn.
const BUSY_ROUNDS: u32 = 3;

impl Shard {
    /// Waits until a socket has changed or a connection is to run again.
    async fn news(&self) {
        poll_fn(|cx| {
            if self.readiness.has_news(cx) {
                self.readiness.expect_more();
            } else if self.runnable.borrow().is_empty() {
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Decides what comes before the next round; `busy` counts those since the runtime had its turn.
    fn before_round(&self, busy: &mut u32) -> Before {
        let pace = &self.rounds.pace;
        if !self.has_more() {
            *busy = 0;
            pace.restart();
            return Before::News;
        }
        if *busy < BUSY_ROUNDS && pace.goes_on_at(self.clock()) {
            *busy += 1;
            return Before::Others;
        }
        *busy = 0;
        pace.restart();
        Before::Runtime
    }

    /// Whether there is more to run now.
    fn has_more(&self) -> bool {
        if self.rounds.is_cut.get() {
            return true;
        }
        if !self.runnable.borrow().is_empty() {
            // other connections do not wait until all input of these is read
            self.readiness.expect_more();
        }
        self.readiness.expects_more()
    }

    /// Runs one round, and a turn if one is due.
    fn round(self: &Rc<Self>) {
        self.turn_follows.set(true);
        self.run_ready();
        self.turn_follows.set(false);
        if self.turn_is_due.get() {
            self.turn();
        }
    }

    /// Runs what is left of the last round, or the connections whose sockets have changed and those that are to run again.
    fn run_ready(self: &Rc<Self>) {
        if self.rounds.is_cut.get() {
            return self.run_rest();
        }
        let mut again = std::mem::take(&mut *self.runnable.borrow_mut());
        let mut goes_on = true;
        self.readiness.take(|token, report| {
            let found = self.connections.borrow().get(slot_of(token)).cloned();
            if let Some(connection) = found.filter(|found| token_of(found) == token) {
                report(&connection);
                if connection.runnable.get() {
                    // it is listed, and runs once
                } else if goes_on {
                    goes_on = self.run(&connection);
                } else {
                    connection.runnable.set(true);
                    self.rounds.postpone(connection);
                }
            }
        });
        for connection in again.drain(..) {
            if goes_on {
                connection.runnable.set(false);
                goes_on = self.run(&connection);
            } else {
                self.rounds.postpone(connection);
            }
        }
        let mut runnable = self.runnable.borrow_mut();
        if runnable.is_empty() {
            *runnable = again;
        }
    }

    /// Goes on with a round that has ended early.
    #[cold]
    fn run_rest(self: &Rc<Self>) {
        // from the start, because this round is known to take long
        self.rounds.pace.goes_on_at(self.clock());
        loop {
            let next = self.rounds.rest.borrow_mut().pop_front();
            let Some(connection) = next else {
                return self.rounds.is_cut.set(false);
            };
            connection.runnable.set(false);
            if !self.run(&connection) {
                return;
            }
        }
    }

    /// Runs one connection. A bug in it closes only that connection. Returns whether the round goes on.
    fn run(self: &Rc<Self>, connection: &Shared) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
            self.hub().faults().hit(Fault::Connection);
            // a connection that is gone has been released
            let _gone = self.proceed(connection, &mut cx);
        }));
        if outcome.is_err() {
            self.close_by_bug(connection);
        }
        self.pass_on(&mut cx);
        let handled = self.stats.bytes_in.get() + self.stats.message_bytes_in.get();
        self.rounds.pace.counts(handled) || self.goes_on_behind(handled)
    }

    /// Reads the clock.
    #[cold]
    fn goes_on_behind(&self, handled: u64) -> bool {
        self.rounds.pace.goes_on_behind(handled, self.clock())
    }
}

impl Rounds {
    /// Has a connection run when the round goes on.
    #[cold]
    fn postpone(&self, connection: Shared) {
        self.rest.borrow_mut().push_back(connection);
        self.is_cut.set(true);
    }
}

/// What identifies a connection to the loop: its slot, and where there is room a part of its id, so that a late event of a
/// connection that is gone is not taken for one of the next in its slot.
pub(super) fn token_of(connection: &Connection) -> usize {
    let slot = u64::from(connection.slot);
    let whole = slot | (connection.socket.get() & ID_PART) << u32::BITS;
    let token = if usize::BITS > u32::BITS { whole } else { slot };
    usize::try_from(token).unwrap_or(usize::MAX)
}

/// The slot in a token.
fn slot_of(token: usize) -> u32 {
    let slot_bits = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
    u32::try_from(token & slot_bits).unwrap_or(u32::MAX)
}

/// The part of an id that fits into a token. The highest bit is that of tasks.
const ID_PART: u64 = 0x7fff_ffff;

#[cfg(test)]
#[cfg(unix)]
mod tests;
