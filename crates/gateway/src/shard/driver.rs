//! The task of a connection. A bug that ends it ends that connection alone.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
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
    /// The 101 is written: messages may flow. `early` came right behind the handshake.
    pub(crate) fn connected(self: &Rc<Self>, connection: &Shared, stream: Stream, early: &Bytes) {
        if !self.begin(connection, stream, early) {
            return;
        }
        tokio::task::spawn_local(Driver {
            shard: Rc::clone(self),
            connection: Rc::clone(connection),
        });
        // the driver's first run registers it, then the turn writes what handleOpen sent
        self.mark_dirty(connection);
    }

    /// What a connection has relayed goes on before others are read, if it is much. As in a turn, this is the shard's own work:
    /// a bug in it ends no connection alone, and it writes to any number of connections.
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
            shard.stats.panics.add(1);
            tracing::error!(
                target: "millrace::connection",
                socket = connection.socket.get(),
                "closed by a bug"
            );
            let io = &mut *connection.io.borrow_mut();
            // what the kernel takes at once is all that it gets, and the bug may lie in the writing
            let _said = std::panic::catch_unwind(AssertUnwindSafe(|| {
                shard.close(connection, io, &CloseReason::INTERNAL);
                shard.flush(connection, io);
            }));
            io.phase = Phase::Gone;
            shard.release(connection, io);
            Poll::Ready(())
        });
        shard.pass_on(cx);
        driven
    }
}
