//! Times of a shard's clock in 32 bits, because each connection keeps several. The upper half is taken from the clock when
//! they are read.

use std::num::NonZeroU32;

/// A time that has passed, less than 2^32 ms ago, which are 49 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment(u32);

/// A time less than 24 days before or after the clock's. An `Option` of it is no larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline(NonZeroU32);

/// 32 bits wrap around after this many milliseconds: 49 days. The longest limit that is counted from a [`Moment`] is a day.
#[cfg(test)]
const SPAN_MS: u64 = 1 << 32;

impl Moment {
    /// The moment of a time, in milliseconds.
    pub(crate) fn at(ms: u64) -> Self {
        Self(lower_half(ms))
    }

    /// The latest time, not after `now`, that it can stand for, in milliseconds.
    pub(crate) fn until(self, now: u64) -> u64 {
        now.saturating_sub(u64::from(lower_half(now).wrapping_sub(self.0)))
    }
}

impl Deadline {
    /// The deadline at a time, in milliseconds; once in 49 days a millisecond later.
    pub(crate) fn at(ms: u64) -> Self {
        Self(NonZeroU32::new(lower_half(ms)).unwrap_or(NonZeroU32::MIN))
    }

    /// The nearest time to `now` that it can stand for, in milliseconds.
    pub(crate) fn near(self, now: u64) -> u64 {
        let ahead = self.0.get().wrapping_sub(lower_half(now)).cast_signed();
        now.saturating_add_signed(ahead.into())
    }
}

/// The lower half of a word.
pub(crate) fn lower_half(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_same_time_for_49_days() {
        for at in [0, 1, 1_000, SPAN_MS - 1, SPAN_MS, 7 * SPAN_MS + 12_345] {
            for later in [0, 1, 60_000, SPAN_MS - 1] {
                assert_eq!(Moment::at(at).until(at + later), at, "{later} ms later");
            }
        }
    }

    #[test]
    fn a_deadline_is_the_same_time_before_and_behind_it() {
        let half = SPAN_MS / 2;
        for at in [1, 1_000, SPAN_MS - 1, SPAN_MS + 1, 7 * SPAN_MS + 12_345] {
            for now in [
                at - 1,
                at,
                at + 30_000,
                (at + 1).saturating_sub(half),
                at + half - 1,
            ] {
                assert_eq!(Deadline::at(at).near(now), at, "at {now}");
            }
        }
    }

    #[test]
    fn a_deadline_that_would_be_none_is_a_millisecond_later() {
        assert_eq!(Deadline::at(SPAN_MS).near(SPAN_MS - 5), SPAN_MS + 1);
        assert_eq!(size_of::<Option<Deadline>>(), 4);
    }
}
