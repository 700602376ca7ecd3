//! Many channels: ten publishers, and many channels with two subscribers each (or one, if both are the
//! same connection). Every publication goes to another channel and must reach exactly that channel's
//! subscribers, once, and each of them in the publisher's order.

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::frame::Template;
use crate::io::{Connect, Handler, Io};
use crate::scenario::{open_all, until};
use crate::stamp::{self, STAMP};
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state. The first connections publish, those that follow subscribe.
#[derive(Debug)]
pub struct Channels {
    count: usize,
    /// The number of channels that one subscriber has of each kind.
    share: usize,
    subscribers: usize,
    subscribed: usize,
    publishers: Vec<Publisher>,
    filler: Vec<u8>,
    /// For each subscriber the next number it may get from each publisher.
    next: Vec<[u32; PUBLISHERS]>,
    /// Publishers with a publication whose deliveries were completed by this read.
    owing: Vec<usize>,
    batch: Vec<u8>,
    running: bool,
    outstanding: u64,
    meter: Meter,
}

#[derive(Debug)]
struct Publisher {
    template: Template,
    next_out: u32,
    flights: Vec<Flight>,
}

/// A publication in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    number: u32,
    sent: u64,
    /// The subscribers that have not received it yet.
    missing: [bool; 2],
}

impl Flight {
    fn over(self) -> bool {
        self.missing == [false, false]
    }
}

/// Connections that publish.
pub const PUBLISHERS: usize = 10;
/// Bytes of the smallest publication: a stamp and the channel's name.
pub const SMALLEST: usize = STAMP + 1 + NAME_DIGITS;

const NAME_DIGITS: usize = 5;

impl Channels {
    /// `channels` distributed over the subscribers; `in_flight` publications per publisher.
    pub fn new(
        dialect: Dialect,
        subscribers: usize,
        channels: usize,
        size: usize,
        in_flight: usize,
    ) -> Result<Self, Failure> {
        if subscribers < 2 || !channels.is_multiple_of(subscribers) || channels > 100_000 {
            let what = "--count must be a multiple of --connections (at least 2), at most 100000";
            return Err(Failure::Usage(what.to_owned()));
        }
        let publisher = |id| {
            let (text, at) = dialect.wrap(&payload(id, size));
            Publisher {
                template: Template::new(&text, at + stamp::NUMBER_AT, stamp::mask(id)),
                next_out: 0,
                flights: vec![Flight::default(); in_flight],
            }
        };
        Ok(Self {
            count: channels,
            share: channels / subscribers,
            subscribers,
            subscribed: 0,
            publishers: (0..PUBLISHERS).map(publisher).collect(),
            filler: payload(0, size).split_off(SMALLEST),
            next: vec![[0; PUBLISHERS]; subscribers],
            owing: Vec::with_capacity(PUBLISHERS),
            batch: Vec::new(),
            running: false,
            outstanding: 0,
            meter: Meter::default(),
        })
    }

    /// Opens all connections and subscribes all but the publishers.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        let ids = 0..PUBLISHERS + self.subscribers;
        open_all(io, self, ids, Connect::default(), deadline)?;
        until(io, self, deadline, "subscribing", Self::all_subscribed)
    }

    /// Whether every subscriber is subscribed.
    pub fn all_subscribed(&self) -> bool {
        self.subscribed == self.subscribers
    }

    /// The channel of a publisher's publication: all channels in turn, with large steps between them.
    pub fn channel(&self, publisher: usize, number: u32) -> usize {
        let number = usize::try_from(number).unwrap_or(0) % self.count;
        (publisher * self.count / PUBLISHERS + number * STRIDE) % self.count
    }

    /// The subscribers of a channel: counted from 0, the second only if it is another one.
    pub fn members(&self, channel: usize) -> (usize, Option<usize>) {
        let (one, other) = (channel % self.subscribers, channel / self.share);
        (one, Some(other).filter(|other| *other != one))
    }

    /// Publishes as many messages as one publisher may have in flight.
    fn publish(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        let now = io.refresh();
        self.batch.clear();
        loop {
            let number = self.publishers[id].next_out;
            let channel = self.channel(id, number);
            let (_, other) = self.members(channel);
            let publisher = &mut self.publishers[id];
            let flight = publisher.flight(number);
            if !flight.over() {
                break;
            }
            *flight = Flight {
                number,
                sent: now,
                missing: [true, other.is_some()],
            };
            self.outstanding += 1 + u64::from(other.is_some());
            publisher.next_out += 1;
            let name = u32::try_from(channel).unwrap_or(0);
            publisher.template.second_number(1, NAME_DIGITS, name);
            self.batch
                .extend_from_slice(publisher.template.number(number));
        }
        io.send(id, &self.batch)
    }
}

impl Publisher {
    #[inline]
    fn flight(&mut self, number: u32) -> &mut Flight {
        let depth = self.flights.len();
        &mut self.flights[usize::try_from(number).unwrap_or(0) % depth]
    }
}

impl Handler for Channels {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        let Some(subscriber) = id.checked_sub(PUBLISHERS) else {
            return Ok(());
        };
        let (share, block) = (self.share, subscriber * self.share);
        io.say(
            id,
            format!("s{subscriber},{},{share}", self.subscribers).as_bytes(),
        )?;
        io.say(id, format!("s{block},1,{share}").as_bytes())
    }

    #[inline]
    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        let Some(subscriber) = id.checked_sub(PUBLISHERS) else {
            return Err(unexpected(id, payload));
        };
        if payload.first() == Some(&b's') && !self.all_subscribed() {
            // the answer to the second of the two subscriptions
            self.subscribed += usize::from(payload == self.second(subscriber).as_bytes());
            return Ok(());
        }
        let Some((publisher, number)) = stamp::read(payload).filter(|s| s.0 < PUBLISHERS) else {
            return Err(unexpected(id, payload));
        };
        let channel = self.channel(publisher, number);
        let (one, other) = self.members(channel);
        let place = match subscriber {
            _ if subscriber == one => 0,
            _ if Some(subscriber) == other => 1,
            _ => return Err(unexpected(id, payload)),
        };
        let named = payload.get(STAMP + 1..SMALLEST).and_then(digits) == Some(channel);
        let whole = named && payload[STAMP] == b'c' && payload[SMALLEST..] == self.filler;
        let next = &mut self.next[subscriber][publisher];
        let flight = self.publishers[publisher].flight(number);
        let awaited = flight.number == number && flight.missing[place];
        if !whole || !awaited || number < *next {
            return Err(unexpected(id, payload));
        }
        *next = number + 1;
        flight.missing[place] = false;
        let (sent, over) = (flight.sent, flight.over());
        self.outstanding -= 1;
        self.meter.received += 1;
        self.meter.record(io.now().saturating_sub(sent));
        if over {
            self.meter.incoming += 1;
            if self.running && !self.owing.contains(&publisher) {
                self.owing.push(publisher);
            }
        }
        Ok(())
    }

    #[inline]
    fn read_done(&mut self, io: &mut Io, _id: usize) -> Result<(), Failure> {
        while let Some(publisher) = self.owing.pop() {
            self.publish(io, publisher)?;
        }
        Ok(())
    }
}

impl Channels {
    fn second(&self, subscriber: usize) -> String {
        format!("s{},1,{}", subscriber * self.share, self.share)
    }
}

impl Windowed for Channels {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        self.running = true;
        (0..PUBLISHERS).try_for_each(|id| self.publish(io, id))
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

/// A stamp, a channel's name, filler.
fn payload(publisher: usize, size: usize) -> Vec<u8> {
    let mut bytes = stamp::payload(b'p', publisher, size.max(SMALLEST));
    bytes[STAMP] = b'c';
    bytes[STAMP + 1..SMALLEST].fill(b'0');
    bytes
}

fn digits(text: &[u8]) -> Option<usize> {
    usize::try_from(crate::frame::read_digits(text)?).ok()
}

fn unexpected(id: usize, payload: &[u8]) -> Failure {
    let shown = String::from_utf8_lossy(&payload[..payload.len().min(SMALLEST)]);
    Failure::Violation(format!("connection {id} did not expect {shown:?}"))
}

/// Has no common factor with the number of channels if that has only the factors two and five;
/// otherwise some channels are not used, which is acceptable.
const STRIDE: usize = 38_197;
