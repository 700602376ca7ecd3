//! Limits of the answers by workers. `js/src/worker/outgoing.ts` enforces the fixed one; its table here is for the
//! generated page.

use std::time::Duration;

use crate::limits::{DAY, limits};

limits! {
    /// Limits of the answers by workers on an HTTP listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct AnswerLimits {
        /// Time from passing a worker the request, or the last piece of its body, until the answer begins; zero is off.
        answer_timeout: Duration = Duration::from_secs(30), 0..=DAY, "HTTP 503";
    }
}

#[cfg(test)]
limits! {
    /// Limits of the answers by workers that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct FixedAnswerLimits {
        /// Bytes of an answer that its handler may write ahead of the client without waiting for it, for at most ten seconds.
        answer_ahead_bytes: usize = 16 * 1024 * 1024, "the answer is cut and reported";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_limit_is_that_of_javascript() {
        let kept = include_str!("../../../../../js/src/worker/outgoing.ts");
        let most = FixedAnswerLimits::default().answer_ahead_bytes;
        assert_eq!(most, 16 * 1024 * 1024);
        assert!(kept.contains("\nconst MOST = 16 * 1024 * 1024;\n"));
        assert!(kept.contains("\nconst TIMEOUT_MS = 10_000;\n"));
    }
}
