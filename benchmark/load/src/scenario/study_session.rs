//! The order of runs of the study: a warm-up with a tenth of the requests, then the measured runs; by
//! itself, or step by step controlled by standard input. Also the report of a run.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use crate::failure::{Doing, Failure};
use crate::io::Io;
use crate::process::Tree;
use crate::report::{self, Report, float};
use crate::run::lines;
use crate::scenario::study::{self, Outcome, Plan, Study};
use crate::scenario::study_args::{StudyArgs, USAGE};
use crate::scenario::study_failure::{self, Fault};
use crate::scenario::study_times::Times;
use crate::sys;
use crate::window::Deadline;

/// Does what the command line asks for.
pub fn start(args: &StudyArgs) -> Result<(), Failure> {
    if args.help {
        return writeln!(io::stdout(), "{USAGE}").doing("writing the usage");
    }
    sys::raise_descriptor_limit().doing("raising the descriptor limit")?;
    let mut io = Io::new(args.target)?;
    let mut server = Tree::of(args.pid)?;
    let plan = Plan {
        connections: args.connections,
        total: args.requests,
        size: args.size,
        depth: args.in_flight,
        timeout: args.timeout,
        limit: args.limit,
        deadline: Deadline::within(args.deadline),
    };
    if let Some(fault) = args.fault {
        with_fault(&mut io, &mut server, plan, fault, args.json)
    } else if args.step {
        stepwise(&mut io, &mut server, plan, &lines(), args.json)
    } else {
        alone(&mut io, &mut server, plan, args.runs, args.json)
    }
}

/// Warms up and makes so many runs.
fn alone(
    io: &mut Io,
    server: &mut Tree,
    plan: Plan,
    runs: usize,
    json: bool,
) -> Result<(), Failure> {
    study::run(io, server, warm_up(plan), |_, _| Ok(()))?;
    let mut reports = Vec::new();
    for _ in 0..runs {
        let outcome = study::run(io, server, plan, |_, _| Ok(()))?;
        reports.push(report_of("run", &plan, &outcome));
        if let Some(last) = reports.last().filter(|_| json) {
            last.print(true)?;
        }
    }
    match report::median(&reports) {
        Some(median) => median.print(json),
        None => Ok(()),
    }
}

/// Each line of input starts one step: the connections open (`connected`), then the run is made and
/// they close (`warm-up` the first time, then `run`). Ends at the end of input.
fn stepwise(
    io: &mut Io,
    server: &mut Tree,
    plan: Plan,
    lines: &Receiver<()>,
    json: bool,
) -> Result<(), Failure> {
    let mut kind = "warm-up";
    Report::new("ready").print(json)?;
    while lines.recv().is_ok() {
        let plan = if kind == "run" { plan } else { warm_up(plan) };
        let connected = |io: &mut Io, study: &mut Study| {
            Report::new("connected")
                .integer("connections", io.open_connections())
                .print(json)?;
            wait(io, study, lines, &plan)
        };
        let outcome = study::run(io, server, plan, connected)?;
        report_of(kind, &plan, &outcome).print(json)?;
        kind = "run";
    }
    Ok(())
}

/// One run in which a worker fails, after a warm-up without.
fn with_fault(
    io: &mut Io,
    server: &mut Tree,
    plan: Plan,
    fault: Fault,
    json: bool,
) -> Result<(), Failure> {
    study::run(io, server, warm_up(plan), |_, _| Ok(()))?;
    let (outcome, aftermath) = study_failure::run(io, server, plan, fault)?;
    let report = report_of("run", &plan, &outcome);
    aftermath.add_to(report).print(json)
}

/// Serves the connections until the next line.
fn wait(io: &mut Io, study: &mut Study, lines: &Receiver<()>, plan: &Plan) -> Result<(), Failure> {
    loop {
        match lines.try_recv() {
            // at the end of input the run that was begun is still made
            Ok(()) | Err(TryRecvError::Disconnected) => return Ok(()),
            Err(TryRecvError::Empty) => io.turn(study, Duration::from_millis(5))?,
        }
        plan.deadline.check("waiting for the next step")?;
    }
}

fn warm_up(plan: Plan) -> Plan {
    let total = (plan.total / 10).max(plan.connections);
    Plan { total, ..plan }
}

/// All figures of a run. In times with failures, each failure counts as the timeout.
pub fn report_of(kind: &str, plan: &Plan, outcome: &Outcome) -> Report {
    let tally = &outcome.tally;
    let endings: Vec<String> = outcome
        .endings
        .iter()
        .map(|(how, count)| format!("{count} {how}"))
        .collect();
    let mut with_failures = outcome.responses.clone();
    with_failures.record_many(study::nanoseconds(plan.timeout), tally.failures());
    let connects = outcome.connects.figures();
    let successes = float(tally.success);
    let (cpu, (own, wall)) = (outcome.server.cpu.as_secs_f64(), outcome.own);
    let (user, system) = (outcome.server.user, outcome.server.system);
    let [server_share, own_share] = [cpu / wall, own.as_secs_f64() / wall];
    let [start, peak, end] = outcome.resident.map(|bytes| float(bytes) / MIB);
    let report = Report::new(kind)
        .integer("connections", plan.connections)
        .integer("in_flight", plan.depth.unwrap_or(0))
        .integer("requests", plan.total)
        .integer("size", plan.size)
        .integer("success", tally.success)
        .integer("connect_failed", tally.connect_failed)
        .integer("connection_lost", tally.connection_lost)
        .integer("timeout", tally.timeout)
        .integer("wrong_reply", tally.wrong_reply)
        .integer("never_sent", tally.never_sent)
        .integer("late", tally.late)
        .integer("surplus", tally.surplus)
        .text("endings", &endings.join(", "))
        .number(
            "success_percent",
            successes * 100.0 / float(tally.settled()),
        )
        .number("seconds", outcome.seconds)
        .number("per_second", successes / outcome.seconds);
    let report = times(report, &outcome.responses, RESPONSE);
    times(report, &with_failures, WITH_FAILURES)
        .number("connect_mean_us", connects.mean)
        .number("connect_max_us", connects.max)
        .number("cpu_s_per_1000", cpu * 1e3 / successes)
        .number("cpu_us", cpu * 1e6 / successes)
        .number(
            "user_share",
            user.as_secs_f64() / (user + system).as_secs_f64(),
        )
        .number(
            "switches_per_request",
            float(outcome.server.switches) / successes,
        )
        .number("server_share", server_share)
        .number("generator_share", own_share)
        .truth(
            "generator_is_the_limit",
            own_share > 0.95 && server_share < 0.95,
        )
        .number("mib_start", start)
        .number("mib_peak", peak)
        .number("mib_end", end)
}

fn times(report: Report, times: &Times, names: [&'static str; 6]) -> Report {
    let figures = times.figures();
    let [p50, p90, p99, p999] = figures.quantiles;
    let values = [figures.mean, p50, p90, p99, p999, figures.max];
    let add = |report: Report, (name, value)| report.number(name, value);
    names.into_iter().zip(values).fold(report, add)
}

const RESPONSE: [&str; 6] = ["mean_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us"];
const WITH_FAILURES: [&str; 6] = [
    "with_failures_mean_us",
    "with_failures_p50_us",
    "with_failures_p90_us",
    "with_failures_p99_us",
    "with_failures_p999_us",
    "with_failures_max_us",
];
const MIB: f64 = 1024.0 * 1024.0;
