//! The command line of the study.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use lexopt::prelude::*;

use crate::args::Invocation;
use crate::failure::Failure;
use crate::scenario::study_failure::Fault;
use crate::scenario::study_request::{LARGEST, SMALLEST};

/// The parsed options.
#[derive(Debug, Clone)]
pub struct StudyArgs {
    /// Where the server listens.
    pub target: SocketAddr,
    /// The server's process.
    pub pid: u32,
    /// Connections.
    pub connections: usize,
    /// Requests over all connections.
    pub requests: usize,
    /// Bytes of a request.
    pub size: usize,
    /// The most outstanding requests per connection; `None` sends all at once.
    pub in_flight: Option<usize>,
    /// Measured runs.
    pub runs: usize,
    /// The time after which a request has failed.
    pub timeout: Duration,
    /// The time after which a run sends nothing more.
    pub limit: Duration,
    /// The fault of a worker during the run.
    pub fault: Option<Fault>,
    /// The seconds after which everything is aborted.
    pub deadline: u64,
    /// JSON lines instead of text.
    pub json: bool,
    /// Run step by step, one step for each line of standard input.
    pub step: bool,
    /// Only print [`USAGE`].
    pub help: bool,
}

/// What `study --help` prints.
pub const USAGE: &str = "\
millrace-load study --port N --pid N [options]

  --host A          address of the server (127.0.0.1)
  --connections N   connections (1000)
  --requests N      requests over all connections (500000)
  --size N          bytes of a request (32; 18 to 1024)
  --in-flight K     outstanding per connection: a number, or all (1)
  --runs N          measured runs, after a warm-up with a tenth of the requests (3)
  --timeout-ms N    a request without reply for so long has failed (5000)
  --limit-s N       nothing more is sent after so long (60)
  --fault F         half-way through, a worker is told to exit or to hang; one run
  --deadline-s N    give up after (300)
  --json            JSON lines
  --step            a line on standard input opens the connections, the next lets them send
exit status: 0 good, whatever failed is counted; 1 system error, 2 usage, 3 violation, 4 deadline";

impl Default for StudyArgs {
    fn default() -> Self {
        Self {
            target: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            pid: 0,
            connections: 1_000,
            requests: 500_000,
            size: 32,
            in_flight: Some(1),
            runs: 3,
            timeout: Duration::from_secs(5),
            limit: Duration::from_secs(60),
            fault: None,
            deadline: 300,
            json: false,
            step: false,
            help: false,
        }
    }
}

impl StudyArgs {
    /// Makes the checks that need all options.
    pub fn check(self) -> Result<Self, Failure> {
        if self.help {
            return Ok(self);
        }
        if self.target.port() == 0 || self.pid == 0 {
            return usage("--port and --pid are required");
        }
        if !(SMALLEST..=LARGEST).contains(&self.size) {
            return usage(&format!("--size must be {SMALLEST} to {LARGEST}"));
        }
        if self.requests < self.connections {
            return usage("--requests must be at least one per connection");
        }
        let longest = Duration::from_secs(600);
        if self.timeout.is_zero() || self.timeout > longest {
            return usage("--timeout-ms must be 1 to 600000");
        }
        Ok(self)
    }
}

/// Parses the options after `study`.
pub(crate) fn read(mut parser: lexopt::Parser) -> Result<Invocation, lexopt::Error> {
    let mut args = StudyArgs::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("host") => args.target.set_ip(parser.value()?.parse::<IpAddr>()?),
            Long("port") => args.target.set_port(parser.value()?.parse()?),
            Long("pid") => args.pid = parser.value()?.parse()?,
            Long("connections") => args.connections = positive(&mut parser)?,
            Long("requests") => args.requests = positive(&mut parser)?,
            Long("size") => args.size = parser.value()?.parse()?,
            Long("in-flight") => args.in_flight = in_flight(&mut parser)?,
            Long("runs") => args.runs = positive(&mut parser)?,
            Long("timeout-ms") => args.timeout = Duration::from_millis(parser.value()?.parse()?),
            Long("limit-s") => args.limit = Duration::from_secs(parser.value()?.parse()?),
            Long("fault") => args.fault = Some(fault(&mut parser)?),
            Long("deadline-s") => args.deadline = parser.value()?.parse()?,
            Long("json") => args.json = true,
            Long("step") => args.step = true,
            Short('h') | Long("help") => args.help = true,
            other => return Err(other.unexpected()),
        }
    }
    Ok(Invocation::Study(args))
}

fn in_flight(parser: &mut lexopt::Parser) -> Result<Option<usize>, lexopt::Error> {
    let value = parser.value()?;
    if value == "all" {
        return Ok(None);
    }
    let depth = value.parse::<usize>()?;
    if depth == 0 {
        return Err("--in-flight must be at least 1, or all".into());
    }
    Ok(Some(depth))
}

fn fault(parser: &mut lexopt::Parser) -> Result<Fault, lexopt::Error> {
    let value = parser.value()?;
    match value.to_str() {
        Some("exit") => Ok(Fault::Exit),
        Some("hang") => Ok(Fault::Hang),
        _ => Err(format!("--fault must be exit or hang, not {}", value.display()).into()),
    }
}

fn positive(parser: &mut lexopt::Parser) -> Result<usize, lexopt::Error> {
    let value = parser.value()?.parse()?;
    if value == 0 {
        return Err("the value must be at least 1".into());
    }
    Ok(value)
}

fn usage<T>(message: &str) -> Result<T, Failure> {
    Err(Failure::Usage(message.to_owned()))
}
