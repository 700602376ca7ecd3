//! When a heartbeat is due, and when a peer has been silent for too long. Times are milliseconds since the gateway was made; reads
//! no clock.

/// The times of one connection.
#[derive(Debug)]
pub(super) struct Clock {
    /// How long the peer may be silent; 0: for ever.
    silence: u64,
    /// When it last sent anything, and when we did.
    heard: u64,
    said: u64,
    /// It was silent at the last look. It is looked at once more: what it sent may not have been read.
    doubted: bool,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    Heartbeat,
    /// The peer has been silent for too long.
    End,
}

impl Clock {
    pub(super) fn new(silence: u64, now: u64) -> Self {
        Self {
            silence,
            heard: now,
            said: now,
            doubted: false,
        }
    }

    /// The peer sent something.
    pub(super) fn hears(&mut self, now: u64) {
        self.heard = now;
        self.doubted = false;
    }

    /// We did.
    pub(super) fn says(&mut self, now: u64) {
        self.said = now;
    }

    /// What is to be done, where the peer is read or, `paused`, is not.
    pub(super) fn look(&mut self, now: u64, paused: bool) -> Due {
        if paused {
            self.hears(now);
        }
        if self.silence == 0 {
            return Due::Nothing;
        }
        if now >= self.heard + self.silence && std::mem::replace(&mut self.doubted, true) {
            return Due::End;
        }
        if now >= self.said + self.interval() {
            self.said = now;
            return Due::Heartbeat;
        }
        Due::Nothing
    }

    /// When to look again; `None`: never.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        let silent = if self.doubted {
            now + DOUBT_MS
        } else {
            self.heard + self.silence
        };
        (self.silence > 0).then(|| silent.min(self.said + self.interval()).max(now + 1))
    }

    fn interval(&self) -> u64 {
        (self.silence / 4 * 3).max(1)
    }
}

/// How long a silent peer has for what it sent to be read.
const DOUBT_MS: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_due_when_nothing_was_said() {
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
    fn a_silent_peer_is_looked_at_twice() {
        let mut clock = Clock::new(4000, 0);
        clock.says(4000);
        assert_eq!(clock.look(3999, false), Due::Nothing);
        assert_eq!(clock.look(4000, false), Due::Nothing);
        assert_eq!(clock.next(4000), Some(5000));
        assert_eq!(clock.look(5000, false), Due::End);
    }

    #[test]
    fn whoever_is_heard_or_not_read_is_not_silent() {
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
    fn without_a_time_nothing_is_ever_due() {
        let mut clock = Clock::new(0, 0);
        assert_eq!(clock.look(u64::MAX, false), Due::Nothing);
        assert_eq!(clock.next(5), None);
    }
}
