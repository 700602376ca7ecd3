//! The times of one HTTP connection, or of one body, and the deadlines that follow from them. Pure: the time is an
//! argument, in milliseconds. Whoever looks at it does so about once a second, so no request sets a timer.

use std::time::Duration;

use millrace_protocol::http::Refusal;

use super::HttpLimits;
use crate::limits::{ListenerLimits, MESSAGE_RATE_FLOOR};

/// How long the connections of a listener may take, in milliseconds.
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
    /// A request, of which nothing has come.
    Request,
    /// The rest of a head.
    Head,
    /// The rest of the body of this request.
    Body(u64),
}

/// What is to be done with the connection now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing before this time.
    Later(u64),
    /// It is ended without a word.
    End,
    /// It is answered with this and ended.
    Refuse(Refusal),
    /// It is dropped.
    Cut,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Clock {
    accepted: u64,
    /// The last bytes in or out.
    active: u64,
    /// What is waited for, and since when.
    waits: Option<(Waits, u64)>,
    /// When the head began that came last, or may still come.
    head: u64,
    body: BodyTimes,
    /// Since when the peer takes nothing.
    blocked: Option<u64>,
    /// When the connection is dropped, whatever it does.
    cut: u64,
    /// No request was read yet.
    first: bool,
    /// What is waited for belongs to a first request of HTTP/1.0, whose clients do not stay by themselves: silence in it
    /// is as that before it.
    hasty: bool,
}

#[derive(Debug, Default)]
struct BodyTimes {
    request: u64,
    course: Course,
}

/// How a body came so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Course {
    received: u64,
    /// Milliseconds that were spent waiting for the peer.
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

    /// How often a connection is looked at: about once a second, more often where a deadline is shorter than that.
    pub(super) fn pace(&self) -> u64 {
        let shortest = self
            .head
            .min(self.first_request)
            .min(self.keep_alive)
            .min(self.body);
        (shortest / 4).clamp(20, 1000)
    }
}

impl Course {
    /// Bytes came after the peer was waited for.
    pub(super) fn go_on(&mut self, waited: u64, bytes: usize) {
        self.waited = self.waited.saturating_add(waited);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.received = self.received.saturating_add(bytes);
    }

    /// When it is too slow, if nothing comes from `since` on. It may pause for `timeout`.
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
            first: true,
            hasty: false,
        }
    }

    /// The peer may speak now.
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

    /// What was written reached the system, or, over TLS, waits for the peer.
    pub(super) fn flushed(&mut self, now: u64, done: bool) {
        if done {
            self.blocked = None;
        } else {
            self.blocked.get_or_insert(now);
        }
    }

    /// There is nothing to read. `hasty`: of a first request of HTTP/1.0.
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

    /// Something was read, or nothing is wanted.
    pub(super) fn stop(&mut self) {
        self.waits = None;
        self.first = false;
    }

    /// The whole handshake has as long as `timeout`, counted from where its head began.
    pub(super) fn begin_handshake(&mut self, timeout: Duration) {
        self.cut = self.cut.min(self.head.saturating_add(millis(timeout)));
    }

    /// Whatever happens now takes no longer than `timeout`.
    pub(super) fn begin_end(&mut self, now: u64, timeout: Duration) {
        self.cut = now.saturating_add(millis(timeout));
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waits.is_some()
    }

    pub(super) fn due(&self, now: u64, timeouts: &Timeouts, write: Duration) -> Due {
        let (at, outcome) = self.next(timeouts, write);
        if at <= now { outcome } else { Due::Later(at) }
    }

    fn next(&self, timeouts: &Timeouts, write: Duration) -> (u64, Due) {
        if self.cut != u64::MAX {
            return (self.cut, Due::Cut);
        }
        if let Some(since) = self.blocked {
            return (since.saturating_add(millis(write)), Due::Cut);
        }
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

    /// When a peer that has sent nothing `since` then has been silent for too long to be waited for.
    fn silent_at(&self, since: u64, timeouts: &Timeouts) -> Option<u64> {
        self.hasty
            .then(|| since.saturating_add(timeouts.first_request))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Duration = Duration::from_secs(30);

    fn due(clock: &Clock, now: u64) -> Due {
        let timeouts = Timeouts::new(&ListenerLimits::default(), &HttpLimits::default());
        clock.due(now, &timeouts, WRITE)
    }

    #[test]
    fn a_silent_peer_has_two_seconds_and_a_head_ten() {
        let mut clock = Clock::new(1_000);
        clock.wait(1_000, Waits::Request, false);
        assert_eq!(due(&clock, 1_000), Due::Later(3_000));
        assert_eq!(due(&clock, 3_000), Due::End);
        clock.received(2_900, 5);
        clock.wait(2_900, Waits::Head, false);
        assert_eq!(due(&clock, 3_000), Due::Later(11_000));
        clock.received(10_900, 5);
        clock.wait(10_900, Waits::Head, false);
        assert_eq!(due(&clock, 11_000), Due::Refuse(Refusal::HeadTooSlow));
    }

    #[test]
    fn a_first_request_of_http_1_0_has_two_seconds_of_silence() {
        let mut clock = Clock::new(1_000);
        clock.received(1_500, 20);
        clock.wait(1_500, Waits::Head, true);
        assert_eq!(due(&clock, 1_500), Due::Later(3_500));
        assert_eq!(due(&clock, 3_500), Due::End);
        // what drips is silent never, but no slower than any other head either
        for now in (2_500..=10_500).step_by(1_000) {
            clock.received(now, 1);
        }
        assert_eq!(due(&clock, 10_999), Due::Later(11_000));
        assert_eq!(due(&clock, 11_000), Due::Refuse(Refusal::HeadTooSlow));
        clock.stop();
        clock.wait(20_000, Waits::Body(1), true);
        assert_eq!(due(&clock, 21_999), Due::Later(22_000));
        assert_eq!(due(&clock, 22_000), Due::Refuse(Refusal::BodyTooSlow));
        clock.stop();
        clock.received(30_000, 5);
        clock.wait(30_000, Waits::Head, false);
        assert!(matches!(due(&clock, 32_000), Due::Later(_)));
    }

    #[test]
    fn between_requests_any_byte_counts() {
        let mut clock = Clock::new(0);
        clock.received(100, 50);
        clock.stop();
        assert_eq!(
            due(&clock, 1_000_000),
            Due::Later(u64::MAX),
            "an answer has its own deadline"
        );
        clock.wrote(1_000_000, true);
        clock.wait(1_000_000, Waits::Request, false);
        assert_eq!(due(&clock, 1_004_999), Due::Later(1_005_000));
        assert_eq!(due(&clock, 1_005_000), Due::End);
        clock.received(1_004_000, 3);
        clock.wait(1_004_000, Waits::Head, false);
        assert_eq!(due(&clock, 1_005_000), Due::Later(1_014_000));
    }

    #[test]
    fn a_body_may_pause_and_may_be_slow_but_not_for_ever() {
        let mut clock = Clock::new(0);
        clock.received(0, 100);
        clock.stop();
        clock.wait(0, Waits::Body(1), false);
        assert_eq!(due(&clock, 9_999), Due::Later(10_000));
        assert_eq!(due(&clock, 10_000), Due::Refuse(Refusal::BodyTooSlow));
        // a byte every second earns a millisecond each: not another second
        let mut now = 0;
        while due(&clock, now) != Due::Refuse(Refusal::BodyTooSlow) {
            now += 1_000;
            clock.received(now, 1);
            clock.stop();
            clock.wait(now, Waits::Body(1), false);
        }
        assert_eq!(now, 11_000);
        // time in which nobody read it is not the peer's
        let mut clock = Clock::new(0);
        clock.stop();
        clock.wait(0, Waits::Body(1), false);
        for now in 1..100 {
            clock.received(now * 60_000 - 59_000, 10 * 1024);
            clock.stop();
            clock.wait(now * 60_000, Waits::Body(1), false);
            assert_eq!(
                due(&clock, now * 60_000 + 999),
                Due::Later(now * 60_000 + 10_000)
            );
        }
    }

    #[test]
    fn a_handshake_counts_from_its_head_and_a_blocked_write_from_its_start() {
        let mut clock = Clock::new(0);
        clock.received(100, 50);
        clock.stop();
        clock.begin_handshake(Duration::from_secs(10));
        assert_eq!(due(&clock, 0), Due::Later(10_000));
        let mut clock = Clock::new(0);
        clock.received(100, 50);
        clock.stop();
        clock.received(7_000, 50);
        clock.begin_handshake(Duration::from_secs(10));
        assert_eq!(due(&clock, 0), Due::Later(17_000));
        let mut clock = Clock::new(0);
        clock.wrote(5, false);
        clock.wrote(20_000, false);
        assert_eq!(due(&clock, 30_005), Due::Cut);
        clock.wrote(30_000, true);
        assert_eq!(due(&clock, 30_005), Due::Later(u64::MAX));
        // the last bytes were taken, and stay where they are
        clock.flushed(30_000, false);
        clock.flushed(50_000, false);
        assert_eq!(due(&clock, 60_000), Due::Cut);
        clock.flushed(60_000, true);
        assert_eq!(due(&clock, 60_000), Due::Later(u64::MAX));
    }
}
