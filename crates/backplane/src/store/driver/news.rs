//! When an operator is told that a link was lost, or could not be made: when that begins, and once more if the reason is
//! another one than that. Without I/O.

use std::time::{Duration, Instant};

use crate::link_error::LinkError;

/// What an operator was told since there was a link.
#[derive(Debug, Default)]
pub(super) struct News {
    /// When the first of these failures was.
    since: Option<Instant>,
    /// Whether an operator knows what keeps the link from being made.
    is_explained: bool,
}

impl News {
    /// Whether an operator is told of this failure. `failures`: how many were before it, since there was a link that lasted.
    pub(super) fn is_due(&mut self, error: &LinkError, failures: u32, now: Instant) -> bool {
        let is_first = failures == 0;
        if is_first {
            self.since = Some(now);
        }
        let lasts = now.saturating_duration_since(*self.since.get_or_insert(now)) >= LASTING;
        // otherwise an operator was told only that the link was lost
        let explains = match error {
            LinkError::Unfit(..) => is_first || failures >= SETTLED,
            LinkError::Unready(..) => lasts,
            _ => false,
        };
        let is_due = is_first || explains && !self.is_explained;
        self.is_explained = explains || (self.is_explained && !is_first);
        is_due
    }
}

/// After so many failures a reason that lasts is told: more than a second after the loss, so that it is not taken for the same.
const SETTLED: u32 = 6;

/// After this time a reason that may pass by itself is told: longer than servers need to choose another leader.
const LASTING: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Server;

    fn server() -> Server {
        Server {
            host: "h".to_owned(),
            port: 1,
        }
    }

    fn closed() -> LinkError {
        LinkError::Closed(server())
    }

    fn unfit() -> LinkError {
        LinkError::Unfit(server(), "no JetStream".to_owned())
    }

    fn unready() -> LinkError {
        LinkError::Unready(server(), "no leader".to_owned())
    }

    /// Of failures that come a second after each other, which are told; the first ones begin anew.
    fn told(news: &mut News, errors: impl IntoIterator<Item = LinkError>) -> Vec<u32> {
        let start = Instant::now();
        let mut told = Vec::new();
        for (count, error) in (0..).zip(errors) {
            let now = start + Duration::from_secs(u64::from(count));
            if news.is_due(&error, count, now) {
                told.push(count);
            }
        }
        told
    }

    #[test]
    fn a_loss_is_told_once() {
        let news = &mut News::default();
        assert_eq!(told(news, std::iter::repeat_with(closed).take(90)), [0]);
        assert_eq!(told(news, std::iter::repeat_with(closed).take(90)), [0]);
    }

    #[test]
    fn what_an_operator_has_to_do_is_told_once_and_apart_from_the_loss() {
        let news = &mut News::default();
        assert_eq!(told(news, std::iter::repeat_with(unfit).take(90)), [0]);
        let lost = || [closed()].into_iter().chain(std::iter::repeat_with(unfit));
        assert_eq!(told(news, lost().take(90)), [0, SETTLED]);
        assert_eq!(told(news, lost().take(90)), [0, SETTLED]);
    }

    #[test]
    fn what_may_pass_is_told_if_it_does_not() {
        let news = &mut News::default();
        let lost = || {
            [closed()]
                .into_iter()
                .chain(std::iter::repeat_with(unready))
        };
        assert_eq!(told(news, lost().take(30)), [0]);
        assert_eq!(told(news, lost().take(90)), [0, 30]);
        let fits_later = std::iter::repeat_with(unready).take(20);
        let fits_later = fits_later.chain(std::iter::repeat_with(unfit).take(70));
        assert_eq!(told(news, fits_later), [0, 20]);
    }
}
