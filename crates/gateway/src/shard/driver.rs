//! The task of a connection. A bug that ends it ends that connection alone.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::Shard;
use crate::close::CloseReason;
use crate::socket::connection::{Phase, Shared};

/// A connection's task. Ends when the connection is gone.
pub(super) struct Driver {
    pub(super) shard: Rc<Shard>,
    pub(super) connection: Shared,
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { shard, connection } = &*self;
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| shard.drive(connection, cx)));
        outcome.unwrap_or_else(|_| {
            shard.stats.panics.add(1);
            tracing::error!(
                target: "millrace::connection",
                socket = connection.socket.get(),
                "closed by a bug"
            );
            let io = &mut *connection.io.borrow_mut();
            shard.close(connection, io, &CloseReason::INTERNAL);
            io.phase = Phase::Gone;
            shard.release(connection, io);
            Poll::Ready(())
        })
    }
}
