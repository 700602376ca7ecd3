//! Deadlines of connections: pings, pongs, incomplete messages, blocked writes, unauthenticated clients, idleness and
//! closing. There is one check per connection and deadline, and no timer per message.

use super::connection::{Extra, Io, Partial, Phase, Shared};
use super::env::Env;
use super::env::millis;
use super::moment::{Deadline, Moment};
use super::wheel::{Due, REVOLUTION_MS, TICK_MS};
use super::{Liveness, Wake};
use crate::close::CloseReason;
use crate::inbox::Command;
use crate::limits::MESSAGE_RATE_FLOOR;

impl Env {
    /// Starts the timers for something with deadlines, which are counted from the returned time.
    pub(crate) fn arm_timers(&self) -> u64 {
        self.wheel_armed.notify_one();
        // the clock may be old, because the shard may have slept since its last turn
        self.tick();
        self.now.get()
    }

    /// Sets a deadline unless an earlier one is set. A distant deadline is replaced by an earlier check, because it
    /// would stay in the wheel long after its connection is gone.
    pub(crate) fn arm(&self, connection: &Shared, io: &mut Io, at: u64) {
        let now = self.now.get();
        let deadline = Deadline::at(at.min(now + REVOLUTION_MS));
        let at = deadline.near(now);
        if io.armed.is_some_and(|armed| at >= armed.near(now)) {
            return;
        }
        let before = io.armed.replace(deadline);
        if io.armed_before == Some(deadline) {
            // this deadline is in the wheel already
            io.armed_before = None;
            return;
        }
        if before.is_some() {
            io.armed_before = before;
        }
        let mut wheel = self.wheel.borrow_mut();
        if wheel.is_empty() {
            self.wheel_armed.notify_one();
        }
        wheel.insert(Due::new(connection.slot, at), at);
    }

    /// Sets the deadlines of a connection that has just opened.
    pub(crate) fn arm_first(&self, connection: &Shared, io: &mut Io) {
        if let Some(at) = self.next(connection, io) {
            self.arm(connection, io, at);
        }
    }

    /// Restarts clocks, so that time in which nothing was read does not count against the peer.
    pub(crate) fn restart_clocks(&self, io: &mut Io) {
        let now = self.now.get().max(1);
        io.times.end(|waits| {
            for since in [&mut waits.ping, &mut waits.unfinished] {
                if *since > 0 {
                    *since = now;
                }
            }
        });
    }

    pub(crate) fn due(&self, connection: &Shared, deadline: Deadline) {
        let io = &mut *connection.io.borrow_mut();
        if io.armed != Some(deadline) {
            // an earlier deadline was set since, and has fired or will fire
            io.armed_before.take_if(|before| *before == deadline);
            return;
        }
        io.armed = None;
        self.wake_due(connection, io);
        if connection.partial.get() == Partial::HeldBack {
            self.look_at_held_back(connection, io);
        }
        if let Some(reason) = self.judge(connection, io) {
            self.close(connection, io, &reason);
        }
        if let Some(at) = self.next(connection, io) {
            // a check that is set already may come a little early, but saves a new entry
            let before = io.armed_before.map(|before| before.near(self.now.get()));
            let at = before.map_or(at, |before| before.min(at));
            self.arm(connection, io, at);
        }
        if matches!(io.phase, Phase::Open) {
            // the pause of the message rate may be over
            self.run_soon(connection);
        }
    }

    /// Does what was requested for a time that has come.
    fn wake_due(&self, connection: &Shared, io: &mut Io) {
        let now = self.now.get();
        let Some(extra) = io.extra.as_deref_mut() else {
            return;
        };
        if let Some((_, answer)) = extra.late.take_if(|(at, _)| *at <= now) {
            let command = Command::Answer {
                slot: connection.slot,
                socket: connection.socket,
                answer,
            };
            self.hub.inboxes().post(self.index, command);
            self.hub.inboxes().wake_bits(1 << self.index.get());
        }
        if extra.wake_at > 0 && now >= extra.wake_at {
            extra.wake_at = 0;
            self.wake_session(connection, io, Wake::Time);
        }
    }

    /// Checks every deadline, and sends a ping that is due.
    fn judge(&self, connection: &Shared, io: &mut Io) -> Option<CloseReason> {
        let now = self.now.get();
        let limits = &connection.listener.config.limits;
        let paused = is_paused(connection, io);
        let times = &mut io.times;
        let waits = times.waits();
        if waits.blocked > 0 && now >= waits.blocked + millis(self.limits.write_timeout) {
            return Some(CloseReason::STALLED);
        }
        match &io.phase {
            Phase::Open => {}
            Phase::Ending(ending) => {
                return (now >= waits.deadline).then(|| ending.reason.clone());
            }
            Phase::Closing { .. } | Phase::Draining => {
                return (now >= waits.deadline).then_some(CloseReason::ABNORMAL);
            }
            Phase::Pending(_) | Phase::Admitted | Phase::Gone => return None,
        }
        let idle = millis(limits.idle_timeout);
        if idle > 0 && now >= times.message.until(now) + idle {
            return Some(CloseReason::IDLE);
        }
        if connection.half_closed.get() {
            return io.is_broken().then_some(CloseReason::ABNORMAL);
        }
        if paused {
            // the connection is not read: the peer cannot show that it is alive
            return None;
        }
        if waits.unfinished > 0 {
            let age = now.saturating_sub(waits.unfinished);
            let received = bytes_of(io.session.received());
            if age >= millis(limits.message_deadline) && received < age * MESSAGE_RATE_FLOOR / 1000
            {
                return Some(CloseReason::MESSAGE_DEADLINE);
            }
        }
        if waits.ping > 0 {
            if now < waits.ping + millis(limits.pong_timeout) {
                return None;
            }
            let received = bytes_of(io.session.received());
            let due = (now - waits.ping) * MESSAGE_RATE_FLOOR / 1000;
            if received >= waits.ping_received.saturating_add(due) {
                // no pong fits into a frame that takes this long; its bytes show that the peer is alive
                times.change(|waits| (waits.ping, waits.ping_received) = (now, received));
                return None;
            }
            self.stats.ping_timeouts.add(1);
            return Some(CloseReason::ABNORMAL);
        }
        let interval = millis(limits.ping_interval);
        if interval > 0 && now + TICK_MS >= times.alive.until(now) + interval {
            match connection.traits.get().liveness {
                Liveness::Asks => {
                    let received = bytes_of(io.session.received());
                    times
                        .change(|waits| (waits.ping, waits.ping_received) = (now.max(1), received));
                }
                Liveness::Tells => times.alive = Moment::at(now),
                Liveness::Kernel | Liveness::Own => return None,
            }
            let Io {
                outbox, session, ..
            } = io;
            outbox.append_control(self.ledger(), |out| session.append_ping(out));
            self.mark_dirty(connection);
        }
        None
    }

    /// The next time at which a check is needed.
    fn next(&self, connection: &Shared, io: &Io) -> Option<u64> {
        let now = self.now.get();
        let limits = &connection.listener.config.limits;
        let (times, waits) = (&io.times, io.times.waits());
        let blocked =
            (waits.blocked > 0).then(|| waits.blocked + millis(self.limits.write_timeout));
        let others = match io.phase {
            // the peer is not awaited, and nothing is read that would show its end
            Phase::Open if connection.half_closed.get() => {
                let idle = millis(limits.idle_timeout);
                [
                    Some(now + HALF_CLOSED_LOOK_MS),
                    (idle > 0).then_some(times.message.until(now) + idle),
                    io.extra.as_deref().and_then(Extra::next),
                    None,
                ]
            }
            Phase::Open => {
                let interval = millis(limits.ping_interval);
                let alive = if waits.ping > 0 {
                    waits.ping + millis(limits.pong_timeout)
                } else {
                    times.alive.until(now) + interval
                };
                let idle = millis(limits.idle_timeout);
                let unfinished = waits.unfinished + millis(limits.message_deadline);
                // these two are not checked while nothing is read, so they may be late
                let soonest = now
                    + if is_paused(connection, io) {
                        RATE_LOOK_MS
                    } else {
                        TICK_MS
                    };
                [
                    (interval > 0 && connection.traits.get().liveness.is_looked_at())
                        .then(|| alive.saturating_sub(TICK_MS).max(soonest)),
                    (idle > 0).then_some(times.message.until(now) + idle),
                    (waits.unfinished > 0).then(|| unfinished.max(now + RATE_LOOK_MS)),
                    io.extra.as_deref().and_then(Extra::next),
                ]
            }
            Phase::Ending(_) | Phase::Closing { .. } | Phase::Draining => {
                [Some(waits.deadline.max(now + TICK_MS)), None, None, None]
            }
            Phase::Pending(_) | Phase::Admitted | Phase::Gone => return None,
        };
        let held_back = self
            .held_back_until(connection)
            .map(|at| at.max(now + TICK_MS));
        let others = others.into_iter().chain([blocked, held_back]);
        others.flatten().min()
    }
}

/// Whether reading is paused, so that the peer cannot show that it is alive.
fn is_paused(connection: &Shared, io: &Io) -> bool {
    io.is_paused() || connection.partial.get() == Partial::HeldBack
}

fn bytes_of(unfinished: usize) -> u64 {
    u64::try_from(unfinished).unwrap_or(u64::MAX)
}

/// How often a half-closed connection is checked for a peer that has gone.
const HALF_CLOSED_LOOK_MS: u64 = 1000;

/// How often a message beyond its deadline is checked.
const RATE_LOOK_MS: u64 = 1000;
