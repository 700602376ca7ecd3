//! The shard's readiness loop: watches sockets and listeners, runs the established connections whose sockets have
//! changed, without a task for each, and wakes the tasks of others. The thread's runtime keeps the tasks and timers, and
//! runs the loop. A stream that the loop cannot watch has a task that runs its connection ([`super::driver`]).

#[cfg(not(unix))]
#[path = "other.rs"]
mod system;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::Shard;
use crate::fault::Fault;
use crate::socket::connection::{Connection, Shared};
pub(super) use system::{Accepting, Readiness};

/// Runs the loop for as long as the shard lives.
pub(super) async fn watch(shard: Rc<Shard>) {
    poll_fn(|cx| {
        *shard.loop_waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Ready(())
    })
    .await;
    let (mut busy, mut until) = (0, 0);
    loop {
        if !shard.has_more() {
            busy = 0;
            shard.news().await;
        } else if busy == 0 || busy < BUSY_ROUNDS && shard.elapsed() <= until {
            if busy == 0 {
                until = shard.elapsed() + BUSY_MS;
            }
            busy += 1;
            after_others().await;
        } else {
            busy = 0;
            // the runtime looks at its timers and at what other threads have sent
            tokio::task::yield_now().await;
        }
        shard.turn_follows.set(true);
        shard.run_ready();
        shard.turn_follows.set(false);
        if shard.turn_is_due.get() {
            shard.turn();
        }
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

/// Consecutive rounds of a busy loop after which the runtime has its turn, and the milliseconds after which it has its
/// turn behind any round.
const BUSY_ROUNDS: u32 = 3;
const BUSY_MS: u64 = 1;

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

    /// Whether there is more to run now.
    fn has_more(&self) -> bool {
        if !self.runnable.borrow().is_empty() {
            // other connections do not wait until all input of these is read
            self.readiness.expect_more();
        }
        self.readiness.expects_more()
    }

    /// Runs the connections whose sockets have changed, and those that are to run again.
    fn run_ready(self: &Rc<Self>) {
        let mut again = std::mem::take(&mut *self.runnable.borrow_mut());
        self.readiness.take(|token, report| {
            let found = self.connections.borrow().get(slot_of(token)).cloned();
            if let Some(connection) = found.filter(|found| token_of(found) == token) {
                report(&connection);
                self.run(&connection);
            }
        });
        for connection in again.drain(..) {
            connection.runnable.set(false);
            self.run(&connection);
        }
        let mut runnable = self.runnable.borrow_mut();
        if runnable.is_empty() {
            *runnable = again;
        }
    }

    /// Runs one connection. A bug in it closes only that connection.
    fn run(self: &Rc<Self>, connection: &Shared) {
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
