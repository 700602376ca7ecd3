//! `millrace-load`: runs one scenario against a server that is already up, or pins a program to a
//! core and becomes it. Prints what was measured; fails when the server broke a promise.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, ExitCode};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use millrace_load::args::{self, Args, Command, Invocation, USAGE};
use millrace_load::failure::{Doing, Failure};
use millrace_load::io::{Connect, Io};
use millrace_load::metronome::Metronome;
use millrace_load::process::Tree;
use millrace_load::report::{self, Report, Unit};
use millrace_load::scenario::echo::{Echo, Pace};
use millrace_load::scenario::fanout::Fanout;
use millrace_load::scenario::headline::Headline;
use millrace_load::scenario::stalled_senders::{self, Senders};
use millrace_load::scenario::stalled_subscribers::{self, Flood};
use millrace_load::scenario::{churn, idle, open_all, until};
use millrace_load::sys;
use millrace_load::window::{self, Deadline, Plan, Windowed};

fn main() -> ExitCode {
    let outcome = match args::parse() {
        Ok(Invocation::Help) => writeln!(io::stdout(), "{USAGE}").doing("writing the usage"),
        Ok(Invocation::Pin { core, program }) => pin(core, &program),
        Ok(Invocation::Load(args)) => load(&args),
        Err(failure) => Err(failure),
    };
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    // nothing can be done when even this cannot be written
    let _ = writeln!(io::stderr(), "millrace-load: {failure}");
    ExitCode::from(failure.status())
}

fn pin(core: usize, program: &[OsString]) -> Result<(), Failure> {
    let Some((name, arguments)) = program.split_first() else {
        return Err(Failure::Usage("pin needs a program".to_owned()));
    };
    sys::pin_to(core).doing("pinning to a core")?;
    sys::raise_descriptor_limit().doing("raising the descriptor limit")?;
    let error = process::Command::new(name).args(arguments).exec();
    Err(error).doing("starting the program")
}

fn load(args: &Args) -> Result<(), Failure> {
    if let Some(core) = args.core {
        sys::pin_to(core).doing("pinning to a core")?;
    }
    sys::raise_descriptor_limit().doing("raising the descriptor limit")?;
    let mut io = Io::new(args.target)?;
    let mut server = Tree::of(args.pid)?;
    let deadline = Deadline::within(args.deadline);
    let pace = match args.rate {
        Some(rate) => Pace::Open(Metronome::per_second(rate)),
        None => Pace::Closed(args.pipeline),
    };
    match args.command {
        Command::Echo => {
            let mut echo = Echo::new(args.connections, args.size, pace);
            let ids = 0..args.connections;
            open_all(&mut io, &mut echo, ids, Connect::default(), &deadline)?;
            windows(
                args,
                &mut io,
                &mut echo,
                &mut server,
                Unit::Message,
                deadline,
            )
        }
        Command::Headline => {
            let mut headline = Headline::new(args.connections, pace);
            let ids = 0..args.connections;
            open_all(&mut io, &mut headline, ids, Connect::default(), &deadline)?;
            let joined = Headline::all_joined;
            until(&mut io, &mut headline, &deadline, "joining groups", joined)?;
            headline.form_groups()?;
            windows(
                args,
                &mut io,
                &mut headline,
                &mut server,
                Unit::Message,
                deadline,
            )
        }
        Command::Fanout => {
            let mut fanout = Fanout::new(0, args.connections, args.size, args.pipeline);
            let ids = 0..args.connections + 1;
            open_all(&mut io, &mut fanout, ids, Connect::default(), &deadline)?;
            let all = Fanout::all_subscribed;
            until(&mut io, &mut fanout, &deadline, "subscribing", all)?;
            windows(
                args,
                &mut io,
                &mut fanout,
                &mut server,
                Unit::Delivery,
                deadline,
            )
        }
        _ => once(args, &mut io, &mut server, deadline),
    }
}

/// Scenarios that are one run, not windows.
fn once(args: &Args, io: &mut Io, server: &mut Tree, deadline: Deadline) -> Result<(), Failure> {
    let (connections, count) = (args.connections, args.count);
    let (report, holes) = match args.command {
        Command::Idle => (idle::run(io, server, connections, &deadline)?, 0),
        Command::Churn => {
            let address = args.target.ip();
            let report = churn::run(io, server, count, connections, address, &deadline)?;
            (report, 0)
        }
        Command::StalledSubscribers => stalled_subscribers::run(
            io,
            server,
            &Flood {
                readers: connections,
                stalled: args.stalled,
                size: args.size,
                publications: u64::try_from(count).unwrap_or(u64::MAX),
                deadline,
            },
        )?,
        Command::StalledSenders => stalled_senders::run(
            io,
            server,
            &Senders {
                stalled: args.stalled,
                size: args.size,
                messages: u32::try_from(count).unwrap_or(u32::MAX),
                length: args.length,
                deadline,
            },
        )?,
        Command::Echo | Command::Headline | Command::Fanout => return Ok(()),
    };
    report.print(args.json)?;
    if holes > 0 && !args.tolerant {
        let what = format!("{holes} stalled connections found a hole");
        return Err(Failure::Violation(what));
    }
    Ok(())
}

fn windows<S: Windowed>(
    args: &Args,
    io: &mut Io,
    scenario: &mut S,
    server: &mut Tree,
    unit: Unit,
    deadline: Deadline,
) -> Result<(), Failure> {
    let plan = Plan {
        warm_up: args.warm_up,
        length: args.length,
        deadline,
    };
    if args.step {
        Report::new("ready").print(args.json)?;
        return steps(args, io, scenario, server, unit, &plan);
    }
    let mut reports = Vec::new();
    for _ in 0..args.windows {
        let window = window::run(io, scenario, server, &plan)?;
        reports.push(report::of_window(&window, unit));
        if let Some(last) = reports.last().filter(|_| args.json) {
            last.print(true)?;
        }
    }
    match report::median(&reports) {
        Some(median) => median.print(args.json),
        None => Ok(()),
    }
}

/// One window per line of standard input. In between the connections are kept alive.
fn steps<S: Windowed>(
    args: &Args,
    io: &mut Io,
    scenario: &mut S,
    server: &mut Tree,
    unit: Unit,
    plan: &Plan,
) -> Result<(), Failure> {
    let lines = lines();
    loop {
        match lines.try_recv() {
            Ok(()) => {
                let window = window::run(io, scenario, server, plan)?;
                report::of_window(&window, unit).print(args.json)?;
            }
            Err(TryRecvError::Empty) => {
                io.turn(scenario, Duration::from_millis(20))?;
                plan.deadline.check("waiting for the next step")?;
            }
            Err(TryRecvError::Disconnected) => return Ok(()),
        }
    }
}

/// Tells of each line of standard input; gone when that ends.
fn lines() -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lines() {
            if line.is_err() || sender.send(()).is_err() {
                return;
            }
        }
    });
    receiver
}
