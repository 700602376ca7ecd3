//! Round trips through a multiplexer: each lane has one message outstanding, which its target sends back.
//! Every answer must have the lane's index, be the expected one, and have the same bytes.

use crate::failure::Failure;
use crate::frame::Template;
use crate::io::{Handler, Io};
use crate::scenario::splice_sessions::{Heard, Sessions, violation};
use crate::stamp::{self, STAMP};
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state.
#[derive(Debug)]
pub struct Splice {
    sessions: Sessions,
    lanes: Vec<Lane>,
    filler: Vec<u8>,
    running: bool,
    outstanding: u64,
    meter: Meter,
}

#[derive(Debug)]
struct Lane {
    template: Template,
    number: u32,
    waits: bool,
    sent: u64,
}

impl Splice {
    /// Messages of `size` bytes, the index included.
    pub fn new(sessions: Sessions, size: usize) -> Self {
        let lane = |lane| Lane {
            template: sessions.template(lane, b'e', size),
            number: 0,
            waits: false,
            sent: 0,
        };
        Self {
            lanes: (0..sessions.lanes()).map(lane).collect(),
            filler: stamp::payload(b'e', 0, Sessions::relayed(size)).split_off(STAMP),
            sessions,
            running: false,
            outstanding: 0,
            meter: Meter::default(),
        }
    }

    /// Opens all connections and their targets.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        Sessions::open(io, self, deadline, |this| &this.sessions)
    }

    #[inline]
    fn send(&mut self, io: &mut Io, lane: usize) -> Result<(), Failure> {
        let id = self.sessions.connection(lane);
        let lane = &mut self.lanes[lane];
        lane.waits = true;
        lane.sent = io.now();
        self.outstanding += 1;
        io.send(id, lane.template.number(lane.number))
    }

    #[inline]
    fn hear(&mut self, io: &mut Io, id: usize, message: &[u8]) -> Result<(), Failure> {
        let (number, payload) = match self.sessions.hear(id, message)? {
            Heard::From(lane, payload) => (lane, payload),
            Heard::Control => return Ok(()),
        };
        let lane = &mut self.lanes[number];
        let expected = Some((number, lane.number));
        let whole = stamp::read(payload) == expected && payload[STAMP..] == self.filler;
        if !whole || !lane.waits {
            return Err(violation(id, "another echo than the one due", message));
        }
        lane.waits = false;
        lane.number += 1;
        self.outstanding -= 1;
        self.meter.incoming += 1;
        self.meter.received += 1;
        self.meter.record(io.now().saturating_sub(lane.sent));
        if self.running {
            return self.send(io, number);
        }
        Ok(())
    }
}

impl Handler for Splice {
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

impl Windowed for Splice {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        self.running = true;
        for lane in 0..self.lanes.len() {
            io.refresh();
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
