//! Stopping listeners on one shard, and ending the shard.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::Shard;
use crate::close::CloseReason;
use crate::fault::Fault;
use crate::listener::Stopping;
use crate::socket::connection::{Connection, Phase, Shared};
use crate::socket::stops::Stop;
use crate::sync::Ordering;

impl Shard {
    /// Stops accepting, closes the connections, and waits for them until the deadline.
    pub(super) fn stop(self: &Rc<Self>, stopping: Arc<Stopping>) {
        self.stop_accepting(&stopping.listeners);
        let shard = Rc::clone(self);
        self.spawn_vital(async move {
            shard.hub.faults().hit(Fault::Stop);
            let of = |connection: &Connection| stopping.listeners.contains(&connection.listener.id);
            let stop = shard.begin_stop(&stopping.listeners, of);
            if Instant::now() < stopping.deadline {
                let left = stop.nobody_left();
                // connections that are left then are cut
                let _late = tokio::time::timeout_at(stopping.deadline.into(), left).await;
            }
            shard.stops.end(&stop);
            shard.stop_parts(&stopping.listeners, true);
            shard.cut_all(&stopping, of);
        });
    }

    /// Stops accepting connections on these listeners.
    pub(super) fn stop_accepting(&self, listeners: &[u32]) {
        self.acceptors.borrow_mut().retain(|(listener, tasks)| {
            let stops = listeners.contains(listener);
            if stops {
                tasks.iter().for_each(tokio::task::AbortHandle::abort);
            }
            !stops
        });
    }

    /// Closes all connections, once, and counts them from here on. Connections that open later find their listener
    /// stopping.
    fn begin_stop(&self, listeners: &[u32], of: impl Fn(&Connection) -> bool) -> Rc<Stop> {
        let left = {
            let connections = self.connections.borrow();
            let of = |connection: &&Shared| of(connection);
            connections.iter().filter(of).count()
        };
        let others = self.stop_parts(listeners, false);
        let stop = self.stops.begin(listeners, left + others);
        self.close_all(&CloseReason::GOING_AWAY, "Server is stopping", u64::MAX, of);
        stop
    }

    /// Closes the remaining connections when the shard ends, and tells the workers.
    pub(super) fn end(&self) {
        for connection in self.select(|_| true) {
            let io = &mut *connection.io.borrow_mut();
            if matches!(io.phase, Phase::Pending(_)) {
                self.with_core(|core, poster| core.close(connection.socket, poster));
                connection
                    .worker
                    .queue()
                    .free_slot(connection.worker_slot.get());
            } else {
                self.close(&connection, io, &CloseReason::SHUT_DOWN);
            }
            io.phase = Phase::Gone;
            self.release(&connection, io);
        }
        self.hand_over();
    }

    fn cut_all(&self, stopping: &Stopping, of: impl Fn(&Connection) -> bool) {
        for connection in self.select(of) {
            stopping.cut.fetch_add(1, Ordering::SeqCst);
            let io = &mut *connection.io.borrow_mut();
            self.close(&connection, io, &CloseReason::ABNORMAL);
            if io.stream.is_none() {
                self.release(&connection, io);
            }
        }
    }
}
