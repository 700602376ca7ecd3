//! The times of one HTTP connection or one body, and the deadlines that follow from them. Pure: the current time is an
//! argument, in milliseconds. Says when to check again, so that no request sets a timer and no deadline is missed.

use std::time::Duration;

use millrace_protocol::http::Refusal;

use super::HttpLimits;
use crate::limits::{ListenerLimits, MESSAGE_RATE_FLOOR};

/// The timeouts of a listener's connections, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    head: u64,
    first_request: u64,
    keep_alive: u64,
    pub(super) body: u64,
}

/// What the connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// A request of which nothing has arrived.
    Request,
    /// The rest of a head.
    Head,
    /// The rest of the body of the request with this number.
    Body(u64),
}

/// What is due on the connection now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing before this time.
    Later(u64),
    /// The connection is closed without an answer.
    End,
    /// The connection is closed after this answer.
    Refuse(Refusal),
    /// The connection is dropped.
    Cut,
    /// A worker has not decided about the connection in time.
    Undecided,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Clock {
    accepted: u64,
    /// When bytes were last read or written.
    active: u64,
    /// What the connection waits for, and since when.
    waits: Option<(Waits, u64)>,
    /// When the last head began, or when the next one could begin.
    head: u64,
    body: BodyTimes,
    /// Since when the peer accepts no bytes.
    blocked: Option<u64>,
    /// When the connection is dropped in any case.
    cut: u64,
    /// By when a worker has to decide about the connection.
    decided: u64,
    /// Whether no request was read yet.
    first: bool,
    /// Whether the connection waits for the rest of a first request of HTTP/1.0. Such clients do not keep connections
    /// open, so silence is limited as before a first request.
    hasty: bool,
}

#[derive(Debug, Default)]
struct BodyTimes {
    request: u64,
    course: Course,
}

/// The progress of a body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Course {
    received: u64,
    /// Milliseconds in which the connection waited for the peer.
    waited: u64,
}

impl Timeouts {
    pub(super) fn new(listener: &ListenerLimits, http: &HttpLimits) -> Self {
        Self {
            head: millis(listener.handshake_timeout),
            first_request: millis(http.first_request_timeout),
            keep_alive: millis(http.keep_alive_timeout),
            body: millis(http.body_timeout),
        }
    }
}

impl Course {
    /// Records bytes that arrived after this wait for the peer.
    pub(super) fn go_on(&mut self, waited: u64, bytes: usize) {
        self.waited = self.waited.saturating_add(waited);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.received = self.received.saturating_add(bytes);
    }

    /// The time at which the body is too slow if nothing arrives after `since`. It may pause for `timeout`.
    pub(super) fn late_at(&self, since: u64, timeout: u64) -> u64 {
        let earned = self.received.saturating_mul(1000) / MESSAGE_RATE_FLOOR;
        let left = timeout.saturating_add(earned).saturating_sub(self.waited);
        since.saturating_add(left.min(timeout))
    }
}

impl Clock {
    pub(super) fn new(now: u64) -> Self {
        Self {
            accepted: now,
            active: now,
            waits: None,
            head: now,
            body: BodyTimes::default(),
            blocked: None,
            cut: u64::MAX,
            decided: u64::MAX,
            first: true,
            hasty: false,
        }
    }

    /// Records that the peer may send from now on.
    pub(super) fn open(&mut self, now: u64) {
        self.active = now;
    }

    pub(super) fn received(&mut self, now: u64, bytes: usize) {
        self.active = now;
        if !self.first && !matches!(self.waits, Some((Waits::Head, _))) {
            self.head = now;
        }
        if let Some((waits, since)) = &mut self.waits {
            if matches!(waits, Waits::Body(_)) {
                self.body.course.go_on(now - *since, bytes);
            }
            *since = now;
        }
    }

    pub(super) fn wrote(&mut self, now: u64, progress: bool) {
        if progress {
            self.active = now;
            self.blocked = None;
        } else {
            self.blocked.get_or_insert(now);
        }
    }

    /// Records whether written bytes reached the system; over TLS they may have to wait for the peer.
    pub(super) fn flushed(&mut self, now: u64, done: bool) {
        if done {
            self.blocked = None;
        } else {
            self.blocked.get_or_insert(now);
        }
    }

    /// Records that there is nothing to read. `hasty`: in a first request of HTTP/1.0.
    pub(super) fn wait(&mut self, now: u64, waits: Waits, hasty: bool) {
        self.hasty = hasty;
        match (self.waits, waits) {
            (Some((known, _)), _) if known == waits => return,
            (_, Waits::Body(request)) if request != self.body.request => {
                self.body = BodyTimes {
                    request,
                    ..BodyTimes::default()
                };
            }
            _ => {}
        }
        self.waits = Some((waits, now));
    }

    /// Records that something was read, or that nothing is awaited.
    pub(super) fn stop(&mut self) {
        self.waits = None;
        self.first = false;
    }

    /// Limits the whole handshake to `timeout`, counted from the beginning of its head; returns the deadline.
    pub(super) fn begin_handshake(&mut self, timeout: Duration) -> u64 {
        self.cut = self.cut.min(self.head.saturating_add(millis(timeout)));
        self.cut
    }

    /// Limits the wait for a worker's decision to `timeout`; returns the deadline.
    pub(super) fn await_decision(&mut self, now: u64, timeout: Duration) -> u64 {
        self.decided = now.saturating_add(millis(timeout));
        self.decided
    }

    /// Records that no decision is awaited any more.
    pub(super) fn end_decision(&mut self) {
        self.decided = u64::MAX;
    }

    /// Limits everything that still happens to `timeout`; returns the deadline.
    pub(super) fn begin_end(&mut self, now: u64, timeout: Duration) -> u64 {
        self.cut = now.saturating_add(millis(timeout));
        self.cut
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waits.is_some()
    }

    /// Whether it waits for a request of which nothing has arrived.
    pub(super) fn awaits_request(&self) -> bool {
        matches!(self.waits, Some((Waits::Request, _)))
    }

    pub(super) fn due(&self, now: u64, timeouts: &Timeouts, write: Duration) -> Due {
        let (at, outcome) = self.next(timeouts, write);
        if at <= now { outcome } else { Due::Later(at) }
    }

    /// When to check again if nothing is due before `at`. No other deadline falls due before that time, whatever
    /// happens until then, with four exceptions: an [end](Self::begin_end), a [handshake](Self::begin_handshake), a
    /// [decision](Self::await_decision), and a body that used up its time less than half a second ago. A connection that
    /// waits for its next request is checked only once.
    pub(super) fn next_look(&self, now: u64, at: u64, timeouts: &Timeouts, write: Duration) -> u64 {
        // each deadline is one of these timeouts after the moment from which it is counted
        let shortest = (timeouts.head.min(timeouts.keep_alive))
            .min(timeouts.body)
            .min(millis(write));
        let is_past_http_1_0 = self.waits.is_some() && !self.first && !self.hasty;
        let shortest = if is_past_http_1_0 {
            shortest
        } else {
            shortest.min(timeouts.first_request)
        };
        let mut look = at.min(now.saturating_add(shortest));
        // except that of the first head, which is counted from the beginning of the connection
        let first_head = self.accepted.saturating_add(timeouts.head);
        if self.first && first_head > now {
            look = look.min(first_head);
        }
        // and except those that are hidden by another one, or that continue from an earlier time
        let hidden = if self.waits.is_none() {
            self.body.course.late_at(now, timeouts.body)
        } else if self.blocked.is_some() {
            self.waited_until(timeouts).0
        } else {
            return look;
        };
        look.min(hidden.max(now.saturating_add(LEAST_PACE)))
    }

    fn next(&self, timeouts: &Timeouts, write: Duration) -> (u64, Due) {
        if self.decided < self.cut {
            return (self.decided, Due::Undecided);
        }
        if self.cut != u64::MAX {
            return (self.cut, Due::Cut);
        }
        if let Some(since) = self.blocked {
            return (since.saturating_add(millis(write)), Due::Cut);
        }
        self.waited_until(timeouts)
    }

    /// Until when the connection waits for the peer, and what is due then.
    fn waited_until(&self, timeouts: &Timeouts) -> (u64, Due) {
        match self.waits {
            None => (u64::MAX, Due::Cut),
            Some((Waits::Request, _)) if self.first => {
                let at = self.active.saturating_add(timeouts.first_request);
                (
                    at.min(self.accepted.saturating_add(timeouts.head)),
                    Due::End,
                )
            }
            Some((Waits::Request, _)) => {
                (self.active.saturating_add(timeouts.keep_alive), Due::End)
            }
            Some((Waits::Head, since)) => {
                let at = self.head.saturating_add(timeouts.head);
                match self.silent_at(since, timeouts) {
                    Some(silent) if silent < at => (silent, Due::End),
                    _ => (at, Due::Refuse(Refusal::HeadTooSlow)),
                }
            }
            Some((Waits::Body(_), since)) => {
                let at = self.body.course.late_at(since, timeouts.body);
                let at = self
                    .silent_at(since, timeouts)
                    .map_or(at, |silent| silent.min(at));
                (at, Due::Refuse(Refusal::BodyTooSlow))
            }
        }
    }

    /// When a peer that has sent nothing since `since` has been silent for too long.
    fn silent_at(&self, since: u64, timeouts: &Timeouts) -> Option<u64> {
        self.hasty
            .then(|| since.saturating_add(timeouts.first_request))
    }
}

/// The least time between two checks of a connection when a deadline may have come closer.
const LEAST_PACE: u64 = 500;

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
