//! Whether a server says nothing although it owes an answer. Owns since when it does. It says nothing about a single question,
//! which may be late on a link that lives.

use std::time::{Duration, Instant};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    /// Since when something waits to be written that must be answered.
    asked: Option<Instant>,
    /// Since when the server owes an answer. Nothing was heard since then.
    owes_since: Option<Instant>,
}

impl Silence {
    /// Something that must be answered waits to be written.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
    }

    /// What waited was given to the system, as far as it takes it.
    pub(crate) fn wrote(&mut self, clock: impl FnOnce() -> Instant) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        let now = clock();
        // the server did not get what this thread has held back
        let is_held_back = now.saturating_duration_since(asked) > SOON;
        self.owes_since
            .get_or_insert(if is_held_back { now } else { asked });
    }

    /// The server has said something.
    pub(crate) fn heard(&mut self) {
        self.owes_since = None;
    }

    /// When the server counts as lost if it says nothing before.
    pub(crate) fn ends_at(&self) -> Option<Instant> {
        self.owes_since.map(|since| since + LONGEST)
    }

    /// Whether the server counts as lost, if what has come until now was read.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.ends_at().is_some_and(|at| at <= now)
    }
}

/// How long a server may say nothing.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// What is written within this time was not held back.
const SOON: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    const ALMOST: Duration = Duration::from_millis(4999);

    #[test]
    fn only_a_server_that_owes_an_answer_is_silent() {
        let begin = Instant::now();
        let mut silence = Silence::default();
        silence.wrote(|| begin);
        assert_eq!(silence.ends_at(), None);
        silence.asked(begin);
        silence.asked(begin + LONGEST);
        silence.wrote(|| begin + MOMENT);
        assert!(!silence.is_over(begin + ALMOST));
        assert!(silence.is_over(begin + LONGEST));
        silence.heard();
        silence.wrote(|| begin + LONGEST);
        assert!(!silence.is_over(begin + 10 * LONGEST));
    }

    #[test]
    fn more_questions_do_not_prolong_it() {
        let begin = Instant::now();
        let mut silence = Silence::default();
        for more in 0..5 {
            let now = begin + more * Duration::from_secs(1);
            silence.asked(now);
            silence.wrote(|| now);
        }
        assert_eq!(silence.ends_at(), Some(begin + LONGEST));
    }

    #[test]
    fn a_server_does_not_owe_what_was_not_written() {
        let begin = Instant::now();
        let mut silence = Silence::default();
        silence.asked(begin);
        let late = begin + 2 * LONGEST;
        assert!(!silence.is_over(late));
        silence.wrote(|| late);
        assert_eq!(silence.ends_at(), Some(late + LONGEST));
    }
}
