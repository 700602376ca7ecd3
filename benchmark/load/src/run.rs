//! Runs the windows of a scenario: all in a row with a median at the end, or one for each line of
//! standard input, so that several servers can be measured in turns.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::io::Io;
use crate::process::Tree;
use crate::report::{self, Report, Unit};
use crate::tls::Trust;
use crate::window::{self, Deadline, Plan, Windowed};

/// The common data of every scenario.
#[derive(Debug)]
pub struct Run<'a> {
    /// The command line.
    pub args: &'a Args,
    /// The connections.
    pub io: Io,
    /// The server's processes.
    pub server: Tree,
    /// The end of the whole run.
    pub deadline: Deadline,
}

impl<'a> Run<'a> {
    /// Finds the server's processes. Does not connect yet.
    pub fn new(args: &'a Args) -> Result<Self, Failure> {
        Ok(Self {
            args,
            io: connections(args)?,
            server: Tree::of(args.pid)?,
            deadline: Deadline::within(args.deadline),
        })
    }

    /// Runs the windows of a scenario whose connections are open.
    pub fn windows<S: Windowed>(&mut self, scenario: &mut S, unit: Unit) -> Result<(), Failure> {
        let args = self.args;
        let mut plan = Plan {
            warm_up: args.warm_up,
            length: args.length,
            deadline: self.deadline,
            upstream: args.upstream_pid,
        };
        if args.step {
            Report::new("ready").print(args.json)?;
            return self.steps(scenario, unit, plan);
        }
        let mut reports = Vec::new();
        for _ in 0..args.windows {
            let report = self.window(scenario, unit, &plan)?;
            if args.json {
                report.print(true)?;
            }
            reports.push(report);
            plan.warm_up = args.warm_up / WARM;
        }
        match report::median(&reports) {
            Some(median) => median.print(args.json),
            None => Ok(()),
        }
    }

    fn window<S: Windowed>(
        &mut self,
        scenario: &mut S,
        unit: Unit,
        plan: &Plan,
    ) -> Result<Report, Failure> {
        let window = window::run(&mut self.io, scenario, &mut self.server, plan)?;
        let report = report::of_window(&window, unit, self.args.server_cores);
        Ok(scenario.describe(report))
    }

    /// Runs one window per line of standard input. Between windows the connections are kept alive.
    fn steps<S: Windowed>(
        &mut self,
        scenario: &mut S,
        unit: Unit,
        mut plan: Plan,
    ) -> Result<(), Failure> {
        let lines = lines();
        loop {
            match lines.try_recv() {
                Ok(()) => {
                    let report = self.window(scenario, unit, &plan)?;
                    report.print(self.args.json)?;
                    plan.warm_up = self.args.warm_up / WARM;
                }
                Err(TryRecvError::Empty) => {
                    self.io.turn(scenario, Duration::from_millis(50))?;
                    plan.deadline.check("waiting for the next step")?;
                }
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }
}

/// The connections, not opened so far.
fn connections(args: &Args) -> Result<Io, Failure> {
    let io = match args.command {
        Command::Http => Io::bare(args.target)?,
        _ => Io::speaking(args.dialect, args.target)?,
    };
    let io = if args.compression {
        io.with_compression()
    } else {
        io
    };
    Ok(match &args.tls_ca {
        Some(path) => io.over_tls(Trust::of(path)?),
        None => io,
    })
}

/// A channel with a message for each line of standard input. It closes at the end of input.
pub(crate) fn lines() -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in std::io::stdin().lines() {
            if line.is_err() || sender.send(()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The factor by which the warm-up is shorter after the first window.
const WARM: u32 = 4;
