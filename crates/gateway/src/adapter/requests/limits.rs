//! Limits of the answers by workers. `js/src/worker/outgoing.ts` enforces the fixed one; its table here is for the
//! generated page.

use std::time::Duration;

use crate::limits::{DAY, limits};

limits! {
    /// Bounds of the answers by workers on a listener that speaks HTTP.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct AnswerLimits {
        /// Time until the answer to a request begins, from when a worker is given the request or the last piece of its body; zero is off.
        answer_timeout: Duration = Duration::from_secs(30), 0..=DAY, "HTTP 503";
    }
}

#[cfg(test)]
limits! {
    /// Bounds of the answers by workers that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct FixedAnswerLimits {
        /// Bytes of an answer that its handler writes ahead of the client, without waiting for it, for ten seconds.
        answer_ahead_bytes: usize = 16 * 1024 * 1024, "the answer is cut, and reported";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_bound_is_the_one_of_javascript() {
        let kept = include_str!("../../../../../js/src/worker/outgoing.ts");
        let most = FixedAnswerLimits::default().answer_ahead_bytes;
        assert_eq!(most, 16 * 1024 * 1024);
        assert!(kept.contains("\nconst MOST = 16 * 1024 * 1024;\n"));
        assert!(kept.contains("\nconst TIMEOUT_MS = 10_000;\n"));
    }
}
