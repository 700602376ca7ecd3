//! Fan-out with some slow readers among the subscribers: each of them reads only a quarter of the
//! publications while a window runs, through a small receive buffer, like a client on a slow line. The
//! other subscribers pace the publications. After each window the slow ones read the rest: every
//! stream must have no gap up to its end, or up to the close that the server decided on.

use std::time::{Duration, Instant};

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::io::{Connect, Ending, Handler, Io};
use crate::report::Report;
use crate::scenario::fanout::{Fanout, SUBSCRIBE};
use crate::scenario::stalling::{Stalled, Stalling, Verdicts, drain};
use crate::scenario::{open_all, until};
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state.
#[derive(Debug)]
pub struct FanoutSlow {
    fast: Fanout,
    /// The first slow reader's id.
    first: usize,
    slow: Vec<Stalled>,
    /// The number that each slow reader expected when the window began.
    from: Vec<u32>,
    paused: Vec<bool>,
    subscribed: usize,
    /// Whether all slow readers read without limits.
    catching_up: bool,
    /// The next time at which paused readers are checked.
    next_look: u64,
    tolerant: bool,
    verdicts: Verdicts,
}

impl FanoutSlow {
    /// `fast` subscribers that pace the publications, `slow` ones that do not.
    pub fn new(dialect: Dialect, fast: usize, slow: usize, size: usize, in_flight: usize) -> Self {
        Self {
            fast: Fanout::new(dialect, 0, fast, size, in_flight),
            first: fast + 1,
            slow: vec![Stalled::default(); slow],
            from: vec![0; slow],
            paused: vec![false; slow],
            subscribed: 0,
            catching_up: true,
            next_look: 0,
            tolerant: false,
            verdicts: Verdicts::default(),
        }
    }

    /// Gaps in the slow readers' streams are reported instead of failing the run.
    #[must_use]
    pub fn tolerant(mut self, tolerant: bool) -> Self {
        self.tolerant = tolerant;
        self
    }

    /// Opens all connections and subscribes them.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        self.fast.open(io, deadline)?;
        let slow = self.first..self.first + self.slow.len();
        open_all(io, self, slow, SLOW, deadline)?;
        until(io, self, deadline, "subscribing", Self::all_subscribed)
    }

    fn all_subscribed(&self) -> bool {
        self.subscribed == self.slow.len()
    }

    /// Whether a slow reader has read its share of this window's publications.
    fn sated(&self, index: usize) -> bool {
        let from = self.from[index];
        let published = self.fast.next_number().saturating_sub(from);
        !self.catching_up && self.slow[index].next.saturating_sub(from) > published / SHARE
    }

    /// Reopens connections that the server has closed.
    fn reopen(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        for index in 0..self.slow.len() {
            if self.slow[index].ending.is_some() {
                self.subscribed -= 1;
                io.open(self.first + index, SLOW)?;
            }
        }
        until(
            io,
            self,
            deadline,
            "subscribing again",
            Self::all_subscribed,
        )
    }
}

impl Stalling for FanoutSlow {
    fn stalled(&self) -> &[Stalled] {
        &self.slow
    }
}

impl Handler for FanoutSlow {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.fast.opened(io, id)
    }

    #[inline]
    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        let Some(index) = id.checked_sub(self.first) else {
            return self.fast.message(io, id, payload);
        };
        let next = self.fast.next_number();
        let one = &mut self.slow[index];
        if payload == SUBSCRIBE {
            *one = Stalled {
                next,
                end: u32::MAX,
                ..Stalled::default()
            };
            self.subscribed += 1;
            return Ok(());
        }
        one.got(self.fast.number_of(payload));
        if self.sated(index) && !self.paused[index] {
            self.paused[index] = true;
            io.set_reading(id, false)?;
        }
        Ok(())
    }

    #[inline]
    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.fast.read_done(io, id)
    }

    fn closed(&mut self, _io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        let Some(index) = id.checked_sub(self.first) else {
            let what = format!("connection {id}, which reads, was ended: {ending:?}");
            return Err(Failure::Violation(what));
        };
        self.slow[index].ending = Some(ending);
        self.paused[index] = false;
        Ok(())
    }
}

impl Windowed for FanoutSlow {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        for (index, one) in self.slow.iter_mut().enumerate() {
            one.end = u32::MAX;
            self.from[index] = one.next;
        }
        self.catching_up = false;
        self.next_look = 0;
        self.fast.start(io)
    }

    fn stop(&mut self) {
        self.fast.stop();
    }

    fn outstanding(&self) -> u64 {
        self.fast.outstanding()
    }

    fn finish(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        self.catching_up = true;
        let end = self.fast.next_number();
        for index in 0..self.slow.len() {
            self.slow[index].end = end;
            if std::mem::take(&mut self.paused[index]) {
                io.set_reading(self.first + index, true)?;
            }
        }
        drain(io, self, PATIENCE)?;
        // a close frame may follow the last message, and the end of the stream a close frame
        let quiet = Instant::now() + QUIET;
        while Instant::now() < quiet {
            io.turn(self, Duration::from_millis(5))?;
        }
        self.verdicts = Verdicts::of(&self.slow);
        if self.verdicts.holes > 0 && !self.tolerant {
            let what = format!("{} slow readers found a hole", self.verdicts.holes);
            return Err(Failure::Violation(what));
        }
        for one in &mut self.slow {
            // the gap was reported; the next window starts without it
            one.hole = false;
            one.next = end;
        }
        self.reopen(io, deadline)
    }

    fn describe(&mut self, report: Report) -> Report {
        self.verdicts.add_to(report)
    }

    fn tick(&mut self, io: &mut Io) -> Result<Option<u64>, Failure> {
        let now = io.now();
        if now >= self.next_look {
            self.next_look = now + LOOK;
            for index in 0..self.slow.len() {
                if self.paused[index] && !self.sated(index) {
                    self.paused[index] = false;
                    io.set_reading(self.first + index, true)?;
                }
            }
        }
        Ok(None)
    }

    fn meter(&mut self) -> &mut Meter {
        self.fast.meter()
    }
}

/// The fraction of the publications that a slow reader reads.
const SHARE: u32 = 4;
const SLOW: Connect = Connect {
    source: None,
    receive_buffer: Some(8 * 1024),
};
/// Nanoseconds between two checks of the paused readers.
const LOOK: u64 = 5_000_000;
/// Slow readers that have received nothing for this time will receive nothing more.
const PATIENCE: Duration = Duration::from_secs(2);
const QUIET: Duration = Duration::from_millis(50);
