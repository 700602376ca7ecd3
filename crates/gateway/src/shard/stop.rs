//! Stopping listeners on one shard, and ending the shard.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millrace_core::SocketId;

use super::Shard;
use super::turns_to_close::{Place, Returns, TurnsToClose};
use crate::close::CloseReason;
use crate::fault::Fault;
use crate::listener::{Spread, Stopping};
use crate::socket::connection::{Connection, Phase};
use crate::socket::env::millis;
use crate::socket::stops::Stop;
use crate::socket::wheel::TICK_MS;
use crate::sync::Ordering;

impl Shard {
    /// Stops accepting, closes the connections, and waits for them until the deadline. If the stop is spread over a
    /// time, connections are closed one after the other first.
    pub(super) fn stop(self: &Rc<Self>, stopping: Arc<Stopping>) {
        if stopping.spread.is_none() {
            self.stop_accepting(&stopping.listeners);
        }
        let shard = Rc::clone(self);
        self.spawn_vital(async move {
            shard.hub.faults().hit(Fault::Stop);
            let mut returns = Returns::new(shard.place());
            if let Some(spread) = &stopping.spread {
                shard.close_in_turn(&stopping, spread, &mut returns).await;
                for listener in &spread.leaving {
                    listener.stop();
                }
                shard.stop_accepting(&stopping.listeners);
            }
            let of = |connection: &Connection| stopping.listeners.contains(&connection.listener.id);
            let stop = shard.begin_stop(&stopping, &mut returns);
            stopping.until_deadline(stop.nobody_left()).await;
            // connections that are left now are cut
            shard.stops.end(&stop);
            shard.stop_parts(&stopping.listeners, true);
            shard.cut_all(&stopping, of);
        });
    }

    /// Closes the connections that are open now, evenly over the time of the spread, a slice in each tick.
    async fn close_in_turn(&self, stopping: &Stopping, spread: &Spread, returns: &mut Returns) {
        let since = |time: Instant| millis(time.saturating_duration_since(spread.began));
        let whole = millis(spread.time);
        let open: Vec<(u32, SocketId)> = {
            let connections = self.connections.borrow();
            let of = connections.iter().filter(|connection| {
                stopping.listeners.contains(&connection.listener.id) && !follows(connection)
            });
            of.map(|connection| (connection.slot, connection.socket))
                .collect()
        };
        let mut turns = TurnsToClose::new(open.len(), 0, whole, self.place());
        let mut open = open.into_iter();
        loop {
            let times = stopping.times();
            let now = Instant::now();
            turns.end_by(since(now), since(times.closed));
            if now >= times.closed && times.closed < spread.began + spread.time {
                // a later stop has ended the spread: those that are left are closed together
                return;
            }
            self.tick();
            let deadline = self.now.get().saturating_add(millis(times.drain));
            for (slot, socket) in open.by_ref().take(turns.take(since(now))) {
                let found = self.connections.borrow().get(slot).cloned();
                if let Some(connection) = found.filter(|known| known.socket == socket) {
                    // clients that have to come back faster than planned share the time that was planned
                    let within = whole.saturating_sub(since(times.closed));
                    let reason = CloseReason::come_back(spread.code, returns.next(within));
                    self.close_or_refuse(&connection, &reason, REFUSAL, deadline);
                }
            }
            if now >= times.closed {
                return;
            }
            let tick = Duration::from_millis(TICK_MS).min(times.closed - now);
            tokio::time::sleep(tick).await;
        }
    }

    fn place(&self) -> Place {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Place {
            index: number(self.index.get()),
            of: number(self.hub.shards()).max(1),
        }
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
    fn begin_stop(&self, stopping: &Stopping, returns: &mut Returns) -> Rc<Stop> {
        let listeners = &stopping.listeners;
        let of = |connection: &Connection| listeners.contains(&connection.listener.id);
        let left = {
            let connections = self.connections.borrow();
            connections
                .iter()
                .filter(|connection| of(connection))
                .count()
        };
        let others = self.stop_parts(listeners, false);
        let stop = self.stops.begin(listeners, left + others);
        let Some(spread) = &stopping.spread else {
            self.close_all(&CloseReason::GOING_AWAY, REFUSAL, u64::MAX, of);
            return stop;
        };
        for connection in self.select(of) {
            let reason = if follows(&connection) {
                CloseReason::GOING_AWAY
            } else {
                CloseReason::come_back(spread.code, returns.next(millis(spread.time)))
            };
            self.close_or_refuse(&connection, &reason, REFUSAL, u64::MAX);
        }
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

fn follows(connection: &Connection) -> bool {
    connection.io.borrow().session.follows()
}

/// What a client is told that waits for `handleOpen`.
const REFUSAL: &str = "Server is stopping";
