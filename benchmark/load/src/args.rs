//! The command line, parsed once. Each scenario has its own defaults, those of `../README.md`.

use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::scenario::splice_flow::Writes;
use crate::scenario::splice_sessions;
use crate::scenario::study_args::{self, StudyArgs};

/// What to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Echoed messages.
    Echo,
    /// Groups of ten, broadcast and answer.
    Headline,
    /// One publisher, many subscribers.
    Fanout,
    /// The same with some subscribers that read slowly.
    FanoutSlow,
    /// Ten publishers, a great many channels.
    Channels,
    /// Requests over persistent connections.
    Http,
    /// Round trips through a multiplexer, or directly to its target.
    Splice,
    /// Messages in one direction through a multiplexer, counted by its targets.
    SpliceFlow,
    /// Memory of connections that do nothing.
    Idle,
    /// Connecting and closing.
    Churn,
    /// Subscribers that never read.
    StalledSubscribers,
    /// Senders that never read.
    StalledSenders,
}

/// The parsed command line.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own, without a value"
)]
pub struct Args {
    /// What to run.
    pub command: Command,
    /// Where the server listens.
    pub target: SocketAddr,
    /// The server's process.
    pub pid: u32,
    /// The dialect inside the messages.
    pub dialect: Dialect,
    /// The certificates to trust, in PEM: connections are over TLS; `None` without it.
    pub tls_ca: Option<PathBuf>,
    /// Whether the server may compress messages. The text of publications is JSON then.
    pub compression: bool,
    /// The core to run on; `None` for any.
    pub core: Option<usize>,
    /// Cores the server may use.
    pub server_cores: u32,
    /// Connections, subscribers or slots.
    pub connections: usize,
    /// Messages outstanding per connection, or publications in flight.
    pub pipeline: usize,
    /// Bytes of a message.
    pub size: usize,
    /// The path of HTTP requests.
    pub path: String,
    /// The body of the expected response.
    pub body: Vec<u8>,
    /// Where the targets of a multiplexer listen, on the server's address.
    pub upstream_port: u16,
    /// The process of these targets.
    pub upstream_pid: Option<u32>,
    /// Targets of each session; 0 if the server is the target itself.
    pub upstreams: usize,
    /// How messages are written in one direction through a multiplexer.
    pub writes: Writes,
    /// Open loop: messages per second over all connections.
    pub rate: Option<u64>,
    /// Measured windows.
    pub windows: usize,
    /// Length of a window.
    pub length: Duration,
    /// Unmeasured time before a window.
    pub warm_up: Duration,
    /// Connect and close cycles, publications of a flood, messages of a stalled sender, channels.
    pub count: usize,
    /// Connections that never read, or read slowly.
    pub stalled: usize,
    /// Time to settle before memory is read.
    pub settle: Duration,
    /// Seconds after which the run is aborted.
    pub deadline: u64,
    /// JSON lines instead of text.
    pub json: bool,
    /// Run a window for each line of standard input, and end when it ends.
    pub step: bool,
    /// Gaps on stalled connections, and differing orders within a group, are reported instead of
    /// failing the run.
    pub tolerant: bool,
}

/// A run, or a program to start on given cores.
#[derive(Debug, Clone)]
pub enum Invocation {
    /// Generate load.
    Load(Args),
    /// `pin --core N[,N] -- program args…`: becomes that program.
    Pin {
        /// The cores.
        cores: Vec<usize>,
        /// The program and its arguments.
        program: Vec<OsString>,
    },
    /// The SHA-256 study, which has options of its own.
    Study(StudyArgs),
    /// Print the usage.
    Help,
}

/// What `--help` prints.
pub const USAGE: &str = "\
millrace-load <scenario> --port N --pid N [options]
millrace-load pin --core N[,N] -- <program> [args...]
millrace-load study --help

scenarios: echo headline fanout fanout-slow channels http splice splice-flow
           idle churn stalled-subscribers stalled-senders
  --host A          address of the server (127.0.0.1)
  --dialect D       plain, or socketio: Socket.IO's framing over WebSocket (plain)
  --tls-ca FILE     over TLS; the server's certificate, or its issuer's, in PEM
  --compression     the server may compress messages; publications hold JSON
  --core N          run on this core
  --server-cores N  cores the server may use, to tell who was the limit (1)
  --connections N   connections, subscribers or slots at a time
  --pipeline N      outstanding per connection, or publications in flight
  --size N          bytes of a message
  --path P          http: what is asked for (/)
  --body B          http: the body of its answer, or @FILE: what that file holds
  --upstreams N     splice, splice-flow: targets of each session; 0: none, the
                    server is the target (1)
  --upstream-port N their port, on the server's address
  --apart           splice-flow: a write for each message, not for up to 32
  --upstream-pid N  their process, to tell its share of a core
  --rate N          echo, headline: open loop, so many messages a second
  --windows N       measured windows (5)
  --window-ms N     their length (2000; each phase of stalled-senders: 8000)
  --warmup-ms N     before each (500)
  --count N         cycles, publications of a flood, messages of a stalled sender, channels
  --stalled N       connections that never read; fanout-slow: that read slowly
  --settle-ms N     idle, churn: rest before memory is read (2000)
  --deadline-s N    give up after (300)
  --json            JSON lines
  --step            one window per line on standard input
  --tolerant        report without failing: holes on stalled connections, and members
                    of a group that see its messages in different orders
exit status: 0 good, 1 system error, 2 usage, 3 violation, 4 deadline";

impl Args {
    fn of(command: Command) -> Self {
        let (connections, pipeline, size, count, stalled) = match command {
            Command::Echo => (100, 16, 64, 0, 0),
            Command::Headline => (2_000, 1, 0, 0, 0),
            Command::Fanout => (1_000, 16, 64, 0, 0),
            Command::FanoutSlow => (1_000, 16, 1_024, 0, 50),
            Command::Channels => (1_000, 16, 64, 100_000, 0),
            Command::Http => (100, 1, 0, 0, 0),
            Command::Splice => (128, 1, 64, 0, 0),
            Command::SpliceFlow => (128, 0, 64, 0, 0),
            Command::Idle => (19_000, 0, 0, 0, 0),
            Command::Churn => (64, 0, 0, 100_000, 0),
            Command::StalledSubscribers => (50, 16, 4_096, 16_384, 20),
            Command::StalledSenders => (0, 0, 1_024, 16_384, 50),
        };
        let seconds = if command == Command::StalledSenders {
            8
        } else {
            2
        };
        Self {
            command,
            target: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            pid: 0,
            dialect: Dialect::Plain,
            tls_ca: None,
            compression: false,
            core: None,
            server_cores: 1,
            connections,
            pipeline,
            size,
            path: "/".to_owned(),
            body: Vec::new(),
            upstream_port: 0,
            upstream_pid: None,
            upstreams: 1,
            writes: Writes::Together,
            rate: None,
            windows: 5,
            length: Duration::from_secs(seconds),
            warm_up: Duration::from_millis(500),
            count,
            stalled,
            settle: Duration::from_secs(2),
            deadline: 300,
            json: false,
            step: false,
            tolerant: false,
        }
    }

    fn check(self) -> Result<Self, Failure> {
        let smallest = match self.command {
            Command::Echo
            | Command::Fanout
            | Command::FanoutSlow
            | Command::StalledSubscribers
            | Command::StalledSenders => crate::stamp::STAMP,
            Command::Channels => crate::scenario::channels::SMALLEST,
            Command::Splice | Command::SpliceFlow => splice_sessions::SMALLEST,
            _ => 0,
        };
        if self.target.port() == 0 || self.pid == 0 {
            return usage("--port and --pid are required");
        }
        if self.size < smallest || self.size > 128 * 1024 {
            return usage(&format!("--size must be {smallest} to 131072"));
        }
        let spliced = matches!(self.command, Command::Splice | Command::SpliceFlow);
        if spliced && (self.upstreams > 0) != (self.upstream_port > 0) {
            return usage("--upstream-port is required, unless --upstreams is 0");
        }
        if self.upstreams > splice_sessions::MOST {
            return usage("--upstreams must be at most 64");
        }
        let plain = self.path.bytes().all(|byte| byte.is_ascii_graphic());
        if !plain || !self.path.starts_with('/') {
            return usage("--path must begin with a slash and hold visible ASCII only");
        }
        if self.body.len() > 128 * 1024 {
            return usage("--body must hold at most 131072 bytes");
        }
        if self.pipeline > 1024 || self.windows == 0 {
            return usage("--pipeline must be at most 1024, --windows at least 1");
        }
        Ok(self)
    }
}

/// Reads the process's command line.
pub fn parse() -> Result<Invocation, Failure> {
    read(lexopt::Parser::from_env())
        .map_err(|error| Failure::Usage(error.to_string()))
        .and_then(|invocation| match invocation {
            Invocation::Load(args) => args.check().map(Invocation::Load),
            Invocation::Study(args) => args.check().map(Invocation::Study),
            other => Ok(other),
        })
}

fn read(mut parser: lexopt::Parser) -> Result<Invocation, lexopt::Error> {
    let command = match parser.next()? {
        Some(Value(name)) => match name.to_str() {
            Some("echo") => Command::Echo,
            Some("headline") => Command::Headline,
            Some("fanout") => Command::Fanout,
            Some("fanout-slow") => Command::FanoutSlow,
            Some("channels") => Command::Channels,
            Some("http") => Command::Http,
            Some("splice") => Command::Splice,
            Some("splice-flow") => Command::SpliceFlow,
            Some("idle") => Command::Idle,
            Some("churn") => Command::Churn,
            Some("stalled-subscribers") => Command::StalledSubscribers,
            Some("stalled-senders") => Command::StalledSenders,
            Some("study") => return study_args::read(parser),
            Some("pin") => return read_pin(parser),
            _ => return Err(format!("unknown scenario {}", name.display()).into()),
        },
        Some(Short('h') | Long("help")) | None => return Ok(Invocation::Help),
        Some(other) => return Err(other.unexpected()),
    };
    let mut args = Args::of(command);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("host") => args.target.set_ip(parser.value()?.parse::<IpAddr>()?),
            Long("port") => args.target.set_port(parser.value()?.parse()?),
            Long("pid") => args.pid = parser.value()?.parse()?,
            Long("dialect") => args.dialect = parser.value()?.parse()?,
            Long("tls-ca") => args.tls_ca = Some(parser.value()?.into()),
            Long("compression") => args.compression = true,
            Long("core") => args.core = Some(parser.value()?.parse()?),
            Long("server-cores") => args.server_cores = parser.value()?.parse()?,
            Long("connections") => args.connections = at_least_one(&mut parser)?,
            Long("pipeline") => args.pipeline = at_least_one(&mut parser)?,
            Long("size") => args.size = parser.value()?.parse()?,
            Long("path") => args.path = parser.value()?.string()?,
            Long("body") => args.body = body(parser.value()?.string()?)?,
            Long("upstreams") => args.upstreams = parser.value()?.parse()?,
            Long("apart") => args.writes = Writes::Apart,
            Long("upstream-port") => args.upstream_port = parser.value()?.parse()?,
            Long("upstream-pid") => args.upstream_pid = Some(parser.value()?.parse()?),
            Long("rate") => args.rate = Some(parser.value()?.parse()?),
            Long("windows") => args.windows = at_least_one(&mut parser)?,
            Long("window-ms") => args.length = Duration::from_millis(parser.value()?.parse()?),
            Long("warmup-ms") => args.warm_up = Duration::from_millis(parser.value()?.parse()?),
            Long("count") => args.count = at_least_one(&mut parser)?,
            Long("stalled") => args.stalled = at_least_one(&mut parser)?,
            Long("settle-ms") => args.settle = Duration::from_millis(parser.value()?.parse()?),
            Long("deadline-s") => args.deadline = parser.value()?.parse()?,
            Long("json") => args.json = true,
            Long("step") => args.step = true,
            Long("tolerant") => args.tolerant = true,
            other => return Err(other.unexpected()),
        }
    }
    Ok(Invocation::Load(args))
}

/// A text, or the content of the file named after `@`.
fn body(text: String) -> Result<Vec<u8>, lexopt::Error> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.into_bytes());
    };
    fs::read(path).map_err(|error| format!("--body {text}: {error}").into())
}

fn read_pin(mut parser: lexopt::Parser) -> Result<Invocation, lexopt::Error> {
    let mut cores = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("core") => cores = list(&parser.value()?.string()?)?,
            Value(first) => {
                let mut program = vec![first];
                program.extend(parser.raw_args()?);
                return Ok(Invocation::Pin { cores, program });
            }
            other => return Err(other.unexpected()),
        }
    }
    Err("pin needs a program".into())
}

/// Numbers separated by commas.
fn list(text: &str) -> Result<Vec<usize>, lexopt::Error> {
    let numbers = text.split(',').map(str::parse::<usize>);
    let bad = |_| lexopt::Error::from(format!("--core must be numbers, not {text}"));
    numbers.collect::<Result<_, _>>().map_err(bad)
}

fn at_least_one(parser: &mut lexopt::Parser) -> Result<usize, lexopt::Error> {
    let value = parser.value()?.parse()?;
    if value == 0 {
        return Err("the value must be at least 1".into());
    }
    Ok(value)
}

fn usage<T>(message: &str) -> Result<T, Failure> {
    Err(Failure::Usage(message.to_owned()))
}
