//! Stopping listeners on one shard, and ending the shard.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Shard;
use crate::close::CloseReason;
use crate::fault::Fault;
use crate::listener::Stopping;
use crate::socket::connection::{Connection, Phase};
use crate::sync::Ordering;

impl Shard {
    /// Stops accepting, tells the clients, and waits for them until the deadline.
    pub(super) fn stop(self: &Rc<Self>, stopping: Arc<Stopping>) {
        self.acceptors.borrow_mut().retain(|(listener, tasks)| {
            let stops = stopping.listeners.contains(listener);
            if stops {
                tasks.iter().for_each(tokio::task::AbortHandle::abort);
            }
            !stops
        });
        let shard = Rc::clone(self);
        self.spawn_vital(async move {
            let of = |connection: &Connection| stopping.listeners.contains(&connection.listener.id);
            // a handshake that ends meanwhile may still bring a connection, so each look tells all
            loop {
                shard.hub.faults().hit(Fault::Stop);
                shard.close_all(&CloseReason::GOING_AWAY, "Server is stopping", u64::MAX, of);
                let connections = shard.select(of).len();
                // those that wait for a request end at once, a request that came is still answered
                shard
                    .http_connections
                    .borrow()
                    .stop_idle(&stopping.listeners);
                let http_connections = shard.http_connections.borrow().count(&stopping.listeners);
                let now = Instant::now();
                if connections == 0 && http_connections == 0 || now >= stopping.deadline {
                    break;
                }
                tokio::time::sleep(LOOK.min(stopping.deadline - now)).await;
            }
            shard.http_connections.borrow().abort(&stopping.listeners);
            shard.cut_all(&stopping, of);
        });
    }

    /// Closes what is left when the shard ends; the workers are told.
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
        for worker in self.to_ring.borrow_mut().drain(..) {
            worker.ring();
        }
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

/// How often a stop looks whether everybody has left.
const LOOK: Duration = Duration::from_millis(10);
