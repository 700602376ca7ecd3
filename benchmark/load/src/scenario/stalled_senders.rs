//! Clients that send echoes as fast as the server accepts them and never read the answers: measures
//! the server's memory and the effect on others, and checks whether each client later finds every
//! answer.

use std::time::{Duration, Instant};

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::frame::Template;
use crate::io::{Connect, Ending, Handler, Io};
use crate::process::Tree;
use crate::report::{Report, rest};
use crate::scenario::echo::Echo;
use crate::scenario::open_all;
use crate::scenario::stalling::{
    PATIENCE, PROBES, Phase, Stalled, Stalling, Verdicts, Watch, describe, drain, probes,
};
use crate::stamp;
use crate::window::{Deadline, Windowed};

/// The parameters of the scenario.
#[derive(Debug, Clone, Copy)]
pub struct Senders {
    /// Clients that send and never read.
    pub stalled: usize,
    /// Bytes of one message.
    pub size: usize,
    /// The most messages that each of them sends.
    pub messages: u32,
    /// The length of the calm phase, and the limit of the other.
    pub length: Duration,
    /// The dialect inside the messages.
    pub dialect: Dialect,
    /// The end of the run.
    pub deadline: Deadline,
}

#[derive(Debug)]
struct Scene {
    probes: Echo,
    templates: Vec<Template>,
    /// The number of messages that each sender has passed to its socket.
    sent: Vec<u32>,
    most: u32,
    pressing: bool,
    stalled: Vec<Stalled>,
}

impl Scene {
    /// Passes a few more messages to every sender that is not blocked.
    fn press(&mut self, io: &mut Io) -> Result<(), Failure> {
        for index in 0..self.sent.len() {
            let id = PROBES + index;
            let most = self.most.min(self.sent[index].saturating_add(AT_ONCE));
            while self.sent[index] < most && !io.blocked(id) {
                let number = self.sent[index];
                self.sent[index] = number + 1;
                io.send(id, self.templates[index].number(number))?;
            }
        }
        Ok(())
    }

    /// Lets the probes run for a while; the senders, if any, continue to send.
    fn phase(&mut self, io: &mut Io, server: &Tree, plan: &Senders) -> Result<Phase, Failure> {
        let mut watch = Watch::new(server);
        self.probes.meter().clear();
        self.probes.start(io)?;
        let begun = Instant::now();
        while begun.elapsed() < plan.length {
            self.probes.tick(io)?;
            if self.pressing {
                self.press(io)?;
            }
            io.turn(self, Duration::from_millis(1))?;
            watch.look(server);
            plan.deadline.check("sending without reading")?;
        }
        self.probes.stop();
        while self.probes.outstanding() > 0 {
            io.turn(self, Duration::from_millis(10))?;
            watch.look(server);
            plan.deadline.check("waiting for the last probes")?;
        }
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
        if id >= PROBES {
            io.set_reading(id, false)?;
        }
        Ok(())
    }

    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        if id < PROBES {
            return self.probes.message(io, id, payload);
        }
        let number = stamp::read(payload).filter(|(sender, _)| *sender == id);
        self.stalled[id - PROBES].got(number.map(|(_, number)| number));
        Ok(())
    }

    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if id < PROBES {
            return self.probes.read_done(io, id);
        }
        Ok(())
    }

    fn closed(&mut self, _io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        if let Some(one) = id.checked_sub(PROBES).and_then(|i| self.stalled.get_mut(i)) {
            one.ending = Some(ending);
            return Ok(());
        }
        Err(Failure::Violation(format!(
            "connection {id}, which reads, was ended: {ending:?}"
        )))
    }
}

/// Runs the scenario. The second value is the number of senders that found a gap.
pub fn run(io: &mut Io, server: &mut Tree, plan: &Senders) -> Result<(Report, u64), Failure> {
    let ids = PROBES..PROBES + plan.stalled;
    let template = |id| stamp::template(plan.dialect, b'e', id, plan.size);
    let mut scene = Scene {
        probes: probes(plan.dialect),
        templates: ids.clone().map(template).collect(),
        sent: vec![0; plan.stalled],
        most: plan.messages,
        pressing: false,
        stalled: vec![Stalled::default(); plan.stalled],
    };
    let how = Connect::default();
    open_all(io, &mut scene, 0..PROBES, how, &plan.deadline)?;
    server.refresh();
    let calm = scene.phase(io, server, plan)?;

    open_all(io, &mut scene, ids.clone(), how, &plan.deadline)?;
    scene.pressing = true;
    let stalled = scene.phase(io, server, plan)?;

    for (one, sent) in scene.stalled.iter_mut().zip(&scene.sent) {
        one.end = *sent;
    }
    for id in ids {
        io.set_reading(id, true)?;
    }
    drain(io, &mut scene, PATIENCE)?;
    rest(io, &mut scene, Duration::from_secs(1))?;
    let verdicts = Verdicts::of(&scene.stalled);
    let sent: u64 = scene.sent.iter().copied().map(u64::from).sum();
    let report = Report::new("stalled-senders")
        .integer("stalled", plan.stalled)
        .integer("sent", sent)
        .integer("bytes", plan.size);
    let report = describe(report, calm, stalled, server.resident_exactly());
    Ok((verdicts.add_to(report), verdicts.holes))
}

/// The messages that a sender gets per turn of the loop, so that the probes are served in between.
const AT_ONCE: u32 = 16;
