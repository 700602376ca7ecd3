//! Fan-out: one publisher keeps a number of publications in flight; each must reach every subscriber
//! once, in order. A publication is complete when its last delivery has arrived.

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::frame::Template;
use crate::io::{Connect, Handler, Io};
use crate::scenario::{open_all, until};
use crate::stamp::{self, STAMP};
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state. The first connection publishes, those that follow subscribe.
#[derive(Debug)]
pub struct Fanout {
    /// The publisher's id.
    first: usize,
    template: Template,
    filler: Vec<u8>,
    /// The next number each subscriber expects.
    expected: Vec<u32>,
    subscribed: usize,
    in_flight: usize,
    next_out: u32,
    /// Publications in flight, by number: when sent, deliveries so far.
    flights: Vec<(u64, u32)>,
    owed: usize,
    batch: Vec<u8>,
    running: bool,
    outstanding: u64,
    meter: Meter,
}

/// The message that a subscriber sends to subscribe, and that is sent back when it is subscribed.
pub const SUBSCRIBE: &[u8] = b"s";

impl Fanout {
    /// `subscribers` that get messages of `size` bytes, with `in_flight` publications at a time; `first`
    /// is the publisher's id.
    pub fn new(
        dialect: Dialect,
        first: usize,
        subscribers: usize,
        size: usize,
        in_flight: usize,
    ) -> Self {
        Self {
            first,
            template: stamp::template(dialect, b'p', 0, size),
            filler: stamp::payload(b'p', 0, size).split_off(STAMP),
            expected: vec![0; subscribers + 1],
            subscribed: 0,
            in_flight,
            next_out: 0,
            flights: vec![(0, 0); in_flight],
            owed: 0,
            batch: Vec::new(),
            running: false,
            outstanding: 0,
            meter: Meter::default(),
        }
    }

    /// The same with JSON as the text of publications, which compresses as an application's messages do.
    #[must_use]
    pub fn of_json(mut self) -> Self {
        let size = STAMP + self.filler.len();
        let mut payload = stamp::payload(b'p', 0, size);
        self.filler = stamp::json(self.filler.len());
        payload[STAMP..].copy_from_slice(&self.filler);
        self.template = Template::new(&payload, stamp::NUMBER_AT, stamp::mask(0));
        self
    }

    /// Opens all connections and subscribes all but the first.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        let ids = self.first..self.first + self.expected.len();
        open_all(io, self, ids, Connect::default(), deadline)?;
        until(io, self, deadline, "subscribing", Self::all_subscribed)
    }

    /// Whether every subscriber is subscribed.
    pub fn all_subscribed(&self) -> bool {
        self.subscribed + 1 == self.expected.len()
    }

    /// The number the next publication will have.
    pub fn next_number(&self) -> u32 {
        self.next_out
    }

    /// The number of a publication as it was sent; `None` for anything else.
    pub(crate) fn number_of(&self, payload: &[u8]) -> Option<u32> {
        let (sender, number) = stamp::read(payload)?;
        (sender == 0 && payload[STAMP..] == self.filler).then_some(number)
    }

    fn publish(&mut self, io: &mut Io, count: usize) -> Result<(), Failure> {
        let now = io.refresh();
        let everyone = u64::try_from(self.subscribed).unwrap_or(0);
        self.batch.clear();
        for _ in 0..count {
            let number = self.next_out;
            self.next_out += 1;
            *self.flight(number) = (now, 0);
            self.outstanding += everyone;
            self.batch.extend_from_slice(self.template.number(number));
        }
        io.send(self.first, &self.batch)
    }

    #[inline]
    fn flight(&mut self, number: u32) -> &mut (u64, u32) {
        &mut self.flights[usize::try_from(number).unwrap_or(0) % self.in_flight]
    }
}

impl Handler for Fanout {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if id == self.first {
            return Ok(());
        }
        io.say(id, SUBSCRIBE)
    }

    #[inline]
    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        if payload == SUBSCRIBE && !self.all_subscribed() {
            self.subscribed += 1;
            return Ok(());
        }
        let number = self.expected[id - self.first];
        if self.number_of(payload) != Some(number) || number >= self.next_out {
            let shown = String::from_utf8_lossy(&payload[..payload.len().min(STAMP)]);
            return Err(Failure::Violation(format!(
                "subscriber {id} expected publication {number}, got {shown:?}"
            )));
        }
        self.expected[id - self.first] = number + 1;
        self.outstanding -= 1;
        self.meter.received += 1;
        let (sent, deliveries) = self.flight(number);
        *deliveries += 1;
        let (sent, deliveries) = (*sent, *deliveries);
        self.meter.record(io.now().saturating_sub(sent));
        if usize::try_from(deliveries) == Ok(self.subscribed) {
            self.meter.incoming += 1;
            self.owed += usize::from(self.running);
        }
        Ok(())
    }

    #[inline]
    fn read_done(&mut self, io: &mut Io, _id: usize) -> Result<(), Failure> {
        match std::mem::take(&mut self.owed) {
            0 => Ok(()),
            owed => self.publish(io, owed),
        }
    }
}

impl Windowed for Fanout {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        self.running = true;
        self.publish(io, self.in_flight)
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
