//! When a heartbeat is due, and when a peer has been silent for too long. Times are milliseconds since the gateway was
//! made and are passed in.

/// The times of one connection.
#[derive(Debug)]
pub(super) struct Clock {
    /// How long the peer may be silent; 0: no limit.
    silence: u64,
    /// When the peer last sent something, and when this side did.
    heard: u64,
    said: u64,
    /// When the peer was first found silent. It has some more time, because its bytes may not have been read yet.
    doubted: Option<u64>,
}

/// What is due now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    Heartbeat,
    /// The connection ends: the peer has been silent for too long.
    End,
}

impl Clock {
    pub(super) fn new(silence: u64, now: u64) -> Self {
        Self {
            silence,
            heard: now,
            said: now,
            doubted: None,
        }
    }

    /// Records that the peer sent something.
    pub(super) fn hears(&mut self, now: u64) {
        self.heard = now;
        self.doubted = None;
    }

    /// Records that this side sent something.
    pub(super) fn says(&mut self, now: u64) {
        self.said = now;
    }

    /// What is due now; with `paused` the peer is not read, so its silence does not count.
    pub(super) fn look(&mut self, now: u64, paused: bool) -> Due {
        if paused {
            self.hears(now);
        }
        if self.silence == 0 {
            return Due::Nothing;
        }
        if now >= self.heard + self.silence && now >= *self.doubted.get_or_insert(now) + DOUBT_MS {
            return Due::End;
        }
        if now >= self.said + self.interval() {
            self.said = now;
            return Due::Heartbeat;
        }
        Due::Nothing
    }

    /// When to check again; `None`: never.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        let silent = self
            .doubted
            .map_or(self.heard + self.silence, |since| since + DOUBT_MS);
        (self.silence > 0).then(|| silent.min(self.said + self.interval()).max(now + 1))
    }

    fn interval(&self) -> u64 {
        (self.silence / 4 * 3).max(1)
    }
}

/// How much longer a silent peer has, so that bytes that it has already sent can be read.
const DOUBT_MS: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_due_when_nothing_was_sent() {
        let mut clock = Clock::new(400, 0);
        assert_eq!(clock.next(0), Some(300));
        assert_eq!(clock.look(299, false), Due::Nothing);
        clock.says(100);
        clock.hears(300);
        assert_eq!(clock.look(300, false), Due::Nothing);
        assert_eq!(clock.next(300), Some(400));
        assert_eq!(clock.look(400, false), Due::Heartbeat);
        assert_eq!(clock.look(400, false), Due::Nothing);
        assert_eq!(clock.next(400), Some(700));
    }

    #[test]
    fn a_silent_peer_is_checked_twice() {
        let mut clock = Clock::new(4000, 0);
        clock.says(4000);
        assert_eq!(clock.look(3999, false), Due::Nothing);
        assert_eq!(clock.look(4000, false), Due::Nothing);
        assert_eq!(clock.next(4000), Some(5000));
        assert_eq!(clock.look(5000, false), Due::End);
    }

    #[test]
    fn a_check_for_another_reason_ends_no_connection_early() {
        let mut clock = Clock::new(400, 0);
        assert_eq!(clock.look(300, false), Due::Heartbeat);
        assert_eq!(clock.look(400, false), Due::Nothing);
        assert_eq!(clock.next(400), Some(600));
        assert_eq!(clock.look(600, false), Due::Heartbeat);
        assert_eq!(clock.look(900, false), Due::Heartbeat);
        assert_eq!(clock.look(1200, false), Due::Heartbeat);
        assert_eq!(clock.next(1200), Some(1400));
        assert_eq!(clock.look(1399, false), Due::Nothing);
        assert_eq!(clock.look(1400, false), Due::End);
    }

    #[test]
    fn a_peer_that_sends_or_is_not_read_is_not_silent() {
        for paused in [false, true] {
            let mut clock = Clock::new(4000, 0);
            clock.says(4000);
            assert_eq!(clock.look(4000, false), Due::Nothing);
            if !paused {
                clock.hears(4500);
            }
            assert_eq!(clock.look(5000, paused), Due::Nothing);
            assert_eq!(clock.next(5000), Some(7000));
        }
    }

    #[test]
    fn without_a_timeout_nothing_is_ever_due() {
        let mut clock = Clock::new(0, 0);
        assert_eq!(clock.look(u64::MAX, false), Due::Nothing);
        assert_eq!(clock.next(5), None);
    }
}
