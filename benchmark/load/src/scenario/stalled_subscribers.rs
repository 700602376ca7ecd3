//! Subscribers that never read, during a flood of publications: measures the server's memory and
//! the effect on others, and checks whether each stalled one later finds a stream without gaps up
//! to its close.

use std::time::Duration;

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::io::{Connect, Ending, Handler, Io};
use crate::process::Tree;
use crate::report::{Report, rest};
use crate::scenario::echo::Echo;
use crate::scenario::fanout::{Fanout, SUBSCRIBE};
use crate::scenario::stalling::{
    PATIENCE, PROBES, Phase, Stalled, Stalling, Verdicts, Watch, describe, drain, probes,
};
use crate::scenario::{open_all, until};
use crate::stamp;
use crate::window::{Deadline, Windowed};

/// The parameters of the scenario.
#[derive(Debug, Clone, Copy)]
pub struct Flood {
    /// Subscribers that read.
    pub readers: usize,
    /// Subscribers that do not.
    pub stalled: usize,
    /// Bytes of one publication.
    pub size: usize,
    /// Publications in each of the two floods.
    pub publications: u64,
    /// The dialect inside the messages.
    pub dialect: Dialect,
    /// The end of the run.
    pub deadline: Deadline,
}

#[derive(Debug)]
struct Scene {
    probes: Echo,
    flood: Fanout,
    /// The first stalled connection's id.
    first: usize,
    subscribed: usize,
    stalled: Vec<Stalled>,
}

impl Scene {
    /// Publishes this many messages, each to all subscribers, while the probes run.
    fn flood(&mut self, io: &mut Io, server: &Tree, plan: &Flood) -> Result<Phase, Failure> {
        let mut watch = Watch::new(server);
        self.flood.meter().clear();
        self.probes.meter().clear();
        self.probes.start(io)?;
        self.flood.start(io)?;
        while self.flood.meter().incoming < plan.publications {
            self.probes.tick(io)?;
            io.turn(self, Duration::from_millis(1))?;
            watch.look(server);
            plan.deadline.check("flooding")?;
        }
        self.flood.stop();
        self.probes.stop();
        let quiet = |scene: &Self| scene.flood.outstanding() + scene.probes.outstanding() == 0;
        until(
            io,
            self,
            &plan.deadline,
            "waiting for the last deliveries",
            quiet,
        )?;
        watch.look(server);
        Ok(Phase::of(&mut self.probes, watch.peak()))
    }
}

impl Stalling for Scene {
    fn stalled(&self) -> &[Stalled] {
        &self.stalled
    }
}

impl Handler for Scene {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if id < PROBES {
            return Ok(());
        }
        self.flood.opened(io, id)
    }

    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        if id < PROBES {
            return self.probes.message(io, id, payload);
        }
        if id < self.first {
            return self.flood.message(io, id, payload);
        }
        let next = self.flood.next_number();
        let one = &mut self.stalled[id - self.first];
        if payload == SUBSCRIBE {
            (one.next, one.end) = (next, u32::MAX);
            self.subscribed += 1;
            return io.set_reading(id, false);
        }
        one.got(stamp::read(payload).map(|(_, number)| number));
        Ok(())
    }

    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if id < PROBES {
            return self.probes.read_done(io, id);
        }
        self.flood.read_done(io, id)
    }

    fn closed(&mut self, _io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        if let Some(one) = id
            .checked_sub(self.first)
            .and_then(|i| self.stalled.get_mut(i))
        {
            one.ending = Some(ending);
            return Ok(());
        }
        Err(Failure::Violation(format!(
            "connection {id}, which reads, was ended: {ending:?}"
        )))
    }
}

/// Runs the scenario. The second value is the number of stalled connections that found a gap.
pub fn run(io: &mut Io, server: &mut Tree, plan: &Flood) -> Result<(Report, u64), Failure> {
    let first = PROBES + 1 + plan.readers;
    let mut scene = Scene {
        probes: probes(plan.dialect),
        flood: Fanout::new(plan.dialect, PROBES, plan.readers, plan.size, 16),
        first,
        subscribed: 0,
        stalled: vec![Stalled::default(); plan.stalled],
    };
    let how = Connect::default();
    open_all(io, &mut scene, 0..first, how, &plan.deadline)?;
    until(io, &mut scene, &plan.deadline, "subscribing", |scene| {
        scene.flood.all_subscribed()
    })?;
    server.refresh();
    let calm = scene.flood(io, server, plan)?;

    let ids = first..first + plan.stalled;
    open_all(io, &mut scene, ids.clone(), how, &plan.deadline)?;
    until(io, &mut scene, &plan.deadline, "subscribing", |scene| {
        scene.subscribed == plan.stalled
    })?;
    let flooded = scene.flood(io, server, plan)?;

    let end = scene.flood.next_number();
    for one in &mut scene.stalled {
        one.end = end;
    }
    for id in ids {
        io.set_reading(id, true)?;
    }
    drain(io, &mut scene, PATIENCE)?;
    rest(io, &mut scene, Duration::from_secs(1))?;
    let verdicts = Verdicts::of(&scene.stalled);
    let report = Report::new("stalled-subscribers")
        .integer("stalled", plan.stalled)
        .integer("publications", plan.publications)
        .integer("bytes", plan.size);
    let report = describe(report, calm, flooded, server.resident_exactly());
    Ok((verdicts.add_to(report), verdicts.holes))
}
