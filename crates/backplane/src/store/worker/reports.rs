//! How often an operator is told something. Owns the times.

use std::time::{Duration, Instant};

/// What is reported from time to time.
#[derive(Debug, Default)]
pub(in super::super) struct Reports {
    pub(in super::super) foreign: Report,
    pub(in super::super) refused: Report,
}

/// Something that is reported at most once a minute.
#[derive(Debug, Default)]
pub(in super::super) struct Report(Option<Instant>);

impl Report {
    /// Whether it may be reported now.
    pub(in super::super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .0
            .is_none_or(|last| now.saturating_duration_since(last) >= PAUSE);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

const PAUSE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_repeated_after_a_minute() {
        let (mut report, now) = (Report::default(), Instant::now());
        assert!(report.is_due(now));
        assert!(!report.is_due(now + PAUSE / 2));
        assert!(report.is_due(now + PAUSE));
        assert!(!report.is_due(now + PAUSE));
    }
}
