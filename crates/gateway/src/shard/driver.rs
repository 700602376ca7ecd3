//! The task of a connection. A bug that ends it closes only that connection.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::Shard;
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
        if !self.begin(connection, stream, early) {
            return;
        }
        tokio::task::spawn_local(Driver {
            shard: Rc::clone(self),
            connection: Rc::clone(connection),
        });
        // the driver's first run registers it; then the turn writes what handleOpen has sent
        self.mark_dirty(connection);
    }

    /// Runs a connection's task once. If it relayed much, that is written before other connections are read.
    pub(super) fn attend(&self, connection: &Shared, cx: &mut Context<'_>) -> Poll<()> {
        let driven = self.drive(connection, cx);
        if self.relays_much() {
            self.flush_dirty();
        }
        driven
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { shard, connection } = &*self;
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
            shard.hub().faults().hit(Fault::Connection);
            shard.attend(connection, cx)
        }));
        outcome.unwrap_or_else(|_| {
            shard.stats.panics.add(1);
            tracing::error!(
                target: "millrace::connection",
                socket = connection.socket.get(),
                "closed by a bug"
            );
            let io = &mut *connection.io.borrow_mut();
            // writes only what the kernel accepts at once, and catches panics, because the bug may be in the writing
            let _said = std::panic::catch_unwind(AssertUnwindSafe(|| {
                shard.close(connection, io, &CloseReason::INTERNAL);
                shard.flush(connection, io);
            }));
            io.phase = Phase::Gone;
            shard.release(connection, io);
            Poll::Ready(())
        })
    }
}
