//! The study while a worker fails: half-way through, one worker is told to exit or to hang. Reports
//! which requests failed and on which connections, and how soon new connections are served again,
//! in particular by a replacement. The server must answer `!who` with `{"worker":"<id>"}` and
//! implement `!exit` and `!hang`.

use std::time::Duration;

use crate::failure::Failure;
use crate::frame::{TEXT, put_masked};
use crate::io::{Ending, Handler, Io};
use crate::process::Tree;
use crate::report::{Report, float};
use crate::scenario::study::{self, Around, Outcome, Plan, SOURCES, Study, nanoseconds};
use crate::scenario::{from_source, until};
use crate::stamp;

/// How the worker fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It ends.
    Exit,
    /// It runs an endless loop.
    Hang,
}

impl Fault {
    fn command(self) -> &'static [u8] {
        match self {
            Self::Exit => b"!exit",
            Self::Hang => b"!hang",
        }
    }
}

/// The results in addition to those of the requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aftermath {
    /// Connections of the worker that failed, and those among them with a failed request.
    pub victims: [u64; 2],
    /// The same for all other workers.
    pub others: [u64; 2],
    /// Time until the first new connection was answered.
    pub served: Option<u64>,
    /// The time until a worker answered that did not exist before.
    pub replaced: Option<u64>,
    /// The longest time from connecting to the answer of a new connection.
    pub longest: u64,
    /// The numbers of new connections: tried, refused or closed, and still without an answer.
    pub probes: [u64; 3],
}

impl Aftermath {
    /// Adds the findings.
    pub fn add_to(&self, report: Report) -> Report {
        let milliseconds = |time: u64| float(time) / 1e6;
        let or_never = |time: Option<u64>| time.map_or(f64::NAN, milliseconds);
        report
            .integer("victim_connections", self.victims[0])
            .integer("victim_connections_failed", self.victims[1])
            .integer("other_connections", self.others[0])
            .integer("other_connections_failed", self.others[1])
            .number("served_ms", or_never(self.served))
            .number("replaced_ms", or_never(self.replaced))
            .number("longest_wait_ms", milliseconds(self.longest))
            .integer("probes", self.probes[0])
            .integer("probes_closed", self.probes[1])
            .integer("probes_unanswered", self.probes[2])
    }
}

/// Ids from `connections` on: first the connection that causes the fault, then the probes.
#[derive(Debug)]
struct Sabotage {
    study: Study,
    connections: usize,
    /// The worker of each connection, as an index into `names`; the last one is that of the
    /// connection that causes the fault.
    workers: Vec<Option<usize>>,
    names: Vec<String>,
    asking: bool,
    unanswered: usize,
    saboteur_open: bool,
    tripped: Option<u64>,
    /// When each probe was begun; `None` when it was answered or closed.
    probes: Vec<Option<u64>>,
    probes_closed: usize,
    aftermath: Aftermath,
}

impl Sabotage {
    /// The index of a worker by its answer to `!who`.
    fn worker(&mut self, payload: &[u8]) -> Result<usize, Failure> {
        let text = std::str::from_utf8(payload).unwrap_or_default();
        let name = text.strip_prefix(r#"{"worker":""#);
        let Some(name) = name.and_then(|rest| rest.strip_suffix(r#""}"#)) else {
            let what = format!("the question for the worker was answered by {text:?}");
            return Err(Failure::Violation(what));
        };
        let known = self.names.iter().position(|other| other == name);
        Ok(known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }

    /// When a probe was begun whose result is now known.
    fn take_probe(&mut self, id: usize) -> Option<u64> {
        let probe = self.probes.get_mut(id.checked_sub(self.connections + 1)?)?;
        probe.take()
    }

    fn probe_answered(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        let known = self.names.len();
        let is_new = self.worker(payload)? >= known;
        let (now, tripped) = (io.now(), self.tripped.unwrap_or(0));
        if let Some(begun) = self.take_probe(id) {
            let aftermath = &mut self.aftermath;
            aftermath.longest = aftermath.longest.max(now - begun);
            aftermath.served.get_or_insert(now - tripped);
            if is_new {
                aftermath.replaced.get_or_insert(now - tripped);
            }
        }
        io.drop_connection(id);
        Ok(())
    }

    /// Causes the fault half-way through, then makes one probe after the other. Returns whether it
    /// is done.
    fn between(&mut self, io: &mut Io, fault: Fault) -> Result<bool, Failure> {
        let now = io.refresh();
        let Some(tripped) = self.tripped else {
            if self.study.tally().success >= self.study.total() / 2 {
                io.send(self.connections, &masked(self.connections, fault.command()))?;
                self.tripped = Some(now);
            }
            return Ok(false);
        };
        let since = now - tripped;
        if self.aftermath.replaced.is_some() || since > nanoseconds(PROBING) {
            return Ok(true);
        }
        let begun = u64::try_from(self.probes.len()).unwrap_or(u64::MAX);
        if since >= begun * nanoseconds(PROBE_EVERY) {
            self.probes.push(Some(now));
            let id = self.connections + self.probes.len();
            let how = from_source(io.target(), id % SOURCES);
            io.open(id, how)?;
        }
        Ok(false)
    }

    fn finish(mut self) -> Aftermath {
        let victim = self.workers.last().copied().flatten();
        for (id, worker) in self.workers[..self.connections].iter().enumerate() {
            let group = if *worker == victim {
                &mut self.aftermath.victims
            } else {
                &mut self.aftermath.others
            };
            group[0] += 1;
            group[1] += u64::from(!self.study.complete(id));
        }
        let unanswered = self.probes.iter().flatten().count();
        let probes = [self.probes.len(), self.probes_closed, unanswered];
        self.aftermath.probes = probes.map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        self.aftermath
    }
}

impl Handler for Sabotage {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if id < self.connections {
            return self.study.opened(io, id);
        }
        if id == self.connections {
            self.saboteur_open = true;
            return Ok(());
        }
        io.send(id, &masked(id, WHO))
    }

    fn refused(&mut self, io: &mut Io, id: usize, failure: Failure) -> Result<(), Failure> {
        if id < self.connections {
            return self.study.refused(io, id, failure);
        }
        if id == self.connections {
            return Err(failure);
        }
        self.probes_closed += usize::from(self.take_probe(id).is_some());
        Ok(())
    }

    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        if id > self.connections {
            return self.probe_answered(io, id, payload);
        }
        if self.asking {
            self.workers[id] = Some(self.worker(payload)?);
            self.unanswered -= 1;
            return Ok(());
        }
        self.study.message(io, id, payload)
    }

    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if id < self.connections {
            return self.study.read_done(io, id);
        }
        Ok(())
    }

    fn closed(&mut self, io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        if id < self.connections {
            return self.study.closed(io, id, ending);
        }
        self.probes_closed += usize::from(self.take_probe(id).is_some());
        Ok(())
    }
}

impl Around for Sabotage {
    fn study(&mut self) -> &mut Study {
        &mut self.study
    }
}

/// One run of the study with a fault in the middle of it.
pub fn run(
    io: &mut Io,
    server: &mut Tree,
    plan: Plan,
    fault: Fault,
) -> Result<(Outcome, Aftermath), Failure> {
    let connections = plan.connections;
    server.refresh();
    let resident = server.resident();
    let mut sabotage = Sabotage {
        study: Study::new(plan),
        connections,
        workers: vec![None; connections + 1],
        names: Vec::new(),
        asking: true,
        unanswered: connections + 1,
        saboteur_open: false,
        tripped: None,
        probes: Vec::new(),
        probes_closed: 0,
        aftermath: Aftermath::default(),
    };
    study::open(io, &mut sabotage)?;
    io.open(connections, from_source(io.target(), connections % SOURCES))?;
    let deadline = plan.deadline;
    until(io, &mut sabotage, &deadline, "connecting", |s| {
        s.saboteur_open
    })?;
    for id in 0..=connections {
        io.send(id, &masked(id, WHO))?;
    }
    let all = |sabotage: &Sabotage| sabotage.unanswered == 0;
    until(io, &mut sabotage, &deadline, "asking for workers", all)?;
    sabotage.asking = false;
    let between = |io: &mut Io, sabotage: &mut Sabotage| sabotage.between(io, fault);
    let mut outcome = study::measure(io, &mut sabotage, server, resident, between)?;
    study::close(io, &mut sabotage)?;
    for id in connections..=connections + sabotage.probes.len() {
        io.drop_connection(id);
    }
    server.refresh();
    outcome.resident[2] = server.resident();
    Ok((outcome, sabotage.finish()))
}

fn masked(id: usize, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put_masked(TEXT, payload, stamp::mask(id), &mut frame);
    frame
}

const WHO: &[u8] = b"!who";
/// Time between two new connections.
const PROBE_EVERY: Duration = Duration::from_millis(20);
/// The time within which a replacement must answer.
const PROBING: Duration = Duration::from_secs(8);
