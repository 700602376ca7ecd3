//! Starts connections: the readiness loop runs those whose streams it can watch, a task each of the others. A bug in a
//! connection closes only that connection.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::Shard;
use super::readiness::token_of;
use crate::close::CloseReason;
use crate::fault::Fault;
use crate::net::stream::Stream;
use crate::socket::connection::{Phase, Shared};

/// A connection's task. Ends when the connection is gone.
struct Driver {
    shard: Rc<Shard>,
    connection: Shared,
}

impl Shard {
    /// Starts a connection: messages may flow from now on. `early` followed the handshake.
    pub(crate) fn connected(self: &Rc<Self>, connection: &Shared, stream: Stream, early: &Bytes) {
        let (stream, mut input) = stream.settled();
        input.extend_from_slice(early);
        let Ok(stream) = self.readiness.establish(stream, token_of(connection)) else {
            // the system cannot watch another descriptor
            return self.lost(connection);
        };
        let is_watched = stream.is_polled();
        // input that is not known of is reported by the loop, which runs the connection then
        let has_input = !input.is_empty() || stream.has_unread();
        if !self.begin(connection, stream, input.into_boxed_slice()) {
            return;
        }
        if is_watched {
            connection.is_watched.set(true);
            if has_input {
                self.run_soon(connection);
            }
        } else {
            tokio::task::spawn_local(Driver {
                shard: Rc::clone(self),
                connection: Rc::clone(connection),
            });
        }
        // what handleOpen has sent may wait in the outbox
        self.mark_dirty(connection);
    }

    /// Closes a connection in which a bug was found.
    pub(super) fn close_by_bug(&self, connection: &Shared) {
        self.stats.panics.add(1);
        tracing::error!(
            target: "millrace::connection",
            socket = connection.socket.get(),
            "closed by a bug"
        );
        let io = &mut *connection.io.borrow_mut();
        // writes only what the kernel accepts at once, and catches panics, because the bug may be in the writing
        let _said = std::panic::catch_unwind(AssertUnwindSafe(|| {
            self.close(connection, io, &CloseReason::INTERNAL);
            self.flush(connection, io);
        }));
        io.phase = Phase::Gone;
        self.release(connection, io);
    }

    /// If connections relayed much, writes that before other connections are read. As in a turn, this is work of the shard: it
    /// writes to any number of connections, and a bug in it ends the shard.
    pub(super) fn pass_on(self: &Rc<Self>, cx: &mut Context<'_>) {
        if !self.relays_much() {
            return;
        }
        let _vital = self.guard_vital();
        self.hub().faults().hit(Fault::Relays);
        let flush = poll_fn(|_| {
            self.flush_dirty();
            Poll::Ready(())
        });
        let _done = pin!(tokio::task::unconstrained(flush)).poll(cx);
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { shard, connection } = &*self;
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
            shard.hub().faults().hit(Fault::Connection);
            shard.drive(connection, cx)
        }));
        let driven = outcome.unwrap_or_else(|_| {
            shard.close_by_bug(connection);
            Poll::Ready(())
        });
        shard.pass_on(cx);
        driven
    }
}
