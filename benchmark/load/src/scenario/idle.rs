//! Idle connections: opens as many as requested, lets them idle, and compares the server's resident
//! memory with its memory before. Then each of them must still answer.

use std::time::Duration;

use crate::failure::Failure;
use crate::io::{Connect, Ending, Handler, Io};
use crate::process::Tree;
use crate::report::{Report, float, rest};
use crate::scenario::{open_all, until};
use crate::stamp;
use crate::window::Deadline;

/// The scenario's state.
#[derive(Debug, Default)]
struct Idle {
    answers: usize,
    ended: usize,
}

impl Handler for Idle {
    fn message(&mut self, _io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        if stamp::read(payload) != Some((id, 0)) {
            return Err(Failure::Violation(format!(
                "connection {id} got a foreign echo"
            )));
        }
        self.answers += 1;
        Ok(())
    }

    fn closed(&mut self, _io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        if ending == Ending::Closed(NORMAL) {
            self.ended += 1;
            return Ok(());
        }
        Err(Failure::Violation(format!(
            "idle connection {id} was lost: {ending:?}"
        )))
    }
}

/// Runs the scenario.
pub fn run(
    io: &mut Io,
    server: &mut Tree,
    connections: usize,
    settle: Duration,
    deadline: &Deadline,
) -> Result<Report, Failure> {
    let mut idle = Idle::default();
    let start = server.resident_exactly();
    round(io, &mut idle, connections.min(WARM_UP), deadline)?;
    rest(io, &mut idle, settle)?;
    server.refresh();
    let base = server.resident_exactly();
    let before = server.usage();
    open_all(io, &mut idle, 0..connections, Connect::default(), deadline)?;
    let opening = server.usage().since(before).cpu;
    rest(io, &mut idle, settle)?;
    let full = server.resident_exactly();
    ask_all(io, &mut idle, connections, deadline)?;
    rest(io, &mut idle, settle)?;
    let answered = server.resident_exactly();
    close_all(io, &mut idle, connections, deadline)?;
    rest(io, &mut idle, settle)?;
    let closed = server.resident_exactly();

    let count = float(u64::try_from(connections).unwrap_or(0)).max(1.0);
    let each = |now: u64| (float(now) - float(base)) / 1024.0 / count;
    Ok(Report::new("idle")
        .integer("connections", connections)
        .number("base_mib", float(base) / MIB)
        .number("kib_per_connection", each(full))
        .number("kib_per_connection_after_a_message", each(answered))
        .number("start_mib", float(start) / MIB)
        .number("mib_after_closing", float(closed) / MIB)
        .number("cpu_us_per_handshake", opening.as_secs_f64() * 1e6 / count))
}

/// Opens a few connections, sends many messages and closes, so that the base includes what the first
/// connections allocate, and what any number of messages does: a runtime's heap for short-lived
/// objects grows with the first messages, however few connections send them.
fn round(
    io: &mut Io,
    idle: &mut Idle,
    connections: usize,
    deadline: &Deadline,
) -> Result<(), Failure> {
    open_all(io, idle, 0..connections, Connect::default(), deadline)?;
    for _ in 0..WARM_UP_MESSAGES {
        ask_all(io, idle, connections, deadline)?;
    }
    close_all(io, idle, connections, deadline)
}

fn ask_all(
    io: &mut Io,
    idle: &mut Idle,
    connections: usize,
    deadline: &Deadline,
) -> Result<(), Failure> {
    idle.answers = 0;
    for id in 0..connections {
        io.say(id, &stamp::payload(b'e', id, 64))?;
    }
    let all = |idle: &Idle| idle.answers == connections;
    until(
        io,
        idle,
        deadline,
        "waiting for every connection's echo",
        all,
    )
}

fn close_all(
    io: &mut Io,
    idle: &mut Idle,
    connections: usize,
    deadline: &Deadline,
) -> Result<(), Failure> {
    idle.ended = 0;
    for id in 0..connections {
        io.close(id, NORMAL)?;
    }
    let all = |idle: &Idle| idle.ended == connections;
    until(io, idle, deadline, "closing every connection", all)
}

const NORMAL: u16 = 1000;
const WARM_UP: usize = 200;
/// Messages of each of these.
const WARM_UP_MESSAGES: usize = 200;
const MIB: f64 = 1024.0 * 1024.0;
