//! The SHA-256 study: connections are opened at a bounded rate, then all send numbered requests and
//! verify the replies. Unlike in other scenarios, a violation does not end the run: every planned
//! request is counted as a success or by its class of failure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::frame::{TEXT, put_masked};
use crate::io::{Ending, Handler, Io};
use crate::process::{Tree, Usage};
use crate::scenario::from_source;
use crate::scenario::stalling::Watch;
use crate::scenario::study_lane::{Judge, Lane, Tally};
use crate::scenario::study_request::Requests;
use crate::scenario::study_times::Times;
use crate::stamp;
use crate::window::Deadline;

/// What a run of the study does.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Connections that send.
    pub connections: usize,
    /// Requests over all connections.
    pub total: usize,
    /// Bytes of a request.
    pub size: usize,
    /// The most outstanding requests per connection; `None` sends all at once, without waiting.
    pub depth: Option<usize>,
    /// The time after which a request without its reply has failed.
    pub timeout: Duration,
    /// The time after which nothing more is sent: the remaining requests count as never sent.
    pub limit: Duration,
    /// The time at which the run is aborted.
    pub deadline: Deadline,
}

/// The state of a run: also the handler of its connections, ids 0 to `connections - 1`.
#[derive(Debug)]
pub struct Study {
    plan: Plan,
    lanes: Vec<Lane>,
    judge: Judge,
    endings: BTreeMap<String, u64>,
    /// Handshakes begun and not yet over, and when each was begun.
    connecting: usize,
    begun: Vec<u64>,
    connects: Times,
    responses: Times,
    first_send: u64,
    last_reply: u64,
    next_look: u64,
    closing: bool,
    batch: Vec<u8>,
}

/// The results of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The results of the requests.
    pub tally: Tally,
    /// How connections ended before the generator closed them, with the number of each kind.
    pub endings: BTreeMap<String, u64>,
    /// Connect times.
    pub connects: Times,
    /// Response times of the successes.
    pub responses: Times,
    /// From the first send to the last reply, in seconds.
    pub seconds: f64,
    /// The resources that the server's process tree used from the first send to the last result.
    pub server: Usage,
    /// The CPU time of the generator in the same span, and the length of the span in seconds.
    pub own: (Duration, f64),
    /// The resident bytes of the server's process tree before the connections, the maximum, and after
    /// them.
    pub resident: [u64; 3],
}

impl Study {
    /// Nothing is opened yet.
    pub fn new(plan: Plan) -> Self {
        let share = |id: usize| {
            let extra = usize::from(id < plan.total % plan.connections);
            u32::try_from(plan.total / plan.connections + extra).unwrap_or(u32::MAX)
        };
        let lane = |id| Lane::new(id, share(id));
        Self {
            plan,
            lanes: (0..plan.connections).map(lane).collect(),
            judge: Judge::new(Requests::new(plan.size), nanoseconds(plan.timeout)),
            endings: BTreeMap::new(),
            connecting: 0,
            begun: vec![0; plan.connections],
            connects: Times::default(),
            responses: Times::default(),
            first_send: 0,
            last_reply: 0,
            next_look: 0,
            closing: false,
            batch: Vec::new(),
        }
    }

    /// The results of the requests so far.
    pub fn tally(&self) -> &Tally {
        self.judge.tally()
    }

    /// Every planned request has succeeded or failed.
    pub fn settled(&self) -> bool {
        self.tally().settled() == self.total()
    }

    /// Every request of a connection succeeded.
    pub(crate) fn complete(&self, id: usize) -> bool {
        self.lanes[id].complete()
    }

    pub(crate) fn total(&self) -> u64 {
        u64::try_from(self.plan.total).unwrap_or(u64::MAX)
    }

    fn begin(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.begun[id] = io.refresh();
        self.connecting += 1;
        match io.open(id, from_source(io.target(), id % SOURCES)) {
            Ok(()) => Ok(()),
            Err(failure) => self.refused(io, id, failure),
        }
    }

    /// Sends what the connection may send now, in one write.
    fn send(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        let depth = self.plan.depth.unwrap_or(usize::MAX);
        let now = io.refresh();
        self.batch.clear();
        while let Some(number) = self.lanes[id].take(depth, now) {
            let request = self.judge.request(id, number);
            put_masked(TEXT, request, stamp::mask(id), &mut self.batch);
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        io.send(id, &self.batch)
    }

    /// Checks for timeouts a few times per second, and sends further requests in their place.
    pub(crate) fn look(&mut self, io: &mut Io) -> Result<(), Failure> {
        let now = io.refresh();
        if now < self.next_look {
            return Ok(());
        }
        self.next_look = now + nanoseconds(LOOK);
        let over = now - self.first_send > nanoseconds(self.plan.limit);
        for id in 0..self.lanes.len() {
            let expired = self.lanes[id].expire(now, &mut self.judge);
            if over {
                self.lanes[id].stop(&mut self.judge);
            } else if expired {
                self.send(io, id)?;
            }
        }
        self.plan.deadline.check("waiting for replies")
    }
}

impl Handler for Study {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.connecting -= 1;
        self.connects
            .record(io.now().saturating_sub(self.begun[id]));
        Ok(())
    }

    fn refused(&mut self, _io: &mut Io, id: usize, failure: Failure) -> Result<(), Failure> {
        self.connecting -= 1;
        self.lanes[id].refused(&mut self.judge);
        *self.endings.entry(failure.to_string()).or_default() += 1;
        Ok(())
    }

    #[inline]
    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        let now = io.now();
        let took = self.lanes[id].reply(payload, now, &mut self.judge);
        if let Some(took) = took {
            self.responses.record(took);
            self.last_reply = now;
        }
        Ok(())
    }

    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if self.first_send > 0 {
            self.send(io, id)?;
        }
        Ok(())
    }

    fn closed(&mut self, _io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        self.lanes[id].lost(&mut self.judge);
        if !self.closing {
            let how = match ending {
                Ending::Closed(code) => format!("closed with {code}"),
                Ending::Cut => "cut".to_owned(),
            };
            *self.endings.entry(how).or_default() += 1;
        }
        Ok(())
    }
}

/// A handler that contains the study's handler: the failure scenario has additional connections.
pub(crate) trait Around: Handler {
    fn study(&mut self) -> &mut Study;
}

impl Around for Study {
    fn study(&mut self) -> &mut Study {
        self
    }
}

/// Opens the connections: at most [`BATCH`] every [`BATCH_EVERY`].
pub(crate) fn open<H: Around>(io: &mut Io, around: &mut H) -> Result<(), Failure> {
    let begun = Instant::now();
    let (count, deadline) = (
        around.study().plan.connections,
        around.study().plan.deadline,
    );
    let mut next = 0;
    let mut batches = 0;
    while next < count || around.study().connecting > 0 {
        let due = BATCH_EVERY * batches;
        if next < count && begun.elapsed() >= due {
            for id in next..count.min(next + BATCH) {
                around.study().begin(io, id)?;
            }
            next = count.min(next + BATCH);
            batches += 1;
        }
        io.turn(around, Duration::from_millis(1))?;
        if begun.elapsed() > due + HANDSHAKE {
            give_up_connecting(io, around.study())?;
        }
        deadline.check("opening connections")?;
    }
    Ok(())
}

/// Drops connections whose handshake is incomplete by now, and counts them as failed.
fn give_up_connecting(io: &mut Io, study: &mut Study) -> Result<(), Failure> {
    for id in 0..study.plan.connections {
        if io.connecting(id) {
            io.drop_connection(id);
            let slow = Failure::Deadline {
                seconds: HANDSHAKE.as_secs(),
                doing: "opening a connection",
            };
            study.refused(io, id, slow)?;
        }
    }
    Ok(())
}

/// Sends, waits until every request's result is known, and returns the results. `extra` is called
/// between events and returns whether it has finished, too.
pub(crate) fn measure<H: Around>(
    io: &mut Io,
    around: &mut H,
    server: &mut Tree,
    resident_at_start: u64,
    mut extra: impl FnMut(&mut Io, &mut H) -> Result<bool, Failure>,
) -> Result<Outcome, Failure> {
    let own = Tree::of(std::process::id())?;
    let mut watch = Watch::new(server);
    let (server_before, own_before) = (server.usage(), own.usage().cpu);
    let begun = Instant::now();
    let study = around.study();
    study.first_send = io.refresh().max(1);
    study.last_reply = study.first_send;
    for id in 0..study.plan.connections {
        study.send(io, id)?;
    }
    let mut used = None;
    loop {
        let finished = extra(io, around)?;
        let study = around.study();
        study.look(io)?;
        if study.settled() && used.is_none() {
            let own_used = own.usage().cpu.saturating_sub(own_before);
            let server_used = server.usage().since(server_before);
            used = Some((server_used, (own_used, begun.elapsed().as_secs_f64())));
        }
        if let Some((server, own)) = used.filter(|_| finished) {
            let study = around.study();
            let span = Duration::from_nanos(study.last_reply - study.first_send);
            return Ok(Outcome {
                tally: *study.tally(),
                endings: study.endings.clone(),
                connects: study.connects.clone(),
                responses: study.responses.clone(),
                seconds: span.as_secs_f64(),
                server,
                own,
                resident: [resident_at_start, watch.peak(), 0],
            });
        }
        io.turn(around, LOOK / 2)?;
        watch.look(server);
    }
}

/// Closes every connection with 1000 and waits, for a bounded time, until the server has ended them.
pub(crate) fn close<H: Around>(io: &mut Io, around: &mut H) -> Result<(), Failure> {
    around.study().closing = true;
    let connections = around.study().plan.connections;
    for id in 0..connections {
        io.close(id, NORMAL)?;
    }
    let begun = Instant::now();
    while io.open_connections() > 0 && begun.elapsed() < GOODBYE {
        io.turn(around, Duration::from_millis(20))?;
    }
    (0..connections).for_each(|id| io.drop_connection(id));
    Ok(())
}

/// One whole run. `connected` is called when the connections are open, before anything is sent.
pub fn run(
    io: &mut Io,
    server: &mut Tree,
    plan: Plan,
    connected: impl FnOnce(&mut Io, &mut Study) -> Result<(), Failure>,
) -> Result<Outcome, Failure> {
    server.refresh();
    let resident = server.resident();
    let mut study = Study::new(plan);
    open(io, &mut study)?;
    connected(io, &mut study)?;
    let mut outcome = measure(io, &mut study, server, resident, |_, _| Ok(true))?;
    close(io, &mut study)?;
    outcome.resident[2] = server.resident();
    Ok(outcome)
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Connections begun at a time, and the time between two such batches.
const BATCH: usize = 200;
const BATCH_EVERY: Duration = Duration::from_millis(25);
/// Time the last batch has for its handshakes.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time between two checks for timeouts.
const LOOK: Duration = Duration::from_millis(100);
/// Time the server has to end closed connections.
const GOODBYE: Duration = Duration::from_secs(3);
const NORMAL: u16 = 1000;
/// The number of local addresses to connect from, so that the ports do not run out.
pub(crate) const SOURCES: usize = 16;
