//! One direction through a multiplexer: each lane has a bounded number of messages in flight, and its target
//! counts them. Only messages that a target has reported count, and their number and bytes must equal what
//! was sent.

use crate::failure::Failure;
use crate::frame::Template;
use crate::io::{Handler, Io};
use crate::scenario::splice_sessions::{self, Heard, Sessions, violation};
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state.
#[derive(Debug)]
pub struct SpliceFlow {
    sessions: Sessions,
    lanes: Vec<Lane>,
    /// The number of messages that are sent at a time; the last of them requests the target's count. Two such
    /// groups are in flight.
    batch: u32,
    /// The bytes of each message that the target gets.
    relayed: u64,
    frames: Vec<u8>,
    writes: Writes,
    running: bool,
    outstanding: u64,
    meter: Meter,
}

/// How the messages of a group are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// In one write.
    Together,
    /// Each in a write of its own, as by a client that does not know the next message yet.
    Apart,
}

#[derive(Debug)]
struct Lane {
    plain: Template,
    asking: Template,
    sent: u32,
    counted: u32,
}

impl SpliceFlow {
    /// Messages of `size` bytes, the index included.
    pub fn new(sessions: Sessions, size: usize, writes: Writes) -> Self {
        let lane = |lane| Lane {
            plain: sessions.template(lane, b'f', size),
            asking: sessions.template(lane, b'q', size),
            sent: 0,
            counted: 0,
        };
        Self {
            lanes: (0..sessions.lanes()).map(lane).collect(),
            sessions,
            batch: u32::try_from(UNDER_WAY / size / 2).map_or(MOST, |batch| batch.clamp(1, MOST)),
            relayed: u64::try_from(Sessions::relayed(size)).unwrap_or(0),
            frames: Vec::new(),
            writes,
            running: false,
            outstanding: 0,
            meter: Meter::default(),
        }
    }

    /// Opens all connections and their targets.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        Sessions::open(io, self, deadline, |this| &this.sessions)
    }

    fn send(&mut self, io: &mut Io, lane: usize) -> Result<(), Failure> {
        let id = self.sessions.connection(lane);
        let lane = &mut self.lanes[lane];
        self.frames.clear();
        let last = lane.sent + self.batch - 1;
        for number in lane.sent..=last {
            let frame = if number == last {
                lane.asking.number(number)
            } else {
                lane.plain.number(number)
            };
            match self.writes {
                Writes::Together => self.frames.extend_from_slice(frame),
                Writes::Apart => io.send(id, frame)?,
            }
        }
        lane.sent += self.batch;
        self.outstanding += u64::from(self.batch);
        match self.writes {
            Writes::Together => io.send(id, &self.frames),
            Writes::Apart => Ok(()),
        }
    }

    fn hear(&mut self, io: &mut Io, id: usize, message: &[u8]) -> Result<(), Failure> {
        let (number, payload) = match self.sessions.hear(id, message)? {
            Heard::From(lane, payload) => (lane, payload),
            Heard::Control => return Ok(()),
        };
        let lane = &mut self.lanes[number];
        let expected = lane.counted + self.batch;
        let bytes = u64::from(expected) * self.relayed;
        let due = splice_sessions::count(payload) == Some((expected, bytes));
        if !due || expected > lane.sent {
            return Err(violation(id, "another count than the one due", message));
        }
        lane.counted = expected;
        self.outstanding -= u64::from(self.batch);
        self.meter.incoming += u64::from(self.batch);
        self.meter.received += 1;
        if self.running {
            return self.send(io, number);
        }
        Ok(())
    }
}

impl Handler for SpliceFlow {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.sessions.opened(io, id)
    }

    // a server may send the control channel as text
    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        self.hear(io, id, payload)
    }

    fn binary(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        self.hear(io, id, payload)
    }
}

impl Windowed for SpliceFlow {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        self.running = true;
        for lane in (0..self.lanes.len()).chain(0..self.lanes.len()) {
            self.send(io, lane)?;
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.running = false;
    }

    fn outstanding(&self) -> u64 {
        self.outstanding
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

/// The most bytes that one lane has in flight.
const UNDER_WAY: usize = 64 * 1024;
/// The most messages that are sent at a time.
const MOST: u32 = 32;
