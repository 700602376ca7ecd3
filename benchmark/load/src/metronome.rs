//! The clock of an open loop: messages are due at fixed intervals whatever the server does, and
//! latency counts from the moment a message was due.

/// Returns the times at which messages are due.
#[derive(Debug, Clone, Copy)]
pub struct Metronome {
    interval: u64,
    next: Option<u64>,
}

impl Metronome {
    /// Makes a clock for this many messages per second (at least one). It does not run until
    /// started.
    pub fn per_second(rate: u64) -> Self {
        let interval = (1_000_000_000 / rate.max(1)).max(1);
        let next = None;
        Self { interval, next }
    }

    /// The first message is due now.
    pub fn start(&mut self, now: u64) {
        self.next = Some(now);
    }

    /// Stops the clock: nothing is due any more.
    pub fn stop(&mut self) {
        self.next = None;
    }

    /// The time at which the next message was due, if it has passed.
    #[inline]
    pub fn take(&mut self, now: u64) -> Option<u64> {
        let due = self.next.filter(|due| *due <= now)?;
        self.next = Some(due + self.interval);
        Some(due)
    }

    /// When the next message will be due.
    pub fn next(&self) -> Option<u64> {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_caller_gets_every_moment_missed() {
        let mut metronome = Metronome::per_second(1_000_000);
        assert_eq!(metronome.take(5), None);
        metronome.start(100);
        let taken: Vec<u64> = std::iter::from_fn(|| metronome.take(2_500)).collect();
        assert_eq!(taken, [100, 1_100, 2_100]);
        assert_eq!(metronome.next(), Some(3_100));
        metronome.stop();
        assert_eq!(metronome.take(9_999), None);
    }
}
