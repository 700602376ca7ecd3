//! The common part of the two scenarios with clients that never read: probes that measure the
//! effect on others, sampling of the server's memory, and the result of each stalled connection.

use std::time::{Duration, Instant};

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::io::{Ending, Io};
use crate::metronome::Metronome;
use crate::process::Tree;
use crate::report::{Report, float};
use crate::scenario::echo::{Echo, Pace};
use crate::window::Windowed;

/// Connections 0 to `PROBES - 1` send one echo each every 10 ms, whatever else happens.
pub(crate) const PROBES: usize = 10;

pub(crate) fn probes(dialect: Dialect) -> Echo {
    let per_second = 100 * u64::try_from(PROBES).unwrap_or(1);
    Echo::new(
        dialect,
        PROBES,
        64,
        Pace::Open(Metronome::per_second(per_second)),
    )
}

/// The observations of one phase of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phase {
    pub(crate) peak: u64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Phase {
    pub(crate) fn of(probes: &mut Echo, peak: u64) -> Self {
        let meter = probes.meter();
        Self {
            peak,
            p50: meter.latency(0.5),
            p99: meter.latency(0.99),
            max: meter.latency(1.0),
        }
    }
}

/// Samples the server's resident memory every ten milliseconds and keeps the highest.
#[derive(Debug)]
pub(crate) struct Watch {
    next: Instant,
    peak: u64,
}

impl Watch {
    pub(crate) fn new(server: &Tree) -> Self {
        Self {
            next: Instant::now(),
            peak: server.resident(),
        }
    }

    pub(crate) fn look(&mut self, server: &Tree) {
        let now = Instant::now();
        if now >= self.next {
            self.next = now + Duration::from_millis(10);
            self.peak = self.peak.max(server.resident());
        }
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }
}

/// The messages that one stalled connection received when it read again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stalled {
    /// The next number it expects.
    pub(crate) next: u32,
    /// One past the last number it may get.
    pub(crate) end: u32,
    pub(crate) hole: bool,
    pub(crate) ending: Option<Ending>,
}

impl Stalled {
    pub(crate) fn got(&mut self, number: Option<u32>) {
        self.hole |= number != Some(self.next);
        self.next = number.map_or(self.next, |number| number.saturating_add(1));
    }

    pub(crate) fn over(&self) -> bool {
        self.ending.is_some() || self.next >= self.end
    }
}

/// The numbers of stalled connections by result.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Verdicts {
    complete: u64,
    closed_1013: u64,
    closed_otherwise: u64,
    cut: u64,
    /// A gap in the received messages, or an open connection on which the rest never came.
    pub(crate) holes: u64,
}

impl Verdicts {
    pub(crate) fn of(stalled: &[Stalled]) -> Self {
        let mut sum = Self::default();
        for one in stalled {
            let count = match one.ending {
                _ if one.hole => &mut sum.holes,
                _ if one.next >= one.end => &mut sum.complete,
                Some(Ending::Closed(1013)) => &mut sum.closed_1013,
                Some(Ending::Closed(_)) => &mut sum.closed_otherwise,
                Some(Ending::Cut) => &mut sum.cut,
                None => &mut sum.holes,
            };
            *count += 1;
        }
        sum
    }

    pub(crate) fn add_to(self, report: Report) -> Report {
        report
            .integer("got_everything", self.complete)
            .integer("closed_1013", self.closed_1013)
            .integer("closed_otherwise", self.closed_otherwise)
            .integer("cut_without_close", self.cut)
            .integer("holes", self.holes)
    }
}

/// Serves events until every stalled connection has ended or nothing has come for this time.
pub(crate) fn drain<S: Stalling>(
    io: &mut Io,
    scenario: &mut S,
    patience: Duration,
) -> Result<(), Failure> {
    let mut before = 0;
    let mut progress = Instant::now();
    while !scenario.stalled().iter().all(Stalled::over) {
        io.turn(scenario, Duration::from_millis(50))?;
        let stalled = scenario.stalled().iter();
        let now: u64 = stalled
            .map(|one| u64::from(one.next) + u64::from(one.ending.is_some()))
            .sum();
        if now != before {
            before = now;
            progress = Instant::now();
        } else if progress.elapsed() > patience {
            break;
        }
    }
    Ok(())
}

/// How long scenarios that end with [`drain`] wait in it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A scenario with stalled connections.
pub(crate) trait Stalling: crate::io::Handler {
    fn stalled(&self) -> &[Stalled];
}

/// The common part of the report: memory and the effect on others, without and with stalled
/// clients.
pub(crate) fn describe(report: Report, calm: Phase, stalled: Phase, after: u64) -> Report {
    let mib = |bytes: u64| float(bytes) / (1024.0 * 1024.0);
    report
        .number("mib_peak_without", mib(calm.peak))
        .number("mib_peak_with", mib(stalled.peak))
        .number("growth_mib", mib(stalled.peak) - mib(calm.peak))
        .number("mib_after_draining", mib(after))
        .number("others_p50_us_without", calm.p50)
        .number("others_p99_us_without", calm.p99)
        .number("others_max_us_without", calm.max)
        .number("others_p50_us", stalled.p50)
        .number("others_p99_us", stalled.p99)
        .number("others_max_us", stalled.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(received: &[u32], ending: Option<Ending>) -> Verdicts {
        let mut one = Stalled {
            end: 3,
            ending,
            ..Stalled::default()
        };
        for number in received {
            one.got(Some(*number));
        }
        Verdicts::of(&[one])
    }

    #[test]
    fn only_a_gap_or_a_missing_end_is_a_hole() {
        assert_eq!(verdicts(&[0, 1, 2], None).complete, 1);
        assert_eq!(verdicts(&[0, 1], Some(Ending::Closed(1013))).closed_1013, 1);
        assert_eq!(
            verdicts(&[], Some(Ending::Closed(1011))).closed_otherwise,
            1
        );
        assert_eq!(verdicts(&[0], Some(Ending::Cut)).cut, 1);
        assert_eq!(verdicts(&[0, 1], None).holes, 1);
        assert_eq!(verdicts(&[0, 2], Some(Ending::Closed(1013))).holes, 1);
        assert_eq!(verdicts(&[0, 0, 1, 2], None).holes, 1);
    }
}
