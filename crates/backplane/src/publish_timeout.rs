//! How long publishers wait for the link. Owns the rule; time is an argument.

use std::time::Duration;

use crate::outlet::{Outlet, Pressure};

/// The state of the waiting publishers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum PublishTimeout {
    /// No publisher waits.
    #[default]
    Idle,
    /// Publishers wait. `time` identifies this period of waiting.
    Waiting { time: u64, until: Duration },
    /// Publishers have timed out, and wait again after `until` at the earliest.
    Over { until: Duration },
}

impl PublishTimeout {
    /// Checks the time and the outlet. Returns whether waiting publishers were released.
    pub(crate) fn look(&mut self, outlet: &Outlet, now: Duration) -> bool {
        if matches!(self, Self::Idle) && !outlet.is_awaited() {
            return false;
        }
        match (outlet.pressure(), *self) {
            (Pressure::Low, _) => *self = Self::Idle,
            (Pressure::High(number), Self::Waiting { time, until }) if number == time => {
                if now >= until {
                    outlet.give_up();
                    *self = Self::Over { until: now + RUN };
                    return true;
                }
            }
            (Pressure::High(time), _) => {
                let until = now + LONGEST_WAIT;
                *self = Self::Waiting { time, until };
            }
            (Pressure::Endured(_), Self::Over { until }) if now < until => {}
            (Pressure::Endured(_), _) => {
                outlet.wait_again();
                if let Pressure::High(_) = outlet.pressure() {
                    *self = Self::Idle;
                    return self.look(outlet, now);
                }
            }
        }
        false
    }

    /// When to call [`look`](Self::look) again. It should also be called when messages are taken out.
    pub(crate) fn wakes_at(&self, now: Duration) -> Option<Duration> {
        match self {
            Self::Waiting { until, .. } => Some(*until),
            Self::Over { until } if *until > now => Some(*until),
            Self::Over { .. } | Self::Idle => None,
        }
    }
}

/// How long publishers wait for a link that is too slow.
pub const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How long publishers do not wait after a timeout, so that each of them can continue. After that they wait again as
/// soon as the link takes messages.
const RUN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use bytes::Bytes;
    use millrace_core::Kind;

    use super::*;
    use crate::config::{BackplaneFull, Bounds};

    const SECOND: Duration = Duration::from_secs(1);

    fn full() -> Outlet {
        let outlet = Outlet::new();
        outlet.begin(Bounds {
            queue_messages: 320,
            queue_bytes: 1_000_000,
            message_bytes: 1000,
            full: BackplaneFull::Wait,
        });
        outlet.open();
        fill(&outlet);
        outlet
    }

    fn fill(outlet: &Outlet) {
        for _ in 0..320 {
            outlet.publish(false, b"room", Kind::Text, Bytes::new());
        }
    }

    fn take(outlet: &Outlet, count: usize) {
        outlet.take(count, usize::MAX, &mut VecDeque::new());
    }

    #[test]
    fn publishers_continue_after_a_second_if_the_link_takes_nothing() {
        let (outlet, mut timeout) = (full(), PublishTimeout::default());
        assert!(!timeout.look(&outlet, SECOND));
        assert_eq!(timeout.wakes_at(SECOND), Some(2 * SECOND));
        assert!(!timeout.look(&outlet, SECOND + RUN));
        assert!(outlet.is_awaited());
        assert!(timeout.look(&outlet, 2 * SECOND));
        assert!(!outlet.is_awaited());
        for second in 3..10 {
            fill(&outlet);
            assert!(!timeout.look(&outlet, second * SECOND));
            assert!(!outlet.is_awaited(), "the link has taken nothing");
            assert_eq!(timeout.wakes_at(second * SECOND), None);
        }
        take(&outlet, 1);
        assert!(!timeout.look(&outlet, 10 * SECOND));
        assert!(outlet.is_awaited(), "the link takes messages again");
        assert_eq!(timeout.wakes_at(10 * SECOND), Some(11 * SECOND));
    }

    #[test]
    fn a_slow_link_lets_publishers_continue_for_a_moment_each_second() {
        let (outlet, mut timeout) = (full(), PublishTimeout::default());
        timeout.look(&outlet, SECOND);
        assert!(timeout.look(&outlet, 2 * SECOND));
        take(&outlet, 1);
        assert!(!timeout.look(&outlet, 2 * SECOND + RUN / 2));
        assert!(!outlet.is_awaited());
        assert_eq!(timeout.wakes_at(2 * SECOND), Some(2 * SECOND + RUN));
        timeout.look(&outlet, 2 * SECOND + RUN);
        assert!(outlet.is_awaited());
    }

    #[test]
    fn each_period_of_waiting_has_a_second_of_its_own() {
        let (outlet, mut timeout) = (full(), PublishTimeout::default());
        timeout.look(&outlet, SECOND);
        take(&outlet, 320);
        fill(&outlet);
        assert!(!timeout.look(&outlet, 2 * SECOND));
        assert!(outlet.is_awaited());
        assert!(timeout.look(&outlet, 3 * SECOND));
        take(&outlet, 320);
        assert!(!timeout.look(&outlet, 4 * SECOND));
        assert_eq!(timeout.wakes_at(4 * SECOND), None);
    }
}
