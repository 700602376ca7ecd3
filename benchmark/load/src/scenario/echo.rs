//! Echo: each connection keeps a number of messages outstanding (closed loop), or all together send
//! at a rate (open loop). Every answer must be the next one expected, byte by byte.

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::frame::Template;
use crate::io::{Connect, Handler, Io};
use crate::metronome::Metronome;
use crate::scenario::open_all;
use crate::stamp::{self, STAMP};
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state.
#[derive(Debug)]
pub struct Echo {
    lanes: Vec<Lane>,
    pace: Pace,
    filler: Vec<u8>,
    batch: Vec<u8>,
    /// Answers of the connection being read: messages to send in return.
    owed: usize,
    /// Open loop: the connection that sends next.
    turn: usize,
    running: bool,
    outstanding: u64,
    meter: Meter,
}

/// What decides when the next message is sent.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// A fixed number outstanding per connection: each answer triggers a message.
    Closed(usize),
    /// At fixed times, dealt to the connections in turn.
    Open(Metronome),
}

impl Pace {
    /// The most messages that one connection may have outstanding; in an open loop further ones
    /// count as unsent.
    pub(crate) fn depth(self) -> usize {
        match self {
            Self::Closed(depth) => depth,
            Self::Open(_) => 1024,
        }
    }
}

#[derive(Debug)]
struct Lane {
    template: Template,
    next_out: u32,
    next_in: u32,
    /// When the messages outstanding were sent (open loop: were due), by number.
    sent: Vec<u64>,
}

impl Echo {
    /// `connections` that send `size` bytes at a time.
    pub fn new(dialect: Dialect, connections: usize, size: usize, pace: Pace) -> Self {
        let lane = |id| Lane {
            template: stamp::template(dialect, b'e', id, size),
            next_out: 0,
            next_in: 0,
            sent: vec![0; pace.depth()],
        };
        Self {
            lanes: (0..connections).map(lane).collect(),
            pace,
            filler: stamp::payload(b'e', 0, size).split_off(STAMP),
            batch: Vec::new(),
            owed: 0,
            turn: 0,
            running: false,
            outstanding: 0,
            meter: Meter::default(),
        }
    }

    /// Opens all connections.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        let ids = 0..self.lanes.len();
        open_all(io, self, ids, Connect::default(), deadline)
    }

    /// Sends this many messages in one write.
    fn send(&mut self, io: &mut Io, id: usize, count: usize, at: u64) -> Result<(), Failure> {
        let lane = &mut self.lanes[id];
        self.outstanding += u64::try_from(count).unwrap_or(0);
        if count == 1 {
            return io.send(id, lane.stamped(at));
        }
        self.batch.clear();
        for _ in 0..count {
            self.batch.extend_from_slice(lane.stamped(at));
        }
        io.send(id, &self.batch)
    }
}

impl Lane {
    #[inline]
    fn stamped(&mut self, at: u64) -> &[u8] {
        let number = self.next_out;
        self.next_out += 1;
        *self.slot(number) = at;
        self.template.number(number)
    }

    #[inline]
    fn slot(&mut self, number: u32) -> &mut u64 {
        let depth = self.sent.len();
        &mut self.sent[usize::try_from(number).unwrap_or(0) % depth]
    }

    fn full(&self) -> bool {
        let outstanding = usize::try_from(self.next_out - self.next_in);
        outstanding.is_ok_and(|outstanding| outstanding >= self.sent.len())
    }
}

impl Handler for Echo {
    #[inline]
    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        let lane = &mut self.lanes[id];
        let expected = lane.next_in;
        let whole = stamp::read(payload) == Some((id, expected)) && payload[STAMP..] == self.filler;
        if !whole || expected == lane.next_out {
            let shown = String::from_utf8_lossy(&payload[..payload.len().min(STAMP)]);
            return Err(Failure::Violation(format!(
                "connection {id} expected echo {expected}, got {shown:?} ({} bytes)",
                payload.len()
            )));
        }
        lane.next_in += 1;
        let sent = *lane.slot(expected);
        self.outstanding -= 1;
        self.meter.incoming += 1;
        self.meter.received += 1;
        self.meter.record(io.now().saturating_sub(sent));
        if self.running && matches!(self.pace, Pace::Closed(_)) {
            self.owed += 1;
        }
        Ok(())
    }

    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        let owed = std::mem::take(&mut self.owed);
        if owed > 0 {
            let now = io.now();
            self.send(io, id, owed, now)?;
        }
        Ok(())
    }
}

impl Windowed for Echo {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        self.running = true;
        let now = io.refresh();
        let depth = match &mut self.pace {
            Pace::Closed(depth) => *depth,
            Pace::Open(metronome) => {
                metronome.start(now);
                return Ok(());
            }
        };
        for id in 0..self.lanes.len() {
            let now = io.refresh();
            self.send(io, id, depth, now)?;
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.running = false;
        if let Pace::Open(metronome) = &mut self.pace {
            metronome.stop();
        }
    }

    fn outstanding(&self) -> u64 {
        self.outstanding
    }

    fn tick(&mut self, io: &mut Io) -> Result<Option<u64>, Failure> {
        let now = io.refresh();
        loop {
            let Pace::Open(metronome) = &mut self.pace else {
                return Ok(None);
            };
            let Some(due) = metronome.take(now) else {
                return Ok(metronome.next());
            };
            let id = self.turn % self.lanes.len();
            self.turn = id + 1;
            if self.lanes[id].full() {
                self.meter.unsent += 1;
            } else {
                self.send(io, id, 1, due)?;
            }
        }
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}
