//! Connection churn: connects, performs the handshake, closes with 1000 and waits for the echo and
//! the end, repeatedly. Memory and descriptors of the server before and after show leaks.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::io::{Ending, Handler, Io};
use crate::process::Tree;
use crate::report::{Report, float, rest};
use crate::scenario::{from_source, until};
use crate::window::{Deadline, Meter};

/// The scenario's state.
#[derive(Debug)]
struct Churn {
    /// Cycles still to begin.
    left: usize,
    done: usize,
    /// When each slot's connection was begun.
    begun: Vec<u64>,
    meter: Meter,
}

impl Churn {
    fn begin(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.left -= 1;
        self.begun[id] = io.refresh();
        // ended connections hold their ports for a minute, so several addresses are used in turn
        let how = from_source(io.target(), self.left % SOURCES);
        io.open(id, how)
    }

    /// Runs this many cycles.
    fn cycles(&mut self, io: &mut Io, count: usize, deadline: &Deadline) -> Result<(), Failure> {
        self.left = count;
        self.done = 0;
        for id in 0..self.begun.len().min(count) {
            self.begin(io, id)?;
        }
        let all = |churn: &Self| churn.done == count;
        until(io, self, deadline, "connecting and closing", all)
    }
}

impl Handler for Churn {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.meter.record(io.now().saturating_sub(self.begun[id]));
        io.close(id, NORMAL)
    }

    fn message(&mut self, _io: &mut Io, id: usize, _payload: &[u8]) -> Result<(), Failure> {
        let what = format!("connection {id} got a message nobody sent");
        Err(Failure::Violation(what))
    }

    fn closed(&mut self, io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        if ending != Ending::Closed(NORMAL) {
            let what = format!("a close with 1000 was answered by {ending:?}");
            return Err(Failure::Violation(what));
        }
        self.done += 1;
        if self.left > 0 {
            self.begin(io, id)?;
        }
        Ok(())
    }
}

/// Runs the scenario: `slots` connections at a time, a tenth of the cycles first as warm-up.
pub fn run(
    io: &mut Io,
    server: &mut Tree,
    cycles: usize,
    slots: usize,
    settle: Duration,
    deadline: &Deadline,
) -> Result<Report, Failure> {
    let mut churn = Churn {
        left: 0,
        done: 0,
        begun: vec![0; slots],
        meter: Meter::default(),
    };
    churn.cycles(io, (cycles / 10).max(slots), deadline)?;
    rest(io, &mut churn, settle)?;
    server.refresh();
    churn.meter.clear();
    let own = Tree::of(std::process::id())?;
    let (resident, descriptors) = (server.resident_exactly(), server.descriptors());
    let (before, own_before, begun) = (server.usage(), own.usage(), Instant::now());
    churn.cycles(io, cycles, deadline)?;
    let wall = begun.elapsed().as_secs_f64();
    let used = server.usage().since(before).cpu.as_secs_f64();
    let own_used = own.usage().since(own_before).cpu.as_secs_f64();
    rest(io, &mut churn, settle)?;
    let (resident_after, descriptors_after) = (server.resident_exactly(), server.descriptors());

    let count = float(u64::try_from(cycles).unwrap_or(0)).max(1.0);
    let growth = (float(resident_after) / float(resident) - 1.0) * 100.0;
    Ok(Report::new("churn")
        .integer("cycles", cycles)
        .number("cpu_us_per_cycle", used * 1e6 / count)
        .number("cycles_per_second", count / wall)
        .number("server_share", used / wall)
        .number("generator_share", own_used / wall)
        .number("p50_us", churn.meter.latency(0.5))
        .number("p99_us", churn.meter.latency(0.99))
        .number("max_us", churn.meter.latency(1.0))
        .number("mib_before", float(resident) / MIB)
        .number("mib_after", float(resident_after) / MIB)
        .number("growth_percent", growth)
        .integer("descriptors_before", descriptors)
        .integer("descriptors_after", descriptors_after))
}

const NORMAL: u16 = 1000;
const SOURCES: usize = 16;
const MIB: f64 = 1024.0 * 1024.0;
