//! `millrace-load`: runs one scenario against a running server, or pins a program to some cores and
//! becomes it. Prints the figures; fails if the server violated a guarantee.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{self, ExitCode};

use millrace_load::args::{self, Args, Command, Invocation, USAGE};
use millrace_load::failure::{Doing, Failure};
use millrace_load::metronome::Metronome;
use millrace_load::report::Unit;
use millrace_load::run::Run;
use millrace_load::scenario::channels::{Channels, PUBLISHERS};
use millrace_load::scenario::echo::{Echo, Pace};
use millrace_load::scenario::fanout::Fanout;
use millrace_load::scenario::fanout_slow::FanoutSlow;
use millrace_load::scenario::headline::Headline;
use millrace_load::scenario::http::Http;
use millrace_load::scenario::splice::Splice;
use millrace_load::scenario::splice_flow::SpliceFlow;
use millrace_load::scenario::splice_sessions::Sessions;
use millrace_load::scenario::stalled_senders::{self, Senders};
use millrace_load::scenario::stalled_subscribers::{self, Flood};
use millrace_load::scenario::study_session;
use millrace_load::scenario::{churn, idle};
use millrace_load::sys;

fn main() -> ExitCode {
    let outcome = match args::parse() {
        Ok(Invocation::Help) => writeln!(io::stdout(), "{USAGE}").doing("writing the usage"),
        Ok(Invocation::Pin { cores, program }) => pin(&cores, &program),
        Ok(Invocation::Load(args)) => load(&args),
        Ok(Invocation::Study(args)) => study_session::start(&args),
        Err(failure) => Err(failure),
    };
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    // nothing can be done if even this cannot be written
    let _ = writeln!(io::stderr(), "millrace-load: {failure}");
    ExitCode::from(failure.status())
}

fn pin(cores: &[usize], program: &[OsString]) -> Result<(), Failure> {
    let Some((name, arguments)) = program.split_first() else {
        return Err(Failure::Usage("pin needs a program".to_owned()));
    };
    sys::pin_to(cores).doing("pinning to a core")?;
    sys::raise_descriptor_limit().doing("raising the descriptor limit")?;
    let error = process::Command::new(name).args(arguments).exec();
    Err(error).doing("starting the program")
}

fn load(args: &Args) -> Result<(), Failure> {
    if let Some(core) = args.core {
        sys::pin_to(&[core]).doing("pinning to a core")?;
    }
    let limit = sys::raise_descriptor_limit().doing("raising the descriptor limit")?;
    let most = usize::try_from(limit)
        .unwrap_or(usize::MAX)
        .saturating_sub(RESERVE);
    if args.connections + args.stalled > most {
        let what = format!("the limit of {limit} descriptors allows {most} connections");
        return Err(Failure::Usage(what));
    }
    let mut run = Run::new(args)?;
    let (dialect, connections) = (args.dialect, args.connections);
    let pace = match args.rate {
        Some(rate) => Pace::Open(Metronome::per_second(rate)),
        None => Pace::Closed(args.pipeline),
    };
    match args.command {
        Command::Echo => {
            let mut echo = Echo::new(dialect, connections, args.size, pace);
            echo.open(&mut run.io, &run.deadline)?;
            run.windows(&mut echo, Unit::Message)
        }
        Command::Headline => {
            let mut headline = Headline::new(dialect, connections, pace).tolerant(args.tolerant);
            headline.open(&mut run.io, &run.deadline)?;
            run.windows(&mut headline, Unit::Message)
        }
        Command::Fanout => {
            let mut fanout = Fanout::new(dialect, 0, connections, args.size, args.pipeline);
            if args.compression {
                fanout = fanout.of_json();
            }
            fanout.open(&mut run.io, &run.deadline)?;
            run.windows(&mut fanout, Unit::Delivery)
        }
        Command::FanoutSlow => {
            let (slow, size) = (args.stalled, args.size);
            let mut fanout = FanoutSlow::new(dialect, connections, slow, size, args.pipeline)
                .tolerant(args.tolerant);
            fanout.open(&mut run.io, &run.deadline)?;
            run.windows(&mut fanout, Unit::Delivery)
        }
        Command::Channels => {
            let (count, size) = (args.count, args.size);
            let mut channels = Channels::new(dialect, connections, count, size, args.pipeline)?;
            channels.open(&mut run.io, &run.deadline)?;
            run.windows(&mut channels, Unit::Message)
        }
        Command::Http => {
            let (path, body) = (&args.path, &args.body);
            let mut http = Http::new(&run.io, connections, args.pipeline, path, body);
            http.open(&mut run.io, &run.deadline)?;
            run.windows(&mut http, Unit::Request)
        }
        Command::Splice => {
            let mut splice = Splice::new(sessions(&run), args.size);
            splice.open(&mut run.io, &run.deadline)?;
            run.windows(&mut splice, Unit::Message)
        }
        Command::SpliceFlow => {
            let mut flow = SpliceFlow::new(sessions(&run), args.size, args.writes);
            flow.open(&mut run.io, &run.deadline)?;
            run.windows(&mut flow, Unit::Message)
        }
        Command::Idle | Command::Churn | Command::StalledSubscribers | Command::StalledSenders => {
            once(run)
        }
    }
}

/// The sessions of a multiplexer, or connections to its target.
fn sessions(run: &Run<'_>) -> Sessions {
    let args = run.args;
    let target = SocketAddr::new(args.target.ip(), args.upstream_port);
    Sessions::new(args.connections, args.upstreams, target)
}

/// Scenarios with a single run instead of windows.
fn once(run: Run<'_>) -> Result<(), Failure> {
    let Run {
        args,
        mut io,
        mut server,
        deadline,
    } = run;
    let (io, server, count) = (&mut io, &mut server, args.count);
    let (report, holes) = match args.command {
        Command::Idle => {
            let report = idle::run(io, server, args.connections, args.settle, &deadline)?;
            (report, 0)
        }
        Command::Churn => {
            let slots = args.connections;
            let report = churn::run(io, server, count, slots, args.settle, &deadline)?;
            (report, 0)
        }
        Command::StalledSubscribers => stalled_subscribers::run(
            io,
            server,
            &Flood {
                readers: args.connections,
                stalled: args.stalled,
                size: args.size,
                publications: u64::try_from(count).unwrap_or(u64::MAX),
                dialect: args.dialect,
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
                dialect: args.dialect,
                deadline,
            },
        )?,
        Command::Echo
        | Command::Headline
        | Command::Fanout
        | Command::FanoutSlow
        | Command::Channels
        | Command::Http
        | Command::Splice
        | Command::SpliceFlow => return Ok(()),
    };
    report.print(args.json)?;
    if holes > 0 && !args.tolerant {
        let what = format!("{holes} stalled connections found a hole");
        return Err(Failure::Violation(what));
    }
    Ok(())
}

/// The number of descriptors for other purposes than connections: publishers, probes, pipes, epoll.
const RESERVE: usize = PUBLISHERS + 54;
