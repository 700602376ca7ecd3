//! The shard's readiness loop: watches the sockets of established connections without a task per connection, and runs
//! those whose sockets have changed. The thread's runtime keeps listeners, HTTP, TLS and timers, and wakes the loop.
//! Streams that the loop cannot watch are run by a task each, as in [`super::driver`].

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
use crate::inbox::Mail;
use crate::socket::connection::{Connection, Shared};
use crate::socket::env::Round;
pub(super) use system::Readiness;

/// Runs rounds of the loop for as long as the shard lives: what is ready, then the turn.
pub(super) async fn rounds(shard: Rc<Shard>) {
    let mut mail = Mail::default();
    poll_fn(|cx| {
        *shard.turn_waker.borrow_mut() = Some(cx.waker().clone());
        let inboxes = shard.hub.inboxes();
        inboxes.set_waker(shard.index, cx.waker().clone());
        Poll::Ready(())
    })
    .await;
    let mut busy = 0;
    loop {
        shard.round.set(Round::Reads);
        shard.run_ready();
        shard.turn(&mut mail);
        if shard.has_more() {
            busy += 1;
            if busy % BUSY_ROUNDS == 0 {
                // the runtime looks at what it watches
                tokio::task::yield_now().await;
            } else {
                after_others().await;
            }
        } else {
            busy = 0;
            shard.news().await;
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

/// The rounds after which the runtime looks at what it watches, although the loop has more to do.
const BUSY_ROUNDS: u32 = 4;

impl Shard {
    /// Whether there is more to run now.
    fn has_more(&self) -> bool {
        if !self.runnable.borrow().is_empty() {
            // other connections are not to wait until all input of these is read
            self.readiness.expect_more();
        }
        self.readiness.expects_more()
    }

    /// Waits until a socket has changed or the shard is woken.
    async fn news(&self) {
        let mut woken = false;
        poll_fn(|cx| {
            if self.readiness.has_news(cx) || std::mem::replace(&mut woken, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
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

/// What identifies a connection to the loop: its slot, and where there is room a part of its id, so that an event of a
/// connection that is gone is not taken for one of the next in its slot.
pub(super) fn token_of(connection: &Connection) -> usize {
    let slot = u64::from(connection.slot);
    let whole = slot | connection.socket.get() << u32::BITS;
    let token = if usize::BITS > u32::BITS { whole } else { slot };
    usize::try_from(token).unwrap_or(usize::MAX)
}

/// The slot in a token.
fn slot_of(token: usize) -> u32 {
    let slot_bits = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
    u32::try_from(token & slot_bits).unwrap_or(u32::MAX)
}
