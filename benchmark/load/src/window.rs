//! Measured windows: warm up, measure, stop, wait until everything is answered, check. A scenario
//! counts with its [`Meter`]; CPU is read from the process table at the beginning and the end.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::failure::Failure;
use crate::io::{Handler, Io};
use crate::process::{Tree, Usage};
use crate::report::{Report, float};

/// A scenario that runs in windows.
pub trait Windowed: Handler {
    /// Begins to send.
    fn start(&mut self, io: &mut Io) -> Result<(), Failure>;

    /// Begins nothing new; answers are still received.
    fn stop(&mut self);

    /// Answers and deliveries that are still to come.
    fn outstanding(&self) -> u64;

    /// Makes the checks that are possible only when nothing is outstanding.
    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Completes other activities than the measured messages, after a window.
    fn finish(&mut self, _io: &mut Io, _deadline: &Deadline) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds the scenario's own figures to the report of the last window.
    fn describe(&mut self, report: Report) -> Report {
        report
    }

    /// Sends the messages that are due in an open loop, and returns when the next one is due.
    fn tick(&mut self, _io: &mut Io) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    /// The counts so far.
    fn meter(&mut self) -> &mut Meter;
}

/// The counts of a scenario.
#[derive(Debug)]
pub struct Meter {
    /// Messages the server has received and answered in full.
    pub incoming: u64,
    /// Messages received from the server.
    pub received: u64,
    /// Open loop: messages not sent because too many were outstanding.
    pub unsent: u64,
    latency: Histogram<u64>,
}

impl Default for Meter {
    fn default() -> Self {
        let latency = Histogram::new_with_bounds(1_000, 60_000_000_000, 3)
            .expect("the bounds are constants that the histogram accepts");
        Self {
            incoming: 0,
            received: 0,
            unsent: 0,
            latency,
        }
    }
}

impl Meter {
    /// Records the time from sending to arrival, in nanoseconds.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.latency.saturating_record(nanoseconds);
    }

    /// Latency at a quantile, in microseconds.
    pub fn latency(&self, quantile: f64) -> f64 {
        float(self.latency.value_at_quantile(quantile)) / 1e3
    }

    /// Forgets everything counted so far.
    pub fn clear(&mut self) {
        self.incoming = 0;
        self.received = 0;
        self.unsent = 0;
        self.latency.reset();
    }
}

/// How windows are made.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Unmeasured time before the window.
    pub warm_up: Duration,
    /// Length of a window.
    pub length: Duration,
    /// The end of the whole run.
    pub deadline: Deadline,
    /// The process behind a multiplexer, whose share of a core is also reported.
    pub upstream: Option<u32>,
}

/// The time at which a run is aborted.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    seconds: u64,
}

impl Deadline {
    /// So many seconds from now.
    pub fn within(seconds: u64) -> Self {
        Self {
            at: Instant::now() + Duration::from_secs(seconds),
            seconds,
        }
    }

    /// Fails when the moment has passed.
    pub fn check(&self, doing: &'static str) -> Result<(), Failure> {
        if Instant::now() < self.at {
            return Ok(());
        }
        let seconds = self.seconds;
        Err(Failure::Deadline { seconds, doing })
    }
}

/// The results of one window.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Its real length.
    pub seconds: f64,
    /// Messages the server received and answered.
    pub incoming: u64,
    /// Messages the server sent.
    pub received: u64,
    /// Open loop: messages that were not sent because too many were outstanding.
    pub unsent: u64,
    /// Whether the loop is open: the generator then polls the clock, so its CPU share has no
    /// meaning.
    pub paced: bool,
    /// What the server's process tree used.
    pub server: Usage,
    /// CPU time of the generator.
    pub own: Duration,
    /// CPU time of the process behind a multiplexer.
    pub upstream: Option<Duration>,
    /// Resident bytes of the server's process tree at the end.
    pub resident: u64,
    /// Reads the generator made.
    pub reads: u64,
    /// Latency at the 50th, 99th and 99.9th percentile and the highest, in microseconds.
    pub latency: [f64; 4],
}

struct Edge {
    at: Instant,
    server: Usage,
    own: Duration,
    upstream: Option<Duration>,
    reads: u64,
}

impl Edge {
    fn now(io: &Io, tree: &Tree, own: &Tree, upstream: Option<&Tree>) -> Self {
        Self {
            upstream: upstream.map(|tree| tree.usage().cpu),
            server: tree.usage(),
            own: own.usage().cpu,
            reads: io.reads(),
            at: Instant::now(),
        }
    }
}

/// Runs one window and waits until the scenario is idle.
pub fn run<S: Windowed>(
    io: &mut Io,
    scenario: &mut S,
    server: &mut Tree,
    plan: &Plan,
) -> Result<Window, Failure> {
    let own = Tree::of(std::process::id())?;
    let upstream = plan.upstream.map(Tree::of).transpose()?;
    server.refresh();
    io.refresh();
    scenario.start(io)?;
    pass(io, scenario, plan, plan.warm_up)?;
    scenario.meter().clear();
    let before = Edge::now(io, server, &own, upstream.as_ref());
    let paced = pass(io, scenario, plan, plan.length)?;
    let after = Edge::now(io, server, &own, upstream.as_ref());
    let meter = scenario.meter();
    let mut window = Window {
        seconds: (after.at - before.at).as_secs_f64(),
        incoming: meter.incoming,
        received: meter.received,
        unsent: meter.unsent,
        paced,
        server: after.server.since(before.server),
        own: after.own.saturating_sub(before.own),
        upstream: after
            .upstream
            .zip(before.upstream)
            .map(|(a, b)| a.saturating_sub(b)),
        resident: server.resident(),
        reads: after.reads - before.reads,
        latency: QUANTILES.map(|quantile| meter.latency(quantile)),
    };
    scenario.stop();
    drain(io, scenario, plan)?;
    if paced {
        // messages that were due in the window and answered after it have waited longest
        window.latency = QUANTILES.map(|quantile| scenario.meter().latency(quantile));
    }
    scenario.finish(io, &plan.deadline)?;
    scenario.settle()?;
    Ok(window)
}

/// Serves events for a while. Returns whether messages were due at fixed times (an open loop).
fn pass<S: Windowed>(
    io: &mut Io,
    scenario: &mut S,
    plan: &Plan,
    length: Duration,
) -> Result<bool, Failure> {
    let end = Instant::now() + length;
    loop {
        let due = scenario.tick(io)?;
        let now = Instant::now();
        if now >= end {
            plan.deadline.check("measuring")?;
            return Ok(due.is_some());
        }
        let mut wait = (end - now).min(Duration::from_millis(100));
        if let Some(due) = due {
            let ahead = Duration::from_nanos(due.saturating_sub(io.refresh()));
            // epoll waits in whole milliseconds, so the last millisecond is polled
            wait = wait.min(ahead.saturating_sub(Duration::from_millis(1)));
        }
        io.turn(scenario, wait)?;
    }
}

/// Waits for the last answers. Ten seconds without an answer count as loss.
fn drain<S: Windowed>(io: &mut Io, scenario: &mut S, plan: &Plan) -> Result<(), Failure> {
    let mut left = scenario.outstanding();
    let mut progress = Instant::now();
    while left > 0 {
        io.turn(scenario, Duration::from_millis(100))?;
        let now = scenario.outstanding();
        if now != left {
            progress = Instant::now();
        } else if progress.elapsed() > PATIENCE {
            let what = format!("{now} answers or deliveries never came");
            return Err(Failure::Violation(what));
        }
        left = now;
        plan.deadline.check("waiting for the last answers")?;
    }
    Ok(())
}

/// The quantiles of [`Window::latency`].
const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 1.0];

const PATIENCE: Duration = Duration::from_secs(10);
